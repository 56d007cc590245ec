"""What this machine offers to ackgap itself: system, kernel, room, interpreters."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ackgap.content import scenarios_directory, targets_directory
from ackgap.errors import AckgapError
from ackgap.execute.isolation import can_isolate
from ackgap.execute.trace.seccomp import lacking
from ackgap.starting.checkup import Checkup
from ackgap.support import check_platform, cores

__all__ = ["core_checks", "kernel_checks", "python_checks", "room_checks"]

_LEAST_ROOM_BYTES = 256 * 1024 * 1024
_SOME_ROOM_BYTES = 2 * 1024 * 1024 * 1024
_LEAST_FILES = 256
_FICLONE = 0x40049409
_PTRACE = {"0": "any of one's own processes", "1": "one's own children only", "2": "root only", "3": "nobody"}
_PYTHON = re.compile(r"python3\.(\d+)")


def core_checks() -> Iterator[Checkup]:
    """Yield what nothing works without."""
    try:
        check_platform()
        wrong, remedy = "", ""
    except AckgapError as error:
        wrong, remedy = error.what, error.next_step
    yield Checkup(
        group="core",
        name="system",
        there=not wrong,
        found=wrong or f"{platform.system()} {platform.release()}, {platform.machine()}",
        remedy=remedy,
        core=True,
    )
    yield Checkup(
        group="core",
        name="python",
        there=sys.version_info >= (3, 11),
        found=f"{platform.python_version()}, {sys.executable}",
        remedy="" if sys.version_info >= (3, 11) else "install Python 3.11 or later",
        core=True,
    )
    lacking = _lacking_dependencies()
    yield Checkup(
        group="core",
        name="packages",
        there=not lacking,
        found=f"missing: {', '.join(lacking)}" if lacking else "all that ackgap depends on",
        remedy=f"pip install {' '.join(lacking)}" if lacking else "",
        core=True,
    )
    try:
        found = f"{len(list(targets_directory().glob('*.toml')))} targets, scenarios in {scenarios_directory()}"
        remedy = ""
    except AckgapError as error:
        found, remedy = error.what, error.next_step
    yield Checkup(group="core", name="content", there=not remedy, found=found, remedy=remedy, core=True)


def _lacking_dependencies() -> list[str]:
    """Return the distributions that this one needs and that are not installed; extras are nobody's need."""
    try:
        needed = importlib.metadata.requires("ackgap") or []
    except importlib.metadata.PackageNotFoundError:  # run from its sources
        return []
    names = [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in needed if "extra ==" not in line]
    return [name for name in names if _version(name) is None]


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def kernel_checks() -> Iterator[Checkup]:
    """Yield what the system lets us do."""
    isolated = can_isolate()
    yield Checkup(
        group="kernel",
        name="own network",
        there=isolated,
        found="a namespace for each slot: nothing but the fakes can be reached, in any language"
        if isolated
        else "not to be had: only Python workers are refused what is outside",
        used_for="workers that cannot do harm",
        remedy="" if isolated else _namespace_remedy(),
    )
    subreaper = sys.platform.startswith("linux")
    yield Checkup(
        group="kernel",
        name="all that a worker starts",
        there=subreaper,
        found="found and killed, also what left its process group"
        if subreaper
        else "killed by process group: what leaves it is looked for by its environment",
        used_for="kills that are whole",
        remedy="" if subreaper else "run in a Linux container where workers start daemons",
    )
    why_not = lacking()
    yield Checkup(
        group="kernel",
        name="system calls",
        there=not why_not,
        found=f"cannot be made to stand: {why_not}"
        if why_not
        else "can be made to stand (seccomp user notification), in any program",
        used_for='injector = "trace": durable writes of static programs, and of any other',
        remedy='injector = "preload" for what is linked dynamically' if why_not else "",
    )
    scope = _read("/proc/sys/kernel/yama/ptrace_scope")
    if scope:
        yield Checkup(
            group="kernel",
            name="ptrace scope",
            there=scope in ("0", "1"),
            found=f"{scope}: {_PTRACE.get(scope, 'not known')}",
            used_for='injector = "trace", strace and debuggers on a worker',
            remedy="" if scope in ("0", "1") else "sysctl kernel.yama.ptrace_scope=1",
        )
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    enough = files == resource.RLIM_INFINITY or files >= _LEAST_FILES
    yield Checkup(
        group="kernel",
        name="open files",
        there=enough,
        found="no limit" if files == resource.RLIM_INFINITY else f"{files} in one process",
        remedy="" if enough else "ulimit -n 1024",
    )


