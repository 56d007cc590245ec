from __future__ import annotations

import json
import os
import resource
import socket
from pathlib import Path

import pytest

from ackgap.errors import ResultsInvalid
from ackgap.model.boundary import CrashPoint
from ackgap.model.codec import decode, encode, result_from_json, result_to_json
from ackgap.model.event import IncarnationStarted
from ackgap.model.event_codec import event_to_json
from ackgap.model.expectation import Expectation, ExpectedEffect, OperationFacts, Proof
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.model.verdict import Attribution, Finding, Verdict, VerdictKind
from ackgap.report.info import RowInfo, RunInfo
from ackgap.report.store import CELLS_FILE, HISTORIES_FILE, RUN_FILE, RunWriter, read_run

VARIANT = Variant(values=(("durability", "sync"), ("key", "none")))
POINT = CrashPoint.parse("tickets.create#1:applied")
FINDING = Finding(
    kind=VerdictKind.DUPLICATE,
    code="duplicate",
    summary="Two tickets for partner 4471",
    evidence=(3, 9),
    operation="tickets.create",
    identity={"partner": 4471},
    attribution=Attribution(key_sent=False, target_honours_keys=True, preventable_by=("worker", "target"), fix="Key."),
    detail={"expected": 1, "seen": 2},
)


def result(schedule: Schedule, *, kind: VerdictKind = VerdictKind.OK, **more: object) -> CellResult:
    findings = (FINDING,) if kind is VerdictKind.DUPLICATE else ()
    started = IncarnationStarted(seq=1, at_s=0.0, incarnation=1, pid=7, command=("python", "agent.py"))
    values = {"history": (event_to_json(started),), "effects": {"tickets.create": 2}, "duration_s": 1.5} | more
    return CellResult(
        scenario="partner-review",
        variant=VARIANT,
        schedule=schedule,
        verdict=Verdict(kind=kind, findings=findings),
        incarnations=1,
        **values,  # type: ignore[arg-type]
    )


DUPLICATE = result(Schedule.kill(POINT), kind=VerdictKind.DUPLICATE)
INFO = RunInfo(
    scenario="partner-review",
    variants=(VARIANT,),
    row_order=(RowInfo.of(Schedule.kill(POINT), noun="ticket"),),
    expectations={
        str(VARIANT): Expectation(
            operations={"tickets.create": OperationFacts(name="tickets.create", noun=("t", "ts"), effectful=True)},
            effects=(ExpectedEffect(operation="tickets.create", identity={"p": 1}, count=1),),
            proofs=(Proof(axis="key", value="none", kind="keys_absent", pattern="tickets.create"),),
            points=("tickets.create#1:applied",),
        )
    },
    planned_cells=2,
)


def written(directory: Path, *results: CellResult, info: RunInfo = INFO) -> Path:
    with RunWriter(directory) as writer:
        writer.write_run(info)
        for item in results:
            writer.append(item)
    return directory


def test_everything_written_is_read_back(tmp_path: Path) -> None:
    run = read_run(written(tmp_path / "run", DUPLICATE, result(UNDISTURBED)))
    assert run.info == INFO
    assert [cell.schedule.label for cell in run.cells] == ["undisturbed", "tickets.create#1:applied"]
    assert run.with_history(run.cells[1]) == DUPLICATE
    assert run.history(DUPLICATE.cell).incarnations == 1


def test_a_line_of_cells_has_the_documented_keys(tmp_path: Path) -> None:
    line = json.loads((written(tmp_path, DUPLICATE) / CELLS_FILE).read_text())
    assert line["cell"] == "tickets.create#1:applied@durability=sync,key=none"
    assert line["variant"] == {"durability": "sync", "key": "none"}
    assert line["schedule"] == "1/kill@tickets.create#1:applied"
    assert line["verdict"] == "duplicate"
    assert line["headline"] == "Two tickets for partner 4471"
    assert line["findings"][0]["attribution"]["preventable_by"] == ["worker", "target"]
    assert {"incarnations", "effects", "duration_s", "settling", "scenario"} <= line.keys()


def test_the_last_result_of_a_cell_counts(tmp_path: Path) -> None:
    run = read_run(written(tmp_path, DUPLICATE, result(DUPLICATE.schedule)))
    assert [cell.verdict.kind for cell in run.cells] == [VerdictKind.OK]


def test_a_torn_last_line_is_skipped_and_a_resumed_run_cuts_it_off(tmp_path: Path) -> None:
    written(tmp_path, DUPLICATE)
    for name in (CELLS_FILE, HISTORIES_FILE):
        with (tmp_path / name).open("ab") as stream:
            stream.write(b'{"cell": "torn')
    assert len(read_run(tmp_path).cells) == 1
    with RunWriter(tmp_path, resume=True) as writer:
        writer.append(result(UNDISTURBED))
    run = read_run(tmp_path)
    assert len(run.cells) == 2
    assert all(len(run.history(cell.cell)) == 1 for cell in run.cells)


def test_a_damaged_line_in_the_middle_is_refused_with_its_place(tmp_path: Path) -> None:
    written(tmp_path, DUPLICATE)
    lines = (tmp_path / CELLS_FILE).read_bytes()
    (tmp_path / CELLS_FILE).write_bytes(b'{"cell": "half"}\n' + lines)
    with pytest.raises(ResultsInvalid, match="line at byte 0"):
        read_run(tmp_path)


