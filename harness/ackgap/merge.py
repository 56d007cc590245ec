"""Merging: the parts of a run, each from a machine of its own, become the results of one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ackgap.campaign.shard import Shard
from ackgap.errors import ResultsInvalid
from ackgap.fingerprint import differences
from ackgap.model.bounds import Bounds
from ackgap.model.codec import encode
from ackgap.model.expectation import Expectation
from ackgap.report.commands import replay_prefix
from ackgap.report.info import RunInfo
from ackgap.report.lock import directory_lock
from ackgap.report.store import Run, RunWriter, read_run
from ackgap.session import check_writable, set_aside
from ackgap.source import SOURCE_FILE, Source

__all__ = ["merge_runs"]


def merge_runs(directories: Sequence[Path], out: Path) -> Run:
    """Write the results of all parts of a run into one directory, and return the run.

    An undisturbed run is in every part; the first one is kept. Results that are in the directory already are set
    aside, as by a new run.

    Args:
        directories: Of the parts, in any order.
        out: None of them.

    Raises:
        ResultsInvalid: They are not the parts of one run, one is missing, or what they saw undisturbed differs.
    """
    runs = [read_run(directory) for directory in directories]
    if out.resolve() in {directory.resolve() for directory in directories}:
        raise _unfit("the whole cannot go where one of its parts is", str(out), "name another directory with --out")
    _check_parts(runs)
    info = _joined([run.info for run in runs], out)
    check_writable(out)
    with directory_lock(out):
        set_aside(out)
        known: set[str] = set()
        schedules = []
        with RunWriter(out) as writer:
            for run in runs:
                for cell in run.cells:
                    if cell.cell not in known:
                        known.add(cell.cell)
                        schedules.append(cell.schedule)
                        writer.append(run.with_history(cell))
            killed = len({schedule for schedule in schedules if schedule.faults}) * len(info.expectations)
            ran = sum(bool(schedule.faults) for schedule in schedules)
            missing = 0 if info.interrupted else max(0, killed - ran)
            writer.write_run(replace(info, not_applicable=missing).with_rows(schedules))
        text = json.dumps(Source.read(directories[0]).to_json(out), indent=1)
        (out / SOURCE_FILE).write_text(f"{text}\n", encoding="utf-8")
    return read_run(out)


def _check_parts(runs: Sequence[Run]) -> None:
    first = runs[0]
    parts: dict[int, Run] = {}
    of = _shard_of(first).of
    for run in runs:
        shard = _shard_of(run)
        different = list(differences(first.info.fingerprint, run.info.fingerprint))
        if shard.of != of:
            different.append("the number of parts")
        if different:
            raise _unfit(
                f"it is no part of the same run as {first.directory}; what differs: {', '.join(different)}",
                str(run.directory),
                "run all parts from the same sources, with the same options",
            )
        if shard.number in parts:
            raise _unfit(f"part {shard} is there twice, also in {parts[shard.number].directory}", str(run.directory))
        parts[shard.number] = run
    missing = [str(number) for number in range(1, of + 1) if number not in parts]
    if missing:
        numbers = f"part {missing[0]}" if len(missing) == 1 else f"parts {', '.join(missing)}"
        raise _unfit(f"{numbers} of {of} missing", "ackgap merge", "name the directories of all parts")


def _shard_of(run: Run) -> Shard:
    if not run.info.shard or not run.info.fingerprint:
        raise _unfit("it is no part of a run", str(run.directory), "name what `ackgap run --shard` wrote")
    return Shard.parse(run.info.shard)


def _joined(infos: Sequence[RunInfo], out: Path) -> RunInfo:
    expectations: dict[str, Expectation] = {}
    for info in infos:
        for variant, expectation in info.expectations.items():
            known = expectations.setdefault(variant, expectation)
            if encode(known.without_races()) != encode(expectation.without_races()):
                raise _unfit(
                    f"the undisturbed run of {variant} is another one in part {info.shard}",
                    "ackgap merge",
                    "a worker that is not deterministic cannot be run in parts",
                )
    undisturbed = sum(len(info.expectations) for info in infos) - len(expectations)
    return replace(
        infos[0],
        shard="",
        expectations=expectations,
        started_at=min(info.started_at for info in infos),
        planned_cells=sum(info.planned_cells for info in infos) - undisturbed,
        notes=tuple(dict.fromkeys(note for info in infos for note in info.notes)),
        interrupted=any(info.interrupted for info in infos),
        bounds=_sum(info.bounds for info in infos),
        replay_prefix=replay_prefix(out),
    )


def _sum(parts: Iterable[Bounds | None]) -> Bounds | None:
    known = [bounds for bounds in parts if bounds is not None]
    if not known:
        return None
    return replace(
        known[0],
        ran=sum(bounds.ran for bounds in known),
        equal=sum(bounds.equal for bounds in known),
        impossible=sum(bounds.impossible for bounds in known),
        left=sum(bounds.left for bounds in known),
        unexplored=sum(bounds.unexplored for bounds in known),
        audited=sum(bounds.audited for bounds in known),
    )


def _unfit(text: str, where: str, next_step: str = "name each part once") -> ResultsInvalid:
    return ResultsInvalid(text, where=where, next_step=next_step)
