"""Masks: what of a store's content is a time stamp or a random id, so that it says the same in two runs of one work.

Three sources, and none of them hides what is known to stay:

- shapes: ISO times and epoch numbers near now, UUIDs, ULIDs, hexadecimal ids. Longer hexadecimal numbers are
  digests of what somebody wrote, so they are left alone. An id that is the same in both undisturbed runs is not random;
- declared: expressions of the scenario;
- learned: places whose tokens with digits differ between the two undisturbed runs.

An id becomes `<id k>`, so that the same id twice and two ids remain two things. Ids that grow with time (UUID 6 and 7,
ULID) are numbered in their order, since workers ask for the latest. What differs between undisturbed runs and is none
of this is *unclear* and stays as it is, so that only runs that say the very same there are equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from ackgap.execute.state.canonical import Content, Record, Sheet
from ackgap.execute.state.decode import Leaf

__all__ = ["Learned", "Line", "Masker", "skeleton"]

_DAY_S = 86_400.0
_NOW_S = 20 * 3600.0
"""Times that are closer than that are now, in whatever time zone; others keep how many days they are away."""
_EPOCH_S = 400 * _DAY_S
_GREGORIAN_S = 12_219_292_800.0
"""From the beginning of the Gregorian calendar, where UUIDs count from, to the epoch."""
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_UNITS = {10: 1.0, 13: 1e3, 16: 1e6, 19: 1e9}

_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_EPOCH = re.compile(r"(?<![\w.-])(?:\d{19}|\d{16}|\d{13}|\d{10})(?:\.\d+)?(?![\w-])")
_IDS = re.compile(
    r"(?P<uuid>(?<![0-9A-Za-z])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Za-z]))"
    r"|(?P<ulid>(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z]))"
    r"|(?P<hex>(?<![0-9A-Za-z])(?=[0-9]*[A-Fa-f])(?=[A-Fa-f]*[0-9])(?:[0-9a-f]{16,39}|[0-9A-F]{16,39})(?![0-9A-Za-z]))"
    # LangGraph numbers the versions of a channel, with a random fraction behind.
    r"|(?P<fraction>(?<=\d{32}\.)[0-9.e-]+)"
)
_TOKEN = re.compile(r"[A-Za-z0-9_+/=.:-]*[0-9][A-Za-z0-9_+/=.:-]*")
_INDEX = re.compile(r"\[\d+\]")
_LONG_TOKEN = 8
"""A token of as many characters is not the same twice by accident, so that equal ones say something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What two undisturbed runs say about a store.

    Attributes:
        stable: Ids, and times that are not now, that both runs have.
        moving: Places that differ in tokens with digits alone.
        unclear: Places that differ in another way.
    """

    stable: frozenset[str] = frozenset()
    moving: frozenset[str] = frozenset()
    unclear: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Mask:
    kind: str
    raw: str
    ordered: bool = False
    plain: bool = False
    """Without a number: that two of them are equal says nothing."""


_Pieces = tuple[str | _Mask, ...]


@dataclass(frozen=True)
class Line:
    """A leaf, masked but for the numbers of its masks.

    Attributes:
        place: Where it stands, indices and ids left out: what leaves of different runs have in common.
        path: Where it stands.
        value: What it says.
    """

    place: str
    path: _Pieces
    value: _Pieces

    @property
    def pieces(self) -> _Pieces:
        """What is written for it."""
        return (*self.path, " = ", *self.value)

    @cached_property
    def fixed(self) -> str | None:
        """What is written for it, where nothing of it is masked."""
        return None if any(isinstance(piece, _Mask) for piece in self.pieces) else skeleton(self.pieces)


class Masker:
    """Turns the content of a store into text that is the same in two runs of the same work.

    Args:
        declared: Expressions of the scenario.
        learned: From two undisturbed runs.
        now_s: Seconds since the epoch: what a time stamp of today is near to.
    """

    def __init__(
        self,
        *,
        declared: Sequence[str] = (),
        learned: Learned | None = None,
        now_s: float,
    ) -> None:
        self._declared = tuple(re.compile(text) for text in declared)
        self._learned = learned or Learned()
        self._now_s = now_s
        self._known: dict[tuple[str, str, str], Line] = {}
        self._masked: dict[tuple[str, int], tuple[Record, list[Line]]] = {}

    def text(self, content: Content) -> str:
        """Return what the store says."""
        return "\n".join(line for _, line in self.lines(content))

    def lines(self, content: Content) -> list[tuple[str, str]]:
        """Return the place of each leaf, and what it says there."""
        sheets = [(self._pieces("", sheet.name), sheet.ordered, self.records(sheet)) for sheet in content]
        ranks = _ranks(line for _, _, records in sheets for record in records for line in record)
        sheets.sort(key=lambda sheet: skeleton(sheet[0], ranks))
        numbers: dict[str, int] = {}
        written = []
        for name, ordered, records in sheets:
            place = f"{skeleton(name)}#"
            written.append((place, _numbered(name, ranks, numbers)))
            if not ordered:
                records.sort(key=lambda record: [line.fixed or skeleton(line.pieces, ranks) for line in record])
            for record in records:
                written.append((place, "-"))
                written += [(line.place, line.fixed or _numbered(line.pieces, ranks, numbers)) for line in record]
        return written

    def records(self, sheet: Sheet) -> list[list[Line]]:
        """Return the records of a sheet, masked but for the numbers of the masks."""
        name = skeleton(self._pieces("", sheet.name))
        return [self._record(name, record) for record in sheet.records]

    def _record(self, sheet: str, record: Record) -> list[Line]:
        known = self._masked.get((sheet, id(record)))
        if known is None:  # kept with its lines, so that no other record gets its id
            known = self._masked[sheet, id(record)] = record, [self._line(sheet, leaf) for leaf in record]
        return known[1]

    def tokens(self, content: Content) -> Iterator[str]:
        """Yield every id and every time of a known shape that it holds."""
        for sheet in content:
            texts = [
                sheet.name,
                *(text for record in sheet.records for leaf in record for text in (leaf.path, leaf.value)),
            ]
            for text in texts:
                yield from (match[0] for shape in (_IDS, _ISO, _EPOCH) for match in shape.finditer(text))

    def _line(self, sheet: str, leaf: Leaf) -> Line:
        key = (sheet, leaf.path, leaf.value)
        line = self._known.get(key)
        if line is None:
            path = self._pieces("", leaf.path)
            place = _INDEX.sub("[]", f"{sheet}{skeleton(path)}")
            line = self._known[key] = Line(place, path, self._pieces(place, leaf.value))
        return line

    def _pieces(self, place: str, text: str) -> _Pieces:
        pieces: list[str | _Mask] = [text]
        for expression in self._declared:
            pieces = _split(pieces, expression, lambda match: _Mask("mask", match[0]))
        pieces = _split(pieces, _ISO, self._iso)
        pieces = _split(pieces, _IDS, self._id)
        pieces = _split(pieces, _EPOCH, self._epoch)
        if place in self._learned.moving:
            pieces = _split(pieces, _TOKEN, lambda match: _Mask("~", match[0], plain=len(match[0]) < _LONG_TOKEN))
        return tuple(pieces)

    def _iso(self, match: re.Match[str]) -> _Mask | None:
        try:
            moment = datetime.fromisoformat(match[0].replace(",", "."))
        except ValueError:
            return None
        return self._time(match[0], (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())

    def _epoch(self, match: re.Match[str]) -> _Mask | None:
        whole = match[0].partition(".")[0]
        seconds = float(match[0]) / _UNITS[len(whole)]
        return self._time(match[0], seconds) if abs(seconds - self._now_s) < _EPOCH_S else None

    def _time(self, raw: str, seconds: float) -> _Mask | None:
        away_s = seconds - self._now_s
        if abs(away_s) < _NOW_S:
            return _Mask("time", raw, plain=True)
        if raw in self._learned.stable or abs(away_s) > _EPOCH_S:
            return None
        return _Mask(f"time {away_s / _DAY_S:+.0f}d", raw, plain=True)

    def _id(self, match: re.Match[str]) -> _Mask | None:
        if match[0] in self._learned.stable:
            return None
        made_s = _made_s(match[0], match.lastgroup or "")
        return _Mask("id", match[0], ordered=made_s is not None and abs(made_s - self._now_s) < _EPOCH_S)


def _made_s(text: str, shape: str) -> float | None:
    """Return when an id that grows with time was made, in seconds since the epoch; None for another.

    Engines write digests in the form of a UUID, whatever its version digit comes to, so only the time itself is proof.
    """
    if shape == "ulid":
        milliseconds = 0
        for letter in text[:10]:
            milliseconds = milliseconds * 32 + _CROCKFORD.index(letter)
        return milliseconds / 1e3
    if shape == "uuid" and text[14] == "7":
        return int(text[:8] + text[9:13], 16) / 1e3
    if shape == "uuid" and text[14] == "6":
        return int(text[:8] + text[9:13] + text[15:18], 16) / 1e7 - _GREGORIAN_S
    return None


def _split(
    pieces: Sequence[str | _Mask], expression: re.Pattern[str], mask: Callable[[re.Match[str]], _Mask | None]
) -> list[str | _Mask]:
    """Return the pieces with what an expression finds in their text masked; empty finds are none."""
    found: list[str | _Mask] = []
    for piece in pieces:
        if isinstance(piece, _Mask):
            found.append(piece)
            continue
        begin = 0
        for match in expression.finditer(piece):
            made = mask(match) if match[0] else None
            if made is not None:
                found += [piece[begin : match.start()], made]
                begin = match.end()
        found.append(piece[begin:])
    return found


def _ranks(lines: Iterable[Line]) -> dict[str, int]:
    masks = (piece for line in lines if not line.fixed for piece in line.pieces if isinstance(piece, _Mask))
    raws = {mask.raw for mask in masks if mask.ordered}
    return {raw: rank for rank, raw in enumerate(sorted(raws), 1)}


def skeleton(pieces: _Pieces, ranks: Mapping[str, int] | None = None) -> str:
    """Return text with masks that have no number, but for those that grow with time where their ranks are known."""
    return "".join(
        piece
        if isinstance(piece, str)
        else f"<{piece.kind} r{ranks[piece.raw]}>"
        if ranks and piece.raw in ranks
        else f"<{piece.kind}>"
        for piece in pieces
    )


def _numbered(pieces: _Pieces, ranks: Mapping[str, int], numbers: dict[str, int]) -> str:
    def written(mask: _Mask) -> str:
        if mask.plain:
            return f"<{mask.kind}>"
        if mask.raw in ranks:
            return f"<{mask.kind} r{ranks[mask.raw]}>"
        return f"<{mask.kind} {numbers.setdefault(mask.raw, len(numbers) + 1)}>"

    return "".join(piece if isinstance(piece, str) else written(piece) for piece in pieces)
