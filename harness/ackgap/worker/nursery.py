"""The nursery: a Python that has imported the worker's third-party modules once, and forks for each life.

It runs in the worker's interpreter, imports nothing of the user's own code, and holds no client, engine or thread. A
life forked from it gets arguments, environment, working directory, streams, signal dispositions and exit handlers of a
fresh interpreter. It is started by ackgap alone, never by a worker:

    nursery <- {"import": [names], "clock_offset_s"}        -> {"ready": true, "threads": n, "alive": [words],
                                                                "missing": [names],
                                                                "read": [names of variables], null for all of them}
    nursery <- {"run": argv, "directory", "env"} + 1 fd     -> {"pid": n}, and later {"exit": n, "status": returncode}

Messages are a length of four bytes and JSON; the descriptor becomes standard output and error of the life.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1

_set_by_imports: dict[str, tuple[str | None, str]] = {}
"""Variables that the imports set or changed: what they were before, and what they are."""


def main(descriptor: int, room: str) -> None:
    """Serve requests until the other end hangs up.

    Args:
        descriptor: Of the socket to ackgap.
        room: Directory of the injector's modules.
    """
    channel = socket.socket(fileno=descriptor)
    prctl = _prctl()
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(ended, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    children: set[int] = set()
    while True:
        waited_for: list[Any] = [channel, ended]
        readable, _, _ = select.select(waited_for, [], [])
        if ended in readable:
            _forget(ended)
            _report_ended(channel, children)
        if channel not in readable:
            continue
        message, descriptors = _receive(channel)
        if message is None:
            return
        if "import" in message:
            _open_room(room)
            _move_clock(message["clock_offset_s"])
            before, open_before = dict(os.environ), _open_things()
            missing, read = _import(message["import"])
            _set_by_imports.update({name: (before.get(name), text) for name, text in os.environ.items()})
            for name, text in before.items():
                if _set_by_imports.get(name) == (text, text):
                    del _set_by_imports[name]
            _import_injector()
            gc.collect()
            gc.freeze()
            alive = [word for place, word in _open_things().items() if open_before.get(place) != word]
            ready = {"ready": True, "threads": _threads(), "alive": sorted(set(alive))}
            _send(channel, {**ready, "missing": missing, "read": read})
            continue
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(ended)
            os.close(wake)
            channel.close()
            _become(message, descriptors[0], room, prctl)
        for received in descriptors:
            os.close(received)
        children.add(pid)
        _send(channel, {"pid": pid})


def _become(message: Message, descriptor: int, room: str, prctl: Any) -> None:
    """Turn this process into a life; it does not return."""
    status = 1
    try:
        os.setsid()
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        for number in (nothing, descriptor):
            if number > 2:
                os.close(number)
        os.chdir(message["directory"])
        os.environ.clear()
        os.environ.update(message["env"])
        for name, (before, after) in _set_by_imports.items():
            if os.environ.get(name) == before:
                os.environ[name] = after
        _forget_caches()
        _start_injector(room)
        status = _run(message["run"])
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        _end(status)


def _run(argv: list[str]) -> int:
    """Run a script as `python script` does and return the exit status."""
    script = os.path.abspath(argv[0])  # as Python itself does since 3.9
    sys.argv = list(argv)
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    main_module = type(sys)("__main__")
    main_module.__file__ = script
    main_module.__dict__["__builtins__"] = __import__("builtins")
    sys.modules["__main__"] = main_module
    try:
        with open(script, "rb") as file:
            code = compile(file.read(), script, "exec", dont_inherit=True)
        exec(code, main_module.__dict__)  # noqa: S102 - this is what running a script is
    except SystemExit as end:
        if end.code is None:
            return 0
        if isinstance(end.code, int):
            return end.code
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(status: int) -> None:
    """End as an interpreter does: threads are joined, exit handlers run, streams are flushed."""
    try:
        threading = sys.modules.get("threading")
        if threading is not None:
            threading._shutdown()
        import atexit

        atexit._run_exitfuncs()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = status or 120
    os._exit(status & 0xFF)


def _open_room(room: str) -> None:
    package = type(sys)("_ackgap_worker")
    package.__path__ = [room]
    sys.modules["_ackgap_worker"] = package


def _move_clock(offset_s: float) -> None:
    """Move the clock before anything is imported that may read it, or keep one of its functions."""
    if not offset_s:
        return
    from _ackgap_worker import clock  # type: ignore[import-not-found]

    clock.move(offset_s)


def _import_injector() -> None:
    """Import what a life hooks itself with. Nothing of it does anything yet: `bootstrap.start` does, in the life."""
    try:
        from _ackgap_worker import bootstrap, files, guard, imports  # noqa: F401

        for name, (hooks, _) in imports.HOOKS.items():
            if name in sys.modules:
                importlib.import_module(f"_ackgap_worker.{hooks}")
    except Exception:
        pass  # the life will try again, and say so


def _start_injector(room: str) -> None:
    if not os.environ.get("ACKGAP_CHANNEL"):
        return
    if "_ackgap_worker" not in sys.modules:
        _open_room(room)
    try:
        from _ackgap_worker import bootstrap

        bootstrap.start(os.environ)
    except Exception:
        pass  # as in a fresh interpreter: the user's worker runs on


def _forget_caches() -> None:
    """Forget what modules remembered of the nursery's own environment."""
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile.tempdir = None  # type: ignore[attr-defined]
        tempfile._name_sequence = None  # type: ignore[attr-defined]
    time = sys.modules.get("time")
    if time is not None:
        time.tzset()
    importlib.invalidate_caches()


