"""`ackgap replay`: one cell again, and whether it shows the same."""

from __future__ import annotations

import argparse
from pathlib import Path

from ackgap.campaign.campaign import run_one_cell
from ackgap.errors import UsageInvalid
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.report.plain import plain
from ackgap.report.store import Run, read_run
from ackgap.report.terminal import make_console
from ackgap.report.timeline import render_timeline
from ackgap.requirements import check_requirements
from ackgap.scenario.scenario import Scenario
from ackgap.source import Source

__all__ = ["replay"]


def replay(options: argparse.Namespace) -> int:
    """Run one cell of a run again.

    Returns 0 where it is not red, 1 where it is, 3 where it is inconclusive or its verdict is another than before.
    """
    directory = Path(options.directory)
    run = read_run(directory)
    scenario = Source.read(directory).scenario()
    check_requirements(scenario)
    schedule, variant = _parse(run, scenario, options.cell)
    expectation = run.info.expectations.get(str(variant))
    if expectation is None:
        raise UsageInvalid(
            f"variant {variant} was not part of that run",
            where=str(directory),
            next_step="run it first: ackgap run with --only",
        )
    result = run_one_cell(scenario, variant, schedule, expectation, network=options.network)
    console = make_console()
    console.print(render_timeline(result))
    before = next((cell for cell in run.cells if cell.cell == result.cell), None)
    return _conclude(result, before)


def _conclude(result: CellResult, before: CellResult | None) -> int:
    console = make_console()
    kind = result.verdict.kind
    if before is not None and before.verdict.kind is not kind:
        console.print(
            f"\nDid not reproduce: it was {before.verdict.kind.words} ({plain(before.verdict.headline)}), "
            f"and is now {kind.words} ({plain(result.verdict.headline)})."
        )
        return 3
    if before is not None:
        console.print(f"\nReproduced: {kind.words}, as before.")
    return {"red": 1, "grey": 3}.get(kind.colour.value, 0)


def _parse(run: Run, scenario: Scenario, cell: str) -> tuple[Schedule, Variant]:
    schedule_text, _, variant_text = cell.rpartition("@")
    try:
        schedule, variant = Schedule.parse(schedule_text), Variant.parse(variant_text)
        scenario.values_of(variant)
    except (ValueError, KeyError) as error:
        names = [result.cell for result in run.cells][:3]
        raise UsageInvalid(
            f"{cell!r} names no cell: {error}",
            where="CELL",
            next_step=f"write it as in cells.jsonl, such as {', '.join(repr(name) for name in names)}",
        ) from None
    return schedule, variant
