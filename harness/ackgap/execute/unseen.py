"""Processes that call a target and that no injector has come up in: what they write is not seen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from ackgap.execute.recorder import HistoryRecorder
from ackgap.model.event import Note
from ackgap.preload.build import library

__all__ = ["Callers", "CallersWithoutHooks"]


class CallersWithoutHooks:
    """Looks at the processes of one life of a Python worker that call a target, each once.

    An interpreter that was started again without its environment (`python -I`) has no hooks, and neither has another
    program that a worker starts. What is killed there is what the targets see.

    Args:
        recorder: Keeps the history.
        incarnation: Of the life.
        is_hooked: Whether the python injector has come up in a process.
    """

    def __init__(self, recorder: HistoryRecorder, incarnation: int, *, is_hooked: Callable[[int], bool]) -> None:
        self._recorder = recorder
        self._incarnation = incarnation
        self._is_hooked = is_hooked
        self._told: set[str] = set()

    def look(self, pid: int) -> None:
        """Take note of a process that makes a call."""
        if self._is_hooked(pid):
            return
        program = ""
        with contextlib.suppress(OSError):  # it has just ended
            program = Path(f"/proc/{pid}/exe").readlink().name
        if not program or program in self._told:
            return
        self._told.add(program)
        self._recorder.record(
            Note,
            code="unseen",
            text=f"the process {program} calls a target, and the python injector has not come up in it: it is another "
            'program, or an interpreter without its environment. What it writes is not seen; injector = "preload" or '
            '"trace" sees it',
            incarnation=self._incarnation,
        )


class Callers:
    """Looks at the processes of one life that call a target, each once.

    Args:
        recorder: Keeps the history.
        incarnation: Of the life.
        asked_for: The scenario asks for the library. Where it was only taken as the best that there is, a run without
            it proves what the targets alone can.
    """

    def __init__(self, recorder: HistoryRecorder, incarnation: int, *, asked_for: bool) -> None:
        self._recorder = recorder
        self._incarnation = incarnation
        self._asked_for = asked_for
        self._looked_at: set[int] = set()

    def look(self, pid: int) -> None:
        """Take note of a process that makes a call."""
        if pid in self._looked_at:
            return
        self._looked_at.add(pid)
        maps, program = "", "a process"
        with contextlib.suppress(OSError):  # it has just ended
            maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
            program = Path(f"/proc/{pid}/exe").readlink().name
        if not maps or library().name in maps:
            return
        self._recorder.record(
            Note,
            code="unseen_process" if self._asked_for else "unseen",
            text=f"{program} calls a target, and the preload library has not come up in it: it is linked statically, "
            'or was started with a cleaned environment. What it writes is not seen; injector = "trace" sees it',
            incarnation=self._incarnation,
        )
