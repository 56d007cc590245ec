"""What engines claim is held against what cells show: counted right, contradicted where that is so, written down."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from needs import needed

from ackgap.matrix_run import run_matrix
from ackgap.model.event import CheckReported, IncarnationEnded, InjectorReady
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind
from ackgap.report.info import RunInfo
from ackgap.report.store import Run, RunWriter, read_run

REPOSITORY = Path(__file__).parents[2]
ENGINES = REPOSITORY / "scenarios" / "engines"
DOCUMENT = (REPOSITORY / "docs" / "engines.md").read_text()
WORK = "model.chat [dbos.step.write_words] tickets.create [dbos.step.file_ticket] desk.send [dbos.step.notify]"
AT_MESSAGE = "1> model.chat [dbos.step.write_words] tickets.create [dbos.step.file_ticket] desk.send:received KILL 2> "


@pytest.fixture
def claims(monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "docs"))
    monkeypatch.delitem(sys.modules, "engine_claims", raising=False)
    monkeypatch.delitem(sys.modules, "engine_measures", raising=False)
    return importlib.import_module("engine_claims")


@pytest.fixture
def notation():
    """The notation of the judge's tests, with the risk desk in it."""
    spec = importlib.util.spec_from_file_location("notation_of_claims", REPOSITORY / "tests" / "judge" / "notation.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    facts = {**module.WORLD, "desk.send": replace(module.WORLD["notify.send"], name="desk.send")}
    yield lambda text: module.h(text, facts=facts).history
    del sys.modules[spec.name]


@pytest.fixture
def results(tmp_path, notation):
    """Write results of cells, from their ids to what happened in them."""

    def write(cells: dict[str, str | History], *, inconclusive: tuple[str, ...] = ()) -> Run:
        with RunWriter(tmp_path / "results") as writer:
            writer.write_run(RunInfo(scenario="made up", variants=tuple(variants(cells))))
            for cell, told in cells.items():
                label, _, variant = cell.rpartition("@")
                unclear = Finding(kind=VerdictKind.INCONCLUSIVE, code="not_reached", summary="it never came there")
                history = notation(told) if isinstance(told, str) else told
                writer.append(
                    CellResult(
                        scenario="made up", variant=Variant.parse(variant), schedule=Schedule.parse(label),
                        verdict=Verdict.of((unclear,) if cell in inconclusive else ()), incarnations=2,
                        history=tuple(history.to_json()),
                    )
                )  # fmt: skip
        return read_run(tmp_path / "results")

    return write


def variants(cells):
    return dict.fromkeys(Variant.parse(cell.rpartition("@")[2]) for cell in cells)


def test_a_recorded_step_that_is_not_repeated_counts_as_done_and_an_unrecorded_one_may_be_repeated(claims, results):
    run = results(
        {
            "undisturbed@mode=step": f"1> {WORK} DONE",
            "tickets.create#1:applied@mode=step": "1> model.chat [dbos.step.write_words] tickets.create:applied KILL "
            "2> tickets.create [dbos.step.file_ticket] desk.send [dbos.step.notify] DONE",
        }
    )
    assert claims.measures.recorded_again(run, "dbos.step.", ["step"]) == claims.Again(kills=1, done=1, again=0)


def test_a_recorded_step_that_runs_again_is_counted_by_its_call_and_not_by_its_record(claims, results):
    run = results(
        {
            "undisturbed@mode=step": f"1> {WORK} DONE",
            "desk.send#1:received@mode=step": f"{AT_MESSAGE} tickets.create desk.send [dbos.step.notify] DONE",
        }
    )
    assert claims.measures.recorded_again(run, "dbos.step.", ["step", "row"]) == claims.Again(kills=1, done=2, again=1)


def test_a_step_without_a_call_is_known_by_its_record(claims, results):
    work = "[dbos.step.insert_ticket] desk.send [dbos.step.notify] DONE"
    killed = "1> [dbos.step.insert_ticket] desk.send:received KILL 2> "
    run = results({"undisturbed@mode=row": f"1> {work}", "desk.send#1:received@mode=row": f"{killed}{work}"})
    assert claims.measures.recorded_again(run, "dbos.step.", ["step", "row"]) == claims.Again(kills=1, done=1, again=1)


def test_calls_made_several_times_are_repeated_only_beyond_what_the_work_needs(claims, results):
    agent = "model.chat tickets.create model.chat desk.send model.chat"
    run = results(
        {
            "undisturbed@mode=function": f"1> {agent} DONE",
            "desk.send#1:received@mode=function": "1> model.chat tickets.create model.chat desk.send:received KILL "
            "2> tickets.create desk.send model.chat DONE",
        }
    )
    again = claims.measures.called_again
    assert again(run, "model.chat", "function", claims.NEXT) == claims.Again(kills=1, done=2, again=0)
    assert again(run, "tickets.create", "function", claims.NEXT) == claims.Again(kills=1, done=1, again=1)
    assert again(run, "tickets.create", "function", claims.GAP) == claims.Again(kills=0, done=0, again=0)


def test_a_cell_that_proves_nothing_is_not_counted(claims, results):
    cell = "desk.send#1:received@mode=step"
    run = results(
        {"undisturbed@mode=step": f"1> {WORK} DONE", cell: f"{AT_MESSAGE} tickets.create desk.send DONE"},
        inconclusive=(cell,),
    )
    assert claims.measures.recorded_again(run, "dbos.step.", ["step", "row"]) == claims.Again(kills=0, done=0, again=0)


def test_a_claim_that_the_cells_contradict_is_said_not_to_hold_and_one_that_nothing_was_seen_of_neither(claims):
    again = claims.Again
    row = claims.Row("it never happens", "engine 1", claims._never(again(kills=3, done=2, again=1)), "1 of 2", "here")
    assert row.cells == ("it never happens", "engine 1", "**no**", "1 of 2", "here")
    assert [claims._never(again(1, done, 0)) for done in (0, 2)] == [None, True]
    assert [claims._always(again(1, 2, seen)) for seen in (0, 1, 2)] == [False, False, True]
    assert replace(row, holds=None).cells[2] == "-"


def test_a_mode_that_does_not_wait_for_what_it_holds_back_contradicts_the_claim(claims, results):
    run = results({"undisturbed@mode=sync": f"1> {WORK} DONE"})

    def rows(*notes):
        noted = replace(run, info=replace(run.info, notes=notes))
        return [row.holds for row in claims._waits(lambda _: noted)]

    assert rows("mode=sync is in force: a write was held, and the worker waited.") == [True] * 4
    assert rows("mode=sync is in force: a write was held, and the worker went on.") == [False] * 4
    assert rows("mode=async is in force: a write was held, and the worker went on.") == [None] * 4


def test_another_version_of_a_program_that_does_go_on_would_contradict_the_claim(claims, results):
    start = "1> tickets.create desk.send:received KILL 2> "
    run = results(
        {
            "undisturbed@version=from-code": "1> tickets.create desk.send DONE",
            "desk.send#1:received@version=from-code": f"{start}desk.send DONE",
            "desk.send#1:received@version=control": f"{start}desk.send DONE",
        }
    )
    (row,) = claims._version(lambda _: run)
    assert row.holds is False
    assert row.seen == "restarted as another version: `ok`, 1 call; as the same version: `ok`, 1 call"


def patient(claims, notation, text: str, printed: str, *, processes_before: tuple[int, ...]):
    """Return what is read off a run in which these many calls had been made when each process came up."""
    history = notation(text)
    events = []
    calls = 0
    left = list(processes_before)

    def come_up():
        while left and left[0] <= calls:
            left.pop(0)
            events.append(InjectorReady(seq=0, at_s=0, incarnation=1, pid=1, python="3.11"))

    come_up()
    for event in history:
        if event.kind == "attempt_received":
            event = replace(event, target="model")
        if isinstance(event, IncarnationEnded):
            come_up()
            event = replace(event, output_tail=printed)
        events.append(event)
        if event.kind == "attempt_answered":
            calls += 1
            come_up()
    numbered = [replace(event, seq=number) for number, event in enumerate(events, 1)]
    return claims.measures.patience(History(events=tuple(numbered)))


def test_requests_are_counted_by_start_of_the_program(claims, notation):
    printed = "Traceback...\nstart 1: gave up with exit status 1\nstart 2: gave up with exit status 1\n"
    asked = "1> model.chat model.chat model.chat model.chat DONE"
    found = patient(claims, notation, asked, printed, processes_before=(0, 0, 3))
    assert found.requests == (3, 1)
    assert found.gave_up
    assert claims._requests(found) == "3"
    assert claims._second_start(found) == "1"


def test_a_program_that_does_not_give_up_is_said_to_be_at_it_still(claims, notation):
    asked = "1> model.chat model.chat model.chat DONE"
    printed = "start 1: still at it after 30 s\n"
    found = patient(claims, notation, asked, printed, processes_before=(0, 0, 0))
    assert found.requests == (3,)
    assert not found.gave_up
    assert claims._requests(replace(found, at_first=2, watched_s=30)) == "2 in 10 s, and goes on"
    assert claims._second_start(found) == "-"
    with pytest.raises(SystemExit, match="watched for 4 s only"):
        claims._requests(replace(found, watched_s=4))


def test_requests_of_a_program_that_goes_on_are_counted_from_the_first_one(claims, notation):
    history = notation("1> model.chat model.chat model.chat DONE")
    at_s = {1: 20.0, 2: 29.9, 3: 30.1}
    events = [
        replace(event, target="model", at_s=at_s[event.attempt])
        if event.kind == "attempt_received"
        else replace(event, output_tail="start 1: still at it after 30 s", at_s=50.0)
        if isinstance(event, IncarnationEnded)
        else event
        for event in history
    ]
    found = claims.measures.patience(History(events=tuple(events)))
    assert (found.at_first, found.watched_s) == (2, 30.0)


def test_what_is_left_in_the_store_is_read_off_the_check(claims, notation):
    text = "checkpoints: 5 rows, 4000 bytes\nwrites: 9 rows, 250 bytes"
    report = CheckReported(seq=99, at_s=1, name="store", passed=True, text=text, verdict=VerdictKind.DIVERGED)
    found = claims.measures.left(History(events=(*notation("1> tickets.create DONE"), report)))
    assert found == claims.measures.Left(checkpoints=5, writes=9, size_bytes=4250)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0123, "0.012"), (1.04, "1"), (1.26, "1.3"), (9.96, "10"), (123.4, "120"), (18254.0, "18 000")],
)
def test_a_cost_has_two_digits_that_count(claims, number, text):
    assert claims._digits(number) == text


