"""LlamaIndex workflows: a step that comes back to itself; the context is kept nowhere, or in a file after each step."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from workflows import Context, Workflow, step
from workflows.events import Event, StartEvent, StepState, StepStateChanged, StopEvent

from loops import Loop, runner, work


class Many(StartEvent):
    """So many steps are to be done."""

    steps: int


class Done(Event):
    """One more is done."""

    number: int
    steps: int
    result: dict[str, Any]


class Steps(Workflow):
    """Does one step after the other."""

    @step
    async def first(self, event: Many) -> Done:
        """Do the first step."""
        return Done(number=1, steps=event.steps, result=work(0))

    @step
    async def another(self, event: Done) -> Done | StopEvent:
        """Do another step, as long as there is one."""
        if event.number == event.steps:
            return StopEvent()
        return Done(number=event.number + 1, steps=event.steps, result=work(event.number))


def save(context: Context) -> None:
    """Put the context into its file."""
    draft = Path("context.new")
    draft.write_text(json.dumps(context.to_dict()))
    draft.replace("context.json")


async def run_steps(steps: int, *, saves: bool) -> None:
    """Do so many steps."""
    handler = Steps(timeout=None).run(start_event=Many(steps=steps))
    if saves:
        async for event in handler.stream_events(expose_internal=True):
            if isinstance(event, StepStateChanged) and event.step_state == StepState.NOT_RUNNING:
                save(handler.ctx)
    await handler


def modes(ends: ExitStack) -> dict[str, Loop]:
    """Return the loops by mode."""
    run = runner(ends)
    return {
        "none": lambda steps: run(run_steps(steps, saves=False)),
        "file": lambda steps: run(run_steps(steps, saves=True)),
    }