def _import(names: list[str]) -> tuple[list[str], list[str] | None]:
    """Import modules; return those that could not be, and which variables were read, None for all of them."""
    from _ackgap_worker.environment_reads import watch_reads  # type: ignore[import-not-found]

    missing = []
    with watch_reads() as reads:
        for name in names:
            try:
                importlib.import_module(name)
            except BaseException:
                missing.append(name)
    return missing, None if reads.all else sorted(reads.names)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        threading = sys.modules.get("threading")
        return threading.active_count() if threading is not None else 1


def _open_things() -> dict[str, str]:
    """Return, in words, what lives that are forked would share: connections, files that are written, processes."""
    found = {}
    for name in _listed("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
            written = fcntl.fcntl(int(name), fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        except OSError:
            continue  # that of the listing itself
        if target.startswith("socket:"):
            found[f"{name} {target}"] = "a socket"
        elif target.startswith(("pipe:", "anon_inode:")):
            found[f"{name} {target}"] = "a pipe or an event queue"
        elif written and not target.startswith("/dev/"):
            found[f"{name} {target}"] = f"a file, {os.path.basename(target)}"
    for task in _listed("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as children:
                found.update({f"process {pid}": "another process" for pid in children.read().split()})
        except OSError:
            pass  # the kernel does not say
    return found


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _prctl() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    return ctypes.CDLL(None).prctl


def _forget(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        pass


def _report_ended(channel: socket.socket, children: set[int]) -> None:
    for pid in list(children):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            children.discard(pid)
            _send(channel, {"exit": pid, "status": os.waitstatus_to_exitcode(status)})


def _send(channel: socket.socket, message: Message) -> None:
    text = json.dumps(message).encode()
    channel.sendall(struct.pack(">I", len(text)) + text)


def _receive(channel: socket.socket) -> tuple[Message | None, list[int]]:
    head, descriptors, _, _ = socket.recv_fds(channel, 4, 4)
    if not head:
        return None, []
    size = struct.unpack(">I", head + _exactly(channel, 4 - len(head)))[0]
    return json.loads(_exactly(channel, size)), descriptors


def _exactly(channel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            raise SystemExit
        data += part
    return data
