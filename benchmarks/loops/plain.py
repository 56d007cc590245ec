"""No engine: function calls, and function calls with a journal in a file that is put in place after each."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

from loops import Loop, work


def modes(_: ExitStack) -> dict[str, Loop]:
    """Return the loops by mode."""
    return {"none": bare, "journal": journal}


def bare(steps: int) -> None:
    """Call a function for each step."""
    for number in range(steps):
        work(number)


def journal(steps: int) -> None:
    """The same, and write down after each what is done."""
    done: dict[int, object] = {}
    for number in range(steps):
        done[number] = work(number)
        draft = Path("journal.new")
        draft.write_text(json.dumps(done))
        draft.replace("journal.json")
