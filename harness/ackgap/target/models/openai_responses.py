"""OpenAI's Responses: their requests, answers and streams, and the memory behind `previous_response_id`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count

from ackgap.model.event import Json
from ackgap.target.models.conversation import ANY_TOOL, Conversation, Message, Turn, mapping, text_of
from ackgap.target.models.openai_chat import identified, openai_refusal, tools_of
from ackgap.target.models.turn import EVENT_STREAM, ModelAnswer, Moment, pieces, take_turn
from ackgap.target.state import State, Stored
from ackgap.target.wire.answer import Answer, json_answer
from ackgap.target.wire.request import Request

__all__ = ["responses_answer"]

_KEPT = "responses"
"""Where answers are kept, for whoever asks for one by its id."""
_HEARD = "responses.heard"
"""Where the input of each is kept, for the request that goes on from it."""
_SPEAKERS = {"function_call": "assistant", "function_call_output": "tool", "developer": "system"}


def responses_answer(request: Request, settings: Mapping[str, Json], moment: Moment, state: State) -> ModelAnswer:
    """Return the response to a request, streamed if it asks for that; it is kept unless `store` is false."""
    payload = request.payload
    refusal = _refused(payload, state)
    if refusal is not None:
        return ModelAnswer(answer=identified(refusal, request, moment))
    before = state.get(_HEARD, str(payload.get("previous_response_id") or ""))
    heard = [*(before.document if before else []), *_items(payload["input"])]
    turn = take_turn(_conversation(payload, heard), request, settings, moment)
    body = _body(turn, payload)
    if payload.get("store") is not False:
        remembered = [*heard, *body["output"]]
        for collection, document in ((_KEPT, body), (_HEARD, remembered)):
            kept = Stored(object_id=body["id"], collection=collection, document=document, created_s=moment.now_s)
            state.put(kept)
    if payload.get("stream") is True:
        parts = tuple(_stream(body))
        answer = Answer(status=200, headers=EVENT_STREAM, parts=parts, streamed=True, object_id=body["id"])
    else:
        answer = json_answer(200, body, object_id=body["id"])
    return ModelAnswer(answer=identified(answer, request, moment), cost=turn.cost)


def _refused(payload: Json, state: State) -> Answer | None:
    if not isinstance(payload, Mapping):
        return openai_refusal("The body of this request is not a JSON object.")
    if not isinstance(payload.get("model"), str):
        return openai_refusal("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    asked = payload.get("input")
    if not isinstance(asked, str | list) or not asked:
        return openai_refusal("Missing required parameter: 'input'.", "input", "missing_required_parameter")
    before = payload.get("previous_response_id")
    if before is not None and state.get(_HEARD, str(before)) is None:
        return openai_refusal(
            f"Previous response with id '{before}' not found.", "previous_response_id", "previous_response_not_found"
        )
    return None


def _items(asked: Json) -> list[Mapping[str, Json]]:
    if isinstance(asked, str):
        return [{"role": "user", "content": asked}]
    return [item for item in asked if isinstance(item, Mapping)]


def _conversation(payload: Mapping[str, Json], heard: list[Mapping[str, Json]]) -> Conversation:
    instructions = text_of(payload.get("instructions"))
    messages = [Message(role="system", text=instructions)] if instructions else []
    for item in heard:
        kind = str(item.get("type") or "message")
        role = _SPEAKERS.get(kind) or _SPEAKERS.get(str(item.get("role"))) or str(item.get("role") or "")
        if not role:
            continue  # reasoning, references and other items that nobody says
        text = text_of(item.get("content") if kind == "message" else item.get("output"))
        if role == "assistant" and messages and messages[-1].role == role:
            # What one answer says and calls are several items, and one turn.
            messages[-1] = Message(role=role, text="\n".join(filter(None, (messages[-1].text, text))))
        else:
            messages.append(Message(role=role, text=text))
    choice = payload.get("tool_choice")
    forced = ANY_TOOL if choice == "required" else str(mapping(choice).get("name") or "")
    form = mapping(mapping(payload.get("text")).get("format"))
    schema = {"json_schema": mapping(form.get("schema")), "json_object": {"type": "object"}}.get(str(form.get("type")))
    return Conversation(
        model=payload["model"],
        messages=tuple(messages),
        tools=tools_of(payload.get("tools"), nested=False),
        forced=forced,
        schema=schema,
        prompt=[instructions, heard, payload.get("tools")],
        stream=payload.get("stream") is True,
    )


def _body(turn: Turn, payload: Mapping[str, Json]) -> dict[str, Json]:
    echoed: dict[str, Json] = {
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "user": None,
    }
    return {
        "id": turn.id("resp_", length=40),
        "object": "response",
        "created_at": turn.created_s,
        "completed_at": turn.created_s,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": turn.model,
        "output": _output(turn),
        "usage": _usage(turn),
        **{name: default if payload.get(name) is None else payload[name] for name, default in echoed.items()},
    }


def _output(turn: Turn) -> list[dict[str, Json]]:
    output: list[dict[str, Json]] = []
    if turn.reply.text is not None:
        output.append(
            {
                "id": turn.id("msg_", length=40),
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": turn.reply.text, "annotations": [], "logprobs": []}],
            }
        )
    for number, call in enumerate(turn.reply.calls):
        output.append(
            {
                "id": turn.id("fc_", str(number), length=40),
                "type": "function_call",
                "status": "completed",
                "call_id": turn.id("call_", str(number)),
                "name": call.tool,
                "arguments": call.written,
            }
        )
    return output


def _usage(turn: Turn) -> dict[str, Json]:
    return {
        "input_tokens": turn.input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": turn.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }


def _stream(body: dict[str, Json]) -> Iterator[bytes]:
    numbers = count()

    def event(kind: str, **values: Json) -> bytes:
        document = {"type": kind, "sequence_number": next(numbers), **values}
        return f"event: {kind}\ndata: {json.dumps(document)}\n\n".encode()

    begun = {**body, "status": "in_progress", "completed_at": None, "output": [], "usage": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(body["output"]):
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            part = item["content"][0]
            empty = {**part, "text": ""}
            here = {**place, "content_index": 0}
            yield event(
                "response.output_item.added", output_index=index, item={**item, "status": "in_progress", "content": []}
            )
            yield event("response.content_part.added", **here, part=empty)
            for piece in pieces(part["text"]):
                yield event("response.output_text.delta", **here, delta=piece, logprobs=[])
            yield event("response.output_text.done", **here, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **here, part=part)
        else:
            unsaid = {**item, "status": "in_progress", "arguments": ""}
            yield event("response.output_item.added", output_index=index, item=unsaid)
            for piece in pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
            yield event(
                "response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"]
            )
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=body)
