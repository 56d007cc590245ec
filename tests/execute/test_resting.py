"""A worker that computes, or waits for its turn, is not through, although it writes nothing and asks for nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from ackgap.execute.resting import Patience, at_rest


@pytest.fixture
def program():
    started = []

    def start(code: str) -> int:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process.pid

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def rests(pid: int) -> bool:
    return asyncio.run(at_rest(lambda: [pid], for_s=0.2))


def test_a_process_that_waits_rests(program):
    assert rests(program("print('ready', flush=True); __import__('time').sleep(60)"))


def test_a_process_that_computes_does_not_rest_in_whatever_thread(program):
    assert not rests(program("print('ready', flush=True)\nwhile True: pass"))
    in_a_thread = (
        "import threading, time\n"
        "def work():\n"
        "    while True: pass\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    assert not rests(program(in_a_thread))


def test_processes_that_have_ended_rest():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert rests(process.pid)
    assert asyncio.run(at_rest(list, for_s=0.01))


def patience_with(*pids: int, event_after_s: float, rest_s: float) -> bool:
    return asyncio.run(Patience(lambda: pids).awaits(asyncio.sleep(event_after_s), rest_s=rest_s))


def test_patience_with_a_process_that_rests_ends(program):
    pid = program("print('ready', flush=True); __import__('time').sleep(60)")
    assert not patience_with(pid, event_after_s=60, rest_s=0.1)


def test_patience_with_a_process_at_work_outlasts_its_limit(program):
    pid = program("print('ready', flush=True)\nwhile True: pass")
    assert patience_with(pid, event_after_s=0.5, rest_s=0.1)


def test_patience_with_a_process_that_waits_in_a_loop_ends_too(program):
    pid = program("print('ready', flush=True)\nwhile True: pass")
    assert not patience_with(pid, event_after_s=60, rest_s=0.02)


def test_patience_without_processes_is_a_time_limit():
    assert not patience_with(event_after_s=60, rest_s=0.02)
    assert patience_with(event_after_s=0.02, rest_s=60)
