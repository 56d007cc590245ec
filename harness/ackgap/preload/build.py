"""Building the preload library: once for each source and compiler, kept in the cache, whole or not at all."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ackgap.errors import EnvironmentLacks
from ackgap.files import cache_directory

__all__ = ["COMPILER_HINT", "compiler", "library"]

COMPILER_HINT = "install a C compiler (apt-get install gcc libc6-dev), or choose another injector: trace, or wire"

_SOURCE = Path(__file__).parent / "library.c"
_OPTIONS = (
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-ftls-model=initial-exec",
    "-U_FORTIFY_SOURCE",
)
_BUILD_LIMIT_S = 120.0
_SAID = 1500
_DIGEST_LETTERS = 20


def compiler() -> str | None:
    """Return the path of a C compiler; None where there is none."""
    named = os.environ.get("CC", "").split()
    return next((found for name in (*named[:1], "cc", "gcc", "clang") if (found := shutil.which(name))), None)


@functools.cache
def library() -> Path:
    """Return the path of the library, built if need be.

    Raises:
        EnvironmentLacks: It cannot be built here; says why, and what to do instead.
    """
    if not sys.platform.startswith("linux"):
        raise EnvironmentLacks(
            "the preload injector needs Linux", where=sys.platform, next_step="choose another injector: python, or wire"
        )
    program = compiler()
    if program is None:
        raise EnvironmentLacks(
            "the preload injector has to be built, and there is no C compiler",
            where="cc, gcc and clang are not on PATH",
            next_step=COMPILER_HINT,
        )
    place = cache_directory() / "preload" / f"ackgap-preload-{_digest(program)}.so"
    if not place.is_file():
        _build(program, place)
    return place


def _digest(program: str) -> str:
    """Return what differs where the library has to be built anew: source, options, and the very compiler."""
    status = Path(program).stat()
    parts = (
        _SOURCE.read_bytes(),
        repr(_OPTIONS).encode(),
        f"{Path(program).resolve()} {status.st_size} {status.st_mtime_ns}".encode(),
    )
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:_DIGEST_LETTERS]


def _build(program: str, place: Path) -> None:
    """Compile into a file beside the place, and rename it: several may do so at once, and each result is right."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as directory:
            made = Path(directory) / place.name
            done = subprocess.run(
                [program, *_OPTIONS, "-o", str(made), str(_SOURCE), "-ldl", "-lpthread"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_BUILD_LIMIT_S,
                check=False,
            )
            said, failed = done.stderr.strip()[-_SAID:], done.returncode != 0
            if not failed:
                made.replace(place)
    except (OSError, subprocess.TimeoutExpired) as error:
        said, failed = str(error), True
    if failed:
        raise EnvironmentLacks(
            f"the preload injector could not be built: {said}", where=program, next_step=COMPILER_HINT
        )
