"""Usage: how many tokens a turn is charged for, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ackgap.model.event import Json

__all__ = ["cost_of", "prompt_tokens", "token_count"]

_PRICED_TOKENS = 1_000_000
_BYTES_A_TOKEN = 4


def token_count(text: str) -> int:
    """Return a rough number of tokens: four bytes of UTF-8 each. Good for comparing, not for invoices."""
    return (len(text.encode("utf-8", "replace")) + _BYTES_A_TOKEN - 1) // _BYTES_A_TOKEN


def prompt_tokens(prompt: Json) -> int:
    """Return the rough number of tokens of whatever a client sent to be read."""
    return token_count(json.dumps(prompt))


def cost_of(settings: Mapping[str, Json], input_tokens: int, output_tokens: int) -> float:
    """Return what tokens cost by the settings `input_price` and `output_price`, each for a million of them."""
    cost = input_tokens * float(settings.get("input_price") or 0) / _PRICED_TOKENS
    cost += output_tokens * float(settings.get("output_price") or 0) / _PRICED_TOKENS
    return round(cost, 9)
