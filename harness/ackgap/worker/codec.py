"""JSON without the module `json`, which takes longer to import than all the rest of this room.

Uses the interpreter's own scanner, and `json` itself where that is missing or has changed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["decode", "encode"]


class _Context:
    """What the scanner asks of whoever uses it."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner's own


def decode(text: str) -> Any:
    """Read a JSON document.

    Raises:
        ValueError: It is not one.
    """
    try:
        from _json import make_scanner

        scan: Any = make_scanner
        value, end = scan(_Context)(text.strip(), 0)
    except Exception:
        import json

        return json.loads(text)
    if end != len(text.strip()):
        raise ValueError("something comes after the JSON document")
    return value


def encode(message: dict[str, Any]) -> bytes:
    """Return an object as one line; its values are texts, whole numbers, truth values, null, or lists of numbers."""
    try:
        from _json import encode_basestring_ascii as quoted
    except ImportError:
        import json

        return json.dumps(message).encode() + b"\n"
    parts = [f"{quoted(key)}:{quoted(value) if type(value) is str else _word(value)}" for key, value in message.items()]
    return ("{" + ",".join(parts) + "}\n").encode()


def _word(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ",".join(str(int(number)) for number in value) + "]"
    return str(int(value))
