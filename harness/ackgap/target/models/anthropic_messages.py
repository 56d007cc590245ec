"""Anthropic's Messages, its counting of tokens and its list of models: requests, answers, streams and refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ackgap.model.event import Json
from ackgap.target.clock import iso_time
from ackgap.target.models.conversation import ANY_TOOL, Conversation, Message, Tool, Turn, mapping, text_of
from ackgap.target.models.openai_chat import identified
from ackgap.target.models.turn import EVENT_STREAM, ModelAnswer, Moment, pieces, take_turn
from ackgap.target.models.usage import prompt_tokens
from ackgap.target.wire.answer import Answer, json_answer
from ackgap.target.wire.request import Request

__all__ = ["anthropic_models_answer", "count_tokens_answer", "messages_answer"]


def messages_answer(request: Request, settings: Mapping[str, Json], moment: Moment) -> ModelAnswer:
    """Return the message that answers a request, streamed if it asks for that."""
    payload = request.payload
    mistake = _mistake(payload, ("model", "max_tokens", "messages"))
    if mistake:
        return ModelAnswer(answer=_refusal(mistake, request, moment))
    turn = take_turn(_conversation(payload), request, settings, moment)
    if payload.get("stream") is True:
        answer = Answer(status=200, headers=EVENT_STREAM, parts=tuple(_stream(turn)), streamed=True)
    else:
        answer = json_answer(200, _message(turn))
    return ModelAnswer(answer=_identified(answer, request, moment), cost=turn.cost)


def count_tokens_answer(request: Request, moment: Moment) -> Answer:
    """Return how many tokens a request would be charged for as input."""
    mistake = _mistake(request.payload, ("model", "messages"))
    if mistake:
        return _refusal(mistake, request, moment)
    tokens = prompt_tokens(_conversation(request.payload).prompt)
    return _identified(json_answer(200, {"input_tokens": tokens}), request, moment)


def anthropic_models_answer(request: Request, settings: Mapping[str, Json]) -> Answer:
    """Return the list of models, or one of them where the path names it. Every name is one."""
    names = list(request.path_values.values()) or settings.get("models") or []
    created = iso_time(0)
    data = [
        {"type": "model", "id": name, "display_name": name, "created_at": created, "lifecycle": "active"}
        for name in names
    ]
    if request.path_values:
        return json_answer(200, data[0])
    ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
    return json_answer(200, {"data": data, "has_more": False, **ends})


def _identified(answer: Answer, request: Request, moment: Moment) -> Answer:
    return identified(answer, request, moment, "request-id")


def _refusal(text: str, request: Request, moment: Moment) -> Answer:
    """Return a refusal in Anthropic's shape, which names the request in its body as well."""
    named = _identified(Answer(status=400), request, moment)
    error = {"type": "invalid_request_error", "message": text}
    body = {"type": "error", "error": error, "request_id": dict(named.headers)["request-id"]}
    return _identified(json_answer(400, body), request, moment)


def _mistake(payload: Json, required: tuple[str, ...]) -> str:
    if not isinstance(payload, Mapping):
        return "The request body is not a JSON object."
    for name in required:
        if payload.get(name) is None:
            return f"{name}: Field required"
    if not isinstance(payload["model"], str):
        return "model: Input should be a valid string"
    limit = payload.get("max_tokens", 1)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        return "max_tokens: Input should be a whole number from 1"
    messages = payload["messages"]
    if not isinstance(messages, list) or not messages:
        return "messages: at least one message is required"
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant", "system"):
            return f"messages.{number}.role: Input should be 'user' or 'assistant'"
    return ""


def _conversation(payload: Mapping[str, Json]) -> Conversation:
    system = text_of(payload.get("system"))
    messages = [Message(role="system", text=system)] if system else []
    for message in payload["messages"]:
        messages += _messages(str(message["role"]), message.get("content"))
    offered = payload.get("tools")
    tools = tuple(
        Tool(name=str(tool["name"]), schema=mapping(tool.get("input_schema")))
        for tool in (offered if isinstance(offered, list) else ())
        if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)
    )
    choice = mapping(payload.get("tool_choice"))
    forced = {"any": ANY_TOOL, "tool": str(choice.get("name") or "")}.get(str(choice.get("type")), "")
    form = mapping(mapping(payload.get("output_config")).get("format")) or mapping(payload.get("output_format"))
    return Conversation(
        model=payload["model"],
        messages=tuple(messages),
        tools=tools,
        forced=forced,
        schema=mapping(form.get("schema")) if form.get("type") == "json_schema" else None,
        prompt=[payload.get("system"), payload["messages"], payload.get("tools")],
        stream=payload.get("stream") is True,
    )


def _messages(role: str, content: Json) -> Iterator[Message]:
    """Yield what one message says: results of tools travel inside a user's message here."""
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    results = [block for block in blocks if mapping(block).get("type") == "tool_result"]
    for result in results:
        yield Message(role="tool", text=text_of(result.get("content")))
    others = [block for block in blocks if mapping(block).get("type") == "text"]
    if others or not results:
        yield Message(role=role, text=text_of(others))


def _stop_reason(turn: Turn) -> str:
    return "tool_use" if turn.reply.calls else "end_turn"


def _usage(turn: Turn) -> dict[str, Json]:
    return {
        "input_tokens": turn.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": turn.output_tokens,
        "output_tokens_details": {"thinking_tokens": 0},
        "server_tool_use": None,
        "service_tier": "standard",
    }


def _blocks(turn: Turn) -> list[dict[str, Json]]:
    blocks: list[dict[str, Json]] = []
    if turn.reply.text is not None:
        blocks.append({"type": "text", "text": turn.reply.text, "citations": None})
    for number, call in enumerate(turn.reply.calls):
        blocks.append(
            {"type": "tool_use", "id": turn.id("toolu_", str(number)), "name": call.tool, "input": call.table}
        )
    return blocks


def _message(turn: Turn) -> dict[str, Json]:
    return {
        "id": turn.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": _blocks(turn),
        "stop_reason": _stop_reason(turn),
        "stop_sequence": None,
        "usage": _usage(turn),
    }


def _stream(turn: Turn) -> Iterator[bytes]:
    def event(kind: str, **values: Json) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n".encode()

    whole = _message(turn)
    unsaid = replace(turn, output_tokens=0)
    yield event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": _usage(unsaid)})
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            begun, name, text = {**block, "text": ""}, "text", block["text"]
        else:
            begun, name, text = {**block, "input": {}}, "partial_json", json.dumps(block["input"])
        kind = "text_delta" if name == "text" else "input_json_delta"
        yield event("content_block_start", index=index, content_block=begun)
        if index == 0:
            yield event("ping")
        for piece in pieces(text):
            yield event("content_block_delta", index=index, delta={"type": kind, name: piece})
        yield event("content_block_stop", index=index)
    delta = {"stop_reason": _stop_reason(turn), "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": turn.output_tokens})
    yield event("message_stop")
