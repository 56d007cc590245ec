"""What stands beside the worker: services that ackgap starts, and a client that outlives the worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ackgap.scenario.compose_file import ComposeInvalid, read_compose

__all__ = ["HOOKED_KINDS", "SERVICE_PARTS", "ClientSpec", "ReadyWhen", "ServiceSpec", "is_tcp_url", "service_mistakes"]

SERVICE_PARTS: Mapping[str, tuple[str, ...]] = {
    "postgres": ("url", "host", "port", "database", "user"),
    "redis": ("url", "host", "port"),
    "temporal": ("address", "host", "port", "namespace"),
    "command": ("host", "port", "directory"),
    "compose": (),
}
"""What of a service can be written into commands and variables, by its kind: `{NAME.url}`."""

HOOKED_KINDS = frozenset({"postgres"})
"""Kinds into which a Python worker writes under the eyes of a hook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyWhen:
    """How it shows that a server is up.

    Attributes:
        port: Its port takes connections; what is asked where neither of the others is.
        command: Argument vector of a command that exits 0.
        log: Regular expression over what it prints.
        limit_s: Real seconds after which it counts as failed.
    """

    port: bool = True
    command: tuple[str, ...] | None = None
    log: str | None = None
    limit_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSpec:
    """A server that the worker needs and that is no target: its state outlives the worker.

    Attributes:
        name: The scenario's name for it.
        kind: A key of `SERVICE_PARTS`.
        url: Of a running PostgreSQL server, instead of one that ackgap starts.
        wire: What the worker says to it is understood on the way: commits are boundaries, in any language;
            `postgres` only.
        park: Statements that are boundaries as well, patterns with `*`; with `wire` only.
        command: Argument vector; kind `command` only, as is all that follows.
        env: Added to ackgap's own environment.
        ready: How it shows that it is up.
        reset: Argument vector of a command that makes it as new before each cell; without one it is started anew in
            an empty directory.
        digest: Argument vector of a command that prints the same as long as nothing durable has changed.
        compose: File that describes its servers; kind `compose` only.
    """

    name: str
    kind: str
    url: str | None = None
    wire: bool = False
    park: tuple[str, ...] = ()
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    ready: ReadyWhen = field(default_factory=ReadyWhen)
    reset: tuple[str, ...] | None = None
    digest: tuple[str, ...] | None = None
    compose: Path | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of its placeholders."""
        return (*SERVICE_PARTS[self.kind], *(("ca",) if self.wire else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSpec:
    """A process outside of the worker that starts the work and waits for it; no fault strikes it.

    Attributes:
        command: Argument vector.
        env: Added to the environment that the worker has.
        ready: How it shows that the worker is up; the client starts with the worker's process where it is None.
        grace_s: Real seconds from SIGTERM to SIGKILL for the worker, once the work is done.
    """

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    ready: ReadyWhen | None = None
    grace_s: float = 5.0


def is_tcp_url(url: str | None) -> bool:
    """Whether a URL leads to a TCP port, which a slot with a network of its own cannot reach."""
    return bool(url) and bool(urlsplit(str(url)).hostname)


def service_mistakes(spec: ServiceSpec) -> Iterator[tuple[str, str, str]]:
    """Yield the key, what is wrong with it, and what to do, for what a single service can get wrong."""
    if spec.kind == "command" and spec.command is None:
        yield "command", "A service of kind 'command' needs one.", "Write the command that starts the server."
    if spec.kind != "command":
        for key in ("command", "reset", "digest"):
            if getattr(spec, key) is not None:
                yield (
                    key,
                    f"A service of kind {spec.kind!r} is started by ackgap and has no {key!r}.",
                    "Remove the key, or use kind = 'command'.",
                )
    if spec.wire and spec.kind != "postgres":
        yield "wire", f"What is said to a service of kind {spec.kind!r} is not understood.", "Remove the key."
    if spec.park and not spec.wire:
        yield "park", "Nobody parks at statements that nobody reads.", "Add wire = true."
    yield from _compose_mistakes(spec)
    if spec.url is not None:
        if spec.kind != "postgres":
            yield "url", f"A service of kind {spec.kind!r} cannot be given by URL.", "Remove the key."
        elif mistake := _url_mistake(spec.url):
            yield "url", f"{mistake}.", "Write postgresql://user:password@host:port/database."


def _compose_mistakes(spec: ServiceSpec) -> Iterator[tuple[str, str, str]]:
    if (spec.kind == "compose") != (spec.compose is not None):
        yield (
            "compose",
            "A service of kind 'compose' is one that has a Compose file.",
            "Write compose = 'compose.yaml'.",
        )
    elif spec.compose is not None:
        try:
            read_compose(spec.compose)
        except ComposeInvalid as error:
            yield "compose", f"{spec.compose}: {error}.", "Correct it, or start the rest with a command of your own."
        except ImportError:
            yield "compose", "Compose files are read with the package PyYAML.", "pip install 'ackgap[docker]'"


def _url_mistake(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        return f"It is no URL: {error}"
    if parts.scheme not in ("postgresql", "postgres") or not parts.hostname:
        return f"{url.partition('@')[2] or url!r} is not the URL of a PostgreSQL server with its host"
    return ""
