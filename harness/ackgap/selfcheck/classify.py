"""What became of a mutant: caught, missed, equivalent with a proof, or no agent at all. Pure.

A mutant that the judge did not see is compared, cell by cell, with the agent that is right, by what services saw. Where
that differs, the judge is at fault. Where it does not, that alone would not do: it is equivalent only if it is shown
why nobody outside can tell the two apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from ackgap.model.verdict import VerdictKind
from ackgap.selfcheck.seen import Seen, differences, request_differences, requests_of
from ackgap.selfcheck.trial import TrialCell, TrialResult

__all__ = ["Fate", "Reference", "Ruling", "ruling_of"]

_UNRECORDED = "repeated_unrecorded_paid_work"


class Fate(StrEnum):
    """What became of a mutant."""

    CAUGHT = "caught"
    """The judge saw it, and services saw something else than of the agent that is right."""
    MISSED = "missed"
    """The judge did not see it, and nothing shows that there is nothing to be seen."""
    UNFOUNDED = "unfounded"
    """The judge said that it saw it, and services saw nothing else: a false alarm."""
    REMARKED = "remarked"
    """It pays again for what it has not written down, and does nothing else: the judge remarks that, and by the meaning
    of `wasted` it is no verdict."""
    EQUIVALENT = "equivalent"
    """Nobody outside can tell it from the agent that is right, and it is shown why."""
    NOT_VIABLE = "not viable"
    """Undisturbed it does not do its work, so that no crash is needed to see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What became of a mutant, and why.

    Attributes:
        schedule: The cell that shows it; empty where none does.
        verdict: What the judge says of that cell.
        cells: How many were run.
        kept: Proven earlier, and not run this time.
    """

    fate: Fate
    why: str
    schedule: str = ""
    verdict: str = ""
    cells: int = 0
    kept: bool = False


@dataclass(frozen=True)
class Reference:
    """The agent that is right, as services saw it.

    Attributes:
        result: Of its trial, with every cell.
    """

    result: TrialResult

    @cached_property
    def by_schedule(self) -> Mapping[str, TrialCell]:
        """Its cells."""
        return {cell.schedule: cell for cell in self.result.cells}

    @cached_property
    def most_paid(self) -> Mapping[str, int]:
        """How often each paid operation was served at most."""
        most: Counter[str] = Counter()
        for cell in self.result.cells:
            most |= Counter(cell.seen.paid)
        return most

    @cached_property
    def contents(self) -> frozenset[str]:
        """Whatever it files in any of its runs."""
        return frozenset(content for cell in self.result.cells for content in cell.seen.contents)

    @property
    def peace(self) -> Seen:
        """Its undisturbed run."""
        assert self.result.peace is not None
        return self.result.peace.seen

    def right_of(self, cell: TrialCell) -> Seen:
        """Return what is right in a mutant's cell: the same cell; the undisturbed run, where there is no such cell."""
        mine = self.by_schedule.get(cell.schedule)
        return self.peace if mine is None else mine.seen

    def differences(self, cell: TrialCell, *, with_paid: bool = True) -> tuple[str, ...]:
        """Return in what a mutant's cell differs, for anybody outside."""
        right = self.right_of(cell)
        # At a point of its own, a repeat may be of what was in flight; where the judge says that it is not, it counts.
        lenient = cell.schedule not in self.by_schedule and cell.verdict is VerdictKind.OK
        paid = self.most_paid if lenient else right.paid
        return differences(cell.seen, right, paid=paid if with_paid else None, known=self.contents)


