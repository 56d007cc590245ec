"""Targets that stand for hosts: the service's end of TLS, the proxy, the authority, and clients that mean no good."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from needs import lacking

from ackgap.execute.interception.authority import ADDED_TO, REPLACING, Authority
from ackgap.execute.interception.interceptor import Interceptor
from ackgap.execute.isolation import can_isolate
from ackgap.execute.witness import NameWitness, _Door
from ackgap.model.event import AttemptReceived, DiscardedAtDeath, Note
from ackgap.target.clock import VirtualClock
from ackgap.target.ledger import Numbering
from ackgap.target.ports import OpenGate
from ackgap.target.profiles.profile import load_profile
from ackgap.target.service import TargetService
from ackgap.target.wire.tls import TlsEnd

HOST = "api.example.com"
LIMIT_S = 10
POST = (
    b"POST /tickets HTTP/1.1\r\nHost: api.example.com\r\n"
    b'Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{"title":"x"}'
)


class Recorder:
    def __init__(self) -> None:
        self.events: list[Any] = []

    def record(self, kind: Any, /, **values: Any) -> Any:
        event = kind(seq=len(self.events) + 1, at_s=0.0, **values)
        self.events.append(event)
        return event

    def of(self, kind: Any) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    async def seen(self, kind: Any) -> Any:
        async with asyncio.timeout(LIMIT_S):
            while not self.of(kind):  # noqa: ASYNC110 - whoever records is not ours
                await asyncio.sleep(0.01)
        return self.of(kind)[0]


def begin(service: TargetService, recorder: Recorder) -> None:
    service.begin(
        profile=load_profile("any"),
        protection=None,
        settings={},
        reads=(),
        recorder=recorder,
        gate=OpenGate(),
        clock=VirtualClock(),
        drift=0,
        numbers=Numbering(()),
    )


class Standing:
    """A target that stands for a host, behind the proxy, and directly with TLS."""

    def __init__(self, directory) -> None:
        self.recorder = Recorder()
        self.service = TargetService("tickets")
        self.interceptor = Interceptor({HOST: "tickets"}, {"tickets": self.service}, directory, ())
        self.port = 0
        self.asked: list[str] = []

    async def open(self) -> None:
        await self.service.start()
        begin(self.service, self.recorder)
        await self.interceptor.open(None)
        self.interceptor.asked = self.asked.append
        authority = self.interceptor._authority
        self.port = await self.service.stand_for(HOST, "127.0.0.1", 0, authority.context(HOST))

    @property
    def proxy_port(self) -> int:
        return int(self.interceptor.environment({}, {})["HTTPS_PROXY"].rpartition(":")[2])

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.interceptor.authority))


@contextlib.asynccontextmanager
async def standing(directory) -> AsyncIterator[Standing]:
    made = Standing(directory / "authority")
    await made.open()
    try:
        yield made
    finally:
        await made.service.stop()
        await made.interceptor._proxy.close()


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(LIMIT_S):
        return await reader.readuntil(b"\r\n")


def test_a_call_over_tls_is_an_attempt_like_any_other(tmp_path):
    async def run():
        async with standing(tmp_path) as made:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", made.port, ssl=made.trusting(), server_hostname=HOST
            )
            writer.write(POST)
            assert b"201" in await answer_of(reader)
            assert writer.get_extra_info("ssl_object").selected_alpn_protocol() in (None, "http/1.1")
            assert (await made.recorder.seen(AttemptReceived)).operation == "tickets.POST/tickets"
            writer.close()
            assert not made.recorder.of(Note)

    asyncio.run(run())


def test_a_tunnel_of_the_proxy_leads_to_the_target_and_to_nobody_else(tmp_path):
    async def run():
        async with standing(tmp_path) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.proxy_port)
            writer.write(b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n")
            assert b" 200 " in await answer_of(reader)
            await reader.readuntil(b"\r\n")
            await writer.start_tls(made.trusting(), server_hostname=HOST)
            writer.write(POST)
            assert b"201" in await answer_of(reader)
            writer.close()
            for host in (b"api.example.com:8443", b"other.example.com:443"):
                reader, writer = await asyncio.open_connection("127.0.0.1", made.proxy_port)
                writer.write(b"CONNECT " + host + b" HTTP/1.1\r\n\r\n")
                assert b"403" in await answer_of(reader)
                writer.close()
            assert made.asked == [f"{HOST}:8443", "other.example.com"]

    asyncio.run(run())


PORTS = """
import asyncio, socket
from ackgap.execute.interception.ports import PortWitness
from ackgap.execute.isolation import isolate_network

