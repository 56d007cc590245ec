from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from ackgap.model.boundary import Phase
from ackgap.model.event import Event
from ackgap.target.clock import VirtualClock
from ackgap.target.engine import Engine
from ackgap.target.ledger import Numbering
from ackgap.target.ports import OpenGate, Severed
from ackgap.target.profiles.facts import chosen_protection, chosen_settings
from ackgap.target.profiles.profile import load_profile
from ackgap.target.service import TargetService
from ackgap.target.wire.graphql_body import read_graphql
from ackgap.target.wire.payload import decode_body, decode_query, digest
from ackgap.target.wire.request import Request

LIMIT_S = 10.0


class ListRecorder:
    """Keeps events, and lets a test wait for one by its type."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = asyncio.Event()

    def record(self, kind: Any, /, **values: Any) -> Any:
        event = kind(seq=len(self.events) + 1, at_s=0.0, **values)
        self.events.append(event)
        self._changed.set()
        return event

    def of(self, kind: Any) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    async def seen(self, kind: Any, count: int = 1) -> Any:
        async with asyncio.timeout(LIMIT_S):
            while len(self.of(kind)) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.of(kind)[count - 1]


class ParkingGate(OpenGate):
    """Parks requests at chosen phases until the test lets them go."""

    def __init__(self, *phases: Phase) -> None:
        super().__init__()
        self.phases = set(phases)
        self.life: int | None = 1
        self.passed: list[tuple[str, Phase]] = []
        self._parked: list[tuple[int, Phase, asyncio.Future[None]]] = []
        self._changed = asyncio.Event()

    def incarnation_of(self, peer_port: int, local_port: int, peer_host: str = "127.0.0.1") -> int | None:
        return self.life

    async def reached(self, *, incarnation: int, name: str, occurrence: int, phase: Phase, attempt: int) -> Any:
        self.passed.append((name, phase))
        if phase in self.phases:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._parked.append((incarnation, phase, future))
            self._changed.set()
            await future

    async def parked(self, count: int = 1) -> None:
        async with asyncio.timeout(LIMIT_S):
            while len(self._parked) < count:
                self._changed.clear()
                await self._changed.wait()

    def release(self, *, stop_parking: bool = False) -> None:
        if stop_parking:
            self.phases.clear()
        for _, _, future in self._parked:
            if not future.done():
                future.set_result(None)
        self._parked.clear()

    def sever(self, incarnation: int) -> None:
        for life, _, future in self._parked:
            if life == incarnation and not future.done():
                future.set_exception(Severed())
        self._parked = [entry for entry in self._parked if entry[0] != incarnation]


class Answered:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One connection, written and read byte for byte."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.refused = False

    async def __aenter__(self) -> Self:
        try:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port)
        except ConnectionResetError:  # refused so early that connecting itself fails
            self.refused = True
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self.refused:
            return
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answered:
        await self.send(request_bytes(method, path, body, headers))
        return await self.answer(method)

    async def answer(self, method: str = "POST") -> Answered:
        async with asyncio.timeout(LIMIT_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            status = int(lines[0].split()[1])
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:-2])}
            if method == "HEAD" or status in {100, 204, 304}:
                return Answered(status, headers, b"")
            if headers.get("transfer-encoding") == "chunked":
                return Answered(status, headers, await self._chunks())
            return Answered(status, headers, await self.reader.readexactly(int(headers["content-length"])))

    async def _chunks(self) -> bytes:
        body = b""
        while True:
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            piece = await self.reader.readexactly(size + 2)
            if not size:
                return body
            body += piece[:-2]

    async def end(self) -> bytes:
        """Read until the other side ends the connection; a reset counts as an end."""
        if self.refused:
            return b"reset"
        async with asyncio.timeout(LIMIT_S):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b"reset"


def request_bytes(method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> bytes:
    raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: target"]
    given = {name.lower() for name in headers or {}}
    if body is not None and "content-type" not in given:
        lines.append("Content-Type: application/json")
    if body is not None:
        lines.append(f"Content-Length: {len(raw)}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + raw


class Bench:
    """A running service with everything around it in the test's hand."""

    def __init__(self, service: TargetService, gate: Any, clock: VirtualClock) -> None:
        self.service, self.gate, self.clock = service, gate, clock
        self.recorder = ListRecorder()

    def begin(self, profile: str | Path, protection: str | None = None, **more: Any) -> None:
        self.recorder = ListRecorder()
        self.service.begin(
            profile=load_profile(str(profile)),
            protection=protection,
            settings=more.get("settings", {}),
            reads=more.get("reads", ()),
            recorder=self.recorder,
            gate=self.gate,
            clock=self.clock,
            drift=more.get("drift", 0),
            numbers=more.get("numbers") or Numbering(),
            interposer=more.get("interposer"),
        )

    def connect(self) -> Wire:
        return Wire(self.service.port)

    async def until(self, condition: Callable[[], object]) -> None:
        """Give the loop turns until something that raises no event of its own is so."""
        async with asyncio.timeout(LIMIT_S):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0)