def ruling_of(reference: Reference, result: TrialResult, *, unreached: bool | None = None) -> Ruling | None:
    """Return what became of a mutant; None where a trap has to tell whether its line is reached at all.

    Args:
        reference: The agent that is right.
        result: The mutant's trial.
        unreached: What the trap has told.
    """
    ran = len(result.cells)
    if (broken := _broken_in_peace(reference, result)) is not None:
        return Ruling(fate=Fate.NOT_VIABLE, why=broken, cells=ran)
    if result.caught:
        cell = result.cells[-1]
        found = reference.differences(cell)
        fate = Fate.CAUGHT if found else Fate.UNFOUNDED
        why = cell.headline if found else f"{cell.headline}; but services saw nothing else than of the agent as it was"
        return Ruling(fate=fate, why=why, schedule=cell.schedule, verdict=cell.verdict, cells=ran)
    remarked: TrialCell | None = None
    for cell in result.cells:
        if cell.verdict is VerdictKind.INCONCLUSIVE:
            continue  # it proves nothing, and is told below
        if found := reference.differences(cell):
            if _UNRECORDED in cell.remarks and not reference.differences(cell, with_paid=False):
                remarked = remarked or cell
                continue
            why = f"services saw: {'; '.join(found)}"
            return Ruling(fate=Fate.MISSED, why=why, schedule=cell.schedule, verdict=cell.verdict, cells=ran)
    unproven = next((cell for cell in result.cells if cell.verdict is not VerdictKind.OK), None)
    if unproven is not None:
        why = f"a cell proves nothing: {unproven.headline}"
        return Ruling(fate=Fate.MISSED, why=why, schedule=unproven.schedule, verdict=unproven.verdict, cells=ran)
    if remarked is not None:
        why = "; ".join(reference.differences(remarked))
        return Ruling(fate=Fate.REMARKED, why=why, schedule=remarked.schedule, verdict=remarked.verdict, cells=ran)
    if proof := _proof(reference, result):
        return Ruling(fate=Fate.EQUIVALENT, why=proof, cells=ran)
    if unreached is None:
        return None
    if unreached:
        why = f"no life in any of {len(reference.result.cells)} cells, nor an undisturbed one, comes to the line"
        return Ruling(fate=Fate.EQUIVALENT, why=why, cells=ran)
    return Ruling(
        fate=Fate.MISSED, why="nothing was seen, and nothing shows that there is nothing to be seen", cells=ran
    )


def _broken_in_peace(reference: Reference, result: TrialResult) -> str | None:
    """Return why a mutant does not do its work undisturbed; None where it does."""
    peace = result.peace
    if peace is None:
        return result.failed.splitlines()[0]
    if peace.verdict is not VerdictKind.OK:
        return peace.headline
    found = differences(peace.seen, reference.peace, paid=peace.seen.paid, known=peace.seen.contents.keys())
    return f"undisturbed, services saw: {'; '.join(found)}" if found else None


def _proof(reference: Reference, result: TrialResult) -> str:
    """Return why nobody can tell a mutant from the agent that is right; empty where nothing shows it."""
    changed: set[str] = set()
    for cell in result.cells:
        changed |= request_differences(cell.seen, reference.right_of(cell))
    count = len(result.cells)
    if not changed:
        return f"in each of {count} cells services got the same requests in the same order"
    acting = {each.operation for cell in result.cells for each in cell.seen.requests if each.matters}
    unprotected = {name for name in changed & acting if not _is_moot(reference, result, name)}
    if unprotected:
        return ""
    moot = sorted(changed & acting)
    if not moot:
        return f"in each of {count} cells the same was done; only what was looked at differs"
    how = "; ".join(f"{name}: {_is_moot(reference, result, name)}" for name in moot)
    return f"in each of {count} cells the ledgers are the same: {how}"


def _is_moot(reference: Reference, result: TrialResult, operation: str) -> str:
    """Return why it does not matter how an operation is asked for and how often; empty where it does."""
    if reference.result.natural.get(operation):
        return "the service recognises what a request is about"
    if reference.result.keyed.get(operation) and all(_keys_hold(result, cell.seen, operation) for cell in result.cells):
        return "all lives of a run send the same keys, and the service honours them"
    pairs = [(_sent(cell.seen, operation), _sent(reference.right_of(cell), operation)) for cell in result.cells]
    acts = any(operation in cell.seen.order for cell in (*reference.result.cells, *result.cells))
    if not acts and all(len(mine) <= len(right) for mine, right in pairs):
        return "nothing is asked more often, and what comes of it is the same"
    if all(mine == right for mine, right in pairs):
        keyed = reference.result.keyed.get(operation)
        return "" if keyed else "the same requests, but for a key that the service does not look at"
    return ""


def _sent(seen: Seen, operation: str) -> list[str]:
    return [each.sent for each in requests_of(seen, operation)]


def _keys_hold(result: TrialResult, seen: Seen, operation: str) -> bool:
    """Whether a run has no more keys than the undisturbed one has: then no life has made another key."""
    assert result.peace is not None
    keys = {each.key for each in requests_of(seen, operation)}
    return None not in keys and len(keys) <= len({each.key for each in requests_of(result.peace.seen, operation)})
