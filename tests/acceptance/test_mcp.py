"""Agents that act through MCP, with the official client, unchanged but for the address of their server."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

AGENT = '''
"""Files a ticket and tells somebody, through tools; what is done is written down after each step."""
import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

STATE = "state.json"


def done():
    return json.load(open(STATE)) if os.path.exists(STATE) else {}


def write_down(step, what):
    with open(STATE + ".new", "w") as file:
        json.dump({**done(), step: what}, file)
    os.replace(STATE + ".new", STATE)


def server(name):
    servers = json.load(open("mcp.json"))["mcpServers"]
    if name in servers:
        return stdio_client(StdioServerParameters(**servers[name]))
    return streamable_http_client(os.environ[name.upper() + "_MCP"])


async def act(name, step, tool, arguments):
    if step in done():
        return
    async with AsyncExitStack() as stack:
        reading, writing = await stack.enter_async_context(server(name))
        session = await stack.enter_async_context(ClientSession(reading, writing))
        await session.initialize()
        assert tool in [offered.name for offered in (await session.list_tools()).tools]
        answer = await session.call_tool(tool, arguments)
        if answer.is_error:
            sys.exit(str(answer))
        write_down(step, answer.structured_content["id"])


async def main():
    key = {"idempotency_key": "ticket-4471"} if os.environ.get("KEY") == "fixed" else {}
    await act("desk", "ticket", "create", {"partner_id": "4471", "kind": "address", "title": "moved", **key})
    await act("post", "message", "send", {"to": "ada", "text": "ticket " + done()["ticket"]})


asyncio.run(main())
'''

SCENARIO = """
name = "through-tools"

[worker]
command = ["{python}", "agent.py"]
store = ["state.json"]
env = {{ DESK_MCP = "{{desk.mcp}}", POST_MCP = "{{post.mcp}}" }}

[targets.desk]
profile = "case-management"

[targets.post]
profile = "notification"

[axes.key.values.none]
protections = {{ desk = "none" }}

[axes.key.values.fixed]
env = {{ KEY = "fixed" }}
protections = {{ desk = "idempotency-key" }}
"""


@pytest.fixture
def agent(project):
    def write(servers: dict) -> None:
        project.write("agent.py", AGENT)
        project.write("mcp.json", json.dumps({"mcpServers": servers}))
        project.write("scenario.toml", SCENARIO.format(python=Path(sys.executable).as_posix()))

    return write


def verdicts(outcome):
    assert outcome.verdicts, outcome.out + outcome.err
    return outcome.verdicts


def test_an_agent_over_streamable_http_is_killed_at_every_phase_of_a_tool_s_call(project, agent):
    agent({})
    points = ("--point", "desk.*", "--point", "post.*:returned", "--point", "file.state.json.replace#1:*")
    outcome = project.ackgap("run", "scenario.toml", "--quiet", *points, limit_s=400)
    assert outcome.status == 1, outcome.err
    assert verdicts(outcome) == {
        "undisturbed@key=none": "ok",
        "undisturbed@key=fixed": "ok",
        "desk.create#1:received@key=none": "ok",
        "desk.create#1:applied@key=none": "duplicate",
        "desk.create#1:returned@key=none": "duplicate",
        "file.state.json.replace#1:committing@key=none": "duplicate",
        "file.state.json.replace#1:committed@key=none": "ok",
        "desk.create#1:received@key=fixed": "ok",
        "desk.create#1:applied@key=fixed": "ok",
        "desk.create#1:returned@key=fixed": "ok",
        "file.state.json.replace#1:committing@key=fixed": "ok",
        "file.state.json.replace#1:committed@key=fixed": "ok",
        "post.send#1:returned@key=none": "duplicate",
        "post.send#1:returned@key=fixed": "duplicate",
    }


def test_an_agent_that_starts_its_servers_itself_is_tested_as_well(project, agent):
    bridge = ["-m", "ackgap", "mcp"]
    agent({name: {"command": sys.executable, "args": [*bridge, f"{name.upper()}_MCP"]} for name in ("desk", "post")})
    outcome = project.ackgap("run", "scenario.toml", "--quiet", "--point", "desk.*", limit_s=400)
    assert outcome.status == 1, outcome.err
    assert verdicts(outcome) == {
        "undisturbed@key=none": "ok",
        "undisturbed@key=fixed": "ok",
        "desk.create#1:received@key=none": "ok",
        "desk.create#1:applied@key=none": "duplicate",
        "desk.create#1:received@key=fixed": "ok",
        "desk.create#1:applied@key=fixed": "ok",
    }


def test_tools_of_a_service_that_nobody_described_are_refused_in_words(project, agent):
    agent({})
    text = SCENARIO.format(python=Path(sys.executable).as_posix()).replace(
        'profile = "notification"', 'profile = "any"'
    )
    project.write("scenario.toml", text)
    outcome = project.ackgap("run", "scenario.toml", "--quiet")
    assert outcome.status == 2
    assert "{post.mcp} leads to no tools" in outcome.err


def test_of_two_lives_at_a_time_each_has_the_servers_that_it_has_started(project, agent):
    """The official client hands nothing of the environment on by which a life's processes are known."""
    bridge = ["-m", "ackgap", "mcp"]
    agent({name: {"command": sys.executable, "args": [*bridge, f"{name.upper()}_MCP"]} for name in ("desk", "post")})
    schedule = "pause@desk.create#1:received"
    outcome = project.ackgap("run", "scenario.toml", "--quiet", "--only", "key=none", "--schedule", schedule)
    cell = next(name for name in verdicts(outcome) if name.startswith("pause@"))
    events = outcome.history(cell)
    filed = [event for event in events if event["kind"] == "effect_applied" and event["operation"] == "desk.create"]
    assert sorted(event["incarnation"] for event in filed) == [1, 2]
    assert not [event for event in events if event.get("code") == "connection_refused"]
