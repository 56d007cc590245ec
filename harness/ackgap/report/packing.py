"""What a page carries of cells: texts made harmless, secrets taken out, and packed small.

Histories of one run resemble each other. So a page holds the beginning of one of them, compressed and not ended: the
primer. What is packed for a cell goes on from there, as if the primer had come before it, and takes half the room.
A browser undoes both together, and drops what belongs to the primer.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Mapping

from ackgap.model.event import Json
from ackgap.report.plain import plain_block
from ackgap.target.wire.payload import REDACTED, fingerprint, redacted
from ackgap.target.wire.secrets import is_secret, without_secrets

__all__ = ["LONGEST_TEXT", "Packer", "inert_json"]

LONGEST_TEXT = 64 * 1024
"""Characters of one text that a page shows; more is of no use to a reader, and slows the page down."""
_PRIMER_BYTES = 32 * 1024
"""How far deflate looks back."""
_LEVEL = 6
_AS_THEY_ARE = ("content", "payload")
"""What an event says of a request, where something empty is not the same as nothing."""
_SUSPECT = re.compile(r"\\u(?:00[01789a]|061c|180e|20[026]|d[89a-f]|f[ef])|\\[bfr]")
"""How any character that `plain` escapes looks in JSON of ASCII characters; it may name a few harmless ones too."""
_SECRETIVE = (
    *("auth", "token", "secret", "pwd", "pass", "cookie", "bearer", "basic ", "jwt", "credential", "private", "key"),
    *("connection", "sk-", "sk_", "rk_", "whsec", "akia", "asia", "gh", "glpat", "xox", "aiza", "eyj", "@"),
)
"""Of these, one at least is in the JSON, in small letters, of anything that has a secret in it by name or by looks."""


def inert_json(value: Json) -> str:
    """Return harmless JSON that cannot end the script element it stands in, whatever the texts in it say."""
    return _harmless(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class Packer:
    """Packs what a page carries of one cell.

    Args:
        sample: A history that others resemble.
    """

    def __init__(self, sample: Iterable[Mapping[str, Json]] = ()) -> None:
        text = f'{{"history":{_events(sample)}'.encode()[:_PRIMER_BYTES]
        self._begun = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL)
        self._primer = self._begun.compress(text) + self._begun.flush(zlib.Z_SYNC_FLUSH)
        self.length = len(text)
        """Bytes that the primer stands for."""

    @property
    def primer(self) -> str:
        """What has to come before each packed text."""
        return base64.b64encode(self._primer).decode()

    def packed(self, history: Iterable[Mapping[str, Json]], rest: Mapping[str, Json]) -> str:
        """Return the history and the rest of a cell, packed.

        Args:
            history: Events. What is empty in them is left out.
            rest: Whatever else is to be known of the cell, by name.
        """
        others = _harmless(dict(rest))[1:-1]
        text = f'{{"history":{_events(history)}{"," if others else ""}{others}}}'
        begun = self._begun.copy()
        return base64.b64encode(begun.compress(text.encode()) + begun.flush()).decode()


def _events(history: Iterable[Mapping[str, Json]]) -> str:
    # Event by event, since only few of them have anything in them that has to be looked at.
    return f"[{','.join(_event(event) for event in history)}]"


def _event(event: Mapping[str, Json]) -> str:
    # Most are passages, which name points and nothing that anyone sent.
    return _harmless(_without_empty(event), sent=event.get("kind") != "boundary_reached")


def _without_empty(event: Mapping[str, Json]) -> dict[str, Json]:
    return {
        name: value
        for name, value in event.items()
        if name in _AS_THEY_ARE or not (value is False or value in ("", [], {}))
    }


def _harmless(value: Json, *, sent: bool = True) -> str:
    text = _compact(value)
    if len(text) <= LONGEST_TEXT and not _SUSPECT.search(text) and not (sent and _may_hold_secrets(text)):
        return text
    return _compact(_shown(value))


def _may_hold_secrets(text: str) -> bool:
    # Quicker than one pattern, and most events are let through by it. Each request and each effect has a field `key`.
    small = text.lower().replace('"key":', "")
    return any(part in small for part in _SECRETIVE)


def _shown(value: Json) -> Json:
    if isinstance(value, str):
        return _shown_text(value)
    if isinstance(value, Mapping):
        return {
            _shown_text(str(name)): redacted(item)
            if is_secret(str(name), item) and not _is_redacted(item)
            else _shown(item)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_shown(item) for item in value]
    return value


def _shown_text(text: str) -> str:
    return plain_block(without_secrets(_cut(text), redacted))


def _cut(text: str) -> str:
    """Return the text without the middle of a long one; two that differ there still differ, by their digests."""
    if len(text) <= LONGEST_TEXT:
        return text
    said = f" … cut here, {len(text):,} characters in all, {fingerprint(text)[:12]} … "
    return text[: LONGEST_TEXT * 3 // 4] + said + text[-LONGEST_TEXT // 8 :]


def _is_redacted(value: Json) -> bool:
    return isinstance(value, str) and value.startswith(REDACTED)


_compact = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
