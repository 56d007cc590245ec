"""What an upstream's answer says: whether anything was done, about which object, and what it cost.

The service does not tell us what it did, so this is as far as its answers go: a status, the id of an object, a header
that marks a repeat. What cannot be known is left open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from ackgap.model.event import Json
from ackgap.target.models.usage import cost_of
from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.profile import Profile
from ackgap.target.upstream.live import Said
from ackgap.target.wire.answer import placeholders
from ackgap.target.wire.payload import decode_body
from ackgap.target.wire.request import Request, dig

__all__ = ["decoded", "is_marked_as_repeat", "object_id_in", "says_no", "tokens_cost"]

_IDS = ("id", "_id", "uuid", "guid", "object_id", "objectid")
_SEE_OTHER = 303


def decoded(said: Said) -> Json:
    """Return the body of an answer as a value; one that looks like JSON is read as that, whatever its type says."""
    value = decode_body(said.plain, said.header("content-type")).value
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        return decode_body(said.plain, "application/json").value
    return value


def says_no(said: Said, payload: Json, *, graphql: bool) -> str:
    """Return why an answer to an operation with an effect means that nothing was done; empty where it was done."""
    if said.status >= 300 and said.status != _SEE_OTHER:
        return f"the upstream answered {said.status}"
    if isinstance(payload, Mapping):
        for name in ("ok", "success"):
            if payload.get(name) is False:
                return f"the upstream answered {said.status} with {name} = false"
        data = payload.get("data")
        nothing = data is None or (isinstance(data, Mapping) and not any(value is not None for value in data.values()))
        if graphql and payload.get("errors") and nothing:
            return f"the upstream answered {said.status} with errors and no data"
    return ""


def object_id_in(operation: Operation, request: Request, said: Said, payload: Json) -> str:
    """Return the id of the object that an answer speaks of; empty where it names none.

    The profile's own answer shows where the id is. Without one it is a field that is called `id`, at the top or in
    the one object that the answer consists of, or the last part of a `Location`.

    An id that the request itself names tells nothing about what was done, so it is left out.
    """
    found = _by_template(operation, said, payload)
    if not found:
        found = _by_name(payload)
    if not found and (location := said.header("location")):
        found = unquote(urlsplit(location).path.rstrip("/").rpartition("/")[2])
    return "" if found and _is_named_by(request, found) else found


def is_marked_as_repeat(profile: Profile, said: Said) -> bool:
    """Whether the upstream says in a header that it gave this answer before."""
    marks = {("idempotent-replayed", "true"), ("idempotency-replayed", "true"), ("x-idempotent-replayed", "true")}
    for protection in profile.protections.values():
        for rule in protection.keys:
            first = {name.lower() for name in rule.first_headers}
            marks |= {
                (name.lower(), str(value).lower())
                for name, value in rule.replay_headers.items()
                if name.lower() not in first and "{" not in str(value) and not name.lower().startswith("content-")
            }
    return any((name.lower(), value.strip().lower()) in marks for name, value in said.headers)


def tokens_cost(settings: Mapping[str, Json], said: Said) -> float | None:
    """Return what the tokens cost that a model's answer says it used; None where it says nothing."""
    used_in = used_out = None
    for document in _documents(said):
        for usage in _usages(document):
            incoming = usage.get("prompt_tokens", usage.get("input_tokens"))
            outgoing = usage.get("completion_tokens", usage.get("output_tokens"))
            used_in = incoming if isinstance(incoming, int) else used_in
            used_out = outgoing if isinstance(outgoing, int) else used_out
    if used_in is None and used_out is None:
        return None
    return cost_of(settings, used_in or 0, used_out or 0)


def _usages(document: Json) -> Iterator[Mapping[str, Json]]:
    """Yield where a document, or the one inside of it, says how many tokens were used."""
    if not isinstance(document, Mapping):
        return
    for holder in (document, document.get("response"), document.get("message")):
        usage = holder.get("usage") if isinstance(holder, Mapping) else None
        if isinstance(usage, Mapping):
            yield usage


def _documents(said: Said) -> Iterator[Json]:
    if not said.streamed:
        yield decoded(said)
        return
    for part in said.parts:
        for line in part.splitlines():
            text = line.removeprefix(b"data:").strip()
            if text.startswith(b"{"):
                try:
                    yield json.loads(text)
                except ValueError:
                    continue


def _by_template(operation: Operation, said: Said, payload: Json) -> str:
    """Return what stands in the answer where the profile's answer shows the object's id."""
    spec = operation.answer
    if spec is None:
        return ""
    if isinstance(spec.body, str):
        return _in_text(spec.body, said.plain.decode("utf-8", "replace"))
    for path in _id_paths(spec.body, operation.object):
        value = dig(payload, path) if path else payload
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value):
            return str(value)
    return ""


def _id_paths(template: Json, stored: Json, path: str = "") -> Iterator[str]:
    """Yield the paths in a template at which the id of the object is shown, given the template of what is stored."""
    if template == "{object.id}":
        yield path
    elif template == "{object}":
        # What is shown is the object as it is stored; without a template that is what was sent, and its id.
        inner = list(_id_paths(stored, None)) if stored is not None else ["id"]
        yield from (f"{path}.{rest}".strip(".") for rest in inner)
    elif isinstance(template, str) and (match := re.fullmatch(r"\{object\.(\w+)\}", template)):
        shown = stored.get(match[1]) if isinstance(stored, Mapping) else None
        if shown == "{object.id}":
            yield path
    elif isinstance(template, Mapping):
        for name, item in template.items():
            if name == "*":
                yield from _id_paths(item, stored, path)
            else:
                yield from _id_paths(item, stored, f"{path}.{name}".strip("."))


def _in_text(template: str, text: str) -> str:
    """Return what stands in a text, as of XML, in the element that holds the object's id in a template."""
    for name in dict.fromkeys(placeholders(template)):
        if name != "object.id" and not re.fullmatch(r"object\.\w*[iI]d", name):
            continue
        element = re.search(r"<([\w:]+)>[^<]*" + re.escape("{" + name + "}"), template)
        found = re.search(rf"<{re.escape(element[1])}>([^<]+)</", text) if element else None
        if found:
            return found[1].strip()
    return ""


def _by_name(payload: Json) -> str:
    if not isinstance(payload, Mapping):
        return ""
    by_lower = {str(name).lower(): value for name, value in payload.items()}
    for name in _IDS:
        value = by_lower.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value):
            return str(value)
    inner = [value for value in payload.values() if isinstance(value, Mapping)]
    return _by_name(inner[0]) if len(inner) == 1 else ""


def _is_named_by(request: Request, object_id: str) -> bool:
    if any(unquote(part) == object_id for part in request.path.split("/")):
        return True
    return any(_has(value, object_id) for value in (request.query, request.payload))


def _has(value: Json, text: str) -> bool:
    if isinstance(value, Mapping):
        return any(_has(item, text) for item in value.values())
    if isinstance(value, list):
        return any(_has(item, text) for item in value)
    return isinstance(value, str | int) and str(value) == text
