"""`ackgap doctor`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ackgap import __version__
from ackgap.errors import EnvironmentLacks
from ackgap.report.plain import plain
from ackgap.report.terminal import make_console
from ackgap.starting.checkup import Checkup
from ackgap.starting.installed import engine_checks, server_checks, tool_checks
from ackgap.starting.machine import core_checks, kernel_checks, python_checks, room_checks

__all__ = ["doctor"]

_HEADINGS = {
    "core": "What ackgap needs",
    "kernel": "What the system allows",
    "room": "Room and interpreters",
    "servers": "Servers that a scenario may ask for",
    "tools": "Tools",
    "engines": "Engines",
}


def doctor(options: argparse.Namespace) -> int:
    """Say what this machine has and how to get the rest; return 0 unless nothing works without what is missing."""
    checks = [
        *core_checks(),
        *kernel_checks(),
        *room_checks(),
        *python_checks(),
        *server_checks(),
        *tool_checks(),
        *engine_checks(options.python),
    ]
    lacking = [check for check in checks if check.core and not check.there]
    if options.json:
        document = {"ackgap": __version__, "ready": not lacking, "checks": [asdict(check) for check in checks]}
        json.dump(document, sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        _say(make_console(), checks, options.python)
    return EnvironmentLacks.exit_status if lacking else 0


def _say(console: Console, checks: Sequence[Checkup], python: str | None) -> None:
    console.print(Text(f"ackgap {__version__}", style="bold"))
    for group, items in groupby(checks, key=lambda check: check.group):
        console.print()
        heading = f"{_HEADINGS[group]} of {python}" if group == "engines" and python else _HEADINGS[group]
        console.print(Text(plain(heading), style="bold"))
        table = Table.grid(padding=(0, 1))
        for check in items:
            table.add_row("", _mark(check), Text(plain(check.name)), _told(check))
        console.print(table)
    lacking = [check.name for check in checks if check.core and not check.there]
    console.print()
    if lacking:
        console.print(Text(plain(f"ackgap cannot work here: {', '.join(lacking)}."), style="bold red"))
    else:
        console.print(Text("Ready. What is marked – is missing, and only needed for what its line says."))


def _mark(check: Checkup) -> Text:
    if check.there:
        return Text("✓", style="green")
    return Text("✕", style="bold red") if check.core else Text("–", style="yellow")


def _told(check: Checkup) -> Text:
    if check.there:
        return Text(plain(check.found))
    told = Text(plain(check.found))
    if check.used_for:
        told.append(plain(f"; for {check.used_for}"), style="dim")
    if check.remedy:
        told.append(
            plain(
                f"; get it: {check.remedy}" if check.group in ("servers", "tools", "engines") else f"; {check.remedy}"
            )
        )
    return told
