"""A target as an MCP server: the official client over streamable HTTP, and messages that are wrong."""

from __future__ import annotations

import asyncio
import json

import pytest
from mcp import Client, ClientSession, MCPError
from mcp.client.streamable_http import streamable_http_client

from ackgap.model.boundary import Phase
from ackgap.model.event import AttemptAnswered, AttemptReceived, Decision, EffectApplied
from ackgap.target.profiles.profile import AMBIGUOUS, load_profile

MESSAGE = {"QueueUrl": "q.fifo", "MessageBody": "x", "MessageGroupId": "g"}
TICKET = {"partner_id": "4471", "kind": "address", "title": "moved"}
HEADERS = {"Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def session(bench, profile, *arguments, work, **more):
    """Have the official client do something with a service, and return what that gave and the ledger."""

    async def run():
        async with (
            bench(profile, *arguments, **more) as b,
            streamable_http_client(f"{b.service.url}/mcp") as (reading, writing),
            ClientSession(reading, writing) as client,
        ):
            await client.initialize()
            return await work(client), b

    return run


async def called(bench, profile, protection, *calls):
    async def work(client):
        return [await client.call_tool(name, arguments) for name, arguments in calls]

    return await session(bench, profile, protection, work=work)()


def test_the_tools_are_the_operations_and_say_what_they_take(run, bench):
    async def work(client):
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools, b = run(session(bench, "case-management", "idempotency-key", work=work)())
    assert list(tools) == ["create", "get", "find", "update", "close"]
    create = tools["create"]
    assert create.input_schema["required"] == ["partner_id"]
    assert set(create.input_schema["properties"]) == {"partner_id", "kind", "idempotency_key"}
    assert create.input_schema["additionalProperties"] is True
    assert tools["close"].input_schema["required"] == ["id"]
    assert set(tools["find"].input_schema["properties"]) == {"partner_id", "kind", "status", "reference"}
    assert [tools[name].annotations.read_only_hint for name in tools] == [False, True, True, False, False]
    assert tools["update"].annotations.destructive_hint
    assert b.recorder.events == []


def test_a_tool_offers_a_key_only_where_the_service_looks_at_one(run, bench):
    async def work(client):
        return [tool for tool in (await client.list_tools()).tools if "idempotency_key" in str(tool.input_schema)]

    keyed, _ = run(session(bench, "case-management", "idempotency-key", work=work)())
    bare, _ = run(session(bench, "case-management", "none", work=work)())
    assert [tool.name for tool in keyed] == ["create", "update", "close"]
    assert bare == []


def test_calling_a_tool_is_the_request_that_the_operation_has_over_http(run, bench):
    (made,), b = run(called(bench, "case-management", None, ("create", TICKET)))
    assert not made.is_error
    assert made.structured_content["id"] == "T-0001"
    assert json.loads(made.content[0].text) == made.structured_content
    attempt = b.recorder.of(AttemptReceived)[0]
    assert (attempt.operation, attempt.method, attempt.path) == ("tickets.create", "POST", "/tickets")
    assert attempt.payload == TICKET
    assert attempt.effectful
    effect = b.recorder.of(EffectApplied)[0]
    assert effect.identity == {"body.partner_id": "4471", "body.kind": "address"}
    assert [answer.status for answer in b.recorder.of(AttemptAnswered)] == [201]


def test_arguments_go_into_path_query_and_body_as_the_operation_has_them(run, bench):
    calls = [
        ("create", TICKET),
        ("get", {"id": "T-0001"}),
        ("find", {"partner_id": "4471", "status": "open"}),
        ("update", {"id": "T-0001", "title": "moved twice"}),
        ("get", {"id": "T-0009"}),
    ]
    answers, b = run(called(bench, "case-management", None, *calls))
    seen = [(a.method, a.path, a.query, a.payload) for a in b.recorder.of(AttemptReceived)][1:]
    assert seen == [
        ("GET", "/tickets/T-0001", None, None),
        ("GET", "/tickets", {"partner_id": "4471", "status": "open"}, None),
        ("PATCH", "/tickets/T-0001", None, {"title": "moved twice"}),
        ("GET", "/tickets/T-0009", None, None),
    ]
    assert answers[2].structured_content["count"] == 1
    assert answers[3].structured_content["title"] == "moved twice"
    assert [answer.is_error for answer in answers] == [False, False, False, False, True]


@pytest.mark.parametrize("spelling", ["idempotency_key", "idempotencyKey", "Idempotency-Key"])
def test_an_argument_that_is_named_like_the_key_is_the_key(run, bench, spelling):
    calls = [("create", {**TICKET, spelling: "k-1"}), ("create", {**TICKET, spelling: "k-1"})]
    (first, second), b = run(called(bench, "case-management", "idempotency-key", *calls))
    assert first.structured_content == second.structured_content
    assert [attempt.key for attempt in b.recorder.of(AttemptReceived)] == ["k-1", "k-1"]
    assert b.recorder.of(AttemptReceived)[0].payload == TICKET
    assert len(b.recorder.of(EffectApplied)) == 1
    other = [("create", {**TICKET, spelling: "k-1"}), ("create", {**TICKET, "title": "other", spelling: "k-1"})]
    (_, refused), _ = run(called(bench, "case-management", "idempotency-key", *other))
    assert refused.is_error
    assert refused.structured_content == {"error": "this key was used for another request"}


def test_a_key_that_the_service_does_not_look_at_is_sent_all_the_same(run, bench):
    calls = [("create", {**TICKET, "idempotency_key": "k-1"})] * 2
    _, b = run(called(bench, "case-management", "none", *calls))
    assert [attempt.key for attempt in b.recorder.of(AttemptReceived)] == ["k-1", "k-1"]
    assert len(b.recorder.of(EffectApplied)) == 2


@pytest.mark.parametrize(
    ("profile", "tool", "arguments", "key_argument"),
    [
        ("square", "payments_create", {"source_id": "s", "amount_money": {"amount": 5}}, "idempotency_key"),
        ("shopify", "refunds_create", {"input": {"orderId": "gid://shopify/Order/1"}}, "idempotency_key"),
        ("sqs", "messages_send", MESSAGE, "MessageDeduplicationId"),
        ("sqs", "messages_send", MESSAGE, "idempotency_key"),
        ("stripe", "charges_create", {"amount": 500, "currency": "eur", "source": "tok"}, "idempotency_key"),
    ],
)
def test_the_key_goes_to_where_each_service_looks_for_it(run, bench, profile, tool, arguments, key_argument):
    protections = load_profile(profile).protections.values()
    protection = next(each.name for each in protections if any(not rule.ignored for rule in each.keys))
    calls = [(tool, {**arguments, key_argument: "k-1"})] * 2
    answers, b = run(called(bench, profile, protection, *calls))
    assert [answer.is_error for answer in answers] == [False, False], answers
    assert [attempt.key for attempt in b.recorder.of(AttemptReceived)] == ["k-1", "k-1"]
    assert len(b.recorder.of(EffectApplied)) == 1


def test_operations_that_share_an_address_are_tools_of_their_own(run, bench):
    calls = [
        ("items_create", {"board_id": "7", "item_name": "call Ada", "group_id": "new"}),
        ("items_get", {"ids": ["100000001"]}),
    ]
    answers, b = run(called(bench, "monday", None, *calls))
    assert [attempt.operation for attempt in b.recorder.of(AttemptReceived)] == [
        "tickets.items.create",
        "tickets.items.get",
    ]
    assert answers[0].structured_content["data"]["create_item"]["name"] == "call Ada"
    assert b.recorder.of(EffectApplied)[0].identity["graphql.args.board_id"] == "7"


def test_what_is_not_json_comes_back_as_text(run, bench):
    calls = [("instances_run", {"ImageId": "ami-1", "MinCount": "1", "MaxCount": "1"})]
    (answer,), b = run(called(bench, "ec2", None, *calls))
    assert "RunInstancesResponse" in answer.content[0].text
    assert answer.structured_content is None
    assert len(b.recorder.of(EffectApplied)) == 1


def test_a_path_with_slashes_in_it_and_an_answer_without_a_body(run, bench):
    calls = [
        ("objects_put", {"bucket": "b", "key": "a dir/one file", "text": "x"}),
        ("objects_delete", {"bucket": "b", "key": "a dir/one file"}),
    ]
    answers, b = run(called(bench, "s3", None, *calls))
    assert [attempt.path for attempt in b.recorder.of(AttemptReceived)] == ["/b/a%20dir/one%20file"] * 2
    assert [answer.is_error for answer in answers] == [False, False]
    assert answers[1].content[0].text == "204 No Content"


def test_a_tool_that_does_not_exist_is_an_error_and_in_the_ledger(run, bench):
    (answer,), b = run(called(bench, "case-management", None, ("delete_all", {"id": "1"})))
    assert answer.is_error
    assert answer.content[0].text == "Unknown tool: delete_all"
    assert [attempt.operation for attempt in b.recorder.of(AttemptReceived)] == ["tickets.POST/mcp/delete_all"]
    assert [answer.decision for answer in b.recorder.of(AttemptAnswered)] == [Decision.UNKNOWN_PATH]


def test_a_missing_part_of_the_path_is_an_error_and_no_effect(run, bench):
    (answer,), b = run(called(bench, "case-management", None, ("close", {})))
    assert answer.is_error
    assert answer.content[0].text == "the argument id is missing"
    assert [attempt.operation for attempt in b.recorder.of(AttemptReceived)] == ["tickets.close"]
    assert [answer.decision for answer in b.recorder.of(AttemptAnswered)] == [Decision.MALFORMED]


def test_a_call_stands_at_received_and_applied_under_the_operation_s_name(run, bench, parking_gate):
    gate = parking_gate(Phase.RECEIVED, Phase.APPLIED)

    async def work():
        async with (
            bench("case-management", gate=gate) as b,
            streamable_http_client(f"{b.service.url}/mcp") as (reading, writing),
            ClientSession(reading, writing) as client,
        ):
            await client.initialize()
            calling = asyncio.create_task(client.call_tool("create", TICKET))
            await gate.parked()
            before = len(b.recorder.of(EffectApplied))
            gate.release()
            await gate.parked()
            after = len(b.recorder.of(EffectApplied))
            gate.release(stop_parking=True)
            return before, after, await calling

    before, after, answer = run(work())
    assert (before, after) == (0, 1)
    assert not answer.is_error
    assert gate.passed == [("tickets.create", Phase.RECEIVED), ("tickets.create", Phase.APPLIED)]


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_official_client_agrees_on_a_version_in_every_mode(run, bench, mode):
    async def work():
        async with bench("case-management") as b, Client(f"{b.service.url}/mcp", mode=mode) as client:
            listed = await client.list_tools()
            answer = await client.call_tool("create", TICKET)
            unknown = await client.call_tool("nothing", {})
            with pytest.raises(MCPError):
                await client.session.get_prompt("x")
            return client.protocol_version, len(listed.tools), answer, unknown, len(b.recorder.of(EffectApplied))

    version, tools, answer, unknown, effects = run(work())
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert (tools, answer.is_error, unknown.is_error, effects) == (5, False, True, 1)


def test_a_session_ends_when_its_client_says_so(run, bench):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            first = await wire.ask("POST", "/mcp", INITIALIZE, HEADERS)
            with_session = {**HEADERS, "Mcp-Session-Id": first.headers["mcp-session-id"]}
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            steps = [
                await wire.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, with_session),
                await wire.ask("POST", "/mcp", ping, with_session),
                await wire.ask("GET", "/mcp", headers={"Accept": "text/event-stream"}),
                await wire.ask("POST", "/mcp", ping, HEADERS),
                await wire.ask("DELETE", "/mcp", headers=with_session),
                await wire.ask("POST", "/mcp", ping, with_session),
            ]
            return first, steps, b.recorder.events

    first, steps, events = run(work())
    assert first.json()["result"]["protocolVersion"] == "2025-06-18"
    assert [step.status for step in steps] == [202, 200, 405, 400, 200, 404]
    assert steps[1].json() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert "allow" in steps[2].headers
    assert events == []


