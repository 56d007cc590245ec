"""What `ackgap init` writes runs to a matrix as it is, or after the one edit that it names."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from needs import need, needed

from ackgap.execute.services.temporal import find_temporal

pytestmark = pytest.mark.slow
SCENARIOS = Path(__file__).parents[2] / "scenarios"
STRIPE = """
import stripe

print(stripe.PaymentIntent.create(amount=12500, currency="eur", api_key="sk_test_x").id)
"""


@pytest.fixture(autouse=True)
def python_of_the_project(monkeypatch):
    """Have `python` be the one in which the libraries are, as in a project whose environment is active."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


@pytest.fixture
def begun(project):
    """Put a program of a shipped scenario into a project, and let `ackgap init` look at it."""

    def begin(scenario: str, *names: str) -> str:
        for name in names:
            shutil.copy(SCENARIOS / scenario / name, project.path)
        looked = project.ackgap("init")
        assert looked.status == 0, looked.err
        assert "To edit before a run" not in looked.out
        return looked.out

    return begin


def verdicts(project, *points: str) -> dict[str, str]:
    chosen = [word for point in points for word in ("--point", point)]
    outcome = project.ackgap("run", ".", "--quiet", "--warm", *chosen, limit_s=300)
    assert outcome.status in (0, 1), outcome.out + outcome.err
    return {cell.removesuffix("@default"): verdict for cell, verdict in outcome.verdicts.items()}


def test_a_plain_script(project, begun):
    assert "state.json" in begun("agents/python", "agent.py")
    assert verdicts(
        project, "*POST/tickets#1:received", "*POST/tickets#1:applied", "file.state.json.replace#1:committed"
    ) == {
        "undisturbed": "ok",
        "tickets.POST/tickets#1:received": "ok",
        "tickets.POST/tickets#1:applied": "duplicate",
        "file.state.json.replace#1:committed": "ok",
    }


def test_a_script_of_a_shell(project, begun, program):
    program("curl", "apt-get install curl")
    begun("agents/shell", "agent.sh")
    assert verdicts(project, "*POST/tickets#1:*") == {
        "undisturbed": "ok",
        "tickets.POST/tickets#1:received": "ok",
        "tickets.POST/tickets#1:applied": "duplicate",
    }


def test_a_graph_of_langgraph_on_sqlite(project, begun):
    need("langgraph.checkpoint.sqlite", "httpx", hint="pip install 'ackgap[langgraph]'")
    assert "SqliteSaver in agent.db" in begun("engines/langgraph", "worker.py")
    found = verdicts(project, "tickets.*:applied", "langgraph.put_writes.file_ticket#1:committed")
    assert found == {
        "undisturbed": "ok",
        "tickets.POST/tickets#1:applied": "duplicate",
        "langgraph.put_writes.file_ticket#1:committed": "ok",
    }


def test_a_workflow_of_dbos(project, begun):
    need("dbos", "httpx", hint="pip install 'ackgap[dbos]'")
    assert "the workflow partner-4471" in " ".join(begun("engines/dbos", "worker.py", "check.py").split())
    assert verdicts(project, "tickets.*:applied", "dbos.step.file_ticket#1:committed") == {
        "undisturbed": "ok",
        "tickets.POST/tickets#1:applied": "duplicate",
        "dbos.step.file_ticket#1:committed": "ok",
    }


def test_a_worker_of_temporal_and_its_client(project, begun):
    need("temporalio", "httpx", hint="pip install 'ackgap[temporal]'")
    with needed():
        find_temporal()
    assert "client.py" in begun("engines/temporal", "worker.py", "client.py")
    assert verdicts(project, "tickets.*:applied") == {
        "undisturbed": "ok",
        "tickets.POST/tickets#1:applied": "duplicate",
    }


def test_a_tool_loop_on_an_official_client_whose_model_is_given_a_script(project, begun):
    need("openai", hint="pip install 'ackgap[openai]'")
    assert "it uses each tool once (create_ticket)" in begun("clients/openai", "worker.py")
    assert verdicts(project, "tickets.*:applied") == {
        "undisturbed": "ok",
        "tickets.POST/tickets#1:applied": "duplicate",
    }


def test_an_agent_with_tools_of_the_agents_sdk(project, begun):
    need("agents", "httpx", hint="pip install 'ackgap[openai-agents]'")
    assert "create_ticket, tell_desk" in begun("engines/openai-agents", "worker.py")
    found = verdicts(project, "tickets.*:applied")
    assert found == {"undisturbed": "ok", "tickets.POST/tickets#1:applied": "duplicate"}


def test_a_client_that_reads_no_variable_has_its_host_stood_for(project):
    need("stripe", hint="pip install 'ackgap[stripe]'")
    project.write("charge.py", STRIPE)
    looked = project.ackgap("init")
    assert "To edit before a run" not in looked.out
    assert "stands for api.stripe.com" in " ".join(looked.out.split())
    found = verdicts(project, "*:applied")
    assert found == {"undisturbed": "ok", "stripe.payment_intents.create#1:applied": "duplicate"}
