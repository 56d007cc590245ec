"""What killed runs have left in the Docker engine: found by its labels, and taken away once its harness is dead."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from ackgap.execute.containers.docker import OWNER, RUN, SLOT, Api, connect, machine

__all__ = ["LeftOver", "left_over", "remove_run", "sweep"]


@dataclass(frozen=True, slots=True)
class LeftOver:
    """Something in the engine that a dead run has left.

    Attributes:
        kind: `container`, `network` or `volume`.
        name: What the engine calls it.
    """

    kind: str
    name: str


def sweep(api: Api) -> list[LeftOver]:
    """Take away what runs have left whose harness is dead; return what that was."""
    found = list(left_over(api))
    for one in found:
        _remove(api, one)
    return found


def left_over(api: Api) -> Iterator[LeftOver]:
    """Yield what runs have left whose harness is dead, containers first: networks are in use as long as they are."""
    for one, labels in _ours(api, RUN):
        if not _is_alive(labels):
            yield one


def remove_run(run: str, *, slot: int | None = None) -> None:
    """Take away everything that a run, or one slot of it, has in the engine; nothing where no engine answers."""
    with contextlib.suppress(Exception):  # the next run sweeps what cannot be removed now
        api = connect(limit_s=10)
        try:
            for one, labels in list(_ours(api, f"{RUN}={run}")):
                if slot is None or labels.get(SLOT) == str(slot):
                    _remove(api, one)
        finally:
            api.close()


def _ours(api: Api, label: str) -> Iterator[tuple[LeftOver, Mapping[str, str]]]:
    for item in api.containers(all=True, filters={"label": label}):
        yield LeftOver("container", str(item["Id"])), item["Labels"] or {}
    for item in api.networks(filters={"label": label}):
        yield LeftOver("network", str(item["Id"])), item["Labels"] or {}
    for item in api.volumes(filters={"label": label})["Volumes"] or ():
        yield LeftOver("volume", str(item["Name"])), item["Labels"] or {}


def _remove(api: Api, one: LeftOver) -> None:
    with contextlib.suppress(Exception):  # somebody else removes the same
        if one.kind == "container":
            api.remove_container(one.name, force=True, v=True)
        elif one.kind == "network":
            _empty(api, one.name)
            api.remove_network(one.name)
        else:
            api.remove_volume(one.name, force=True)


def _empty(api: Api, network: str) -> None:
    members: Mapping[str, Any] = api.inspect_network(network).get("Containers") or {}
    for container in members:
        with contextlib.suppress(Exception):
            api.disconnect_container_from_network(container, network, force=True)


def _is_alive(labels: Mapping[str, str]) -> bool:
    """Whether the harness of something lives; what another machine has made is left to that one."""
    if labels.get("ackgap.machine") != machine():
        return True
    try:
        pid, started_s = labels.get(OWNER, "").split(":")
        return abs(psutil.Process(int(pid)).create_time() - float(started_s)) < 1
    except (ValueError, psutil.Error):
        return False
