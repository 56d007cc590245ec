"""Conversation and Reply: what a model is asked and what it says, whichever service's words they travel in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from ackgap.model.event import Json
from ackgap.target.wire.payload import digest

__all__ = ["ANY_TOOL", "Conversation", "Message", "Reply", "Tool", "ToolCall", "Turn", "mapping", "text_of"]

ANY_TOOL = "*"
"""Stands for whichever tool the model likes, where a request demands a call and names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. Its role is `system`, `user`, `assistant` or `tool`, or whatever else a client wrote."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that is offered, with the JSON schema of its arguments."""

    name: str
    schema: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a model is asked.

    Attributes:
        messages: Instructions first, results of tools as messages of the role `tool`.
        forced: Name of the tool that has to be called, `ANY_TOOL` for any, empty if none has to.
        schema: JSON schema of the text that is wanted, None for free text.
        prompt: What is charged as input, as the client wrote it.
        stream: The answer is wanted in pieces.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    forced: str = ""
    schema: Mapping[str, Json] | None = None
    prompt: Json = None
    stream: bool = False

    @property
    def spoken(self) -> str:
        """All texts in a row."""
        return "\n".join(message.text for message in self.messages)

    @property
    def last_role(self) -> str:
        """Role of the last message."""
        return self.messages[-1].role if self.messages else ""

    @property
    def turn(self) -> int:
        """The how-manieth answer of the conversation is asked for, from 1."""
        return sum(message.role == "assistant" for message in self.messages) + 1

    def tool(self, name: str) -> Tool | None:
        """Return the tool of a name, the first of all for `ANY_TOOL`."""
        return next((tool for tool in self.tools if name in (tool.name, ANY_TOOL)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that a model wants made; arguments that are a text are sent as they are, even if they are no JSON."""

    tool: str
    arguments: Json

    @property
    def written(self) -> str:
        """The arguments as text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)

    @property
    def table(self) -> dict[str, Json]:
        """The arguments as a table, for services that have no other form; what is none becomes an empty one."""
        value = self.arguments
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return {}
        return dict(value) if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model says: a text, calls of tools, or a text and then calls; None is no text at all."""

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()

    @property
    def spoken(self) -> str:
        """What is charged as output."""
        return (self.text or "") + "".join(call.tool + call.written for call in self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A reply together with what a service writes around it.

    Attributes:
        stamp: What ids are made of: equal stamps make equal ids.
        created_s: Virtual time.
        input_tokens: What is charged as input.
        output_tokens: What is charged as output.
        cost: In the profile's currency.
    """

    model: str
    reply: Reply
    stamp: str
    created_s: int
    input_tokens: int
    output_tokens: int
    cost: float

    def id(self, prefix: str, what: str = "", length: int = 24) -> str:
        """Return an id: the same for the same thing of the same turn."""
        return prefix + digest(f"{self.stamp} {prefix} {what}".encode())[:length]


def mapping(value: Json) -> Mapping[str, Json]:
    """Return a table, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def text_of(content: Json) -> str:
    """Return the text of a message's content: a text, or parts of which some have one."""
    if isinstance(content, list):
        return "\n".join(text_of(part.get("text") or part.get("content")) for part in content if _is_table(part))
    return content if isinstance(content, str) else ""


def _is_table(part: Json) -> bool:
    return isinstance(part, Mapping)
