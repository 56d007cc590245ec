"""One cell in two runs: what its verdicts, findings and rates say of a change, and why one of the runs may lack it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ackgap.model.event import Json
from ackgap.model.matrix import CellResult
from ackgap.model.rate import Rate
from ackgap.model.verdict import SEVERITY, Attribution, Colour, Finding, VerdictKind
from ackgap.report.info import RunInfo

__all__ = ["QUIET", "Absence", "CellCompared", "Change", "absence_of", "change_of", "differences_of"]

_FICKLE = frozenset({"rate", "raced"})
"""Remarks that tell of chance: two runs of the same may differ in them. Rates are compared by their intervals."""
_COUNTED = ("expected", "seen", "missing", "extra", "check", "axis", "value")
"""What a finding's detail says that is the same in two runs of the same: numbers and names, and no ids or times."""
_SIDES = ("worker", "engine", "target")


class Change(StrEnum):
    """What became of a cell. Cells that only the new run has are called by their colour as well."""

    NEWLY_RED = "newly_red"
    NEWLY_INCONCLUSIVE = "newly_inconclusive"
    NEWLY_AMBER = "newly_amber"
    NEWLY_GREEN = "newly_green"
    CHANGED = "changed"
    """Another verdict of the same colour, or other findings, or another attribution."""
    BY_CHANCE = "by_chance"
    """Another verdict of a cell that races the worker, with rates that do not differ beyond chance."""
    KNOWN_GAP = "known_gap"
    """It would be newly one of these, and the scenario declares it: see `[[known_gap]]`."""
    SAME = "same"


class Absence(StrEnum):
    """Why a run does not have a cell."""

    VARIANT = "variant"
    POINT = "point"
    FAULT = "fault"
    INTERRUPTED = "interrupted"
    NOT_RUN = "not_run"

    @property
    def words(self) -> str:
        """The reason as the rest of a sentence about that run."""
        return _ABSENCES[self]


_ABSENCES = {
    Absence.VARIANT: "it has no such variant",
    Absence.POINT: "undisturbed, it does not come to that point",
    Absence.FAULT: "this was not to be done there",
    Absence.INTERRUPTED: "it ended before",
    Absence.NOT_RUN: "it was not run there",
}

