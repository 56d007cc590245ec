"""The sentence that a reader would repeat to a colleague, computed from the results."""

from __future__ import annotations

from ackgap.model.boundary import Phase
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import Colour, VerdictKind
from ackgap.report.overview import FindingGroup, Overview, noun_of
from ackgap.report.plain import plain
from ackgap.report.store import Run

__all__ = ["expected_sentence", "headline", "scope_sentence"]

_PARTICIPLES = {
    "put": "put",
    "send": "sent",
    "submit": "submitted",
    "pay": "paid",
    "buy": "bought",
    "apply": "applied",
}
_REGULAR_VERBS = frozenset(
    {
        "add",
        "approve",
        "book",
        "cancel",
        "capture",
        "charge",
        "close",
        "confirm",
        "create",
        "delete",
        "deliver",
        "escalate",
        "file",
        "insert",
        "invite",
        "issue",
        "notify",
        "open",
        "order",
        "place",
        "post",
        "publish",
        "record",
        "refund",
        "register",
        "release",
        "remove",
        "request",
        "reserve",
        "schedule",
        "transfer",
        "update",
        "upload",
        "upsert",
    }
)


def headline(run: Run) -> str:
    """Return the sentence that says what the run found."""
    overview = Overview(run)
    if not run.cells:
        return "No cell was run, so nothing is known."
    red = overview.groups(Colour.RED)
    if red:
        undisturbed = [group for group in red if not group.example.schedule.faults]
        disturbed = [group for group in red if group.example.schedule.faults]
        return plain(_red(overview, _most_telling(disturbed or undisturbed, len(overview.variants))))
    counts = overview.counts
    proven = len(run.cells) - counts.get(VerdictKind.INCONCLUSIVE, 0)
    if not proven:
        return f"Nothing was proven: {_cells(len(run.cells))} ran and in none of them the fault struck as planned."
    crashes = sum(1 for cell in run.cells if cell.schedule.faults and cell.verdict.kind is not VerdictKind.INCONCLUSIVE)
    if not crashes:
        return "Undisturbed, the worker did everything exactly once; no crash was tried."
    ending = "" if proven == len(run.cells) else f"; {_cells(len(run.cells) - proven)} proved nothing"
    if counts.get(VerdictKind.IN_DOUBT):
        number = counts[VerdictKind.IN_DOUBT]
        return f"Nothing was done twice or lost in {_crashes(crashes)}; in {number} the worker asked a human{ending}."
    if counts.get(VerdictKind.WASTED):
        number = counts[VerdictKind.WASTED]
        return f"Nothing was done twice or lost in {_crashes(crashes)}; {number} of them repeated paid calls{ending}."
    return f"The worker survived {_crashes(crashes)} and did everything exactly once{ending}."


def scope_sentence(run: Run) -> str:
    """Return what was run, in one or two sentences."""
    overview = Overview(run)
    killed = sum(1 for cell in run.cells if cell.schedule.faults)
    points = sum(1 for row in overview.rows if row.phase is not None)
    text = f"{_cells(len(run.cells))}: "
    if killed:
        text += f"{_crashes(killed)} at {points} point{_s(points)}"
        if len(overview.variants) > 1:
            text += f" in {len(overview.variants)} variants"
        text += ", each restarted until the work was done or given up"
    else:
        text += "undisturbed runs only"
    if run.info.interrupted:
        text += f". Interrupted: {run.info.planned_cells} cells were planned"
    return text + "."


