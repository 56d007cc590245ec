"""`ackgap mcp`: a target's tools over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest
from mcp import Client, StdioServerParameters

from ackgap.model.boundary import Phase
from ackgap.model.event import AttemptReceived, EffectApplied
from ackgap.worker.mcp_bridge import address_of

TICKET = {"partner_id": "4471", "kind": "address"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
LIMIT_S = 20


class Pipe:
    """The bridge as a process, spoken to line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def say(self, message: object) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

    async def hear(self) -> dict:
        async with asyncio.timeout(LIMIT_S):
            return json.loads(await self.process.stdout.readline())

    async def end(self) -> int:
        self.process.stdin.close()
        async with asyncio.timeout(LIMIT_S):
            return await self.process.wait()


@asynccontextmanager
async def bridge(address: str, **environment: str):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ackgap", "mcp", address,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environment},
    )  # fmt: skip
    try:
        yield Pipe(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        process._transport.close()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_starts_it_and_calls_tools(run, bench, mode):
    async def work():
        async with bench("case-management", "idempotency-key") as b:
            server = StdioServerParameters(command=sys.executable, args=["-m", "ackgap", "mcp", f"{b.service.url}/mcp"])
            async with Client(server, mode=mode) as client:
                listed = await client.list_tools()
                made = await client.call_tool("create", {**TICKET, "title": "Zürich ✓", "idempotency_key": "k"})
                again = await client.call_tool("create", {**TICKET, "title": "Zürich ✓", "idempotency_key": "k"})
                unknown = await client.call_tool("nöthing", {})
            return len(listed.tools), made, again, unknown, b.recorder.of(EffectApplied)

    tools, made, again, unknown, effects = run(work())
    assert tools == 5
    assert made.structured_content == again.structured_content
    assert made.structured_content["title"] == "Zürich ✓"
    assert unknown.content[0].text == "Unknown tool: nöthing"
    assert len(effects) == 1


def test_calls_are_under_way_at_the_same_time(run, bench, parking_gate):
    gate = parking_gate(Phase.RECEIVED)

    async def work():
        async with bench("case-management", gate=gate) as b, bridge(f"{b.service.url}/mcp") as pipe:
            await pipe.say(INITIALIZE)
            await pipe.hear()
            call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "create", "arguments": TICKET}}
            await pipe.say({**call, "id": "a"})
            await pipe.say({**call, "id": "b"})
            await gate.parked(2)
            await pipe.say({"jsonrpc": "2.0", "id": "c", "method": "ping"})
            first = (await pipe.hear())["id"]
            gate.release(stop_parking=True)
            rest = {(await pipe.hear())["id"], (await pipe.hear())["id"]}
            return first, rest, await pipe.end()

    assert run(work()) == ("c", {"a", "b"}, 0)


def test_it_ends_its_session_once_its_client_is_gone(run, bench):
    async def work():
        async with bench("case-management") as b, bridge(f"{b.service.url}/mcp") as pipe:
            await pipe.say(INITIALIZE)
            await pipe.hear()
            await pipe.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
            sessions = b.service._cell.mcp._sessions
            before = len(sessions)
            status = await pipe.end()
            return before, len(sessions), status, b.recorder.events

    assert run(work()) == (1, 0, 0, [])


@pytest.mark.slow
def test_an_effect_whose_client_is_gone_by_the_time_is_in_the_ledger(run, bench, parking_gate):
    gate = parking_gate(Phase.APPLIED)

    async def work():
        async with bench("case-management", gate=gate) as b, bridge(f"{b.service.url}/mcp") as pipe:
            await pipe.say(INITIALIZE)
            await pipe.hear()
            params = {"name": "create", "arguments": TICKET}
            await pipe.say({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
            await gate.parked()
            status = await pipe.end()
            gate.release()
            return status, b.recorder.of(EffectApplied)

    status, effects = run(work())
    assert status == 0
    assert len(effects) == 1


def test_lines_that_are_no_messages_are_answered_and_the_rest_goes_on(run, bench):
    async def work():
        async with bench("case-management") as b, bridge(f"{b.service.url}/mcp") as pipe:
            answers = []
            for line in (b"{", b"[]", b'{"jsonrpc": "2.0", "id": 5, "method": "ping"}', INITIALIZE):
                await pipe.say(line)
                answers.append(await pipe.hear())
            await pipe.say(b"")
            await pipe.end()
            return answers, [attempt.operation for attempt in b.recorder.of(AttemptReceived)]

    answers, attempts = run(work())
    assert [(answer["id"], answer.get("error", {}).get("code")) for answer in answers] == [
        (None, -32700),
        (None, -32600),
        (5, -32600),
        (1, None),
    ]
    assert attempts == ["tickets.POST/mcp"]


def test_a_target_that_is_gone_is_an_error_for_each_request(run, bench):
    async def work():
        async with bench("case-management") as b:
            url = f"{b.service.url}/mcp"
        async with bridge(url) as pipe:
            await pipe.say(INITIALIZE)
            answer = await pipe.hear()
            return answer, url, await pipe.end()

    answer, url, status = run(work())
    assert (answer["id"], answer["error"]["code"], status) == (1, -32603, 0)
    assert answer["error"]["message"].startswith(f"{url} did not answer: ")


def test_the_address_is_that_of_a_variable_where_it_is_none_itself(run, bench):
    async def work():
        async with bench("case-management") as b, bridge("DESK_MCP", DESK_MCP=f"{b.service.url}/mcp") as pipe:
            await pipe.say(INITIALIZE)
            return await pipe.hear()

    assert run(work())["result"]["serverInfo"]["name"] == "case-management"


def test_an_address_is_taken_as_it_is():
    assert address_of("http://127.0.0.1:1/mcp", {"DESK_MCP": "http://127.0.0.1:2/mcp"}) == "http://127.0.0.1:1/mcp"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux shows the environment of other processes")
def test_a_variable_that_the_client_held_back_is_found_in_the_processes_above():
    code = "from ackgap.worker.mcp_bridge import address_of; print(address_of('DESK_MCP', {}))"
    between = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}], env={{}}, check=True)"
    done = subprocess.run(
        [sys.executable, "-c", between],
        env={**os.environ, "DESK_MCP": "http://127.0.0.1:7/mcp"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert done.stdout.strip() == "http://127.0.0.1:7/mcp"


@pytest.mark.parametrize("value", ["", "ftp://127.0.0.1/mcp", "https://example.com/mcp", "127.0.0.1:4242"])
def test_what_is_no_address_is_refused_in_words(value):
    done = subprocess.run(
        [sys.executable, "-m", "ackgap", "mcp", "DESK_MCP"],
        env={**os.environ, "DESK_MCP": value},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 2
    assert "is not an address that begins with http://" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_that_is_no_variable_is_refused_in_words():
    with pytest.raises(LookupError, match="'DESK_MCP_OF_NOBODY' is neither an address nor the name of a variable"):
        address_of("DESK_MCP_OF_NOBODY", {})
