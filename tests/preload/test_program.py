"""What a command starts, as far as an injector has to know."""

from __future__ import annotations

import sys

import pytest

from ackgap.preload.program import ProgramKind, program_kind


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (("python3", "agent.py"), ProgramKind.PYTHON),
        ((sys.executable, "agent.py"), ProgramKind.PYTHON),
        (("env", "KEY=1", "python", "agent.py"), ProgramKind.PYTHON),
        (("uv", "run", "agent.py"), ProgramKind.PYTHON),
        (("sh", "agent.sh"), ProgramKind.DYNAMIC),
        (("env", "-i", "KEY=1", "sh", "agent.sh"), ProgramKind.DYNAMIC),
        (("no-such-program",), ProgramKind.OTHER),
    ],
)
def test_what_a_command_starts(command, kind):
    assert program_kind(command) is kind


@pytest.mark.parametrize(
    ("first_line", "kind"),
    [
        ("#!/usr/bin/env python3", ProgramKind.PYTHON),
        ("#!/opt/my/bin/python3.12 -u", ProgramKind.PYTHON),
        ("#!/bin/sh", ProgramKind.DYNAMIC),
        ("#!/usr/bin/env -S sh -eu", ProgramKind.DYNAMIC),
        ("just a text", ProgramKind.OTHER),
    ],
)
def test_a_script_is_what_its_first_line_says(tmp_path, first_line, kind):
    script = tmp_path / "agent"
    script.write_text(f"{first_line}\n")
    script.chmod(0o755)
    assert program_kind(("./agent",), directory=tmp_path) is kind


def test_a_program_that_asks_for_no_loader_is_static(tmp_path):
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + bytes(38) + (56).to_bytes(2, "little") + bytes(8)
    (tmp_path / "agent").write_bytes(head.ljust(256, b"\0"))
    assert program_kind(("./agent",), directory=tmp_path) is ProgramKind.STATIC


def test_another_c_library_is_none_of_ours(tmp_path):
    loader = b"/lib/ld-musl-x86_64.so.1\0"
    table = (
        (3).to_bytes(4, "little")
        + bytes(4)
        + (120).to_bytes(8, "little")
        + bytes(16)
        + len(loader).to_bytes(8, "little")
    )
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + bytes(16) + (64).to_bytes(8, "little") + bytes(14)
    head += (56).to_bytes(2, "little") + (1).to_bytes(2, "little") + bytes(6)
    (tmp_path / "agent").write_bytes((head + table.ljust(56, b"\0") + loader).ljust(256, b"\0"))
    assert program_kind(("./agent",), directory=tmp_path) is ProgramKind.OTHER
