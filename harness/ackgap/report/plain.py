"""Text that a worker, a target or a scenario brought in, made harmless to show.

A terminal obeys escape sequences and a reader's eye obeys right-to-left marks, so neither is ever passed on: each
such character is shown as its escape instead.
"""

from __future__ import annotations

import re
import shlex

from rich.cells import cell_len

from ackgap.model.event import Json

__all__ = ["plain", "plain_block", "plain_json", "replay_command", "shortened", "trace_command"]

# C0, DEL and C1 controls; marks, embeddings and isolates that change the order of reading; invisible joiners and
# separators; lone surrogates; what XML 1.0 forbids.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain_block(text: str) -> str:
    """Return the text with harmful characters as visible escapes; line ends and tabs stay."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def plain(text: str) -> str:
    """Return the text on one line with harmful characters as visible escapes."""
    return plain_block(" ".join(re.split(r"[\r\n\t]+", text)))


def plain_json(value: Json) -> Json:
    """Return a JSON value with every text in it made harmless."""
    if isinstance(value, str):
        return plain_block(value)
    if isinstance(value, dict):
        return {plain_block(str(key)): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return value


def replay_command(prefix: str, cell: str) -> str:
    """Return the command that runs a cell again, ready for a shell."""
    return plain(f"{prefix} {shlex.quote(cell)}")


def trace_command(replay_prefix: str, cell: str) -> str:
    """Return the command that tells a cell step by step, made of what precedes a cell where it is run again."""
    program, _, directory = replay_prefix.partition(" replay")
    return plain(f"{program} trace{directory} {shlex.quote(cell)}")


def shortened(text: str, width: int) -> str:
    """Return the text cut in its middle to so many columns of a terminal, which some characters take two of."""
    if cell_len(text) <= width:
        return text
    head = (width - 1) // 3
    return f"{_cut(text, head)}…{_cut(text[::-1], width - 1 - head)[::-1]}"


def _cut(text: str, width: int) -> str:
    """Return the beginning of a text that takes so many columns, or one less."""
    kept = text[: max(0, width)]
    while cell_len(kept) > width:
        kept = kept[:-1]
    return kept


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
