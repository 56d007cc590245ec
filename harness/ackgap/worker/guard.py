"""No call leaves the machine unseen, and no write leaves the cell unreported; built on the interpreter's audit events.

Refusing happens before the connection, in whatever library the user's code uses, as long as it connects through
Python's sockets.
"""

from __future__ import annotations

import _socket
import errno
import os
import sys

from . import names
from .announcer import Announcer
from .replacement import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

__all__ = ["hook_socket", "watch"]

_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SYSTEM = ("/dev", "/proc", "/sys")

_guards: list[_Egress] = []


def watch(announcer: Announcer) -> None:
    """Look at every connection and every write from now on; there is no way to stop."""
    egress, outside = _Egress(announcer), _Outside(announcer)
    _guards.append(egress)
    handlers: dict[str, Callable[[Any], None]] = {
        "socket.connect": egress.connecting,
        "socket.sendto": egress.connecting,
        "socket.sendmsg": egress.connecting,
        "socket.getaddrinfo": egress.resolving,
        "socket.gethostbyname": egress.resolving,
        "open": outside.opening,
        "sqlite3.connect": outside.opening_database,
        "os.rename": outside.moving,
        "os.link": outside.moving,
        "os.symlink": outside.moving,
        "os.mkdir": outside.making,
        "os.truncate": outside.changing,
        "os.remove": outside.changing,
        "os.rmdir": outside.changing,
    }

    def audit(event: str, args: Any) -> None:
        handler = handlers.get(event)
        if handler is not None:
            handler(args)

    sys.addaudithook(audit)


def hook_socket(module: Any, announcer: Announcer) -> None:
    """Remember which addresses the names of allowed hosts resolve to."""
    if not announcer.config.allow_hosts:
        return
    original = module.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(host, port, *args, **kwargs)
        for guard in _guards:
            guard.resolved(host, [entry[4][0] for entry in found])
        return found

    module.getaddrinfo = around(original, getaddrinfo)


class _Egress:
    """Who may be reached."""

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer
        self._allowed = announcer.config.allow_hosts
        self._refuses = announcer.config.guard_egress
        self._own = announcer.config.own_hosts
        self._names: dict[str, str] = {}
        self._told: set[tuple[str, bool]] = set()

    def resolved(self, host: Any, addresses: list[Any]) -> None:
        """An allowed host has these addresses."""
        name = _host_text(host)
        for address in addresses:
            self._names[str(address)] = name

    def connecting(self, args: Any) -> None:
        """A socket is about to connect or send somewhere.

        Raises:
            ConnectionRefusedError: It may not.
        """
        address = args[1] if len(args) > 1 else None
        if args[0].family not in (_socket.AF_INET, _socket.AF_INET6) or not isinstance(address, tuple):
            return
        host, port = _host_text(address[0]), address[1]
        if _is_this_machine(host) or host in self._own or self._names.get(host, host) in self._own:
            return
        if not self._may_reach(self._names.get(host, host), host, port):
            raise ConnectionRefusedError(
                errno.ECONNREFUSED, f"ackgap lets no connection leave the machine: {host}:{port}"
            )

    def resolving(self, args: Any) -> None:
        """A name is about to be looked up.

        Raises:
            socket.gaierror: It may not.
        """
        host = _host_text(args[0]) if args[0] is not None else ""
        port = args[1] if len(args) > 1 else None
        if _is_this_machine(host) or _is_address(host) or host == _socket.gethostname().lower() or host in self._own:
            return
        if not self._may_reach(host, host, port):
            text = f"ackgap lets no connection leave the machine: {host}"
            if self._is_elsewhere(host, port):
                text = f"ackgap refused {host}:{port}: a target stands for that host at ports 443 and 80 alone"
            raise _socket.gaierror(_socket.EAI_NONAME, text)

    def _is_elsewhere(self, host: str, port: Any) -> bool:
        """Whether a target stands for a host, and not at that port."""
        targets = self._announcer.config.targets
        return isinstance(port, int) and f"{host}:443" in targets and f"{host}:{port}" not in targets

    def _may_reach(self, name: str, host: str, port: Any) -> bool:
        keys = {name, host, f"{name}:{port}", f"{host}:{port}"}
        from fnmatch import fnmatchcase

        allowed = any(
            fnmatchcase(key, pattern) or (port is None and fnmatchcase(name, pattern.rpartition(":")[0]))
            for pattern in self._allowed
            for key in keys
        )
        passes = allowed or not self._refuses
        told = (f"{name}:{port}" if self._is_elsewhere(name, port) else name, passes)
        if told not in self._told:
            self._told.add(told)
            number = port if isinstance(port, int) else None
            self._announcer.channel.tell({"type": "egress", "host": name, "port": number, "allowed": passes})
        return passes


class _Outside:
    """What may be written."""

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer
        config = announcer.config
        inside = [directory for directory in (*config.places, *config.scratch) if directory]
        self._inside = (*_SYSTEM, *inside, *(os.path.realpath(directory) for directory in inside))
        self._allowed = tuple(os.path.expanduser(glob) for glob in config.allow_write)
        self._active = bool(config.workspace)
        self._told: set[str] = set()

    def opening(self, args: Any) -> None:
        """A file is about to be opened."""
        if args[2] & _WRITE_FLAGS and not isinstance(args[0], int):
            self._check(args[0])

    def opening_database(self, args: Any) -> None:
        """A SQLite database is about to be opened."""
        text = os.fsdecode(args[0]) if isinstance(args[0], (str, bytes, os.PathLike)) else ""
        if text.startswith("file:"):
            location, _, query = text[5:].partition("?")
            text = "" if "mode=memory" in query or "mode=ro" in query else location
        if text not in ("", ":memory:"):
            self._check(text)

    def moving(self, args: Any) -> None:
        """Something is about to get another name."""
        self._check(args[1])

    def making(self, args: Any) -> None:
        """A directory is about to be made, if it is not there."""
        if not os.path.isdir(args[0]):
            self._check(args[0])

    def changing(self, args: Any) -> None:
        """A file is about to be cut or taken away, if it is there."""
        if not isinstance(args[0], int) and os.path.lexists(args[0]):
            self._check(args[0])

    def _check(self, path: Any) -> None:
        if not self._active:
            return
        try:
            found = names.absolute(path)
        except (OSError, TypeError, ValueError):
            return
        if found in self._told or self._may_write(found) or self._may_write(os.path.realpath(found)):
            return
        self._told.add(found)
        self._announcer.channel.tell({"type": "outside", "path": found})

    def _may_write(self, path: str) -> bool:
        if any(names.is_below(path, directory) for directory in self._inside):
            return True
        if path.endswith((".pyc", "/__pycache__")) or "/__pycache__/" in path:
            return True
        if not self._allowed:
            return False
        from fnmatch import fnmatchcase

        return any(fnmatchcase(path, glob) for glob in self._allowed)


def _host_text(host: Any) -> str:
    if isinstance(host, (bytes, bytearray)):
        host = bytes(host).decode("ascii", "backslashreplace")
    return str(host).lower().rstrip(".").partition("%")[0]


def _is_this_machine(host: str) -> bool:
    if host in ("", "localhost", "0.0.0.0", "::", "::1") or host.endswith(".localhost"):  # noqa: S104 - not bound to
        return True
    return host.startswith(("127.", "::ffff:127.")) and _is_address(host)


def _is_address(host: str) -> bool:
    for family in (_socket.AF_INET, _socket.AF_INET6):
        try:
            _socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        return True
    return False