def test_whoever_reads_only_event_streams_gets_one(run, bench):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            return await wire.ask("POST", "/mcp", INITIALIZE, {"Accept": "text/event-stream"})

    answer = run(work())
    assert answer.headers["content-type"] == "text/event-stream"
    event, data, *_ = answer.body.decode().splitlines()
    assert event == "event: message"
    assert json.loads(data.removeprefix("data: "))["id"] == 1


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"{", {}, 400, -32700),
        (b"", {}, 400, -32700),
        (b"[]", {}, 400, -32600),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], {}, 400, -32600),
        ({"id": 1, "method": "ping"}, {}, 400, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, {}, 400, -32600),
        ({"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}, {}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, {}, 400, -32600),
        (INITIALIZE, {"Content-Type": "text/plain"}, 415, -32600),
        (INITIALIZE, {"Accept": "text/html"}, 406, -32600),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused_and_in_the_ledger(run, bench, body, headers, status, code):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            return await wire.ask("POST", "/mcp", body, {**HEADERS, **headers}), b.recorder

    answer, recorder = run(work())
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)
    assert [attempt.operation for attempt in recorder.of(AttemptReceived)] == ["tickets.POST/mcp"]
    assert [answered.decision for answered in recorder.of(AttemptAnswered)] == [Decision.MALFORMED]


@pytest.mark.parametrize(
    ("message", "status", "code"),
    [
        ({"method": "initialize", "params": {}}, 200, -32602),
        ({"method": "initialize", "params": []}, 400, -32602),
        ({"method": "ping"}, 400, -32600),
        ({"method": "tools/call", "params": {"name": "create", "arguments": TICKET}}, 400, -32600),
    ],
)
def test_a_message_that_is_wrong_is_answered_with_its_id_and_has_no_effect(run, bench, message, status, code):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            return await wire.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 7, **message}, HEADERS), b.recorder

    answer, recorder = run(work())
    assert (answer.status, answer.json()["id"], answer.json()["error"]["code"]) == (status, 7, code)
    assert recorder.events == []


