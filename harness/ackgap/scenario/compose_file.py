"""What is understood of a Compose file: the servers that it describes, as far as ackgap can start them itself.

ackgap starts them at the private network of a slot, where they have their names of the file and no way out. So it does
not hand the file to `docker compose`, which would give them a network of its own, with a way out.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["ComposeInvalid", "ComposeServer", "HealthCheck", "read_compose"]

_UNDERSTOOD = frozenset(
    {
        "image",
        "command",
        "entrypoint",
        "environment",
        "user",
        "working_dir",
        "healthcheck",
        "depends_on",
        "volumes",
        "tmpfs",
    }
)
_WITHOUT_MEANING = frozenset({"ports", "expose", "restart", "container_name", "hostname", "labels", "logging"})
"""Read and left alone: at a slot's own network every port is open, and a server lives as long as its cell."""
_BESIDE = frozenset({"services", "version", "name", "volumes"})
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class ComposeInvalid(ValueError):
    """A file cannot be read, or says what ackgap cannot do.

    Args:
        key: Where in the file.
        what: What is wrong there.
    """

    def __init__(self, key: str, what: str) -> None:
        super().__init__(f"{key}: {what}" if key else what)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """How a server shows that it is up.

    Attributes:
        test: As Docker has it: `["CMD", ...]` or `["CMD-SHELL", text]`.
        interval_s: Between two looks.
        timeout_s: For one of them.
        retries: Looks in vain after which it counts as failed.
        start_period_s: In which a look in vain does not count.
    """

    test: tuple[str, ...]
    interval_s: float = 0.2
    timeout_s: float = 30.0
    retries: int = 60
    start_period_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeServer:
    """One of the file's services.

    Attributes:
        name: Under which the others and the worker reach it.
        image: That the engine has.
        command: Replaces the image's; empty leaves it.
        entrypoint: Likewise.
        environment: Added to the image's.
        user: As whom it runs; empty leaves that to the image.
        working_dir: Likewise.
        health: How it shows that it is up; None takes it as up once it runs.
        after: Servers that have to be up before.
        volumes: Places that a volume is mounted at, by the volume's name; one that is new in each cell.
        binds: Folders that are mounted to be read, by their places.
        tmpfs: Places with a file system in memory.
    """

    name: str
    image: str
    command: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    working_dir: str = ""
    health: HealthCheck | None = None
    after: tuple[str, ...] = ()
    volumes: Mapping[str, str] = field(default_factory=dict)
    binds: Mapping[str, Path] = field(default_factory=dict)
    tmpfs: tuple[str, ...] = ()


