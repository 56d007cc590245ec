"""The same run on the workers of a real Dask cluster."""

from __future__ import annotations

import json

import pytest
from needs import need

AGENT = """
import json, os, urllib.request
from pathlib import Path

for name in ("one", "two"):
    if not Path(name).exists():
        headers = {"Content-Type": "application/json"}
        body = json.dumps({"partner_id": name, "kind": "review", "title": "Review"}).encode()
        urllib.request.urlopen(urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", body, headers)).read()
        Path(name).write_text("filed")
"""
SCENARIO = """
name = "on-a-cluster"
[worker]
command = "{python} agent.py"
env = { TICKETS_URL = "{tickets.url}" }
[targets.tickets]
profile = "case-management"
"""


@pytest.fixture(scope="module")
def cluster():
    need("distributed", hint="pip install 'ackgap[dask]'")
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as running:
        yield running


@pytest.fixture
def written(project):
    project.write("agent.py", AGENT)
    project.write("scenario.toml", SCENARIO)
    return project


@pytest.mark.slow
def test_a_run_on_two_workers_is_the_run_that_it_is_here(written, cluster):
    here = written.ackgap("run", "scenario.toml", "--fail-on", "never", out="here")
    there = written.ackgap(
        "run", "scenario.toml", "--fail-on", "never", "--dask", cluster.scheduler_address, out="there"
    )

    assert there.status == 0, there.err
    assert there.verdicts == here.verdicts
    assert "part 1/2 is done" in there.err
    assert "part 2/2 is done" in there.err
    bounds = [json.loads((run.directory / "run.json").read_text())["bounds"] for run in (here, there)]
    assert bounds[0] == bounds[1]
    replayed = written.ackgap("replay", "there", "tickets.create#1:applied@default")
    assert replayed.status == 1, replayed.err


@pytest.mark.slow
def test_what_a_part_says_is_said_here(written, cluster):
    written.write("agent.py", "raise SystemExit(7)")
    outcome = written.ackgap("run", "scenario.toml", "--dask", cluster.scheduler_address, out="there")
    assert outcome.status == 3
    assert "was not carried through" in outcome.err
    assert "exit status 7" in outcome.err


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_named(written):
    need("distributed", hint="pip install 'ackgap[dask]'")
    outcome = written.ackgap("run", "scenario.toml", "--dask", "tcp://127.0.0.1:1", out="there")
    assert outcome.status == 2
    assert "no scheduler of Dask answers" in outcome.err
    assert "Traceback" not in outcome.err


def test_what_needs_all_of_a_run_is_refused(written):
    outcome = written.ackgap("run", "scenario.toml", "--dask", "tcp://127.0.0.1:1", "--shard", "1/2", out="there")
    assert outcome.status == 2
    assert "--shard needs all of a run" in outcome.err
