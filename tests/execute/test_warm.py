"""A life forked from a warm parent is what a fresh interpreter would have been, and gets the same verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackgap.matrix_run import run_matrix

POST = """
import atexit, json, os, random, signal, sys, threading, urllib.request

def post(path, body):
    request = urllib.request.Request(
        os.environ["TICKETS_URL"] + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)
"""


def run(path: Path, text: str, *, warm: bool, command: str = "python agent.py one 'two words'", **more):
    project = path / "project"
    project.mkdir(exist_ok=True)
    (project / "agent.py").write_text(POST + text)
    (project / "beside.py").write_text("import os\nNAME = __name__\nCOLOUR = os.environ.get('COLOUR')\n")
    return run_matrix(
        None,
        root=project,
        directory=path / f"out-{'warm' if warm else 'plain'}",
        jobs=1,
        warm=warm,
        worker=command,
        targets=["tickets=any"],
        env=["TICKETS_URL={tickets.url}", "COLOUR=blue"],
        **more,
    )


VIEW = """
import beside
post("/view", {
    "argv": sys.argv, "name": __name__, "file": os.path.basename(__file__),
    "absolute": os.path.isabs(__file__), "main": sys.modules["__main__"].__dict__ is globals(),
    "path": os.path.basename(sys.path[0]), "cwd": os.path.basename(os.getcwd()), "colour": beside.COLOUR,
    "stdin": sys.stdin.read(), "isatty": sys.stdout.isatty(), "encoding": sys.stdout.encoding,
    "sigint": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "sigchld": str(signal.getsignal(signal.SIGCHLD)), "sigpipe": str(signal.getsignal(signal.SIGPIPE)),
    "threads": threading.active_count(), "main thread": threading.current_thread() is threading.main_thread(),
    "session": os.getsid(0) == os.getpid(), "temp": os.path.basename(__import__("tempfile").gettempdir()),
    "flags": sys.flags.no_site, "prefix": sys.prefix, "executable": sys.executable,
    "ackgap": sorted(key for key in os.environ if key.startswith("ACKGAP_") and key != "ACKGAP_REPORT_MODULES"),
    "orphans": os.getppid() > 1,
})
"""


def effects(result, cell):
    return [effect.content for effect in result.run.history(cell).effects]


def test_a_warm_life_sees_what_a_fresh_interpreter_sees(tmp_path):
    plain = run(tmp_path, VIEW, warm=False, points=["*:applied"])
    warm = run(tmp_path, VIEW, warm=True, points=["*:applied"])
    cell = "tickets.POST/view#1:applied@default"
    assert not [event for event in warm.run.history(cell) if event.kind == "note" and event.code == "started_plainly"]
    assert effects(warm, cell) == effects(plain, cell)
    assert effects(warm, cell)[0]["argv"] == ["agent.py", "one", "two words"]
    assert effects(warm, cell)[0]["colour"] == "blue"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code", "printed"),
    [
        ("sys.exit('no luck')", 1, "no luck"),
        ("sys.exit(7)", 7, ""),
        ("raise ValueError('what?')", 1, "ValueError: what?"),
        ("atexit.register(print, 'bye'); sys.exit(3)", 3, "bye"),
        ("print('not flushed', end=''); sys.exit(2)", 2, "not flushed"),
        ("os._exit(9)", 9, ""),
        ("threading.Thread(target=lambda: print('joined')).start(); sys.exit(4)", 4, "joined"),
        ("os.kill(os.getpid(), signal.SIGTERM)", None, ""),
    ],
)
def test_a_warm_life_ends_as_a_fresh_interpreter_ends(tmp_path, text, code, printed):
    """Only the second life ends so: the probe has to end well."""
    body = (
        f"first = not os.path.exists('seen')\nopen('seen', 'w').close()\npost('/t', {{}})\nif not first:\n    {text}\n"
    )
    ends = []
    for warm in (False, True):
        result = run(tmp_path, body, warm=warm, points=["*t#1:applied"])
        ends.append(result.run.history("tickets.POST/t#1:applied@default").ends[2])
    assert ends[0].exit_code == ends[1].exit_code == code
    assert ends[0].signal == ends[1].signal
    for end in ends:
        assert printed in end.output_tail


@pytest.mark.slow
def test_two_warm_lives_do_not_share_their_random_numbers(tmp_path):
    result = run(tmp_path, "post('/t', {'number': random.random()})\n", warm=True, points=["*:applied"])
    numbers = [content["number"] for content in effects(result, "tickets.POST/t#1:applied@default")]
    assert len(set(numbers)) == len(numbers) == 2


@pytest.mark.slow
def test_a_command_that_cannot_be_forked_is_started_plainly_and_says_why(tmp_path):
    result = run(tmp_path, "post('/t', {})\n", warm=True, command="python -u agent.py", points=["*:applied"])
    history = result.run.history("tickets.POST/t#1:applied@default")
    notes = [event for event in history if event.kind == "note" and event.code == "started_plainly"]
    assert notes
    assert "script" in notes[0].text
    assert result.verdicts["tickets.POST/t#1:applied@default"] == "duplicate"


NO_END = """
post("/before", {"imported": "difflib" in sys.modules})
import difflib
post("/t", {"pid": os.getpid()})
os._exit(0)
"""
"""Its interpreter has no end at which it could tell what it has imported: it serves until it is killed, as it were."""


def test_a_worker_whose_interpreter_never_ends_by_itself_is_forked_all_the_same(tmp_path):
    result = run(tmp_path, NO_END, warm=True, points=["*t#1:applied"])
    before = [
        effect["imported"] for effect in effects(result, "tickets.POST/t#1:applied@default") if "imported" in effect
    ]
    assert before == [True, True]


@pytest.mark.slow
def test_warm_and_plain_agree_on_the_known_answers(tmp_path):
    known = Path(__file__).parents[2] / "scenarios" / "known-answers"
    for folder in ("duplicate-broken", "lost-correct", "wasted-broken", "in_doubt-correct"):
        verdicts = [
            run_matrix(known / folder, root=tmp_path, directory=tmp_path / folder / str(warm), warm=warm).verdicts
            for warm in (False, True)
        ]
        assert verdicts[0] == verdicts[1]
