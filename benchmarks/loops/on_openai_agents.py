"""OpenAI Agents SDK: a step is a turn, which is an answer of a model that asks for a call of a tool, and that call."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from loops import Loop, numbers, runner, work

set_tracing_disabled(True)


class OneAfterTheOther(Model):
    """Asks for the next call, as long as there are fewer than the first message says."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002, ARG002
        """Answer a conversation."""
        items = [{"role": "user", "content": input}] if isinstance(input, str) else input
        steps = int(items[0]["content"])
        done = sum(item.get("type") == "function_call_output" for item in items)
        return ModelResponse(output=[final() if done == steps else call(done)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Nobody asks for that here."""
        raise NotImplementedError


def call(number: int) -> ResponseFunctionToolCall:
    """Return what asks for a call of the tool."""
    identity = f"call-{next(numbers)}"
    arguments = json.dumps({"number": number})
    return ResponseFunctionToolCall(call_id=identity, name="step", arguments=arguments, type="function_call")


def final() -> ResponseOutputMessage:
    """Return the last words."""
    text = ResponseOutputText(text="done", type="output_text", annotations=[])
    return ResponseOutputMessage(
        id=f"message-{next(numbers)}", content=[text], role="assistant", status="completed", type="message"
    )


@function_tool
async def step(number: int) -> str:
    """Do one step."""
    return json.dumps(work(number))


AGENT = Agent(name="Steps", model=OneAfterTheOther(), tools=[step])


async def run_steps(steps: int, *, kept: bool) -> None:
    """Do so many steps, in a new session if that is to be kept."""
    session = SQLiteSession(f"work-{next(numbers)}", "sessions.db") if kept else None
    await Runner.run(AGENT, str(steps), session=session, max_turns=steps + 2)
    if session is not None:
        session.close()


def modes(ends: ExitStack) -> dict[str, Loop]:
    """Return the loops by mode."""
    run = runner(ends)
    return {
        "none": lambda steps: run(run_steps(steps, kept=False)),
        "session": lambda steps: run(run_steps(steps, kept=True)),
    }
