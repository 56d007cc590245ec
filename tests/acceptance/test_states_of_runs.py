"""States of different runs are compared although each run has its own times and ids."""

from __future__ import annotations

import pytest

from ackgap.matrix_run import run_matrix

SCENARIO = """
name = "stamped"

[worker]
command = "python worker.py"
env = { TICKETS_URL = "{tickets.url}" }

[targets.tickets]
profile = "case-management"
"""
WORKER = """
import json
import os
import pickle
import sqlite3
import time
import urllib.request
import uuid

new = not os.path.exists("steps.db")
store = sqlite3.connect("steps.db")
if new:
    store.execute("create table steps (id text primary key, at real, name text, result blob)")


def note(name, result):
    store.execute("insert into steps values (?, ?, ?, ?)", (str(uuid.uuid4()), time.time(), name, pickle.dumps(result)))
    store.commit()


done = {name for (name,) in store.execute("select name from steps")}
if "begun" not in done:
    note("begun", {"run": uuid.uuid4().hex, "took_s": time.perf_counter(), "pid": os.getpid()})
if "filed" not in done:
    body = json.dumps({"partner_id": "4471", "kind": "review"}).encode()
    request = urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        note("filed", json.load(answer)["id"])
"""


@pytest.mark.slow
def test_a_recovery_that_begins_anew_comes_to_the_states_of_the_undisturbed_run(tmp_path):
    folder = tmp_path / "stamped"
    folder.mkdir()
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "worker.py").write_text(WORKER)
    whole, pruned = (
        run_matrix(
            folder,
            root=tmp_path,
            directory=tmp_path / f"pruned-{prune}",
            points=["tickets.*"],
            warm=True,
            depth=2,
            prune=prune,
        )
        for prune in (False, True)
    )
    assert pruned.verdicts == whole.verdicts
    assert "duplicate" in map(str, whole.verdicts.values())
    equal = {cell.cell: cell.equal_to for cell in pruned.cells}
    again = [
        f"kill@tickets.create#1:sending;2.kill@tickets.create#1:{phase}@default" for phase in ("applied", "returned")
    ]
    # One of the two may have been run, to see whether states that look equal are.
    assert "tickets.create#1:applied@default" in {equal[cell] for cell in again}