def expected_sentence(run: Run) -> str:
    """Return what an undisturbed run does: effects and paid calls, with what was assumed or declared."""
    yardsticks = list(run.info.expectations.values())
    if not yardsticks:
        return ""
    numbers: dict[str, set[int]] = {}
    marks: dict[str, str] = {}
    for yardstick in yardsticks:
        totals: dict[str, int] = {}
        for effect in yardstick.effects:
            totals[effect.operation] = totals.get(effect.operation, 0) + effect.count
            if effect.assumed or effect.declared:
                marks[effect.operation] = " (assumed)" if effect.assumed else " (declared)"
        for operation, count in (totals | dict(yardstick.paid_counts)).items():
            numbers.setdefault(operation, set()).add(count)
    parts = []
    for operation, found in numbers.items():
        one, many = noun_of(run.info, operation)
        low, high = min(found), max(found)
        amount = str(low) if low == high else f"{low} to {high}"
        paid = "paid " if any(operation in yardstick.paid_counts for yardstick in yardsticks) else ""
        parts.append(f"{amount} {paid}{one if high == 1 else many}{marks.get(operation, '')}")
    if not parts:
        return "Expected, from the undisturbed runs: no effect at all."
    return plain(f"Expected, from the undisturbed runs: {', '.join(parts)}.")


def _red(overview: Overview, group: FindingGroup) -> str:
    one, _ = noun_of(overview.run.info, group.operation)
    extent = _extent(overview, group)
    if not group.example.schedule.faults:
        return f"Even without a crash: {_lower(group.finding.summary.rstrip('.'))}{extent}."
    where = _where(overview, group, one)
    match group.kind:
        case VerdictKind.DUPLICATE:
            again = "one" if where.startswith("after") else one
            return f"A crash {where} makes a second {again}{extent}."
        case VerdictKind.LOST:
            return f"A crash {where} loses the {one}{extent}."
        case VerdictKind.DIVERGED if group.operation:
            return f"A crash {where} leaves a {one} that is not what was approved or recorded{extent}."
        case VerdictKind.PHANTOM:
            return f"A crash {where} leads to a {one} that no undisturbed run has{extent}."
        case VerdictKind.ZOMBIE:
            return f"A worker that had been replaced still acts: a late {one}{extent}."
        case VerdictKind.STUCK:
            return f"A crash {where} leaves the work unfinished{extent}."
    return f"A crash {where} ends badly: {_lower(group.finding.summary.rstrip('.'))}{extent}."


def _where(overview: Overview, group: FindingGroup, one: str) -> str:
    labels = {result.schedule.label for result in group.results if result.schedule.faults}
    order = [row.label for row in overview.rows]
    first_effect = next(
        (
            place
            for place, row in enumerate(overview.rows)
            if row.name == group.operation and row.phase in {Phase.APPLIED, Phase.RETURNED}
        ),
        None,
    )
    after = first_effect is not None and all(order.index(label) >= first_effect for label in labels)
    if after and group.kind is VerdictKind.DUPLICATE:
        return f"after the {one} {_participle(group.operation)}"
    if len(labels) == 1:
        return f"at {labels.pop()}"
    return f"at any of {len(labels)} points"


def _participle(operation: str) -> str:
    verb = operation.rpartition(".")[2]
    if verb in _PARTICIPLES:
        return f"is {_PARTICIPLES[verb]}"
    if verb in _REGULAR_VERBS:
        if verb.endswith("y"):
            return f"is {verb[:-1]}ied"
        return f"is {verb}d" if verb.endswith("e") else f"is {verb}ed"
    return "exists"


def _extent(overview: Overview, group: FindingGroup) -> str:
    total = len(overview.variants)
    if total < 2:
        return ""
    variants = {result.variant for result in group.results}
    return f" in {len(variants)} of {total} variants" if len(variants) < total else f" in all {total} variants"


def _most_telling(groups: list[FindingGroup], variants: int) -> FindingGroup:
    """Of the worst kind, a difference between variants says more than what never changes; then the most cells count."""
    worst = [group for group in groups if group.kind is groups[0].kind]
    return min(worst, key=lambda group: (len(_variants(group.results)) == variants, -len(group.results)))


def _variants(results: tuple[CellResult, ...]) -> set[str]:
    return {str(result.variant) for result in results}


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _cells(number: int) -> str:
    return f"{number} cell{_s(number)}"


def _crashes(number: int) -> str:
    return f"{number} crash{'' if number == 1 else 'es'}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"
