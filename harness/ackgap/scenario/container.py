"""ContainerSpec: the image that a worker runs in, where it does not run as a plain process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

__all__ = ["HOST_NAMES", "ContainerSpec", "container_mistakes"]

HOST_NAMES = ("same", "new")
"""Whether every life has the host name of the first, as a stateful set gives it, or one of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """How a worker's containers are made.

    Attributes:
        image: Name of an image that the engine has; empty where it is built.
        build: Folder with a Dockerfile, built before the run.
        hostname: One of `HOST_NAMES`.
        init: Docker's own init is process 1, and the worker its child; without it the worker is process 1.
        mounts: Folders below the cell's directory, by the absolute path at which the container has them.
    """

    image: str = ""
    build: Path | None = None
    hostname: str = "new"
    init: bool = False
    mounts: Mapping[str, str] = field(default_factory=dict)


def container_mistakes(spec: ContainerSpec) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield the key, what is wrong with it, and what to do, for what the keys of a container can get wrong."""
    if spec.image and spec.build is not None:
        yield ("build",), "A worker has an image, or one is built for it.", "Keep one of image and build."
    if spec.build is not None and not (spec.build / "Dockerfile").is_file():
        yield ("build",), f"There is no Dockerfile in {spec.build}.", "Name the folder that holds it."
    for place, folder in spec.mounts.items():
        if not PurePosixPath(place).is_absolute() or place.rstrip("/") in ("", "/tmp"):  # noqa: S108
            yield ("mounts", place), f"{place!r} is no place in a container.", "Write an absolute path such as /data."
        inside = PurePosixPath(folder)
        if inside.is_absolute() or ".." in inside.parts or not inside.parts:
            yield ("mounts", place), f"{folder!r} is no folder of the cell.", "Write a relative path such as 'state'."
