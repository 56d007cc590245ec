"""Agents and a restarted model: what it does to their keys, and how those on official packages die in a stream."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("openai")
pytest.importorskip("anthropic")

# Asks a model which ticket to open and opens it, under a key that is made from what the model said.
AGENT = """
import hashlib, json, os, urllib.request

TOOL = {"type": "object", "properties": {"partner_id": {"type": "string"}, "kind": {"type": "string"},
                                         "title": {"type": "string"}}}

def ask_responses():
    import openai
    client = openai.OpenAI(base_url=os.environ["MODEL_URL"] + "/v1", api_key="x")
    tools = [{"type": "function", "name": "open", "parameters": TOOL, "strict": False}]
    with client.responses.stream(model="gpt-4o-mini", input="Open a ticket for 4471", tools=tools) as stream:
        call = stream.get_final_response().output[0]
    return call.call_id, call.arguments

def ask_chat():  # without a package: they take seconds to import, in each life
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Open a ticket for 4471"}],
            "tools": [{"type": "function", "function": {"name": "open", "parameters": TOOL}}]}
    request = urllib.request.Request(
        os.environ["MODEL_URL"] + "/v1/chat/completions", json.dumps(body).encode(),
        {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        call = json.load(answer)["choices"][0]["message"]["tool_calls"][0]
    return call["id"], call["function"]["arguments"]

def ask_messages():
    import anthropic
    client = anthropic.Anthropic(base_url=os.environ["MODEL_URL"], api_key="x")
    with client.messages.stream(
        model="claude-sonnet", max_tokens=100, messages=[{"role": "user", "content": "Open a ticket for 4471"}],
        tools=[{"name": "open", "input_schema": TOOL}],
    ) as stream:
        call = stream.get_final_message().content[0]
    return call.id, json.dumps(call.input)

call_id, arguments = globals()["ask_" + os.environ["ASK"]]()
key = call_id if os.environ["KEY"] == "call_id" else hashlib.sha256(arguments.encode()).hexdigest()
request = urllib.request.Request(
    os.environ["TICKETS_URL"] + "/tickets", arguments.encode(),
    {"Content-Type": "application/json", "Idempotency-Key": key})
urllib.request.urlopen(request).read()
"""
SCENARIO = """
name = "keyed"
[worker]
command = {command}
[worker.env]
MODEL_URL = "{{model.url}}"
TICKETS_URL = "{{tickets.url}}"
ASK = "{ask}"
KEY = "{key}"
[targets.model]
profile = "{profile}"
[targets.model.settings]
drift = ["{drift}"]
[[targets.model.settings.script]]
call = {{ tool = "open", arguments = [{first}, {second}] }}
instead = {{ call = {{ tool = "open", arguments = [{other}] }} }}
[targets.tickets]
profile = "case-management"
protection = "idempotency-key"
"""
FIRST = '{ partner_id = "4471", kind = "review", title = "Review Aurelia" }'
SECOND = '{ partner_id = "4471", kind = "review", title = "A review of Aurelia" }'
OTHER = '{ partner_id = "4471", kind = "closure", title = "Close Aurelia" }'
AFTER = "tickets.create#1:applied"


@pytest.fixture
def verdicts(project):
    def run(ask, profile, drift, key="arguments", *, points=(AFTER,)):
        project.write("agent.py", AGENT)
        command = json.dumps(f"{shlex.quote(sys.executable)} agent.py")
        text = SCENARIO.format(
            command=command, ask=ask, key=key, profile=profile, drift=drift, first=FIRST, second=SECOND, other=OTHER
        )
        project.write("scenario.toml", text)
        chosen = [part for point in points for part in ("--point", point)]
        outcome = project.ackgap("run", "scenario.toml", "--quiet", *chosen)
        return {cell.partition("@")[0]: verdict for cell, verdict in outcome.verdicts.items()}

    return run


@pytest.mark.parametrize(
    ("drift", "key", "verdict"),
    [
        ("none", "arguments", "ok"),
        ("none", "call_id", "ok"),
        ("call_id", "arguments", "ok"),
        ("call_id", "call_id", "duplicate"),
        ("wording", "arguments", "duplicate"),
        ("argument_order", "arguments", "duplicate"),
        ("extra_field", "arguments", "duplicate"),
    ],
)
def test_each_drift_defeats_the_keys_that_are_made_from_what_drifts(verdicts, drift, key, verdict):
    assert verdicts("chat", "openai", drift, key)[AFTER] == verdict


def test_a_model_that_decides_otherwise_has_the_agent_do_what_no_undisturbed_run_does(verdicts):
    found = verdicts("chat", "openai", "decision")
    assert found["undisturbed"] == "ok"
    assert found[AFTER] == "phantom"


@pytest.mark.parametrize(("ask", "profile"), [("responses", "openai"), ("messages", "anthropic")])
def test_a_worker_in_a_streaming_helper_of_an_official_package_dies_at_each_part(verdicts, ask, profile):
    found = verdicts(ask, profile, "wording", points=("model.*:stream_*", "model.*:returned", AFTER))
    assert found.pop(AFTER) == "duplicate"
    names = {name.rpartition(":")[2] for name in found if name.startswith("model.")}
    assert names == {"stream_begun", "stream_half", "stream_whole", "returned"}
    assert set(found.values()) == {"ok"}
