"""`ackgap show` and `ackgap trace`: a run and its cells, from its files, in any terminal and through any pipe."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ackgap.cli import main
from ackgap.errors import UsageInvalid
from ackgap.report.choosing import cells_like, one_cell
from ackgap.report.differences import differences, excerpts
from ackgap.report.lock import directory_lock, is_held
from ackgap.report.store import read_run

SAMPLE = Path(__file__).parents[2] / "reports" / "sample"
TWICE = "tickets.create#1:returned@durability=sync,resume=none,key=payload,protection=idempotency-key"


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(arguments) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def test_a_cell_says_what_happened_twice_where_why_and_who_could_have_prevented_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = " ".join(said(capsys, "show", str(SAMPLE), TWICE).split())
    expected = [
        TWICE,
        "×2 duplicate",
        "Killed at tickets.create#1:returned: the whole answer had reached the worker.",
        "killed by ackgap, signal 9",
        "exited with 0",
        "Two tickets for kind partner-review, partner_id 4471",
        "worker sent another idempotency key each time",
        "target honours idempotency keys",
        "fix Make the key from what does not change",
        "Could have been prevented by: worker.",
        "T-0001",
        "T-0002",
        "Their requests differ in",
        "body.title",
        "What helps worker: Choose an idempotency key before the model speaks",
        "tickets.create: 2 tickets; undisturbed: 1",
        f"/sample '{TWICE}' each step",
        "ackgap trace",
    ]
    places = [text.find(part) for part in expected]
    assert -1 not in places, expected[places.index(-1)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (TWICE, 1),
        ("tickets.create#1:returned@durability=sync,resume=none,key=pay", 1),
        ("*key=payload*tion=idempotency-key", 8),
        ("desk.*", 6),
        ("*:returned", 6),
        ("sync,resume=none,key=payload", 8),
        ("no such cell", 0),
        ("", 46),
    ],
)
def test_a_cell_is_named_by_its_beginning_a_glob_or_a_part(text: str, count: int) -> None:
    found = cells_like(read_run(SAMPLE), text)
    assert len(found) == count
    if count > 1:
        with pytest.raises(UsageInvalid) as error:
            one_cell(read_run(SAMPLE), text)
        assert f"{count} cells are like" in error.value.what
        assert found[0].cell in error.value.next_step


def test_an_ambiguous_cell_lists_the_candidates_with_their_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "show", str(SAMPLE), "*:returned", status=2)
    assert "6 cells are like '*:returned'" in text
    assert f"×2 {TWICE}" in text
    assert re.search(r"✓ tickets\.create#1:returned@durability=async", text)


def test_a_cell_that_is_none_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "trace", str(SAMPLE), "tickets.create#1:retuned@durability=sync", status=2)
    assert "tickets.create#1:returned@durability=sync" in text


def test_a_trace_tells_lives_boundaries_calls_effects_and_deaths_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "trace", str(SAMPLE), TWICE)
    expected = [
        "Life 1",
        "tickets.create#1:sending",
        "→ tickets.create#1: POST /tickets, key",
        "tickets.create#1:received (seen by the service)",
        "◆ tickets made T-0001",
        "tickets.create#1 returned to the worker",
        "✕ kill@tickets.create#1:returned",
        "† life 1 killed by ackgap, signal 9",
        "Life 2",
        "◆ tickets made T-0002 (again)",
        "langgraph.put_writes.file_ticket#1:committing",
        "■ recorded: langgraph.put_writes.file_ticket#1",
        "life 2 exited with 0",
        "│ partner-4471: approved, ticket T-0002",
        "×2 duplicate",
    ]
    places = [text.find(part) for part in expected]
    assert -1 not in places, expected[places.index(-1)]
    assert places == sorted(places)


def test_a_trace_as_json_has_every_event_and_what_is_said_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    documents = [json.loads(line) for line in said(capsys, "trace", "--json", str(SAMPLE), TWICE).splitlines()]
    kept = read_run(SAMPLE).history(TWICE).to_json()
    assert [{name: document[name] for name in event} for document, event in zip(documents, kept, strict=True)] == kept
    assert any(document["text"] == "tickets made T-0002 (again)" and document["life"] == 2 for document in documents)


def test_without_a_directory_the_newest_run_that_has_such_a_cell_is_traced(
    builders: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = builders.results()[:3]
    for age, name in enumerate(("newest", "older", "oldest")):
        directory = builders.write(tmp_path / "reports" / name, cells=cells[age:])
        os.utime(directory / "run.json", (1_700_000_000 - age, 1_700_000_000 - age))
    monkeypatch.chdir(tmp_path)
    assert "From reports/newest:" in said(capsys, "trace", cells[2].cell)
    (tmp_path / "reports" / "newest" / "run.json").write_text("broken")
    assert "From reports/older:" in said(capsys, "trace", cells[2].cell)
    assert "name the directory" in said(capsys, "trace", "nothing like it", status=2)


def test_a_trace_looks_where_the_project_says_that_its_runs_go(
    builders: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = builders.results()[:1]
    builders.write(tmp_path / "elsewhere" / "ticket", cells=cells)
    (tmp_path / "pyproject.toml").write_text('[tool.ackgap]\nout = "elsewhere"\n')
    monkeypatch.chdir(tmp_path)
    assert "From elsewhere/ticket:" in said(capsys, "trace", cells[0].cell)


def test_a_run_that_goes_on_is_shown_as_far_as_it_is(
    builders: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = builders.results()[:20]
    directory = builders.write(tmp_path / "run", cells=cells, interrupted=True, planned_cells=288, row_order=())
    with directory_lock(directory):
        assert is_held(directory)
        text = said(capsys, "show", str(directory))
    assert "The run goes on: 20 of 288 cells have finished so far." in text
    assert "Interrupted" not in text
    points = [line.split("  ")[0] for line in text.splitlines() if line[:3] in {"│ ●", "┃ ●"}]
    assert points.index("│ ● model.chat#1") < points.index("┃ ● tickets.create#1")
    assert not is_held(directory)
    assert "Interrupted: 288 cells were planned" in " ".join(said(capsys, "show", str(directory)).split())


def test_a_cell_that_was_not_run_is_told_by_the_one_with_its_state(
    deeper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    equal = next(cell for cell in read_run(deeper).cells if cell.equal_to)
    text = said(capsys, "trace", str(deeper), equal.cell)
    assert "was not run: it has the same state" in " ".join(text.split())
    assert "Life 1" in text
    text = said(capsys, "show", str(deeper), equal.cell)
    assert f"Not run: the same state as {equal.equal_to}" in " ".join(text.split())


def test_differences_name_the_field_and_what_is_missing() -> None:
    found = differences([{"a": {"b": [1, 2]}, "c": "x"}, {"a": {"b": [1, 3]}, "d": None, "c": "x"}])
    assert [(item.path, item.values) for item in found] == [("a.b.1", ("2", "3")), ("d", ("(missing)", "None"))]


def test_long_texts_are_cut_around_the_place_in_which_they_differ() -> None:
    one, other = "same " * 400 + "left" + " tail" * 99, "same " * 400 + "right" + " tail" * 99
    cut = excerpts([one, other], 60)
    assert all(len(text) <= 60 for text in cut)
    assert "left" in cut[0]
    assert "right" in cut[1]


# ------------------------------------------------------------- terminals and pipes


def on_a_terminal(*arguments: str, **variables: str) -> str:
    """Return what ackgap prints to a terminal."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    env |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "COLUMNS": "80", **variables}
    for name in ("NO_COLOR", "FORCE_COLOR", "PYTHONIOENCODING"):
        if name not in variables:
            env.pop(name, None)
    process = subprocess.Popen([sys.executable, "-m", "ackgap", *arguments], env=env, stdout=theirs, stderr=theirs)
    os.close(theirs)
    data = b""
    try:
        while chunk := os.read(ours, 65536):
            data += chunk
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait(60) == 0, data
    return data.decode("utf-8")


def test_a_terminal_has_colours() -> None:
    assert "\x1b[1;31m" in on_a_terminal("show", str(SAMPLE))


def test_no_color_has_none() -> None:
    text = on_a_terminal("show", str(SAMPLE), NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", text)
    assert "×2" in text


def test_a_terminal_without_utf8_gets_ascii_in_the_same_places() -> None:
    plain, glyphs = (
        re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal("show", str(SAMPLE), **variables)).splitlines()
        for variables in ({"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"})
    )
    assert "".join(plain).isascii()
    assert not "".join(glyphs).isascii()
    assert list(map(len, plain)) == list(map(len, glyphs))
    assert any(line.startswith("| o tickets.create#1") and "x2" in line for line in plain)


def test_whoever_asks_python_for_utf8_gets_it_in_any_locale() -> None:
    assert "×2" in on_a_terminal("show", str(SAMPLE), LC_ALL="C", PYTHONIOENCODING="utf-8")


@pytest.mark.parametrize("arguments", [("show", str(SAMPLE)), ("trace", "--json", str(SAMPLE), TWICE)])
def test_a_pipe_that_nobody_reads_is_no_error(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "ackgap", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0
