"""`ackgap selfcheck`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ackgap.cli.project import reports_of, settle
from ackgap.errors import UsageInvalid
from ackgap.report.hanging import Hanging
from ackgap.report.plain import plain
from ackgap.report.terminal import make_console
from ackgap.selfcheck.check import MutantResult, SelfCheck, SubjectResult
from ackgap.selfcheck.classify import Fate
from ackgap.selfcheck.operators.catalogue import OPERATORS
from ackgap.selfcheck.operators.operator import Operator
from ackgap.selfcheck.proofs import Proofs, proofs_file
from ackgap.selfcheck.subjects import SUBJECTS, Subject
from ackgap.selfcheck.summary import Summary, again
from ackgap.support import cores

__all__ = ["selfcheck"]

_SHOWN = frozenset({Fate.MISSED, Fate.UNFOUNDED})


def selfcheck(options: argparse.Namespace) -> int:
    """Break shipped agents, say what was seen of it, and return the exit status."""
    project = settle(options)
    subjects = _subjects(options.engine, options.scenario)
    operators = _operators(options.operator)
    if options.jobs is not None and options.jobs < 1:
        raise UsageInvalid("no cell can be run by that", where="--jobs", next_step="write a number of 1 or more")
    console = make_console()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ackgap-selfcheck-") as temporary:
        directory = Path(options.keep or temporary)
        check = SelfCheck(
            directory=directory,
            operators=operators,
            everything=options.all,
            jobs=options.jobs or cores(),
            network=options.network,
            proofs=Proofs() if options.prove else Proofs.read(proofs_file()),
        )
        results: list[SubjectResult] = []
        for result in check.run(subjects):
            results.append(result)
            if not (options.quiet or options.json):
                print(_progress(result), file=sys.stderr, flush=True)
        kept = directory if options.keep else reports_of(project) / "selfcheck"
        if not options.keep:
            _keep(results, directory, kept)
    summary = Summary(results)
    if options.json:
        print(json.dumps({**summary.to_json(), "took_s": round(time.monotonic() - began_s, 1)}, indent=1))
    else:
        _tell(console, summary, kept, took_s=time.monotonic() - began_s)
    return 0 if summary.passed else 1


def _subjects(engines: Sequence[str], scenarios: Sequence[str]) -> list[Subject]:
    _check_known("--engine", engines, {subject.engine for subject in SUBJECTS})
    _check_known("--scenario", scenarios, {subject.scenario for subject in SUBJECTS})
    return [
        subject
        for subject in SUBJECTS
        if (not engines or subject.engine in engines) and (not scenarios or subject.scenario in scenarios)
    ]


def _operators(names: Sequence[str]) -> tuple[Operator, ...]:
    _check_known("--operator", names, {operator.name for operator in OPERATORS})
    return tuple(operator for operator in OPERATORS if not names or operator.name in names)


def _check_known(option: str, given: Sequence[str], known: set[str]) -> None:
    for name in given:
        if name not in known:
            raise UsageInvalid(
                f"there is no {name!r}",
                where=f"ackgap selfcheck {option}",
                next_step=f"write one of: {', '.join(sorted(known))}",
            )


def _keep(results: Sequence[SubjectResult], written: Path, kept: Path) -> None:
    """Copy the mutants that a reader is pointed at to where they stay; those of an earlier check go."""
    for result in results:
        shutil.rmtree(kept / result.subject.scenario.replace("/", "-"), ignore_errors=True)
        for each in result.mutants:
            if each.ruling.fate in _SHOWN:
                goal = kept / each.directory.relative_to(written)
                goal.parent.mkdir(parents=True, exist_ok=True)
                shutil.copytree(each.directory, goal)


def _progress(result: SubjectResult) -> str:
    if result.skipped:
        return f"{result.subject.scenario}: {result.skipped}"
    fates = Summary([result]).fates
    told = ", ".join(f"{fates[fate]} {fate}" for fate in Fate if fates.get(fate))
    return (
        f"{result.subject.scenario}: {result.ok_cells} cells ok, {len(result.alarms)} alarms; mutants: {told or 'none'}"
    )


def _tell(console: Console, summary: Summary, kept: Path, *, took_s: float) -> None:
    console.print(_table(summary))
    for result in summary.subjects:
        for cell in result.alarms:
            console.print(
                Hanging("! ", plain(f"false alarm: {result.subject.scenario}: {cell.verdict}: {cell.headline}"))
            )
            command = again(result.subject.scenario, result.subject.only, cell.schedule)
            console.print(Text(f"  {plain(command)}"), soft_wrap=True)
        for each in result.mutants:
            if each.ruling.fate in _SHOWN:
                _tell_mutant(console, each, kept)
    for fate, title in ((Fate.REMARKED, "Remarked, and what"), (Fate.EQUIVALENT, "Equivalent, and why")):
        mine = [each for each in summary.mutants if each.ruling.fate is fate]
        if mine:
            console.print(Text(f"\n{title}"))
        for each in mine:
            where = f"{each.subject.scenario}:{each.mutant.change.line} {each.mutant.name}"
            console.print(Hanging("· ", plain(f"{where}: {each.ruling.why}"), "bright_black"))
    for result in summary.subjects:
        if result.skipped:
            console.print(Hanging("· ", plain(f"{result.subject.scenario} was not tried: {result.skipped}")))
    caught = summary.fates.get(Fate.CAUGHT, 0)
    if summary.kept:
        console.print(
            Text(f"\nOf the equivalent ones {summary.kept} were proven earlier and not run; --prove runs them too.")
        )
    console.print(Text(f"\n{caught} of {summary.broken} broken agents were caught, in {took_s:.0f} s."))
    console.print(Text(f"{summary.alarms} false alarms, and {summary.ok_cells} cells of agents that are right."))


def _tell_mutant(console: Console, each: MutantResult, kept: Path) -> None:
    ruling, mutant = each.ruling, each.mutant
    where = f"{each.subject.scenario}:{mutant.change.line} {mutant.name} ({mutant.change.about})"
    text = f"{ruling.fate}: {where}: {ruling.why}"
    console.print(Hanging("! ", plain(text)))
    directory = kept / each.subject.scenario.replace("/", "-") / mutant.name
    console.print(Text(f"  {plain(again(directory, each.subject.only, ruling.schedule))}"), soft_wrap=True)


def _table(summary: Summary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("engine", "operator"):
        table.add_column(name, no_wrap=True)
    for name in ("caught", "broken", "missed", "remarked", "equivalent", "not viable"):
        table.add_column(name, justify="right")
    for line in summary.lines():
        broken = line[Fate.CAUGHT] + line[Fate.MISSED] + line[Fate.UNFOUNDED]
        others = (line[fate] for fate in (Fate.MISSED, Fate.REMARKED, Fate.EQUIVALENT, Fate.NOT_VIABLE))
        counts = (line[Fate.CAUGHT], broken, *others)
        table.add_row(line.engine, line.operator, *(str(count) for count in counts))
    return table
