"""Where environments are kept, and that each is made once: whole or not at all, by one of those who need it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from ackgap.environments.build import BuildFailed, build, installer
from ackgap.environments.contents import contents_of
from ackgap.environments.interpreter import Interpreter, find_interpreter
from ackgap.errors import EnvironmentLacks
from ackgap.files import cache_directory, write_whole
from ackgap.model.matrix import Variant
from ackgap.scenario.environment import EnvironmentSpec
from ackgap.scenario.scenario import Scenario

__all__ = ["READY_FILE", "cache_directory", "tell_on_stderr", "with_environments"]

READY_FILE = ".ready"
"""Written last into an environment; one without it is not whole."""

_FORM = 1
"""Goes into every digest; another number makes all environments anew."""
_DIGEST_LETTERS = 20


def with_environments(scenario: Scenario, variants: Sequence[Variant], *, tell: Callable[[str], None]) -> Scenario:
    """Return the scenario with the environments of some variants made; those that nobody needs are left alone.

    Args:
        scenario: Whose environments.
        variants: That are going to run.
        tell: Told what takes its time.

    Raises:
        EnvironmentLacks: One cannot be made; says why, and which key to correct.
    """
    needed = {scenario.environment_of(variant) for variant in variants}
    needed |= {scenario.environment_named(release.environment) for release in scenario.releases}
    needed -= {None}
    made = tuple(
        replace(spec, directory=_made(spec, scenario.source, tell)) if spec in needed else spec
        for spec in scenario.environments
    )
    return replace(scenario, environments=made)


def tell_on_stderr(text: str) -> None:
    """Say what takes its time, without mixing it into results."""
    print(text, file=sys.stderr, flush=True)


def _made(spec: EnvironmentSpec, file: str, tell: Callable[[str], None]) -> Path:
    """Return the directory of an environment, made if need be."""
    key = f"{file}, key environments.{spec.name}"
    interpreter = find_interpreter(spec.python, spec.folder)
    if interpreter is None:
        raise EnvironmentLacks(
            f"the environment {spec.name!r} needs a Python that is not here: {spec.python or sys.executable}",
            where=f"{key}.python",
            next_step="install it (`uv python install 3.12`), or name a version, a command or a path that is here",
        )
    place = cache_directory() / "environments" / _digest(spec, interpreter)
    if _is_whole(place):  # asked without the lock, so that nobody waits in vain
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(place.with_name(f"{place.name}.lock"), spec.name, tell) as lock:
            if not _is_whole(place):  # while waiting, another run may have made it
                _make(place, spec, interpreter, key=key, lock=lock, tell=tell)
    except OSError as error:
        raise EnvironmentLacks(
            f"the environment {spec.name!r} cannot be kept: {error.strerror or error}",
            where=str(error.filename or place.parent),
            next_step="make room or mend the permissions there, or set ACKGAP_CACHE to another directory",
        ) from error
    return place


def _make(
    place: Path, spec: EnvironmentSpec, interpreter: Interpreter, *, key: str, lock: int, tell: Callable[[str], None]
) -> None:
    if place.is_dir():
        shutil.rmtree(place)  # left by a build that was killed, or its interpreter is gone
    log = place.with_name(f"{place.name}.log")
    wanted = ", ".join(spec.requirements)
    tell(f"making the environment {spec.name} (Python {interpreter.version}: {wanted}) with {installer()}, in {place}")
    began_s = time.monotonic()
    try:
        build(place, interpreter, spec.arguments, folder=spec.folder, lock=lock)
    except BuildFailed as error:
        write_whole(log, [error.whole])
        shutil.rmtree(place, ignore_errors=True)
        raise EnvironmentLacks(
            f"the environment {spec.name!r} cannot be made: {error.said.rstrip('.')}",
            where=f"{key}.requirements",
            next_step=f"correct the requirement, or see to it that its index is reached; all of what was said: {log}",
        ) from None
    described = {"requirements": spec.requirements, "interpreter": asdict(interpreter), "with": installer()}
    log.unlink(missing_ok=True)
    write_whole(place / READY_FILE, [json.dumps(described, indent=1), "\n"])
    tell(f"made the environment {spec.name} in {time.monotonic() - began_s:.0f} s")


def _digest(spec: EnvironmentSpec, interpreter: Interpreter) -> str:
    """Return what stands for an environment: equal digests mean equal environments."""
    parts = {
        "form": _FORM,
        "interpreter": [interpreter.version, interpreter.implementation, interpreter.platform, interpreter.home],
        "requirements": sorted(spec.requirements),
        "contents": contents_of(spec.arguments, spec.folder),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_DIGEST_LETTERS]


def _is_whole(place: Path) -> bool:
    # Its python is a link to the interpreter it was made from, which may have been removed since.
    return (place / READY_FILE).is_file() and os.access(place / "bin" / "python", os.X_OK)


@contextlib.contextmanager
def _locked(path: Path, name: str, tell: Callable[[str], None]) -> Iterator[int]:
    """Hold a lock; the system lets go of it when its last holder dies, so that it is never stale.

    Whoever holds it has a limit for each step, and so has whoever waits.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"waiting for another run that makes the environment {name}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
