"""`ackgap replay`: one cell again, and whether it shows the same."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from pathlib import Path

from ackgap.campaign.single import run_one_cell
from ackgap.cli.project import settle
from ackgap.environments.cache import tell_on_stderr, with_environments
from ackgap.errors import UsageInvalid
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.report.choosing import cells_like, one_cell
from ackgap.report.plain import plain
from ackgap.report.store import Run, read_run
from ackgap.report.terminal import make_console
from ackgap.report.timeline import render_timeline
from ackgap.requirements import check_requirements
from ackgap.scenario.scenario import Scenario
from ackgap.source import Source

__all__ = ["replay"]

NOT_REPRODUCED = 4
"""Exit status of a replay whose verdict is another one than before: an answer of its own, neither red nor green."""
_NEAR = 4
"""How many points are named in place of one that does not exist."""


def replay(options: argparse.Namespace) -> int:
    """Run one cell of a run again.

    Returns 0 where it is not red, 1 where it is, 3 where it is inconclusive, and 4 where it did not reproduce: its
    verdict is another one than before.
    """
    settle(options)
    directory = Path(options.directory)
    run = read_run(directory)
    scenario = Source.read(directory).scenario()
    schedule, variant = _parse(run, scenario, options.cell)
    check_requirements(scenario, [variant])
    expectation = run.info.expectations.get(str(variant))
    if expectation is None:
        raise UsageInvalid(
            f"variant {variant} was not part of that run",
            where=str(directory),
            next_step="run it first: ackgap run with --only",
        )
    before = next((cell for cell in run.cells if (cell.schedule, cell.variant) == (schedule, variant)), None)
    if before is None:
        _check_point(schedule, variant, expectation)
    scenario = with_environments(scenario, [variant], tell=tell_on_stderr)
    check_requirements(scenario, [variant])
    result = run_one_cell(scenario, variant, schedule, expectation, network=options.network)
    console = make_console()
    console.print(render_timeline(result))
    return _conclude(result, before)


def _check_point(schedule: Schedule, variant: Variant, expectation: Expectation) -> None:
    """Refuse a point of the first life that the undisturbed run never came to; what a later life passes is its own."""
    missing = [fault for fault in schedule.faults_in(1) if str(fault.point) not in expectation.points]
    if not missing:
        return
    fault = missing[0]
    near = get_close_matches(str(fault.point), expectation.points, n=_NEAR, cutoff=0.5) or expectation.points[:_NEAR]
    raise UsageInvalid(
        f"the undisturbed run of {variant} never came to {fault.point}, so nothing can be done to it there",
        where="CELL",
        next_step=f"the nearest of its {len(expectation.points)} points: {', '.join(near) or 'none'}",
    )


def _conclude(result: CellResult, before: CellResult | None) -> int:
    console = make_console()
    kind = result.verdict.kind
    rates = [finding.summary for finding in result.findings if finding.code == "rate"]
    if rates:
        console.print("\nOf the runs of this race: " + "; ".join(map(plain, rates)))
    # A race reproduces if it comes out as badly at least once, whatever else it does.
    seen = {kind.value} if result.rate is None else {*result.rate.counts}
    if before is not None and before.verdict.kind.value not in seen:
        console.print(
            f"\nDid not reproduce: it was {before.verdict.kind.words} ({plain(before.verdict.headline)}), "
            f"and is now {kind.words} ({plain(result.verdict.headline)})."
        )
        if kind is VerdictKind.INCONCLUSIVE:
            console.print("What proves nothing this time does not show that the finding was wrong.")
        return NOT_REPRODUCED
    if before is not None:
        console.print(f"\nReproduced: {before.verdict.kind.words}, as before.")
    return {"red": 1, "grey": 3}.get(kind.colour.value, 0)


def _parse(run: Run, scenario: Scenario, cell: str) -> tuple[Schedule, Variant]:
    """Return what a cell is, also one that was not run; a part of the name is enough for one that was.

    Raises:
        UsageInvalid: It names no cell, or several.
    """
    found = cells_like(run, cell)
    if len(found) == 1:
        return found[0].schedule, found[0].variant
    schedule_text, _, variant_text = cell.rpartition("@")
    try:
        schedule, variant = Schedule.parse(schedule_text), Variant.parse(variant_text)
        scenario.values_of(variant)
    except (ValueError, KeyError) as error:
        if found:
            one_cell(run, cell)  # says which
        names = [result.cell for result in run.cells][:3]
        raise UsageInvalid(
            f"{cell!r} names no cell: {error}",
            where="CELL",
            next_step=f"write it as in cells.jsonl, such as {', '.join(repr(name) for name in names)}",
        ) from None
    return schedule, variant
