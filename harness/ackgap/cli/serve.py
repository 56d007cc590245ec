"""`ackgap serve`."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import os
import sys
from collections.abc import Callable

from ackgap.errors import UsageInvalid
from ackgap.report.terminal import make_console
from ackgap.serve.running import serve as serve_targets
from ackgap.serve.served import ServedTargets
from ackgap.serve.spec import seconds_of, served_targets
from ackgap.serve.view import JsonView, LiveView, PlainView, View

__all__ = ["serve"]


def serve(options: argparse.Namespace) -> int:
    """Serve targets until Ctrl-C, and return 0."""
    if not options.host:
        raise UsageInvalid("The address is empty.", where="--host", next_step="Write --host 127.0.0.1.")
    chosen = served_targets(options.profile, protections=options.protection, settings=options.set)
    targets = ServedTargets(
        chosen,
        host=options.host,
        offset_s=_offset_s(options.clock),
        drift=options.drift,
        reads=options.read,
    )
    if not _is_loopback(options.host):
        print(
            f"ackgap: --host {options.host}: whoever reaches this machine can use these fakes and fill their ledger",
            file=sys.stderr,
        )
    try:
        asyncio.run(serve_targets(targets, make_view=_view(options.json), control_port=options.control))
    except BrokenPipeError:
        # Nobody reads any more: nor may the interpreter, on its way out, try to write what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _view(as_json: bool) -> Callable[[ServedTargets], View]:
    console = make_console()
    if as_json:
        return lambda targets: JsonView(console, targets)
    if console.is_terminal:
        return lambda targets: LiveView(console, targets)
    return lambda targets: PlainView(console, targets)


def _offset_s(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise UsageInvalid(
            f"{error}.", where="--clock", next_step="Write --clock +72h; the targets' clock goes forward only."
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