QUIET = frozenset({Change.SAME, Change.BY_CHANCE, Change.KNOWN_GAP})
_NEWLY = {
    Colour.RED: Change.NEWLY_RED,
    Colour.AMBER: Change.NEWLY_AMBER,
    Colour.GREEN: Change.NEWLY_GREEN,
    Colour.GREY: Change.NEWLY_INCONCLUSIVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCompared:
    """A cell in two runs; one of the two may lack it.

    Attributes:
        before: Its result in the old run, None where that lacks it.
        after: Its result in the new run, None where that lacks it.
        change: What became of it.
        said: What differs besides the verdict, a sentence each.
        absence: Why one of the runs lacks it, None where both have it.
    """

    before: CellResult | None
    after: CellResult | None
    change: Change
    said: tuple[str, ...] = ()
    absence: Absence | None = None

    @property
    def cell(self) -> str:
        """Its name, that of the new run where that has it."""
        result = self.after or self.before
        assert result is not None
        return result.cell

    @property
    def moved_from(self) -> str:
        """Its name in the old run, where its point had another number then; else nothing."""
        if self.before is None or self.after is None or _same_name(self.before, self.after):
            return ""
        return self.before.cell

    @property
    def better(self) -> bool:
        """Whether both verdicts are on the scale, and the new one is better."""
        if self.before is None or self.after is None:
            return False
        kinds = (self.before.verdict.kind, self.after.verdict.kind)
        return VerdictKind.INCONCLUSIVE not in kinds and SEVERITY.index(kinds[1]) > SEVERITY.index(kinds[0])

    def newly(self, kinds: frozenset[VerdictKind]) -> bool:
        """Whether it has one of some verdicts now, had none of them before, and did not get better by that."""
        if self.after is None or self.change in QUIET or self.better:
            return False
        return self.after.verdict.kind in kinds and (self.before is None or self.before.verdict.kind not in kinds)


def _same_name(before: CellResult, after: CellResult) -> bool:
    # Neither the order in which a scenario writes its axes nor the number of runs of a race is a move.
    return [fault.point for fault in before.schedule.faults] == [fault.point for fault in after.schedule.faults]


def change_of(before: CellResult | None, after: CellResult) -> Change:
    """Return what became of a cell, from its results."""
    if before is None:
        return _NEWLY[after.verdict.kind.colour]
    if before.rate is not None or after.rate is not None:
        if not _rates_differ(_rate_of(before), _rate_of(after)):
            return Change.SAME if before.verdict.kind is after.verdict.kind else Change.BY_CHANCE
    elif before.verdict.kind is after.verdict.kind and not any(differences_of(before, after)):
        return Change.SAME
    colours = (before.verdict.kind.colour, after.verdict.kind.colour)
    return _NEWLY[colours[1]] if colours[0] is not colours[1] else Change.CHANGED


def _rate_of(result: CellResult) -> Rate:
    return result.rate or Rate.of([result.verdict.kind])


def _rates_differ(before: Rate, after: Rate) -> bool:
    """Whether the intervals of a verdict's share have nothing in common, of whichever verdict."""
    for kind in VerdictKind:
        (low, high), (lower, higher) = before.interval(kind), after.interval(kind)
        if high < lower or higher < low:
            return True
    return False


def differences_of(before: CellResult, after: CellResult) -> Iterator[str]:
    """Yield what differs between two results of one cell besides the verdict, a sentence each."""
    if before.rate is not None or after.rate is not None:
        rates = (_rate_of(before), _rate_of(after))
        if rates[0] != rates[1]:
            kinds = [kind for kind in SEVERITY if any(kind.value in rate.counts for rate in rates)]
            for kind in kinds:
                yield f"{kind.words}: {rates[0].in_words(kind)}, now {rates[1].in_words(kind)}"
        return
    ours, theirs = (Counter(map(_signature, _settled(result))) for result in (before, after))
    gone, come = list((ours - theirs).elements()), list((theirs - ours).elements())
    yield from _pairwise(gone, come)


_Signature = tuple[str, str, tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]
"""Code, operation, numbers and attribution of a finding: what is the same in two runs of the same."""


def _settled(result: CellResult) -> Iterator[Finding]:
    yield from (finding for finding in result.findings if finding.code not in _FICKLE)


def _signature(finding: Finding) -> _Signature:
    return (finding.code, finding.operation, tuple(_counted(finding.detail)), tuple(_said(finding.attribution)))


def _counted(detail: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    yield from ((name, str(detail[name])) for name in _COUNTED if name in detail)


def _said(attribution: Attribution | None) -> Iterator[tuple[str, str]]:
    if attribution is not None:
        yield from ((side, getattr(attribution, side)) for side in _SIDES)
        yield "preventable by", ", ".join(attribution.preventable_by)


def _pairwise(gone: list[_Signature], come: list[_Signature]) -> Iterator[str]:
    """Yield what was said before and is not now; of a finding that is there in both, only what differs in it."""
    for signature in gone:
        partner = next((other for other in come if other[:2] == signature[:2]), None)
        if partner is None:
            yield f"no longer: {_title(signature)}"
            continue
        come.remove(partner)
        for mine, yours in zip(signature[2:], partner[2:], strict=True):
            old, new = dict(mine), dict(yours)
            for name in dict.fromkeys([*old, *new]):
                if old.get(name, "") != new.get(name, ""):
                    yield f"{_title(signature)}, {name}: {old.get(name) or 'nothing'}, now {new.get(name) or 'nothing'}"
    for signature in come:
        yield f"new: {_title(signature)}"


def _title(signature: _Signature) -> str:
    return f"{signature[0]} {signature[1]}".strip()


def absence_of(info: RunInfo, result: CellResult) -> Absence:
    """Return why a run does not have a cell that another run has.

    Args:
        info: Of the run that lacks it.
        result: The cell in the other run; its points with the numbers that they have in the run that lacks it.
    """
    values = frozenset(result.variant.values)
    known = next((variant for variant in info.variants if frozenset(variant.values) == values), None)
    if known is None:
        return Absence.VARIANT
    points = info.expectations[str(known)].points if str(known) in info.expectations else ()
    first = next(iter(result.schedule.faults), None)
    if first is not None and points and str(first.point) not in points:
        return Absence.POINT
    if info.interrupted:
        return Absence.INTERRUPTED
    manner = result.schedule.manner
    if manner is not None and info.manners and manner not in info.manners and result.schedule not in info.named:
        return Absence.FAULT
    return Absence.NOT_RUN
