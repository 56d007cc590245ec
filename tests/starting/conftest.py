"""Projects of users, as they lie on a disk."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from looks import Look, look_at


@pytest.fixture
def look(tmp_path: Path):
    """Write a project and look at it: `look({"agent.py": "..."})`."""

    def write_and_look(files: dict[str, str], command: str | None = None) -> Look:
        for name, text in files.items():
            path = tmp_path / "my-agent" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return look_at(tmp_path / "my-agent", command)

    return write_and_look
