"""A scripted model behind OpenAI's Chat Completions: deterministic, and in other words after each restart.

A real model asked again says the same thing differently. That is what defeats a key made from a payload, so a
scripted reply is a list of wordings, and each life of the worker gets the next one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackgap.model.event import Json
from ackgap.target.answer import Answer, json_answer
from ackgap.target.payload import digest
from ackgap.target.request import Request

__all__ = ["ChatReply", "chat_answer", "models_answer", "script_mistake", "token_count"]

_PIECE = 16
"""Characters in a piece of a stream."""
_CONDITIONS = frozenset({"contains", "tool", "last_role", "turn"})
_DEFAULT_SAY = ("I have taken note of that.", "Noted, thank you.", "Understood; that is taken care of.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """An answer and what it cost."""

    answer: Answer
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    content: str | None
    tool: str = ""
    arguments: str = ""

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.tool else "stop"


def token_count(text: str) -> int:
    """Return a rough number of tokens: four bytes of UTF-8 each. Good for comparing, not for invoices."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


def models_answer(settings: Mapping[str, Json]) -> Answer:
    """Return the list of models."""
    names = settings.get("models") or []
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "ackgap"} for name in names]
    return json_answer(200, {"object": "list", "data": data})


def chat_answer(
    request: Request, settings: Mapping[str, Json], *, variation: int, occurrence: int, now_s: float
) -> ChatReply:
    """Return the scripted completion for a request, streamed if it asks for that.

    Args:
        request: A Chat Completions request.
        settings: `script` (see the profile), and `input_price` and `output_price` for a million tokens.
        variation: Which wording is used, modulo the number of wordings.
        occurrence: Makes ids differ between calls of one life.
        now_s: Virtual time.
    """
    payload = request.payload
    if not isinstance(payload, Mapping) or not isinstance(payload.get("messages"), list) or not payload["messages"]:
        return ChatReply(answer=_refusal("'messages' must be a list that is not empty", "messages"), cost=0.0)
    if not isinstance(payload.get("model"), str):
        return ChatReply(answer=_refusal("you must provide a model parameter", "model"), cost=0.0)
    message = _say(payload, settings.get("script") or [], variation)
    prompt = json.dumps([payload["messages"], payload.get("tools")])
    spoken = (message.content or "") + message.tool + message.arguments
    usage = {"prompt_tokens": token_count(prompt), "completion_tokens": token_count(spoken)}
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
    million = 1_000_000
    cost = usage["prompt_tokens"] * float(settings.get("input_price") or 0) / million
    cost += usage["completion_tokens"] * float(settings.get("output_price") or 0) / million
    seed = digest(f"{request.digest} {variation} {occurrence}".encode())
    head = {"id": f"chatcmpl-{seed[:24]}", "created": int(now_s), "model": payload["model"]}
    if payload.get("stream") is True:
        options = payload.get("stream_options")
        wants_usage = isinstance(options, Mapping) and options.get("include_usage") is True
        parts = tuple(_stream(head, message, f"call_{seed[24:48]}", usage if wants_usage else None))
        headers = (("Content-Type", "text/event-stream; charset=utf-8"), ("Cache-Control", "no-cache"))
        return ChatReply(answer=Answer(status=200, headers=headers, parts=parts, streamed=True), cost=round(cost, 9))
    body: dict[str, Any] = {
        **head,
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": _message_body(message, f"call_{seed[24:48]}"),
                "logprobs": None,
                "finish_reason": message.finish_reason,
            }
        ],
        "usage": usage,
    }
    return ChatReply(answer=json_answer(200, body), cost=round(cost, 9))


def script_mistake(script: Json) -> tuple[str, str] | None:
    """Return the place and nature of the first mistake in a script, None if it has none."""
    for number, entry in enumerate(script):
        if not isinstance(entry, Mapping):
            return f"[{number}]", "An entry of a script is a table."
        unknown = sorted(set(entry) - {"when", "say", "call"})
        if unknown:
            return f"[{number}].{unknown[0]}", f"An entry of a script has no {unknown[0]!r}."
        when = entry.get("when", {})
        unknown = sorted(set(when) - _CONDITIONS) if isinstance(when, Mapping) else ["when"]
        if unknown:
            return f"[{number}].when", f"{unknown[0]!r} is no condition; write {', '.join(sorted(_CONDITIONS))}."
        if ("say" in entry) == ("call" in entry):
            return f"[{number}]", "An entry of a script has either 'say' or 'call'."
        wordings = entry.get("say")
        if "say" in entry and (not wordings or not isinstance(wordings, str | list)):
            return f"[{number}].say", "What the model says is a text or a list of wordings."
        call = entry.get("call", {})
        if "call" in entry and (not isinstance(call, Mapping) or not isinstance(call.get("tool"), str)):
            return f"[{number}].call", "A call names its tool."
        if "call" in entry and not isinstance(call.get("arguments", []), list):
            return f"[{number}].call.arguments", "Arguments are a list, one table for each wording."
    return None


