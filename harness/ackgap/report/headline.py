"""The sentence that a reader would repeat to a colleague, computed from the results."""

from __future__ import annotations

from ackgap.model.boundary import Phase
from ackgap.model.manner import FaultKind
from ackgap.model.matrix import CellResult, Variant
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


_SUBJECTS = {
    FaultKind.TERM: "A SIGTERM",
    FaultKind.TERM: "An orderly end",
    FaultKind.PAUSE: "A pause",
    FaultKind.DISCONNECT: "A disconnection",
    FaultKind.OOM: "Running out of memory",
    FaultKind.HOLD: "Another order of writes",
    FaultKind.HOLD: "Another order of durable writes",
    FaultKind.LOSE: "A lost answer",
    FaultKind.RESET: "A reset connection",
    FaultKind.FAIL: "An error of the service",
    FaultKind.SLOW: "A late answer",
    FaultKind.TWICE: "A request delivered twice",
    FaultKind.TOXIC: "A fault of the network",
}


def headline(run: Run) -> str:
    """Return the sentence that says what the run found."""
    overview = Overview(run)
    if not run.cells:
        return "No cell was run, so nothing is known."
    red = overview.groups(Colour.RED)
    if red:
        undisturbed = [group for group in red if not group.example.schedule.faults]
        disturbed = [group for group in red if group.example.schedule.faults]
        return plain(_red(overview, _most_telling(overview, disturbed or undisturbed)))
    counts = overview.counts
    proven = len(run.cells) - counts.get(VerdictKind.INCONCLUSIVE, 0)
    if not proven:
        return f"Nothing was proven: {_cells(len(run.cells))} ran and in none of them the fault struck as planned."
    crashes = sum(
        1
        for cell in run.cells
        if cell.schedule.faults and not cell.equal_to and cell.verdict.kind is not VerdictKind.INCONCLUSIVE
    )
    if not crashes:
        return "Undisturbed, the worker did everything exactly once; no crash was tried."
    ending = "" if proven == len(run.cells) else f"; {_cells(len(run.cells) - proven)} proved nothing"
    unharmed = f"Nothing was done twice or lost in {_crashes(overview, crashes)}"
    if counts.get(VerdictKind.IN_DOUBT):
        number = counts[VerdictKind.IN_DOUBT]
        return f"{unharmed}; in {number} the worker asked a human{ending}."
    if counts.get(VerdictKind.WASTED):
        number = counts[VerdictKind.WASTED]
        return f"{unharmed}; {number} of them repeated paid calls{ending}."
    if any(finding.code == "counted_only" for cell in run.cells for finding in cell.findings):
        ending = f", as far as it could be counted{ending}"
    return f"The worker survived {_crashes(overview, crashes)} and did everything exactly once{ending}."


def scope_sentence(run: Run) -> str:
    """Return what was run, in one or two sentences."""
    overview = Overview(run)
    ran = [cell for cell in run.cells if cell.schedule.faults and not cell.equal_to]
    killed, equal = len(ran), sum(1 for cell in run.cells if cell.equal_to)
    points = len({str(cell.schedule.faults[0].point) for cell in ran})
    text = f"{_cells(len(run.cells))}: "
    if killed:
        text += f"{_crashes(overview, killed)} at {points} point{_s(points)}"
        if overview.views.several and len(overview.views.manners) == 1:  # with several, the columns say which
            text += f" ({overview.views.manners[0].words})"
        if len(overview.variants) > 1:
            text += f" in {len(overview.variants)} {'columns' if overview.views.several else 'variants'}"
        again = sum(1 for cell in ran if cell.schedule.depth > 1)
        text += f", {again} followed by another during the recovery" if again else ""
        text += ", each restarted until the work was done or given up"
        text += f"; {equal} not run, since another cell has the same state" if equal else ""
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
    what = f"{_what(group)} {where}".strip()
    match group.kind:
        case VerdictKind.DUPLICATE:
            again = "one" if where.startswith("after") else one
            return f"{what} makes a second {again}{extent}."
        case VerdictKind.LOST:
            return f"{what} loses the {one}{extent}."
        case VerdictKind.DIVERGED if group.operation:
            return f"{what} leaves a {one} that is not what was approved or recorded{extent}."
        case VerdictKind.PHANTOM:
            return f"{what} leads to a {one} that no undisturbed run has{extent}."
        case VerdictKind.ZOMBIE:
            return f"A worker that had been replaced still acts: a late {one}{extent}."
        case VerdictKind.STUCK:
            return f"{what} leaves the work unfinished{extent}."
    return f"{what} ends badly: {_lower(group.finding.summary.rstrip('.'))}{extent}."


def _what(group: FindingGroup) -> str:
    """Return what was done in the cells of a group, as the subject of a sentence."""
    depth = min(result.schedule.depth for result in group.results if result.schedule.faults)
    if depth > 1:
        return f"A {'second' if depth == 2 else 'further'} crash, during the recovery from the first,"
    if all(any(fault.kind is FaultKind.HOLD for fault in result.schedule.faults) for result in group.results):
        return "A crash with two durable writes in the other order"
    if all(result.rate is not None for result in group.results):
        return "A crash while something is being written"
    kinds = {manner.kind for manner in (result.schedule.manner for result in group.results) if manner is not None}
    if kinds <= {FaultKind.KILL}:
        return "A crash"
    return _SUBJECTS[kinds.pop()] if len(kinds) == 1 else "A fault"


def _where(overview: Overview, group: FindingGroup, one: str) -> str:
    disturbed = [result for result in group.results if result.schedule.faults]
    if all(result.schedule.depth > 1 for result in disturbed):
        return "" if len(disturbed) > 1 else f"at {disturbed[0].schedule.faults[-1].point}"
    labels = {overview.views.place[result.cell][0] for result in disturbed}
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
    # Points, and not cells: a recovery that is struck as well is one more cell of a point that is counted already.
    first = [result for result in disturbed if result.schedule.depth <= 1]
    points = dict.fromkeys(str(result.schedule.faults[-1].point) for result in first)
    return f"at {next(iter(points))}" if len(points) == 1 else f"at any of {len(points)} points"


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
    variants = _variants(overview, group.results)
    what = "columns" if overview.views.several else "variants"
    return f" in {len(variants)} of {total} {what}" if len(variants) < total else f" in all {total} {what}"


def _most_telling(overview: Overview, groups: list[FindingGroup]) -> FindingGroup:
    """Of the worst kind, a difference between variants says more than what never changes; then the most cells count."""
    worst = [group for group in groups if group.kind is groups[0].kind]
    total = len(overview.variants)
    return min(worst, key=lambda group: (len(_variants(overview, group.results)) == total, -len(group.results)))


def _variants(overview: Overview, results: tuple[CellResult, ...]) -> set[Variant]:
    return {overview.views.place[result.cell][1] for result in results}


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _cells(number: int) -> str:
    return f"{number} cell{_s(number)}"


def _crashes(overview: Overview, number: int) -> str:
    if overview.views.several:
        return f"{number} fault{_s(number)}"
    return f"{number} crash{'' if number == 1 else 'es'}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"
