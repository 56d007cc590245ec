"""Whatever a profile describes can be listed and called as tools."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackgap.content import profile_names
from ackgap.model.event import AttemptReceived, Note
from ackgap.target.clock import VirtualClock
from ackgap.target.engine import Engine
from ackgap.target.mcp.server import McpServer
from ackgap.target.mcp.tools import request_for, tools_of
from ackgap.target.profiles.profile import load_profile
from ackgap.target.wire.answer import Answer
from ackgap.target.wire.connection import RawRequest

PROFILES = [name for name in profile_names() if load_profile(name).described]
HEADERS = {"Accept": "application/json"}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


@cache
def profile_of(name):
    return load_profile(name)


@cache
def tools(name):
    profile = profile_of(name)
    protection = profile.protections[profile.default_protection]
    return tools_of(profile, protection, effectful={each.name: each.effect for each in profile.operations})


def call(tool, arguments):
    params = {"name": tool, "arguments": arguments, "_meta": META}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
    return body, {**HEADERS, **headers}


@pytest.mark.parametrize("name", PROFILES)
def test_each_operation_is_a_tool_with_a_name_that_clients_take(name):
    found = tools(name)
    assert [tool.operation for tool in found.values()] == list(profile_of(name).operations)
    for tool in found.values():
        described = tool.described(profile_of(name))
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", described["name"])
        assert set(described["inputSchema"].get("required", [])) <= set(described["inputSchema"]["properties"])
        json.dumps(described)


@pytest.mark.parametrize("name", PROFILES)
def test_a_tool_s_request_is_one_that_the_profile_understands_as_its_operation(name):
    profile = profile_of(name)
    for tool in tools(name).values():
        request, match = request_for(tool, dict.fromkeys(tool.places, "x1"), {})
        found = profile.match(request)
        assert found is not None, tool.name
        assert found.operation.name == match.operation.name
        assert found.path_values == match.path_values


@pytest.mark.parametrize("name", PROFILES)
def test_calling_each_tool_with_anything_is_answered(run, bench, name):
    async def work():
        async with bench(name) as b, b.connect() as wire:
            for tool in tools(name).values():
                for value in ("x1", 7, ["a"], {"a": {"b": None}}, ""):
                    answer = await wire.ask("POST", "/mcp", *call(tool.name, dict.fromkeys(tool.places, value)))
                    assert answer.json()["result"]["content"][0]["type"] == "text"
            return b.recorder

    recorder = run(work())
    assert recorder.of(Note) == []
    assert len(recorder.of(AttemptReceived)) == 5 * len(tools(name))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(PROFILES), arguments=st.dictionaries(st.text(max_size=12), JSON, max_size=4), data=st.data()
)
def test_any_arguments_make_a_request_or_a_mistake_in_words(name, arguments, data):
    tool = data.draw(st.sampled_from(list(tools(name).values())))
    known = data.draw(st.dictionaries(st.sampled_from(list(tool.places) or ["a"]), JSON, max_size=4))
    path_names = [argument for argument, place in tool.places.items() if place.startswith("path.")]
    given = {
        **dict.fromkeys(path_names, "x1"),
        **{k: v for k, v in {**known, **arguments}.items() if v not in (None, "")},
    }
    request, _ = request_for(tool, given, {})
    assert request.path.isascii()
    assert all(isinstance(value, str) for value in request.headers.values())
    json.loads(request.body or b"null")


MESSAGES = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": JSON,
        "method": st.sampled_from(["initialize", "tools/call", "ping", "x"]) | JSON,
    },
    optional={"params": JSON},
)


@settings(max_examples=80, deadline=None)
@given(document=JSON | MESSAGES)
def test_any_document_is_answered_by_the_protocol(document):
    profile = load_profile("case-management")
    engine = Engine(
        profile=profile,
        target="desk",
        protection=profile.protections["none"],
        settings={},
        reads=(),
        clock=VirtualClock(),
        drift=0,
    )
    body = json.dumps(document).encode()
    headers = (("content-type", "application/json"), ("accept", "application/json"))
    opened = McpServer(engine).open(RawRequest(method="POST", request_target="/mcp", headers=headers, body=body))
    answer = opened if isinstance(opened, Answer) else opened.refused.answer
    assert answer.status in {200, 202, 400}
    assert answer.status == 202 or json.loads(answer.body)["jsonrpc"] == "2.0"
