"""Forwarder: a small process outside of the slots' networks that leads to the upstreams of a run, and nowhere else.

A slot has a network with nothing in it, so that its workers reach nothing but targets. The targets in that slot still
have to reach the services that they stand in front of. Each has a *door*: a Unix socket in the run's directory whose
other end is one host and port. Bytes go through as they are; encryption is between the slot and the service.

One more door runs the scenario's reset command, which may have to reach a service as well; there is one for each
environment that it is run in.

This process ends when its standard input does: with the harness, however that dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from ackgap.errors import HarnessFailed
from ackgap.scenario.environment import EnvironmentSpec
from ackgap.scenario.scenario import Scenario
from ackgap.target.wire.redaction import tail_of

__all__ = ["RESET_LIMIT_S", "door_of", "forwarding", "knock", "reset_door_of"]

RESET_LIMIT_S = 60.0
"""How long the reset command may take, in real seconds."""

_CONNECT_LIMIT_S = 10.0
_PIECE = 64 * 1024
_READY_LIMIT_BYTES = 64


def door_of(directory: Path, scenario: Scenario, target: str) -> Path:
    """Return the door to the upstream of a target; its path is short, since the system limits it."""
    return directory / f"u{[spec.name for spec in scenario.targets].index(target)}"


def reset_door_of(directory: Path, scenario: Scenario, environment: EnvironmentSpec | None) -> Path:
    """Return the door that runs the reset command in an environment."""
    return directory / (f"u-reset{scenario.environments.index(environment)}" if environment else "u-reset")


@contextlib.contextmanager
def forwarding(scenario: Scenario, directory: Path) -> Iterator[None]:
    """Have a forwarder as long as the block runs; there is none where no target has an upstream.

    Args:
        scenario: Whose upstreams.
        directory: Of the run, where the doors are.

    Raises:
        HarnessFailed: It cannot be started.
    """
    live = [spec for spec in scenario.targets if spec.upstream is not None]
    if not live:
        yield
        return
    config = {
        "doors": {str(door_of(directory, scenario, spec.name)): _address(str(spec.upstream)) for spec in live},
        "resets": {str(door): command for door, command in _resets(scenario, directory)},
        "directory": str(scenario.worker.directory or Path.cwd()),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "ackgap.execute.forwarder", json.dumps(config)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the harness, which then ends it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if process.stdout.read(_READY_LIMIT_BYTES) != b"ready\n":
            raise HarnessFailed(
                "the process that leads to the upstreams could not be started",
                where=str(directory),
                next_step="run again; the lines above say what became of it",
            )
        yield
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _resets(scenario: Scenario, directory: Path) -> Iterator[tuple[Path, tuple[Sequence[str], Mapping[str, str]]]]:
    """Yield each door for the reset command, with the command and the variables of its environment."""
    if scenario.worker.reset is None:
        return
    for home in (None, *(spec for spec in scenario.environments if spec.directory is not None)):
        variables = {} if home is None else home.activated({"PATH": os.environ.get("PATH", os.defpath)})
        yield reset_door_of(directory, scenario, home), (scenario.command_in(home, scenario.worker.reset), variables)


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


async def knock(door: Path) -> tuple[int, str]:
    """Have the reset command run outside; return its exit status, -1 where it could not be run, and what it printed.

    Raises:
        OSError: Nobody is behind the door.
    """
    reader, writer = await asyncio.open_unix_connection(str(door))
    try:
        code, text = json.loads(await reader.read())
        return int(code), str(text)
    finally:
        writer.close()


async def _serve(config: Mapping[str, object]) -> None:
    doors = cast("Mapping[str, tuple[str, int]]", config["doors"])
    servers = [await asyncio.start_unix_server(_Door(path, *address), path) for path, address in doors.items()]
    resets = cast("Mapping[str, tuple[Sequence[str], Mapping[str, str]]]", config["resets"])
    for path, (command, variables) in resets.items():
        servers.append(await asyncio.start_unix_server(_Reset(str(config["directory"]), command, variables), path))
    os.write(1, b"ready\n")
    os.close(1)
    gone = asyncio.Event()
    asyncio.get_running_loop().add_reader(0, gone.set)  # nothing is ever written to it
    await gone.wait()
    for server in servers:
        server.close()


class _Door:
    """Leads to one host and port."""

    def __init__(self, path: str, host: str, port: int) -> None:
        self._problem = Path(path).with_suffix(".problem")
        self._host = host
        self._port = port

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_CONNECT_LIMIT_S):
                there, back = await asyncio.open_connection(self._host, self._port)
        except (OSError, TimeoutError) as error:
            reason = getattr(error, "strerror", None) or str(error) or "no connection in time"
            self._problem.write_text(f"no connection to {self._host}:{self._port}: {reason}", encoding="utf-8")
            writer.close()
            return
        self._problem.unlink(missing_ok=True)
        await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hand on what comes until it ends, and the end as well."""
    try:
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()


class _Reset:
    """Runs one command, whoever knocks."""

    def __init__(self, directory: str, command: Sequence[str], variables: Mapping[str, str]) -> None:
        self._directory = directory
        self._command = command
        self._env = {**os.environ, **variables}

    async def __call__(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                cwd=self._directory,
                env=self._env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            output, _ = await asyncio.wait_for(process.communicate(), RESET_LIMIT_S)
            said = [process.returncode, tail_of(output.decode("utf-8", "replace"), 2000)]
        except OSError as error:
            said = [-1, str(error)]
        except TimeoutError:
            process.kill()
            await process.wait()
            said = [-1, f"no answer within {RESET_LIMIT_S:g} s"]
        writer.write(json.dumps(said).encode())
        writer.close()


if __name__ == "__main__":
    asyncio.run(_serve(json.loads(sys.argv[1])))
