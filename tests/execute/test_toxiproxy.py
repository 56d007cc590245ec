"""Toxiproxy as a service of a slot: each type of toxic does what it says, in its direction, and is off again."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator

import pytest
from needs import needed

from ackgap.errors import EnvironmentLacks, HarnessFailed
from ackgap.execute.services.service import Place
from ackgap.execute.services.toxiproxy import Toxiproxy
from ackgap.execute.services.toxiproxy_program import find_toxiproxy, obtain_toxiproxy
from ackgap.scenario.toxics import ToxicSpec


class Echo:
    """Says everything back, in capital letters, until nothing more comes."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heard: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            while data := connection.recv(65536):
                self.heard.append(data)
                connection.sendall(data.upper())


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.listener.close()


@pytest.fixture(scope="module")
def network(echo, tmp_path_factory) -> Iterator[Toxiproxy]:
    with needed():
        obtain_toxiproxy() if os.environ.get("CI") == "true" else find_toxiproxy()
    place = Place(directory=tmp_path_factory.mktemp("toxiproxy"), run_token="t", label="t", fill=str)
    made = Toxiproxy({"desk": f"127.0.0.1:{echo.port}"}, place)
    made.start()
    yield made
    made.stop()


@contextlib.contextmanager
def toxic(network: Toxiproxy, kind: str, stream: str = "downstream", **attributes: int) -> Iterator[None]:
    spec = ToxicSpec(name="it", link="desk", type=kind, stream=stream, attributes=attributes)
    network.switch_on(spec)
    try:
        yield
    finally:
        network.switch_off(spec)


def connect(network: Toxiproxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", network.ports["desk"]), timeout=2)


def said(connection: socket.socket, text: bytes, limit_s: float = 2.0) -> bytes:
    """Return what comes back, until as much has come, or nothing more does."""
    connection.settimeout(limit_s)
    heard = b""
    with contextlib.suppress(TimeoutError):
        connection.sendall(text)
        while len(heard) < len(text) and (piece := connection.recv(65536)):
            heard += piece
    return heard


def test_nothing_is_changed_where_nothing_is_on(network):
    with connect(network) as connection:
        assert said(connection, b"hello") == b"HELLO"


@pytest.mark.parametrize("stream", ["downstream", "upstream"])
def test_latency_makes_what_passes_late_and_is_over_for_connections_that_are_there(network, stream):
    with connect(network) as connection:
        with toxic(network, "latency", stream, latency=250):
            began_s = time.monotonic()
            assert said(connection, b"hello") == b"HELLO"
            assert time.monotonic() - began_s >= 0.25
        assert said(connection, b"again") == b"AGAIN"


def test_a_narrow_link_lets_pass_no_more_than_its_rate(network):
    with toxic(network, "bandwidth", rate=40), connect(network) as connection:
        began_s = time.monotonic()
        assert len(said(connection, b"x" * 20_000)) == 20_000
        assert time.monotonic() - began_s >= 0.4


def test_a_slicer_sends_small_pieces(network):
    with toxic(network, "slicer", average_size=10, delay=20_000), connect(network) as connection:
        connection.sendall(b"x" * 100)
        assert len(connection.recv(65536)) < 100


def test_a_data_limit_ends_the_connection_after_so_many_bytes(network):
    with toxic(network, "limit_data", bytes=3), connect(network) as connection:
        assert said(connection, b"hello") == b"HEL"


def test_the_direction_decides_who_hears_half(network, echo):
    with toxic(network, "limit_data", "upstream", bytes=3), connect(network) as connection:
        assert said(connection, b"12345") in (b"123", b"")
    assert b"123" in echo.heard
    assert b"12345" not in echo.heard


def test_a_black_hole_says_nothing_and_ends_what_is_there_when_it_is_over(network):
    with connect(network) as connection:
        with toxic(network, "timeout"):
            assert said(connection, b"hello", limit_s=0.3) == b""
        connection.settimeout(2)
        assert connection.recv(10) == b""


def test_a_reset_is_one(network):
    with toxic(network, "reset_peer"), connect(network) as connection:
        connection.sendall(b"hello")
        with pytest.raises(ConnectionResetError):
            connection.recv(10)


def test_a_slow_close_comes_late(network):
    with toxic(network, "slow_close", delay=300), connect(network) as connection:
        connection.shutdown(socket.SHUT_WR)
        began_s = time.monotonic()
        assert connection.recv(10) == b""
        assert time.monotonic() - began_s >= 0.25


def test_a_link_that_is_down_ends_connections_refuses_others_and_comes_back(network):
    with connect(network) as connection, toxic(network, "down"):
        assert connection.recv(10) == b""
        with pytest.raises(ConnectionRefusedError):
            connect(network)
        network.cut()
        with pytest.raises(ConnectionRefusedError):
            connect(network)
    with connect(network) as connection:
        assert said(connection, b"hello") == b"HELLO"


def test_renewing_switches_everything_off(network):
    for number, kind in enumerate(("timeout", "down")):
        network.switch_on(ToxicSpec(name=f"left-{number}", link="desk", type=kind))
    network.renew()
    with connect(network) as connection:
        assert said(connection, b"hello") == b"HELLO"


def test_what_the_server_refuses_is_said(network):
    with pytest.raises(HarnessFailed, match="refused"), toxic(network, "limit_data", bytes="many"):  # type: ignore[arg-type]
        pass


def test_a_program_on_the_path_is_taken_before_one_that_was_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("ACKGAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="no `toxiproxy-server` on PATH"):
        find_toxiproxy()
    kept = program(tmp_path / "cache" / "toxiproxy" / "toxiproxy-server")
    assert find_toxiproxy() == kept
    found = program(tmp_path / "toxiproxy-server")
    assert find_toxiproxy() == found


def test_go_builds_it_once_and_what_go_says_when_it_cannot_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("ACKGAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("ackgap.execute.services.toxiproxy_program._take_from_image", lambda _kept: "no image")
    if any(
        (directory / "toxiproxy-server").exists() for directory in map(type(tmp_path), os.environ["PATH"].split(":"))
    ):
        pytest.skip("this machine has it on PATH")
    program(tmp_path / "go", "echo the module is gone >&2; exit 1")
    with pytest.raises(EnvironmentLacks, match="the module is gone; no image"):
        obtain_toxiproxy()
    program(tmp_path / "go", 'echo "$*" >> "$0.log"; echo built > "$GOBIN/server"; chmod +x "$GOBIN/server"')
    made = obtain_toxiproxy()
    assert made == str(tmp_path / "cache" / "toxiproxy" / "toxiproxy-server")
    assert obtain_toxiproxy() == made
    assert (tmp_path / "go.log").read_text() == "install github.com/Shopify/toxiproxy/v2/cmd/server@latest\n"


def program(path, body: str = "exit 0") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)
