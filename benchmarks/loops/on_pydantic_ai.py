"""Pydantic AI on DBOS: a step is a request to a model, which asks for one call of a tool after another, and it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

from dbos import DBOS
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from loops import Loop, runner, work
from loops.on_dbos import config


async def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Ask for the next call, as long as there are fewer than the prompt says."""
    first = messages[0]
    assert isinstance(first, ModelRequest)
    steps = next(int(str(part.content)) for part in first.parts if isinstance(part, UserPromptPart))
    done = len(messages) // 2
    return ModelResponse(parts=[TextPart("done") if done == steps else ToolCallPart("step", {"number": done})])


async def step(number: int) -> str:
    """Do one step."""
    return json.dumps(work(number))


def agent(name: str, tool: Any, capabilities: list[Any]) -> Agent:
    """Return an agent with one tool."""
    made = Agent(FunctionModel(answer), name=name, capabilities=capabilities)
    made.tool_plain(tool)
    return made


AGENTS = {
    "none": agent("bare", step, []),
    "function": agent("functions", step, [DBOSDurability()]),
    "step": agent("steps", DBOS.step(name="tool")(step), [DBOSDurability()]),
}


async def ask(mode: str, steps: int) -> None:
    """Have an agent do so many steps."""
    await AGENTS[mode].run(str(steps), usage_limits=UsageLimits(request_limit=None))


@DBOS.workflow()
async def durably(mode: str, steps: int) -> None:
    """The same, in a workflow."""
    await ask(mode, steps)


def modes(ends: ExitStack) -> dict[str, Loop]:
    """Return the loops by mode."""
    run = runner(ends)
    DBOS(config=config())
    DBOS.launch()
    return {
        "none": lambda steps: run(ask("none", steps)),
        "function": lambda steps: run(durably("function", steps)),
        "step": lambda steps: run(durably("step", steps)),
    }
