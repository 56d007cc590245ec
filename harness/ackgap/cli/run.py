"""`ackgap run`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from rich.console import Console

from ackgap.campaign.choosing import selection_of
from ackgap.campaign.shard import WHOLE, Shard
from ackgap.cli.github import tell_of_run
from ackgap.cli.progress import LiveProgress
from ackgap.cli.project import reports_of, settle
from ackgap.cli.shown import print_gaps
from ackgap.cli.spread import spread
from ackgap.environments.cache import tell_on_stderr
from ackgap.errors import AckgapError, HarnessFailed, UsageInvalid
from ackgap.files import parse_json, write_whole
from ackgap.model.event import Json
from ackgap.model.verdict import VerdictKind
from ackgap.report.failing import failing_kinds
from ackgap.report.gaps import failing_cells
from ackgap.report.plain import plain
from ackgap.report.store import Run
from ackgap.report.terminal import make_console, print_run, print_ways_on
from ackgap.report.write import HTML_FILE
from ackgap.requirements import runs_python
from ackgap.scenario.discover import find_scenario
from ackgap.scenario.scenario import Scenario
from ackgap.scenario.upstream import UpstreamOptions
from ackgap.session import Session
from ackgap.source import Source
from ackgap.target.wire.redaction import command_without_secrets

__all__ = ["exit_status", "print_what_there_is", "run"]

_LONG_S = 30.0
"""A run that takes longer is worth a hint."""


def run(options: argparse.Namespace) -> int:
    """Run a scenario or a worker, print the matrix, and return the exit status."""
    project = settle(options)
    failing = failing_kinds(options.fail_on)
    shard = _shard(options)
    expected = _read_expected(options.expected)
    source = _source(options)
    scenario = source.scenario()
    selection = selection_of(
        scenario,
        only=options.only,
        points=options.point,
        slice_name=options.slice,
        schedules=options.schedule,
        faults=options.fault,
        depth=options.depth,
        orders=options.orders,
        unsettled=options.unsettled,
        prune=options.prune,
    )
    directory = Path(options.out) if options.out else reports_of(project) / scenario.name.replace("/", "-")
    if options.dask:
        return _concluded(options, spread(options, directory), expected, failing)
    console = make_console()
    progress = LiveProgress(console, quiet=options.quiet)
    session = Session(
        source,
        scenario,
        selection,
        directory=directory,
        display=progress,
        jobs=options.jobs,
        network=options.network,
        warm=options.warm,
        copies=options.copies,
        shard=shard,
        resume=options.resume,
        command=command_without_secrets(["ackgap", *sys.argv[1:]], os.environ),
        tell=(lambda _: None) if options.quiet else tell_on_stderr,
    )
    began_s = time.monotonic()
    try:
        with progress:
            result = session.run()
    except (AckgapError, KeyboardInterrupt):
        print_what_there_is(session.so_far(), directory)
        raise
    print_run(console, result)
    print_gaps(console, result)
    if not options.quiet and not options.warm and _can_be_warm(scenario):
        _hint(console, cells=len(result.cells), took_s=time.monotonic() - began_s)
    print_ways_on(console, result, directory / HTML_FILE)
    for error in session.unwritten:
        print(f"ackgap: {error}", file=sys.stderr)
    return _concluded(options, result, expected, failing) or (HarnessFailed.exit_status if session.unwritten else 0)


def _concluded(
    options: argparse.Namespace, result: Run, expected: dict[str, str] | None, failing: frozenset[VerdictKind]
) -> int:
    """Tell GitHub, compare a result with what is expected, and return the exit status."""
    tell_of_run(options.github, result)
    if options.write_expected:
        _write_expected(result, Path(options.write_expected))
    if expected is not None:
        return _compare(result, expected, options.expected)
    return exit_status(result, failing)


def _can_be_warm(scenario: Scenario) -> bool:
    """Whether lives could be forked from a warm parent, which reaches into no container."""
    return runs_python(scenario) and scenario.worker.container is None


def _hint(console: Console, *, cells: int, took_s: float) -> None:
    """Say what would have made a long run shorter; files do not, since a report is read by others."""
    if took_s > _LONG_S:
        text = f"\n{cells} cells in {took_s:.0f} s; --warm forks Python workers and is several times faster"
        console.print(text, soft_wrap=True)


def exit_status(result: Run, failing: frozenset[VerdictKind]) -> int:
    """Return 1 where a failing verdict other than `inconclusive` was found, 3 where only that was, else 0.

    A run that was not carried through, or has a part that was not, proves no more than an inconclusive one.
    Known gaps pass as they were declared; one that is closed or has changed is a failure as well.
    """
    found = {cell.verdict.kind for cell in failing_cells(result, failing)}
    if found - {VerdictKind.INCONCLUSIVE}:
        return 1
    return 3 if found or (failing and result.info.interrupted) else 0


def _shard(options: argparse.Namespace) -> Shard:
    shard = Shard.parse(options.shard)
    if shard != WHOLE and (options.orders or options.expected or options.write_expected):
        name = "--orders" if options.orders else "--expected" if options.expected else "--write-expected"
        raise UsageInvalid(
            f"{name} needs all of a run",
            where="--shard",
            next_step="leave one of the two out"
            if options.orders
            else "compare what `ackgap merge` makes of the parts, or leave --shard out",
        )
    return shard


def _source(options: argparse.Namespace) -> Source:
    if bool(options.worker) == bool(options.scenario):
        raise UsageInvalid(
            "name either a scenario or a worker",
            where="ackgap run",
            next_step="write `ackgap run SCENARIO`, or `ackgap run --worker COMMAND --target NAME=PROFILE "
            "--env KEY={NAME.url}`",
        )
    upstream = UpstreamOptions(
        upstreams=tuple(options.upstream),
        replays=tuple(options.replay),
        record=options.record,
        allow_hosts=tuple(options.allow_host),
    )
    if options.scenario:
        given = [
            name
            for name in ("target", "env", "protection", "host", "toxic", "injector", "resume_command", "state", "reset")
            if getattr(options, name)
        ]
        if given:
            raise UsageInvalid(
                f"--{given[0].replace('_', '-')} belongs to --worker; a scenario has it in its file",
                where="ackgap run",
                next_step="write it into the scenario, or leave it out",
            )
        return Source(
            path=find_scenario(options.scenario),
            upstream=upstream,
            settings=options.set,
            engine_defaults=options.engine_defaults,
        )
    flags: dict[str, Json] = {
        "worker": options.worker,
        "targets": options.target,
        "env": options.env,
        "protections": options.protection,
        "hosts": options.host,
        "toxics": options.toxic,
        "injector": options.injector,
        "resume_command": options.resume_command,
        "state": options.state,
        "reset": options.reset,
        "finished_when": options.finished_when,
        "in_doubt_when": options.in_doubt_when,
        "allow_hosts": options.allow_host,
        "reads": options.read,
        "expects": options.expect,
        "life_s": options.life,
        "directory": str(Path.cwd()),
    }
    return Source(flags=flags, upstream=upstream, settings=options.set)


def print_what_there_is(result: Run | None, directory: Path) -> None:
    """Print what had finished of a run that ended before its time; nothing where nothing had."""
    if result is not None:
        console = make_console()
        print_run(console, result)
        console.print(f"\nNot complete: {len(result.cells)} cells had finished. {directory / HTML_FILE}\n")


def _read_expected(file: str | None) -> dict[str, str] | None:
    if file is None:
        return None
    try:
        document = parse_json(Path(file).read_text(encoding="utf-8"))
        return {str(cell): str(VerdictKind(verdict)) for cell, verdict in document.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise UsageInvalid(
            f"the expected verdicts cannot be read: {error}",
            where=f"--expected {file}",
            next_step="it is a JSON object from cell to verdict; --write-expected writes one",
        ) from error


def _write_expected(result: Run, file: Path) -> None:
    verdicts = {cell.cell: cell.verdict.kind.value for cell in result.cells}
    try:
        write_whole(file, [json.dumps(verdicts, indent=1), "\n"])
    except OSError as error:
        raise UsageInvalid(
            f"the verdicts cannot be written: {error.strerror}", where=f"--write-expected {file}"
        ) from error


def _compare(result: Run, expected: dict[str, str], file: str) -> int:
    found = {cell.cell: cell.verdict.kind.value for cell in result.cells}
    console = make_console()
    wrong = sorted(cell for cell in found.keys() | expected.keys() if found.get(cell) != expected.get(cell))
    for cell in wrong:
        console.print(
            f"{plain(cell)}: expected {expected.get(cell, 'no such cell')}, found {found.get(cell, 'no such cell')}"
        )
    if wrong:
        console.print(f"\n{len(wrong)} of {len(expected)} verdicts are not as expected in {file}.")
        return 1
    console.print(f"All {len(found)} verdicts are as expected in {file}.")
    return 0
