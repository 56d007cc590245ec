"""Turn: from a conversation to a reply with ids, tokens and a price, the same way for every service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ackgap.model.event import Json
from ackgap.target.models.conversation import Conversation, Turn
from ackgap.target.models.drift import DEFAULT_DRIFT, Variation
from ackgap.target.models.script import reply_of
from ackgap.target.models.usage import cost_of, prompt_tokens, token_count
from ackgap.target.wire.answer import Answer
from ackgap.target.wire.payload import digest
from ackgap.target.wire.request import Request

__all__ = ["EVENT_STREAM", "ModelAnswer", "Moment", "pieces", "take_turn"]

EVENT_STREAM: Final = (("Content-Type", "text/event-stream; charset=utf-8"), ("Cache-Control", "no-cache"))
"""Headers of a streamed answer."""

_PIECE: Final = 16
"""Characters in a piece of a stream."""
_RECORDED_AT_S: Final = 1_767_225_600
"""When a recorded answer was made, so that it has the same bytes whenever it is heard again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a model is asked.

    Attributes:
        variation: Which wording is used, modulo the number of wordings; one more in each life.
        occurrence: Makes ids differ between calls of one life.
        now_s: Virtual time.
        restarted: The worker is not in its first life.
    """

    variation: int
    occurrence: int
    now_s: float
    restarted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """An answer and what it cost."""

    answer: Answer
    cost: float = 0.0


def take_turn(conversation: Conversation, request: Request, settings: Mapping[str, Json], moment: Moment) -> Turn:
    """Return what the model says.

    Args:
        conversation: What it is asked.
        request: How; its digest is part of every id.
        settings: `script`, `drift` and `seed` (see the profiles), and `input_price` and `output_price`.
        moment: When.
    """
    seed = int(settings.get("seed") or 0)
    variation = Variation(
        number=moment.variation,
        restarted=moment.restarted,
        seed=seed,
        kinds=frozenset(settings.get("drift") or DEFAULT_DRIFT),
    )
    reply, chosen = reply_of(conversation, settings.get("script") or [], variation)
    stamp = f"{seed} {request.digest}" + ("" if chosen.recorded else f" {moment.variation} {moment.occurrence}")
    input_tokens, output_tokens = prompt_tokens(conversation.prompt), token_count(reply.spoken)
    return Turn(
        model=conversation.model,
        reply=reply,
        stamp=digest(stamp.encode()),
        created_s=_RECORDED_AT_S if chosen.recorded else int(moment.now_s),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=cost_of(settings, input_tokens, output_tokens),
    )


def pieces(text: str) -> Iterator[str]:
    """Yield a text in the pieces in which it is streamed."""
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]
