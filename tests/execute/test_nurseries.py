"""Nurseries begin with their lives' environment and clock, and only the last ones used are kept."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ackgap.execute import nurseries as module
from ackgap.execute import nursery as nursery_module
from ackgap.execute.nurseries import Nurseries
from ackgap.execute.nursery import Nursery, NurseryUnfit

HOUR_S = 3600.0
LIBRARY = """
import datetime, os, subprocess, time
from time import time as its_own_name
IMPORTED_S, COLOUR = time.time(), os.environ.get("COLOUR")
subprocess.run(["true"])
"""
SCRIPT = """
import datetime, json, library, time
print(json.dumps([library.IMPORTED_S, library.its_own_name(), time.time(), datetime.datetime.now().timestamp(),
                  library.COLOUR]))
"""


@pytest.fixture
def nurseries(tmp_path: Path) -> Iterator[Nurseries]:
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "script.py").write_text(SCRIPT)
    made = Nurseries()
    yield made
    made.close()


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), **more}


def get(nurseries: Nurseries, tmp_path: Path, clock_offset_s: float = 0.0, **more: str) -> Nursery:
    return nurseries.get(sys.executable, ("library",), environment(tmp_path, **more), clock_offset_s)


def said(nursery: Nursery, tmp_path: Path, *, clock_offset_s: float = 0.0) -> list[object]:
    """Run the script in a life of a nursery, and return what it printed."""
    channel = {"ACKGAP_CHANNEL": str(tmp_path / "nobody"), "ACKGAP_CONFIG": f'{{"clock_offset_s": {clock_offset_s}}}'}
    reading, writing = os.pipe()

    async def life() -> None:
        over = asyncio.Event()
        env = {**environment(tmp_path), **channel}
        command = [sys.executable, "script.py"]
        nursery.fork(command, directory=tmp_path, env=env, output=writing, ended=lambda _: over.set())
        await asyncio.wait_for(over.wait(), 30)

    asyncio.run(life())
    os.close(writing)
    with os.fdopen(reading) as output:
        return json.loads(output.read())


@pytest.mark.parametrize("offset_s", [0.0, HOUR_S])
def test_what_is_imported_beforehand_has_the_clock_of_its_lives_and_they_move_it_no_further(
    nurseries, tmp_path, offset_s
):
    nursery = get(nurseries, tmp_path, offset_s)
    *moments, _ = said(nursery, tmp_path, clock_offset_s=offset_s)
    assert moments == pytest.approx([time.time() + offset_s] * 4, abs=60)


def test_each_environment_has_a_nursery_of_its_own(nurseries, tmp_path):
    red, blue = get(nurseries, tmp_path, COLOUR="red"), get(nurseries, tmp_path, COLOUR="blue")
    assert said(red, tmp_path)[-1] == "red"
    assert said(blue, tmp_path)[-1] == "blue"
    assert get(nurseries, tmp_path, COLOUR="red") is red


def test_an_environment_that_differs_in_what_was_never_read_shares_a_nursery(nurseries, tmp_path):
    first = get(nurseries, tmp_path, COLOUR="red", SIZE="1")
    assert get(nurseries, tmp_path, COLOUR="red", SIZE="2") is first
    assert get(nurseries, tmp_path, COLOUR="red") is first
    assert get(nurseries, tmp_path, SIZE="1") is not first


@pytest.mark.parametrize("name", ["TZ", "PYTHONHASHSEED", "OPENSSL_CONF"])
def test_what_native_code_may_have_read_unseen_is_not_shared(nurseries, tmp_path, name):
    assert get(nurseries, tmp_path, **{name: "0"}) is not get(nurseries, tmp_path, **{name: "1"})


def test_a_module_that_goes_through_all_of_the_environment_has_read_all_of_it(nurseries, tmp_path):
    (tmp_path / "library.py").write_text("import os\nMINE = {n: v for n, v in os.environ.items() if n[:2] == 'MY'}\n")
    assert get(nurseries, tmp_path, MY_SIZE="1") is not get(nurseries, tmp_path, MY_SIZE="2")


def test_what_is_drawn_at_the_start_of_an_interpreter_is_drawn_again_for_the_next_life(nurseries, tmp_path):
    (tmp_path / "script.py").write_text("import json, library; print(json.dumps([hash('4471'), library.ID]))")
    (tmp_path / "library.py").write_text("import uuid; ID = str(uuid.uuid4())")
    drawn = [
        said(nurseries.get(sys.executable, ("library",), environment(tmp_path), incarnation=life), tmp_path)
        for life in (1, 2, 1)
    ]
    assert drawn[0] == drawn[2]
    assert drawn[0][0] != drawn[1][0]
    assert drawn[0][1] != drawn[1][1]


def test_what_imports_set_in_the_environment_is_set_unless_a_life_says_otherwise(nurseries, tmp_path):
    (tmp_path / "library.py").write_text("import os; os.environ.setdefault('SET', 'yes'); os.environ['OVER'] = 'new'")
    (tmp_path / "script.py").write_text(
        "import json, os; print(json.dumps([os.environ.get(n) for n in ('SET', 'OVER')]))"
    )
    assert said(get(nurseries, tmp_path), tmp_path) == ["yes", "new"]


def test_a_nursery_that_does_not_answer_cannot_fork_the_life_later(nurseries, tmp_path, monkeypatch):
    monkeypatch.setattr(nursery_module, "_REPLY_LIMIT_S", 0.2)
    nursery = get(nurseries, tmp_path)
    (process,) = [child for child in psutil.Process().children() if "_ackgap_nursery" in " ".join(child.cmdline())]
    process.suspend()
    with pytest.raises(NurseryUnfit):
        said(nursery, tmp_path)
    assert not psutil.pid_exists(process.pid)


def test_who_reads_the_environment_as_bytes_has_read_all_of_it(nurseries, tmp_path):
    (tmp_path / "library.py").write_text("import os; SIZE = os.environb.get(b'SIZE')")
    assert get(nurseries, tmp_path, SIZE="1") is not get(nurseries, tmp_path, SIZE="2")


def test_the_one_not_used_for_longest_ends_when_there_are_too_many(nurseries, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "KEPT", 2)
    first, second = get(nurseries, tmp_path, COLOUR="1"), get(nurseries, tmp_path, COLOUR="2")
    get(nurseries, tmp_path, COLOUR="1")
    get(nurseries, tmp_path, COLOUR="3")
    assert get(nurseries, tmp_path, COLOUR="1") is first
    assert get(nurseries, tmp_path, COLOUR="2") is not second
    running = [child for child in psutil.Process().children() if "_ackgap_nursery" in " ".join(child.cmdline())]
    assert len(running) == 2


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import socket\nkept = socket.socket()", "a socket"),
        ("import os\nkept = os.pipe()", "a pipe or an event queue"),
        ("import selectors\nkept = selectors.DefaultSelector()", "a pipe or an event queue"),
        ("import sqlite3\nkept = sqlite3.connect('engine.db')", "a file, engine.db"),
        ("import subprocess\nkept = subprocess.Popen(['sleep', '60'])", "another process"),
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()", "1 threads"),
    ],
)
def test_nothing_that_lives_is_shared_by_lives(nurseries, tmp_path, monkeypatch, code, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "library.py").write_text(code)
    with pytest.raises(NurseryUnfit, match=f"importing the worker's modules .*{reason}"):
        get(nurseries, tmp_path).check([sys.executable, "script.py"])


def test_what_is_open_for_reading_alone_hinders_nobody(nurseries, tmp_path):
    (tmp_path / "library.py").write_text("kept = open(__file__), open('/dev/null', 'w'), open('/dev/urandom', 'rb')")
    get(nurseries, tmp_path).check([sys.executable, "script.py"])
