"""What two undisturbed runs say about a store: which ids stay, which places move, and what nobody can tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from ackgap.execute.state.canonical import Content
from ackgap.execute.state.masks import Learned, Masker, skeleton
from ackgap.execute.state.reading import Reading, digest_of
from ackgap.model.event import BoundaryReached
from ackgap.model.history import History

__all__ = ["Compared", "compare_probes", "learn_masks"]

_MOST_PLACES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What two undisturbed runs of a variant have taught about its store.

    Attributes:
        first: The history of the first run, with masked digests by what was learned.
        second: That of the second run.
        masks: What to mask in the cells of the variant.
        notes: What keeps some of its states from being equal to those of other runs, in words; none where nothing does.
    """

    first: History
    second: History
    masks: Learned
    notes: tuple[str, ...]


def compare_probes(
    first: tuple[History, Reading], second: tuple[History, Reading], *, declared: Sequence[str], now_s: float
) -> Compared:
    """Return what two undisturbed runs have taught, and their histories with digests that cells can be compared with.

    Args:
        first: The history of the first run, and what its store said at each boundary.
        second: The same of the second run.
        declared: Expressions of the scenario.
        now_s: Seconds since the epoch.
    """
    masks = learn_masks(*(_by_point(*run) for run in (first, second)), declared=declared, now_s=now_s)
    masker = Masker(declared=declared, learned=masks, now_s=now_s)
    notes = list(dict.fromkeys((*first[1].problems, *second[1].problems)))
    if masks.unclear:
        places = ", ".join(sorted(masks.unclear)[:_MOST_PLACES])
        notes.append(f"two undisturbed runs do not store the same at {places}; see worker.mask")
    return Compared(first=_digested(*first, masker), second=_digested(*second, masker), masks=masks, notes=tuple(notes))


def _by_point(history: History, reading: Reading) -> dict[str, Content]:
    found: dict[str, Content] = {}
    for event, content in zip(history.passages, reading.contents, strict=False):
        if content is not None:
            found.setdefault(event.point_text, content)
    return found


def _digested(history: History, reading: Reading, masker: Masker) -> History:
    digests = ("" if content is None else digest_of(content, masker) for content in reading.contents)
    return History(
        events=tuple(
            replace(event, masked_digest=next(digests, "")) if isinstance(event, BoundaryReached) else event
            for event in history.events
        )
    )


def learn_masks(
    first: Mapping[str, Content], second: Mapping[str, Content], *, declared: Sequence[str], now_s: float
) -> Learned:
    """Return what two undisturbed runs say about the store of a variant.

    Args:
        first: What the store said at each point of the first run.
        second: The same of the second run.
        declared: Expressions of the scenario.
        now_s: Seconds since the epoch.
    """
    shared = [(first[point], second[point]) for point in first if point in second]

    def masker(learned: Learned) -> Masker:
        return Masker(declared=declared, learned=learned, now_s=now_s)

    shapes = masker(Learned())
    ones, twos = ({token for pair in shared for token in shapes.tokens(pair[side])} for side in (0, 1))
    learned = Learned(stable=frozenset(ones & twos))
    moving = _differing(shared, masker(learned))
    unclear = _differing(shared, masker(replace(learned, moving=moving)))
    learned = replace(learned, moving=moving - unclear, unclear=unclear)
    if not unclear:  # every place says the same, and still the whole may not: an id that is another one elsewhere
        last = masker(learned)
        places = (_first_difference(last.lines(one), last.lines(two)) for one, two in shared)
        learned = replace(learned, unclear=next((found for found in places if found), frozenset()))
    return learned


def _differing(shared: Sequence[tuple[Content, Content]], masker: Masker) -> frozenset[str]:
    """Return the places where two runs do not say the same, whatever the order."""
    known: dict[int, Counter[tuple[str, str]]] = {}

    def counted(content: Content) -> Counter[tuple[str, str]]:
        total: Counter[tuple[str, str]] = Counter()
        for sheet in content:
            if id(sheet) not in known:  # most sheets are the same at many points
                known[id(sheet)] = Counter(
                    (line.place, skeleton(line.pieces)) for record in masker.records(sheet) for line in record
                )
            total.update(known[id(sheet)])
        return total

    found: set[str] = set()
    for one, two in shared:
        ones, twos = counted(one), counted(two)
        found |= {place for place, _ in (*(ones - twos), *(twos - ones))}
    return frozenset(found)


def _first_difference(ones: Sequence[tuple[str, str]], twos: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Return the places at which two texts begin to differ; none where they do not."""
    for one, two in zip_longest(ones, twos, fillvalue=("", "")):
        if one != two:
            return frozenset({one[0], two[0]} - {""})
    return frozenset()