def test_a_directory_that_holds_a_run_is_not_overwritten(tmp_path: Path) -> None:
    written(tmp_path, DUPLICATE)
    with pytest.raises(ResultsInvalid, match="already holds") as caught:
        RunWriter(tmp_path)
    assert "--out" in caught.value.next_step
    assert len(read_run(tmp_path).cells) == 1


def test_a_directory_that_cannot_be_written_is_refused_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ResultsInvalid, match="cannot be written") as caught:
        RunWriter(tmp_path / "file" / "run")
    assert "--out" in caught.value.next_step


def test_a_directory_without_a_run_is_refused_with_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(ResultsInvalid, match="No results") as caught:
        read_run(tmp_path)
    assert "--out" in caught.value.next_step


def test_results_of_a_later_format_are_refused_in_plain_words(tmp_path: Path) -> None:
    written(tmp_path)
    document = json.loads((tmp_path / RUN_FILE).read_text())
    (tmp_path / RUN_FILE).write_text(json.dumps(document | {"format": 2}))
    with pytest.raises(ResultsInvalid, match="format 2"):
        read_run(tmp_path)


def test_keys_of_a_later_version_are_ignored_and_missing_ones_take_their_default() -> None:
    document = encode(FINDING) | {"new": True}
    del document["detail"]
    assert decode(Finding, document).detail == {}


def test_a_missing_or_mistyped_key_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match="summary"):
        decode(Finding, {"kind": None, "code": "x"})
    with pytest.raises(ValueError, match="expected str, found int"):
        decode(Finding, {"kind": None, "code": "x", "summary": 5})


def test_numbers_that_json_does_not_have_and_broken_text_survive(tmp_path: Path) -> None:
    odd = result(UNDISTURBED, history=({"kind": "note", "content": float("nan"), "text": "\ud800"},))
    run = read_run(written(tmp_path, odd))
    assert run.history_json(odd.cell) == ({"kind": "note", "content": "nan", "text": "\ud800"},)


def test_a_result_without_axes_and_with_two_faults_survives() -> None:
    schedule = Schedule.parse("kill@a.b#1:applied,down=72h;2.kill@a.b#1:returned")
    odd = CellResult(scenario="x", variant=Variant(), schedule=schedule, verdict=Verdict.of(()), incarnations=3)
    assert result_from_json(result_to_json(odd)) == odd
    assert RowInfo.of(schedule).plain is False


@pytest.fixture
def room_for():
    """Let no file grow beyond a size, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_result_that_there_is_no_room_for_leaves_whole_lines_behind(tmp_path: Path, room_for) -> None:
    with RunWriter(tmp_path) as writer:
        writer.write_run(INFO)
        writer.append(DUPLICATE)
        before = (tmp_path / HISTORIES_FILE).read_bytes()
        room_for(len(before) + 20)
        with pytest.raises(ResultsInvalid, match=HISTORIES_FILE):
            writer.append(result(UNDISTURBED))
    assert (tmp_path / HISTORIES_FILE).read_bytes() == before
    assert [cell.cell for cell in read_run(tmp_path).cells] == [DUPLICATE.cell]


def test_a_description_that_there_is_no_room_for_leaves_the_old_one_and_no_part(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as writer:
        writer.write_run(INFO)
        (tmp_path / f".{RUN_FILE}.part").symlink_to("/dev/full")
        with pytest.raises(ResultsInvalid, match=RUN_FILE):
            writer.write_run(INFO)
    assert read_run(tmp_path).info == INFO
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([RUN_FILE, CELLS_FILE, HISTORIES_FILE])


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_damage(tmp_path: Path, number: str) -> None:
    with RunWriter(tmp_path) as writer:
        writer.write_run(INFO)
        writer.append(DUPLICATE)
    cells = tmp_path / CELLS_FILE
    cells.write_text(cells.read_text().replace("1.5", number))
    with pytest.raises(ResultsInvalid, match="damaged"):
        read_run(tmp_path)


@pytest.mark.parametrize("file", [RUN_FILE, CELLS_FILE])
def test_results_nested_without_end_are_damage(tmp_path: Path, file: str) -> None:
    with RunWriter(tmp_path) as writer:
        writer.write_run(INFO)
    (tmp_path / file).write_text("[" * 100_000 + "]" * 100_000 + "\n")
    with pytest.raises(ResultsInvalid, match="deep"):
        read_run(tmp_path)


@pytest.mark.parametrize("file", [RUN_FILE, CELLS_FILE, HISTORIES_FILE])
@pytest.mark.parametrize("kind", ["pipe", "socket", "directory"])
def test_results_that_are_no_plain_file_are_refused_and_nobody_waits(tmp_path: Path, file: str, kind: str) -> None:
    with RunWriter(tmp_path) as writer:
        writer.write_run(INFO)
        writer.append(DUPLICATE)
    path = tmp_path / file
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as end:
            home = Path.cwd()
            os.chdir(tmp_path)  # the path of a socket may have only about 100 bytes
            try:
                end.bind(file)
            finally:
                os.chdir(home)
    with pytest.raises(ResultsInvalid, match=kind):
        read_run(tmp_path).history_json(DUPLICATE.cell)