@pytest.mark.parametrize(
    ("message", "status", "code"),
    [
        ({"method": "prompts/list"}, 200, -32601),
        ({"method": "tools/call", "params": {"arguments": {}}}, 200, -32602),
        ({"method": "tools/call", "params": {"name": "create", "arguments": [1]}}, 200, -32602),
        ({"method": "tools/call", "params": "create"}, 400, -32602),
    ],
)
def test_within_a_session_mistakes_are_errors_of_json_rpc(run, bench, message, status, code):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            first = await wire.ask("POST", "/mcp", INITIALIZE, HEADERS)
            headers = {**HEADERS, "Mcp-Session-Id": first.headers["mcp-session-id"]}
            return await wire.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": "a", **message}, headers)

    answer = run(work())
    assert (answer.status, answer.json()["id"], answer.json()["error"]["code"]) == (status, "a", code)


def test_a_version_that_nobody_speaks_is_told_which_are_spoken(run, bench):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            headers = {**HEADERS, "MCP-Protocol-Version": "2099-01-01"}
            return await wire.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers)

    answer = run(work())
    assert (answer.status, answer.json()["error"]["code"]) == (400, -32022)
    assert "2026-07-28" in answer.json()["error"]["data"]["supported"]


def test_headers_that_contradict_a_message_of_the_latest_version_are_refused(run, bench):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "create", "arguments": TICKET, "_meta": meta},
    }
    right = {**HEADERS, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "create"}

    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            wrong = [
                await wire.ask("POST", "/mcp", body, {**right, "Mcp-Method": "tools/list"}),
                await wire.ask("POST", "/mcp", body, {**right, "Mcp-Name": "close"}),
                await wire.ask("POST", "/mcp", {**body, "params": {"name": "create"}}, right),
            ]
            return wrong, len(b.recorder.of(EffectApplied)), await wire.ask("POST", "/mcp", body, right)

    wrong, effects, fine = run(work())
    assert [answer.json()["error"]["code"] for answer in wrong] == [-32020, -32020, -32602]
    assert {answer.status for answer in wrong} == {400}
    assert effects == 0
    assert fine.json()["result"]["resultType"] == "complete"