@asynccontextmanager
async def _bench(profile: str | Path, protection: str | None = None, *, gate: Any = None, **more: Any) -> Any:
    service = TargetService("tickets")
    await service.start()
    bench = Bench(service, gate or OpenGate(), VirtualClock())
    try:
        bench.begin(profile, protection, **more)
        yield bench
    finally:
        await service.stop()


class Shop:
    """A service without a network: its engine, asked directly."""

    def __init__(self, profile: str | Path, protection: str | None = None, **more: Any) -> None:
        self.now_s = 1_800_000_000.0
        self.clock = VirtualClock(real=lambda: self.now_s)
        self.profile = load_profile(str(profile))
        self.engine = Engine(
            profile=self.profile,
            target="shop",
            protection=chosen_protection(self.profile, "shop", protection),
            settings=chosen_settings(self.profile, "shop", more.get("settings", {})),
            reads=more.get("reads", ()),
            clock=self.clock,
            drift=more.get("drift", 0),
        )

    def begin(self, method: str, path: str, body: Any = None, *, key: str | None = None, **more: Any) -> Any:
        """Decide, and leave the request as if its answer were not out yet."""
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = more.get("content_type", "application/json")
        plain, _, query = path.partition("?")
        headers = {name.lower(): value for name, value in (more.get("headers") or {}).items()}
        headers |= {} if key is None else {"idempotency-key": key}
        decoded = decode_body(raw, kind)
        request = Request(
            method=method,
            path=plain,
            query=decode_query(query),
            headers=headers,
            body=raw,
            payload=decoded.value,
            problem=decoded.problem,
            digest=digest(raw),
        )
        if self.profile.graphql:
            request = replace(request, graphql=read_graphql(request.payload))
        match = self.profile.match(request)
        assert match is not None
        request = replace(request, path_values=match.path_values)
        return self.engine.decide(
            match, request, incarnation=more.get("incarnation", 1), occurrence=more.get("occurrence", 1)
        )

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        handled = self.begin(method, path, body, **more)
        self.engine.complete(handled)
        return handled


@pytest.fixture
def bench() -> Callable[..., Any]:
    return _bench


@pytest.fixture(scope="session")
def shop() -> type[Shop]:
    return Shop


@pytest.fixture
def parking_gate() -> type[ParkingGate]:
    return ParkingGate


@pytest.fixture
def as_bytes() -> Callable[..., bytes]:
    return request_bytes


@pytest.fixture
def run() -> Callable[[Awaitable[Any]], Any]:
    def runner(work: Any) -> Any:
        async def limited() -> Any:
            async with asyncio.timeout(30):
                return await work

        return asyncio.run(limited())

    return runner


@pytest.fixture
def profile_file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "service.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