def test_a_document_without_a_place_for_a_section_is_refused(claims):
    with pytest.raises(SystemExit, match="has no place for costs"):
        claims.written("# Engines", {"costs": "| 1 |"})


def test_a_section_is_written_between_its_markers_and_nowhere_else(claims):
    begin, end = "<!-- costs: python docs/engine_claims.py -->", "<!-- end of costs -->"
    text = f"before\n{begin}\nold\n{end}\nafter\n"
    assert claims.written(text, {"costs": r"new \1"}) == f"before\n{begin}\n\nnew \\1\n\n{end}\nafter\n"


def test_the_costs_in_the_document_are_those_that_were_measured_last(claims):
    measured = json.loads(claims.COSTS.read_text())
    rows = [f"| {' | '.join(row)} |" for row in claims.costs(measured)]
    assert len(rows) > 15
    assert [row for row in rows if row not in DOCUMENT] == []


def test_each_claim_in_the_document_says_whether_it_holds_and_from_which_scenario_that_is_known(claims):
    section = DOCUMENT.partition("<!-- claims: ")[2].partition("<!-- end of claims -->")[0]
    _, *rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    assert len(rows) > 20
    for claim, engine, holds, seen, source in rows:
        assert holds.strip() in {"yes", "**no**", "-"}, claim
        assert engine.strip()
        assert seen.strip()
        assert source.split("`")[1] in claims.RUNS


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    module = importlib.import_module("durability_bench")
    with module.Bench() as made:
        yield module, made


