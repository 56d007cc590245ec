"""Bodies of requests: decoding them, comparing them, and making them safe to write down.

A history is kept, printed and shared, so what goes into it is redacted and cut here, once, before anyone sees it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from ackgap.model.event import Json
from ackgap.target.wire.secrets import is_secret, without_secrets

__all__ = [
    "BODY_LIMIT",
    "REDACTED",
    "STRING_LIMIT",
    "BodyTooLarge",
    "Decoded",
    "decode_body",
    "decode_query",
    "digest",
    "fingerprint",
    "inflate",
    "redacted",
    "safe",
    "safe_at",
    "shortened",
]

STRING_LIMIT = 8 * 1024
"""Longest string that is kept whole in a history, in bytes of UTF-8."""
BODY_LIMIT = 256 * 1024
"""Largest decoded body that is kept whole in a history, in bytes of its JSON."""
REDACTED = "[redacted]"
"""Stands for a secret; a fingerprint follows, so that two secrets remain two."""

_DEPTH_LIMIT = 100
_HEAD = 1024
_FINGERPRINT = 12
"""Hex digits of a digest that stand for a value which is not written down: enough to tell values apart."""


class BodyTooLarge(Exception):
    """A compressed body grows beyond the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A body as a value.

    Attributes:
        value: JSON value, form fields, text, or a description of bytes; None for an empty body.
        problem: Why the body is not what its content type says; empty if it is.
    """

    value: Json
    problem: str = ""


def digest(body: bytes) -> str:
    """Return the SHA-256 of a body as sent, in hex."""
    return hashlib.sha256(body).hexdigest()


def inflate(body: bytes, encoding: str, limit: int) -> bytes:
    """Undo a `Content-Encoding` of gzip or deflate; other encodings are left alone.

    Raises:
        BodyTooLarge: It grows beyond `limit` bytes.
        ValueError: It is not what the encoding says.
    """
    encoding = encoding.strip().lower()
    if encoding not in {"gzip", "x-gzip", "deflate"} or not body:
        return body
    engine = zlib.decompressobj(wbits=31 if "gzip" in encoding else 15)
    try:
        result = engine.decompress(body, limit + 1)
    except zlib.error as error:
        raise ValueError(f"the body is not {encoding}: {error}") from error
    if len(result) > limit:
        raise BodyTooLarge
    if not engine.eof:
        raise ValueError(f"the {encoding} body ends too early")
    return result


def decode_body(body: bytes, content_type: str) -> Decoded:
    """Read a body by its content type.

    A body that its type calls a form and that is a JSON object is read as JSON: `curl -d` labels everything a form.
    """
    if not body:
        return Decoded(value=None)
    kind = content_type.partition(";")[0].strip().lower()
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return Decoded(value=_bytes_note(body), problem="the body is not UTF-8" if _is_json(kind) else "")
    looks_like_json = text.lstrip()[:1] in {"{", "["}
    is_form = kind == "application/x-www-form-urlencoded"
    if _is_json(kind) or (looks_like_json and (is_form or not kind)):
        value = _load(text)
        if not isinstance(value, ValueError):
            return Decoded(value=value)
        if _is_json(kind):
            return Decoded(value=text, problem=f"the body is not JSON: {value}")
    if is_form:
        return Decoded(value=_form(text))
    return Decoded(value=text)


def decode_query(query: str) -> dict[str, Json]:
    """Return the parameters of a query string; one that is given several times has a list."""
    result: dict[str, Json] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in result:
            result[name] = value
        elif isinstance(result[name], list):
            result[name].append(value)
        else:
            result[name] = [result[name], value]
    return result


def fingerprint(value: Json) -> str:
    """Return a digest of a decoded value that does not depend on the order of its keys."""
    return digest(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())


def safe(value: Json) -> Json:
    """Return a value with secrets redacted and long strings and bodies cut, ready to be written down."""
    cleaned = _clean(value)
    size = len(json.dumps(cleaned))
    if size <= BODY_LIMIT:
        return cleaned
    text = json.dumps(cleaned)
    return {"head": text[:_HEAD], "truncated": size, "sha256": digest(text.encode())}


def safe_at(name: str, value: Json) -> Json:
    """Return the value of a field of that name, ready to be written down."""
    return redacted(value) if is_secret(name, value) else safe(value)


def shortened(text: str, limit: int = STRING_LIMIT) -> str:
    """Return a text of at most about that length; what is cut off is still told from another text's end."""
    return text if len(text) <= limit else f"{text[:limit]}… {fingerprint(text)[:_FINGERPRINT]}"


def redacted(value: Json) -> str:
    """Return what is written down in the place of a secret."""
    return f"{REDACTED} {fingerprint(value)[:_FINGERPRINT]}"


def _is_json(kind: str) -> bool:
    # Also with a version: application/x-amz-json-1.0.
    return re.search(r"[/+-]json(-[\d.]+)?$", kind) is not None


def _load(text: str) -> Json | ValueError:
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except ValueError as error:
        return error
    except RecursionError:
        return ValueError("it is nested too deeply")
    if _deeper_than(value, _DEPTH_LIMIT):
        return ValueError("it is nested too deeply")
    return value


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _no_number(text: str) -> float:
    raise ValueError(f"{text[:20]} is no number of JSON")


def _deeper_than(value: Json, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _bytes_note(body: bytes) -> dict[str, Json]:
    return {"base64-sha256": b64encode(hashlib.sha256(body).digest()).decode(), "bytes": len(body)}


_FORM_KEY = re.compile(r"(?P<first>[^\[\]]+)(?P<rest>(\[[^\[\]]*\])*)")


def _form(text: str) -> Json:
    """Read form fields; `metadata[order]` and `items[]` become nested, and `items[0]` and `items[1]` a list."""
    result: dict[str, Json] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        match = _FORM_KEY.fullmatch(name)
        steps = [match["first"], *re.findall(r"\[([^\[\]]*)\]", match["rest"])] if match else [name]
        _set(result, steps[: _DEPTH_LIMIT // 2], value)
    return {name: _with_lists(value) for name, value in result.items()}


def _with_lists(value: Json) -> Json:
    """Return a value in which what is numbered from 0 on, without a gap, is a list."""
    if isinstance(value, dict):
        inner = {name: _with_lists(item) for name, item in value.items()}
        numbers = [str(number) for number in range(len(inner))]
        return [inner[number] for number in numbers] if inner and set(inner) == set(numbers) else inner
    return value


def _set(result: dict[str, Json], steps: list[str], value: str) -> None:
    node = result
    for index, step in enumerate(steps[:-1]):
        if steps[index + 1 :] == [""]:  # items[]=a&items[]=b
            items = node.setdefault(step, [])
            if isinstance(items, list):
                items.append(value)
            return
        child = node.setdefault(step, {})
        if not isinstance(child, dict):
            return
        node = child
    last = steps[-1]
    if last not in node:
        node[last] = value
    elif isinstance(node[last], list):
        node[last].append(value)
    elif isinstance(node[last], str):
        node[last] = [node[last], value]


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, Mapping):
        return {
            shortened(str(name), _HEAD): redacted(item) if is_secret(str(name), item) else _clean(item)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


def _clean_text(text: str) -> Json:
    raw = text.encode("utf-8", "backslashreplace")  # half a surrogate pair is valid JSON and not valid UTF-8
    readable = without_secrets(raw[:STRING_LIMIT].decode("utf-8", "ignore"), redacted)
    if len(raw) <= STRING_LIMIT:
        return readable
    return {"head": readable[:_HEAD], "truncated": len(raw), "sha256": digest(raw)}