def _refusal(text: str, parameter: str) -> Answer:
    error = {"message": text, "type": "invalid_request_error", "param": parameter, "code": None}
    return json_answer(400, {"error": error})


def _say(payload: Mapping[str, Json], script: Sequence[Json], variation: int) -> _Message:
    for entry in script:
        if _applies(entry.get("when") or {}, payload):
            call = entry.get("call")
            if call:
                variants = call.get("arguments") or [{}]
                arguments = variants[variation % len(variants)]
                text = arguments if isinstance(arguments, str) else json.dumps(arguments)
                return _Message(content=None, tool=str(call.get("tool", "")), arguments=text)
            return _Message(content=_pick(entry.get("say") or list(_DEFAULT_SAY), variation))
    forced = payload.get("tool_choice")
    if isinstance(forced, Mapping) and isinstance(forced.get("function"), Mapping):
        name = str(forced["function"].get("name", ""))
        return _Message(content=None, tool=name, arguments=json.dumps(_invented_arguments(payload, name, variation)))
    return _Message(content=_pick(list(_DEFAULT_SAY), variation))


def _invented_arguments(payload: Mapping[str, Json], name: str, variation: int) -> dict[str, Json]:
    """Fill in the parameters of a tool that nobody scripted, in other words for each variation."""
    functions = [function for function in _functions(payload) if function.get("name") == name]
    schema = functions[0].get("parameters") if functions else None
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return {}
    return {str(field): _invented(str(field), part, variation) for field, part in properties.items()}


def _invented(field: str, schema: Json, variation: int) -> Json:
    if not isinstance(schema, Mapping):
        return None
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    by_type: dict[str, Json] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None}
    kind = schema.get("type")
    if isinstance(kind, str) and kind in by_type:
        return by_type[kind]
    words = field.replace("_", " ")
    return (f"The {words}, as discussed", f"Here is the {words}", f"{words.capitalize()}, in short")[variation % 3]


def _pick(wordings: Json, variation: int) -> str:
    if isinstance(wordings, str):
        return wordings
    return str(wordings[variation % len(wordings)])


def _applies(when: Mapping[str, Json], payload: Mapping[str, Json]) -> bool:
    """Whether a script entry's conditions hold; see the settings of the `model` profile for what they mean."""
    messages = [message for message in payload["messages"] if isinstance(message, Mapping)]
    last = messages[-1] if messages else {}
    contains = when.get("contains")
    wanted = [contains] if isinstance(contains, str) else contains or []
    spoken = "\n".join(_text_of(message) for message in messages).lower()
    if not all(str(text).lower() in spoken for text in wanted):
        return False
    if "tool" in when and when["tool"] not in _tools(payload):
        return False
    if "last_role" in when and when["last_role"] != last.get("role"):
        return False
    turns = sum(message.get("role") == "assistant" for message in messages)
    return not ("turn" in when and when["turn"] != turns + 1)


def _text_of(message: Mapping[str, Json]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return str(content or "")


def _tools(payload: Mapping[str, Json]) -> list[str]:
    return [str(function.get("name")) for function in _functions(payload)]


def _functions(payload: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    tools = payload.get("tools")
    functions = [tool.get("function") for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    return [function for function in functions if isinstance(function, Mapping)]


def _message_body(message: _Message, call_id: str) -> dict[str, Json]:
    body: dict[str, Json] = {"role": "assistant", "content": message.content, "refusal": None}
    if message.tool:
        function = {"name": message.tool, "arguments": message.arguments}
        body["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
    return body


def _stream(
    head: Mapping[str, Json], message: _Message, call_id: str, usage: Mapping[str, Json] | None
) -> Iterator[bytes]:
    def chunk(delta: Json, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        document = {**head, "object": "chat.completion.chunk", "choices": [choice]}
        return _event({**document, "usage": None} if usage is not None else document)

    yield chunk({"role": "assistant", "content": None if message.tool else "", "refusal": None})
    if message.tool:
        function = {"name": message.tool, "arguments": ""}
        yield chunk({"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]})
        for piece in _pieces(message.arguments):
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    else:
        for piece in _pieces(message.content or ""):
            yield chunk({"content": piece})
    yield chunk({}, message.finish_reason)
    if usage is not None:
        yield _event({**head, "object": "chat.completion.chunk", "choices": [], "usage": dict(usage)})
    yield b"data: [DONE]\n\n"


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def _event(document: Mapping[str, Json]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"