async def run():
    assert isolate_network()
    seen, witness = [], PortWitness((443, 80))
    witness.watch("a.example.com", "127.77.0.1")
    witness.watch("b.example.com", "127.77.0.2")
    witness.asked = seen.append
    with socket.create_server(("127.77.0.1", 443)):
        for host, port in (("127.77.0.1", 443), ("127.77.0.1", 8443), ("127.77.0.2", 80), ("127.77.0.3", 99)):
            with socket.socket() as client:
                if client.connect_ex((host, port)) == 0:
                    client.sendall(b"x")
    witness.look()
    assert seen == ["a.example.com:8443"], seen
    with socket.socket() as client:
        assert client.connect_ex(("127.77.0.2", 5000)) != 0
    await asyncio.sleep(0.2)
    assert seen[1:] == ["b.example.com:5000"], seen
    witness.close()

asyncio.run(run())
"""


def test_a_connection_to_a_port_where_nobody_listens_is_seen_with_its_host():
    if not can_isolate():
        lacking("no network of its own is to be had; get it with: root, or unprivileged user namespaces")
    done = subprocess.run([sys.executable, "-c", PORTS], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_a_plain_call_through_the_proxy_comes_to_its_own_host_each_time(tmp_path):
    async def run():
        async with standing(tmp_path) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.proxy_port)
            writer.write(POST.replace(b"/tickets", b"http://api.example.com/tickets", 1))
            async with asyncio.timeout(LIMIT_S):
                whole = await reader.read()  # ends: the next request may be for another host
            assert whole.startswith(b"HTTP/1.1 201")
            assert b"connection: close" in whole.lower()
            assert made.recorder.of(AttemptReceived)[0].operation == "tickets.POST/tickets"
            writer.close()

    asyncio.run(run())


def test_a_client_that_does_not_trust_the_authority_is_noted_with_the_host(tmp_path):
    async def run():
        async with standing(tmp_path) as made:
            sock = socket.create_connection(("127.0.0.1", made.port))
            wary = ssl.create_default_context()
            loop = asyncio.get_running_loop()
            with pytest.raises(ssl.SSLError):
                await loop.run_in_executor(None, lambda: wary.wrap_socket(sock, server_hostname=HOST))
            note = await made.recorder.seen(Note)
            assert note.code == "tls_refused"
            assert "did not trust the certificate of api.example.com" in note.text

    asyncio.run(run())


def test_a_client_that_leaves_after_the_handshake_is_noted(tmp_path):
    async def run():
        async with standing(tmp_path) as made:
            _, writer = await asyncio.open_connection("127.0.0.1", made.port, ssl=made.trusting(), server_hostname=HOST)
            writer.transport.abort()
            assert "left as soon as" in (await made.recorder.seen(Note)).text

    asyncio.run(run())


def half_a_hello() -> bytes:
    come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(come, go, server_hostname=HOST)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return go.read()[:60]


@pytest.mark.parametrize(
    "said",
    [b"", b"\x00" * 3000, b"GET / HTTP/1.1\r\n\r\n", half_a_hello()],
    ids=["nothing", "garbage", "plain", "half"],
)
@pytest.mark.parametrize("door", ["tls", "proxy"])
def test_no_client_that_finishes_no_handshake_holds_up_the_end_of_a_cell(tmp_path, said, door):
    async def run():
        async with standing(tmp_path) as made:
            port = made.port if door == "tls" else made.proxy_port
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(said)
            await asyncio.sleep(0.05)
            async with asyncio.timeout(2):
                await made.service.drain(1)
                await made.interceptor.close_cell()
            assert not made.recorder.of(AttemptReceived)
            begin(made.service, Recorder())  # and the next cell begins
            assert made.service.open_connections(1) == 0
            writer.close()

    asyncio.run(run())


def test_half_a_head_at_the_proxy_ends_with_the_cell(tmp_path):
    async def run():
        async with standing(tmp_path) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.proxy_port)
            writer.write(b"CONNECT api.exam")
            await asyncio.sleep(0.05)
            async with asyncio.timeout(2):
                await made.interceptor.close_cell()
                with pytest.raises(ConnectionResetError):
                    await reader.readexactly(1)
            writer.close()

    asyncio.run(run())


def test_what_a_dead_client_had_sent_under_tls_is_read_and_counted(tmp_path):
    async def run():
        async with standing(tmp_path) as made:
            sock = socket.create_connection(("127.0.0.1", made.port))
            loop = asyncio.get_running_loop()
            client = await loop.run_in_executor(None, lambda: made.trusting().wrap_socket(sock, server_hostname=HOST))
            await asyncio.sleep(0.05)
            client.send(POST)  # the loop has no turn before the life ends
            await made.service.drain(1)
            (discarded,) = made.recorder.of(DiscardedAtDeath)
            assert (discarded.byte_count, discarded.complete_request) == (len(POST), True)
            client.close()

    asyncio.run(run())


def test_an_answer_of_any_size_is_said_whole(tmp_path):
    authority = Authority(tmp_path / "authority")
    server = TlsEnd(authority.context(HOST))
    come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusting = ssl.create_default_context(cafile=str(authority.certificate))
    client = trusting.wrap_bio(come, go, server_hostname=HOST)
    for _ in range(3):
        with contextlib.suppress(ssl.SSLWantReadError):
            client.do_handshake()
        if said := go.read():
            server.take(said)
        come.write(server.due())
    assert not server.is_midway
    assert server.is_unheard
    come.write(server.wrap(b"x" * 1_000_000))
    heard = b""
    with contextlib.suppress(ssl.SSLWantReadError):
        while piece := client.read(65536):
            heard += piece
    assert len(heard) == 1_000_000
    client.write(b"hello")
    parts = go.read()
    assert server.take(parts[:10]) == b""
    assert server.is_midway
    assert server.take(parts[10:]) == b"hello"
    assert not server.is_midway
    assert not server.is_unheard


def test_clients_are_told_of_the_authority_beside_those_that_they_knew(tmp_path):
    mine = tmp_path / "mine.pem"
    mine.write_text("MINE\n")
    authority = Authority(tmp_path / "authority")
    told = authority.variables({"REQUESTS_CA_BUNDLE": str(mine), "NODE_EXTRA_CA_CERTS": str(mine)})
    assert set(told) == {*REPLACING, *ADDED_TO}
    own = authority.certificate.read_text()
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        text = Path(told[name]).read_text()
        assert own in text
        assert "MINE" in text
        assert text.count("BEGIN CERTIFICATE") > 50
    assert Path(told["NODE_EXTRA_CA_CERTS"]).read_text() == own + "\nMINE\n"
    assert (tmp_path / "authority").stat().st_mode & 0o777 == 0o700
    assert "PRIVATE KEY" not in "".join(path.read_text() for path in (tmp_path / "authority").iterdir())


def test_what_the_scenario_says_of_proxies_and_authorities_is_left_alone(tmp_path):
    async def run():
        async with standing(tmp_path) as made:
            inherited = {"CURL_CA_BUNDLE": "/mine", "HTTPS_PROXY": "http://mine", "ALL_PROXY": "http://corporate"}
            env = made.interceptor.environment(inherited, {"CURL_CA_BUNDLE": "/mine", "HTTPS_PROXY": "http://mine"})
            assert (env["CURL_CA_BUNDLE"], env["HTTPS_PROXY"]) == ("/mine", "http://mine")
            assert "ALL_PROXY" not in env
            assert env["http_proxy"].startswith("http://127.0.0.1:")
            assert "127.0.0.1" in env["NO_PROXY"]
            assert "SSL_CERT_DIR" not in env

    asyncio.run(run())


class Sent:
    def __init__(self) -> None:
        self.packets: list[bytes] = []

    def sendto(self, packet: bytes, address: object) -> None:
        self.packets.append(packet)


@pytest.mark.parametrize(
    ("name", "kind", "code", "addresses", "asked"),
    [
        ("api.example.com", 1, 0, [b"\x7fM\x00\x01"], []),
        ("api.example.com", 28, 0, [], []),
        ("api.example.com.lan.example", 1, 3, [], []),
        ("other.example.com", 1, 3, [], ["other.example.com"]),
    ],
)
def test_look_ups_of_a_declared_host_are_answered_and_no_others(name, kind, code, addresses, asked):
    witness, seen, sent = NameWitness(), [], Sent()
    witness.answers[HOST] = "127.77.0.1"
    witness.asked = seen.append
    door = _Door(witness)
    door._transport = sent
    question = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
    door.datagram_received(
        struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + question + struct.pack(">HH", kind, 1), ("", 1)
    )
    (answer,) = sent.packets
    number, flags, _, answers, _, _ = struct.unpack(">HHHHHH", answer[:12])
    assert (number, flags & 0xF, answers) == (7, code, len(addresses))
    assert [answer[-4:]] * len(addresses) == addresses
    assert seen == asked
