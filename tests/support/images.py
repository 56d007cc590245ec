"""Images for tests of workers in containers, made from what this machine has: nothing is pulled."""

from __future__ import annotations

import fcntl
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from needs import needed

from ackgap.execute.containers.docker import connect

__all__ = ["EXAMPLE", "engine", "example_image"]

EXAMPLE = "ackgap-example:1"
"""A Python without any package, a shell, and curl."""

_LEFT_OUT = frozenset(
    {"site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3",
     "pydoc_data"}
)  # fmt: skip
_PROGRAMS = ("sh", "cat", "sleep", "mv", "env", "kill", "curl")
_NAME_SERVICE = ("libnss_files.so.2", "libnss_dns.so.2")


def engine() -> Any:
    """Return a client of the Docker engine; without one the test is skipped, and fails in CI."""
    with needed():
        return connect()


def example_image() -> str:
    """Return the name of the image that the scenarios in containers name; it is made where it is not there yet."""
    api = engine()
    try:
        with (Path(tempfile.gettempdir()) / "ackgap-test-image.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several processes of one test run want it at once
            if not api.images(name=EXAMPLE):
                name, tag = EXAMPLE.split(":")
                api.import_image_from_data(_file_system(), repository=name, tag=tag)
    finally:
        api.close()
    return EXAMPLE


def _file_system() -> bytes:
    """Return an archive of a file system that is just large enough for Python, a shell and curl."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("tmp", "etc", "usr/bin", "usr/local/bin"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(entry)
        for path, place in _places():
            archive.add(path, place.lstrip("/"), recursive=False)
        for place, text in (
            ("etc/passwd", "root:x:0:0:root:/:/bin/sh\n"),
            ("etc/group", "root:x:0:\n"),
            ("etc/nsswitch.conf", "hosts: files dns\n"),
        ):
            data = text.encode()
            entry = tarfile.TarInfo(place)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def _places() -> Iterator[tuple[Path, str]]:
    """Yield each file, and where the image has it."""
    python = Path(os.path.realpath(sys.base_prefix)) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    library = Path(sysconfig.get_path("stdlib", vars={"base": sys.base_prefix, "installed_base": sys.base_prefix}))
    binaries = [python]
    for name in ("python", "python3", python.name):
        yield python.resolve(), f"/usr/local/bin/{name}"
    for path in _below(library):
        yield path, f"{library}/{path.relative_to(library)}"
        if path.suffix == ".so":
            binaries.append(path)
    for name in _PROGRAMS:
        found = shutil.which(name)
        if found is not None:
            binaries.append(Path(found).resolve())
            yield Path(found).resolve(), f"/usr/bin/{name}"
            yield Path(found).resolve(), f"/bin/{name}"
    seen: set[str] = set()
    for place in _libraries(binaries):
        if place not in seen:
            seen.add(place)
            yield Path(place).resolve(), place


def _below(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        if path.name in _LEFT_OUT or path.name.startswith("config-"):
            continue
        if path.is_dir():
            yield from _below(path)
        else:
            yield path


def _libraries(binaries: Iterable[Path]) -> Iterator[str]:
    """Yield the shared libraries that programs need, by the paths at which they look for them."""
    said = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False).stdout
    for line in said.splitlines():
        if match := re.search(r"(?:=> )?(/\S+) \(0x", line):
            yield match[1]
            for name in _NAME_SERVICE:
                beside = Path(match[1]).parent / name
                if match[1].endswith("libc.so.6") and beside.exists():
                    yield str(beside)