def test_durable_writes_of_a_mode_are_told_apart_into_those_of_a_step_and_those_of_a_piece_of_work(bench):
    _, made = bench
    assert made.start(["plain"]) == []
    assert made.writes("plain", "journal") == ("writes", (2.0, 0.0)), "a draft that is written, and put in place"
    assert made.writes("plain", "none") == ("writes", (0.0, 0.0))


def test_what_cannot_be_measured_is_named_with_how_to_get_it(bench, monkeypatch):
    module, made = bench
    lacking = module.Recipe("on_dbos", ("no_such_engine",), "no-such-engine")
    monkeypatch.setitem(module.RECIPES, "no such engine", lacking)
    monkeypatch.setattr("ackgap.execute.services.redis.shutil.which", lambda _: None)
    monkeypatch.setitem(module.RECIPES, "no redis", replace(module.RECIPES["celery"], needs=()))
    assert made.start(["no such engine", "no redis"]) == [
        module.Missing("no such engine", "no_such_engine not installed", "pip install 'ackgap[no-such-engine]'"),
        module.Missing(
            "no redis", "Redis is not installed: there is no `redis-server` on PATH",
            "apt-get install redis-server (or brew install redis)",
        ),
    ]  # fmt: skip


def test_a_short_piece_of_work_is_done_several_times_and_the_smallest_time_counts(bench, monkeypatch):
    durability = importlib.import_module("durability")
    taken = iter([0.2, 0.05, 0.1, 9.0, 0.7])

    class Stub:
        def child(self, _):
            return self

        def run(self, mode, steps):
            assert (mode, steps) == ("step", durability.STEPS)
            return next(taken), None

    assert durability.smallest_us(Stub(), "dbos", "step") == pytest.approx(0.05 / durability.STEPS * 1e6)
    assert durability.smallest_us(Stub(), "dbos", "step") == pytest.approx(9.0 / durability.STEPS * 1e6)
    assert next(taken) == 0.7, "one that is long is done once"