def test_a_web_page_of_another_host_is_refused(run, bench):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            return [
                (await wire.ask("POST", "/mcp", INITIALIZE, {**HEADERS, "Origin": origin})).status
                for origin in ("https://evil.example", "null", "http://localhost:5173", "http://127.0.0.1")
            ]

    assert run(work()) == [403, 403, 200, 200]


OWN = """
name = "own"
title = "A service with a path of that name"
about = "It was there first."
default_protection = "none"
[[sources]]
claim = "Made for a test."
date = "2026-11-29"
grade = "invented"
[[operations]]
name = "push"
method = "POST"
path = "/mcp"
does = "create"
effect = true
noun = ["push", "pushes"]
identity = ["body.a"]
[protections.none]
title = "every request is another push"
"""


def test_a_path_of_the_service_s_own_comes_first(run, bench, profile_file):
    async def work():
        async with bench(profile_file(OWN)) as b, b.connect() as wire:
            return await wire.ask("POST", "/mcp", INITIALIZE, HEADERS), b.recorder.of(EffectApplied)

    answer, effects = run(work())
    assert answer.status == 201
    assert len(effects) == 1


def test_what_calls_to_the_address_are_is_told_by_the_message(run, bench):
    async def work():
        async with bench("case-management") as b:
            changing = [b.service.boundary_name(method, "/mcp") for method in ("POST", "GET", "DELETE")]
        async with bench("case-management", reads=("tickets.*",)) as b:
            return changing, b.service.boundary_name("POST", "/mcp")

    assert run(work()) == ([AMBIGUOUS, None, None], None)


def test_a_bucket_of_that_name_can_still_be_listed(run, bench):
    async def work():
        async with bench("s3") as b, b.connect() as wire:
            listed = await wire.ask("GET", "/mcp")
            first = await wire.ask("POST", "/mcp", INITIALIZE, HEADERS)
            streams = await wire.ask("GET", "/mcp", headers={"Mcp-Session-Id": first.headers["mcp-session-id"]})
            return listed, first, streams

    listed, first, streams = run(work())
    assert b"ListBucketResult" in listed.body
    assert (first.status, streams.status) == (200, 405)


def test_a_service_that_nobody_described_has_no_tools_and_serves_no_mcp(run, bench):
    async def work():
        async with bench("any") as b, b.connect() as wire:
            await wire.ask("POST", "/mcp", INITIALIZE, HEADERS)
            return [attempt.operation for attempt in b.recorder.of(AttemptReceived)]

    assert run(work()) == ["tickets.POST/mcp"]