def read_compose(file: Path) -> tuple[ComposeServer, ...]:
    """Return the servers of a Compose file, each after those that it depends on.

    Raises:
        ComposeInvalid: It cannot be read, or asks for what ackgap cannot do.
        ImportError: The package that reads it is not installed.
    """
    import yaml

    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ComposeInvalid("", f"it cannot be read: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ComposeInvalid("", f"it is no YAML: {' '.join(str(error).split())}") from None
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(services, dict) or not services:
        raise ComposeInvalid("services", "there is no service in it")
    for key in document:
        if key not in _BESIDE and not str(key).startswith("x-"):
            raise ComposeInvalid(str(key), f"not understood; ackgap reads {', '.join(sorted(_BESIDE))}")
    found = {str(name): _server(str(name), table, file.parent) for name, table in services.items()}
    return tuple(_in_order(found))


def _server(name: str, table: Any, folder: Path) -> ComposeServer:
    key = f"services.{name}"
    if not isinstance(table, dict):
        raise ComposeInvalid(key, "it is no table")
    for word in table:
        if word not in _UNDERSTOOD | _WITHOUT_MEANING and not str(word).startswith("x-"):
            raise ComposeInvalid(f"{key}.{word}", f"not understood; ackgap reads {', '.join(sorted(_UNDERSTOOD))}")
    if not isinstance(table.get("image"), str):
        raise ComposeInvalid(f"{key}.image", "it names no image; build it first, and name it here")
    volumes, binds = _volumes(f"{key}.volumes", table.get("volumes") or (), folder)
    return ComposeServer(
        name=name,
        image=table["image"],
        command=_words(f"{key}.command", table.get("command")),
        entrypoint=_words(f"{key}.entrypoint", table.get("entrypoint")),
        environment=dict(_pairs(f"{key}.environment", table.get("environment") or {})),
        user=str(table.get("user") or ""),
        working_dir=str(table.get("working_dir") or ""),
        health=_health(f"{key}.healthcheck", table.get("healthcheck")),
        after=tuple(str(other) for other in table.get("depends_on") or ()),
        volumes=volumes,
        binds=binds,
        tmpfs=tuple(_list(f"{key}.tmpfs", table.get("tmpfs") or ())),
    )


def _words(key: str, raw: Any) -> tuple[str, ...]:
    if raw is None:
        return ()
    if isinstance(raw, str):
        try:
            return tuple(shlex.split(raw))
        except ValueError as error:
            raise ComposeInvalid(key, str(error)) from None
    return tuple(_list(key, raw))


def _list(key: str, raw: Any) -> list[str]:
    if isinstance(raw, str):
        return [raw]
    if not isinstance(raw, Sequence):
        raise ComposeInvalid(key, "it is no list")
    return [str(item) for item in raw]


def _pairs(key: str, raw: Any) -> Iterator[tuple[str, str]]:
    if isinstance(raw, Mapping):
        for name, value in raw.items():
            text = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
            yield str(name), text
        return
    for text in _list(key, raw):
        name, equals, value = text.partition("=")
        if not equals:
            raise ComposeInvalid(key, f"{name!r} has no value; ackgap hands on nothing of its own environment")
        yield name, value


def _health(key: str, raw: Any) -> HealthCheck | None:
    if not isinstance(raw, Mapping) or raw.get("disable") or not raw.get("test"):
        return None
    test = raw["test"]
    known = HealthCheck(test=("CMD-SHELL", test) if isinstance(test, str) else tuple(_list(f"{key}.test", test)))
    if known.test[0] == "NONE":
        return None
    return HealthCheck(
        test=known.test,
        interval_s=min(known.interval_s, _seconds(f"{key}.interval", raw.get("interval"), known.interval_s)),
        timeout_s=_seconds(f"{key}.timeout", raw.get("timeout"), known.timeout_s),
        retries=max(known.retries, int(raw.get("retries") or 0)),
        start_period_s=_seconds(f"{key}.start_period", raw.get("start_period"), known.start_period_s),
    )


def _seconds(key: str, raw: Any, default: float) -> float:
    if raw is None:
        return default
    text = str(raw)
    unit = next(
        (unit for unit in _UNITS if text.endswith(unit) and text[: -len(unit)].replace(".", "", 1).isdigit()), ""
    )
    if not unit:
        raise ComposeInvalid(key, f"{text!r} is no duration; write one such as 5s")
    return float(text[: -len(unit)]) * _UNITS[unit]


def _volumes(key: str, raw: Any, folder: Path) -> tuple[dict[str, str], dict[str, Path]]:
    named: dict[str, str] = {}
    binds: dict[str, Path] = {}
    for number, text in enumerate(_list(key, raw)):
        source, _, rest = text.rpartition(":ro")[0].partition(":") if text.endswith(":ro") else text.partition(":")
        if not rest:
            named[f"anonymous-{number}"] = source
        elif source.startswith((".", "/", "~")):
            if not text.endswith(":ro"):
                raise ComposeInvalid(key, f"{text!r} could be written, and would not be as new for each cell; add :ro")
            binds[rest] = (folder / Path(source).expanduser()).absolute()
        else:
            named[source] = rest
    return named, binds


def _in_order(servers: Mapping[str, ComposeServer]) -> Iterator[ComposeServer]:
    done: set[str] = set()
    while len(done) < len(servers):
        ready = [server for server in servers.values() if server.name not in done and done.issuperset(server.after)]
        if not ready:
            lacking = next(server for server in servers.values() if server.name not in done)
            raise ComposeInvalid(f"services.{lacking.name}.depends_on", "what it depends on never comes first")
        for server in ready:
            done.add(server.name)
            yield server
