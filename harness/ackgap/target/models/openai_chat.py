"""OpenAI's Chat Completions and its list of models: their requests, answers, streams and refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ackgap.model.event import Json
from ackgap.target.models.conversation import ANY_TOOL, Conversation, Message, Tool, Turn, mapping, text_of
from ackgap.target.models.turn import EVENT_STREAM, ModelAnswer, Moment, pieces, take_turn
from ackgap.target.wire.answer import Answer, json_answer
from ackgap.target.wire.payload import digest
from ackgap.target.wire.request import Request

__all__ = ["chat_answer", "identified", "models_answer", "openai_refusal", "tools_of"]

_OWNER = "ackgap"


def chat_answer(request: Request, settings: Mapping[str, Json], moment: Moment) -> ModelAnswer:
    """Return the completion for a request, streamed if it asks for that."""
    payload = request.payload
    refusal = _refused(payload)
    if refusal is not None:
        return ModelAnswer(answer=identified(refusal, request, moment))
    turn = take_turn(_conversation(payload), request, settings, moment)
    if payload.get("stream") is True:
        wants_usage = mapping(payload.get("stream_options")).get("include_usage") is True
        parts = tuple(_stream(turn, wants_usage=wants_usage))
        answer = Answer(status=200, headers=EVENT_STREAM, parts=parts, streamed=True)
    else:
        choice = {
            "index": 0,
            "message": _message(turn),
            "logprobs": None,
            "finish_reason": _finish_reason(turn),
        }
        answer = json_answer(200, {**_head(turn, "chat.completion"), "choices": [choice], "usage": _usage(turn)})
    return ModelAnswer(answer=identified(answer, request, moment), cost=turn.cost)


def models_answer(request: Request, settings: Mapping[str, Json]) -> Answer:
    """Return the list of models, or one of them where the path names it. Every name is one."""
    names = list(request.path_values.values()) or settings.get("models") or []
    data = [{"id": name, "object": "model", "created": 0, "owned_by": _OWNER} for name in names]
    return json_answer(200, data[0] if request.path_values else {"object": "list", "data": data})


def openai_refusal(text: str, parameter: str | None = None, code: str | None = None, status: int = 400) -> Answer:
    """Return a refusal in OpenAI's shape."""
    error = {"message": text, "type": "invalid_request_error", "param": parameter, "code": code}
    return json_answer(status, {"error": error})


def identified(answer: Answer, request: Request, moment: Moment, header: str = "x-request-id") -> Answer:
    """Return an answer with the header by which support finds a request."""
    stamp = digest(f"{request.digest} {moment.variation} {moment.occurrence} request".encode())
    return Answer(
        status=answer.status,
        headers=(*answer.headers, (header, f"req_{stamp[:24]}")),
        parts=answer.parts,
        streamed=answer.streamed,
        object_id=answer.object_id,
    )


def tools_of(tools: Json, *, nested: bool) -> tuple[Tool, ...]:
    """Return the functions among the tools that a request offers; `nested` where each lies in a `function`."""
    found = []
    for tool in tools if isinstance(tools, list) else ():
        function = mapping(mapping(tool).get("function")) if nested else mapping(tool)
        if isinstance(function.get("name"), str):
            found.append(Tool(name=function["name"], schema=mapping(function.get("parameters"))))
    return tuple(found)


def _refused(payload: Json) -> Answer | None:
    if not isinstance(payload, Mapping):
        return openai_refusal("The body of this request is not a JSON object.")
    if not isinstance(payload.get("messages"), list) or not payload["messages"]:
        return openai_refusal("'messages' must be a list that is not empty", "messages")
    if not isinstance(payload.get("model"), str):
        return openai_refusal("you must provide a model parameter", "model")
    return None


def _conversation(payload: Mapping[str, Json]) -> Conversation:
    messages = tuple(
        Message(role=str(message.get("role") or ""), text=text_of(message.get("content")))
        for message in payload["messages"]
        if isinstance(message, Mapping)
    )
    choice = payload.get("tool_choice")
    forced = ANY_TOOL if choice == "required" else str(mapping(mapping(choice).get("function")).get("name") or "")
    form = mapping(payload.get("response_format"))
    schema: Mapping[str, Json] | None = None
    if form.get("type") == "json_schema":
        schema = mapping(mapping(form.get("json_schema")).get("schema"))
    elif form.get("type") == "json_object":
        schema = {"type": "object"}
    return Conversation(
        model=payload["model"],
        messages=messages,
        tools=tools_of(payload.get("tools"), nested=True),
        forced=forced,
        schema=schema,
        prompt=[payload["messages"], payload.get("tools")],
        stream=payload.get("stream") is True,
    )


def _finish_reason(turn: Turn) -> str:
    return "tool_calls" if turn.reply.calls else "stop"


def _head(turn: Turn, kind: str) -> dict[str, Json]:
    return {"id": turn.id("chatcmpl-"), "object": kind, "created": turn.created_s, "model": turn.model}


def _usage(turn: Turn) -> dict[str, Json]:
    return {
        "prompt_tokens": turn.input_tokens,
        "completion_tokens": turn.output_tokens,
        "total_tokens": turn.input_tokens + turn.output_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _message(turn: Turn) -> dict[str, Json]:
    body: dict[str, Json] = {"role": "assistant", "content": turn.reply.text, "refusal": None}
    if turn.reply.calls:
        body["tool_calls"] = [
            {
                "id": turn.id("call_", str(number)),
                "type": "function",
                "function": {"name": call.tool, "arguments": call.written},
            }
            for number, call in enumerate(turn.reply.calls)
        ]
    return body


def _stream(turn: Turn, *, wants_usage: bool) -> Iterator[bytes]:
    head = _head(turn, "chat.completion.chunk")

    def chunk(delta: Json, finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        document: dict[str, Any] = {**head, "choices": [choice]}
        return _event({**document, "usage": None} if wants_usage else document)

    text = turn.reply.text
    yield chunk({"role": "assistant", "content": None if text is None else "", "refusal": None})
    for piece in pieces(text or ""):
        yield chunk({"content": piece})
    for number, call in enumerate(turn.reply.calls):
        begun = {"index": number, "id": turn.id("call_", str(number)), "type": "function"}
        yield chunk({"tool_calls": [{**begun, "function": {"name": call.tool, "arguments": ""}}]})
        for piece in pieces(call.written):
            yield chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
    yield chunk({}, _finish_reason(turn))
    if wants_usage:
        yield _event({**head, "choices": [], "usage": _usage(turn)})
    yield b"data: [DONE]\n\n"


def _event(document: Mapping[str, Json]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"