def _namespace_remedy() -> str:
    """Return what keeps us from a namespace, as far as the kernel says."""
    if not sys.platform.startswith("linux"):
        return "run in a Linux container; elsewhere give every worker the fakes' addresses"
    for path, bad, setting in (
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
    ):
        if _read(path) == bad:
            return f"sysctl {setting}"
    return "run as root, or in a container with --cap-add SYS_ADMIN or --security-opt seccomp=unconfined"


def room_checks() -> Iterator[Checkup]:
    """Yield what there is of cores and disk."""
    yield Checkup(
        group="room",
        name="cores",
        there=True,
        found=f"{cores()}, so many cells at a time (--jobs)",
    )
    directory = tempfile.gettempdir()
    free = shutil.disk_usage(directory).free
    writable = os.access(directory, os.W_OK)
    yield Checkup(
        group="room",
        name="temporary files",
        there=writable and free >= _SOME_ROOM_BYTES,
        found=f"{free / 1024**3:.1f} GiB free in {directory}" if writable else f"{directory} cannot be written to",
        used_for="a copy of the worker's directory for each slot",
        remedy=""
        if writable and free >= _SOME_ROOM_BYTES
        else "free some space there, or set TMPDIR to another directory",
        core=not writable or free < _LEAST_ROOM_BYTES,
    )
    cloned = _can_clone(Path(directory))
    yield Checkup(
        group="room",
        name="reflink",
        there=cloned,
        found="copies of files share their blocks" if cloned else "copies of files are whole copies",
        used_for="cheap copies of large directories; ackgap does without",
        remedy=""
        if cloned
        else "set TMPDIR to a directory on Btrfs, or XFS with reflink=1, where directories are large",
    )


def _can_clone(directory: Path) -> bool:
    """Whether a file there can be cloned; tried with two small ones."""
    if not sys.platform.startswith("linux"):
        return sys.platform == "darwin"  # APFS
    import fcntl

    try:
        with (
            tempfile.NamedTemporaryFile(dir=directory, prefix="ackgap-") as one,
            tempfile.NamedTemporaryFile(dir=directory, prefix="ackgap-") as other,
        ):
            one.write(b"x" * 4096)
            one.flush()
            fcntl.ioctl(other.fileno(), _FICLONE, one.fileno())
        return True
    except OSError:
        return False


def python_checks() -> Iterator[Checkup]:
    """Yield the other interpreters that a worker or an environment may be given."""
    found: dict[int, str] = {}
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if place.endswith("shims"):  # a version manager's stand-ins, which may lead to nothing
            continue
        with contextlib.suppress(OSError):
            for program in Path(place or ".").iterdir():
                if match := _PYTHON.fullmatch(program.name):
                    found.setdefault(int(match[1]), str(program))
    for known in _of_version_managers():
        found.setdefault(*known)
    names = [f"3.{minor}" for minor in sorted(found)]
    yield Checkup(
        group="room",
        name="pythons",
        there=bool(names),
        found=", ".join(names) or "no python3.N on PATH",
        used_for="[environments] of a scenario that names a version; workers run on 3.9 and later",
        remedy="" if names else "uv python install 3.12",
    )
    uv = shutil.which("uv")
    yield Checkup(
        group="room",
        name="uv",
        there=uv is not None,
        found=uv or "not installed: venv and pip are used",
        used_for="[environments], made several times faster",
        remedy="" if uv else "pip install uv",
    )


def _of_version_managers() -> Iterator[tuple[int, str]]:
    home = Path(os.environ.get("HOME") or "/")
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    for pattern in (data / "uv" / "python", pyenv / "versions"):
        for program in pattern.glob("*/bin/python3.*"):
            if match := _PYTHON.fullmatch(program.name):
                yield int(match[1]), str(program)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