def rows_of(tmp_path, name: str, slice_name: str, only: list[str]) -> Run:
    with needed():
        return run_matrix(
            ENGINES / name, root=tmp_path, directory=tmp_path / name, slice_name=slice_name, only=only, warm=True
        ).run


@pytest.mark.slow
def test_what_langgraph_leaves_behind_is_what_the_document_says(claims, tmp_path):
    (row,) = claims.leavings(rows_of(tmp_path, "langgraph-leaves", "left", ["api=graph", "mode=sync"]))
    (written,) = (line.strip("| ").split(" | ") for line in DOCUMENT.splitlines() if line.startswith(f"| {row[0]} |"))
    for now, then in zip(row[1:], written[1:], strict=True):
        (rows, _, size), (rows_then, _, size_then) = (text.rpartition(", ") for text in (now, then))
        assert rows == rows_then
        # Versions of channels hold random numbers, of more or fewer digits.
        assert float(size.split()[0]) == pytest.approx(float(size_then.split()[0]), abs=0.2)


@pytest.mark.slow
def test_how_often_a_refusing_model_is_asked_is_what_the_document_says(claims, tmp_path):
    pytest.importorskip("dbos")
    run = rows_of(tmp_path, "model-refuses", "budget", ["engine=dbos", "answer=500"])
    ((engine, asked, _, after_reset, again),) = claims.budgets(run)
    (row,) = (line.strip("| ").split(" | ") for line in DOCUMENT.splitlines() if line.startswith(f"| {engine} |"))
    assert (row[1], row[3], row[4]) == (asked, after_reset, again)
