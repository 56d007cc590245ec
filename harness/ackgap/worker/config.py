"""What the supervisor tells a process about its cell: the JSON object in `ACKGAP_CONFIG`."""

from __future__ import annotations

import os

from . import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Config"]


class Config:
    """The cell as seen from inside the worker.

    Attributes:
        workspace: The cell's directory, absolute, or empty if there is none.
        targets: Names of targets by the `host:port` under which the worker reaches them.
        allow_hosts: Hosts other than this machine that may be reached: names, addresses, `*.suffix` or `host:port`.
        allow_write: Globs of paths outside the cell that may be written.
        scratch: Directories that may be written and hold nothing durable of their own.
        clock_offset_s: Seconds by which this life's wall clock is ahead of the machine's.
        guard_egress: Refuse connections to hosts that are not allowed, rather than only report them.
        wire: Stores, `host:port`, in front of which somebody understands what is said to them: no hook announces it.
        hurry: Have engines look more often for what they only wait for.
        own_hosts: Hosts beside loopback that belong to the cell: where its targets and services are.
        authority: File of a certificate authority that is trusted beside all others; empty if there is none.
        places: The cell's directory, and where else parts of it are to be found.
    """

    def __init__(self, document: Any = None) -> None:
        values = document if isinstance(document, dict) else {}
        self.workspace = os.path.abspath(values["workspace"]) if values.get("workspace") else ""
        self.targets: dict[str, str] = {str(key).lower(): str(name) for key, name in values.get("targets", {}).items()}
        self.allow_hosts = tuple(str(host).lower() for host in values.get("allow_hosts", ()))
        self.allow_write = tuple(str(glob) for glob in values.get("allow_write", ()))
        self.scratch = tuple(os.path.abspath(str(directory)) for directory in values.get("scratch", ()))
        self.clock_offset_s = float(values.get("clock_offset_s", 0.0))
        self.guard_egress = bool(values.get("guard_egress", True))
        self.hurry = bool(values.get("hurry", False))
        self.own_hosts = frozenset(str(host).lower() for host in values.get("own_hosts", ()))
        self.authority = str(values.get("authority", ""))
        mounted = tuple(os.path.abspath(str(place)) for place in values.get("mounts", ()))
        self.places = (self.workspace, *mounted) if self.workspace else ()
        self.wire = frozenset(str(address).lower() for address in values.get("wire", ()))

    @classmethod
    def from_text(cls, text: str) -> Config:
        """Read the variable's text.

        Raises:
            ValueError: The text is not the configuration of a cell.
        """
        try:
            return cls(codec.decode(text or "{}"))
        except (AttributeError, TypeError) as error:
            raise ValueError(f"not a configuration: {error}") from error
