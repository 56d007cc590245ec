"""What makes two effects the same logical action for the world; never only the worker's own key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ackgap.model.event import EffectApplied, Json
from ackgap.model.expectation import OperationFacts
from ackgap.model.history import History

__all__ = [
    "KEY_PATH",
    "MISSING_LEAF",
    "Identity",
    "at_path",
    "effect_document",
    "flatten",
    "identity_of",
    "identity_text",
    "leaves_of",
]

Identity = tuple[tuple[str, str], ...]
"""Path and canonical text of each value, sorted by path; hashable, so that effects can be counted by it."""

KEY_PATH = "key"
"""Path of the idempotency key, wherever it was sent. It is no part of a document, and is learned only if nothing else
tells the effects of an operation apart."""
MISSING_LEAF = "(missing)"
"""Text of a leaf that a document does not have."""


def effect_document(history: History, effect: EffectApplied) -> dict[str, Json]:
    """Return what an effect's request consisted of, under the roots that paths begin with."""
    try:
        attempt = history.attempt(effect.attempt)
    except KeyError:
        return {"body": effect.content}
    document = {"body": effect.content, "path": attempt.path.partition("?")[0], "query": attempt.query}
    return {**document, "header": dict(attempt.headers)} if attempt.headers else document


def leaves_of(history: History, effect: EffectApplied) -> dict[str, str]:
    """Return every leaf of an effect's document by path, and the parts of its URL path as `path.1`, `path.2`.

    The parts are there for a URL that says who is meant beside something that is new each time.
    """
    document = effect_document(history, effect)
    leaves: dict[str, str] = {}
    for path, text in flatten(document):
        # A key with a dot in it can look like a nested one; neither may hide the other.
        leaves[path] = f"{leaves[path]} {text}" if path in leaves else text
    for place, part in enumerate(str(document.get("path") or "").strip("/").split("/"), start=1):
        leaves[f"path.{place}"] = repr(part)
    return leaves


def flatten(value: Json, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield every leaf of a document as path and canonical text: `body.items.0.name`."""
    if isinstance(value, Mapping) and value:
        for key in sorted(value, key=str):
            yield from flatten(value[key], f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, (list, tuple)) and value:
        for place, item in enumerate(value):
            yield from flatten(item, f"{prefix}.{place}" if prefix else str(place))
    else:
        yield prefix, repr(value)


def at_path(document: Json, path: str) -> Json:
    """Return the value at a dotted path, None where there is none."""
    for part in path.split("."):
        if isinstance(document, Mapping):
            document = document.get(part)
        elif isinstance(document, (list, tuple)) and part.isdigit() and int(part) < len(document):
            document = document[int(part)]
        else:
            return None
    return document


def identity_of(history: History, effect: EffectApplied, facts: OperationFacts | None) -> Identity:
    """Return the logical action that an effect is.

    A described target says it itself. For one that nobody described, it is the values at the learned paths; where
    none were learned every effect of the operation is the same action.
    """
    if effect.identity and not (facts is not None and facts.identity_learned):
        return tuple(sorted((path, repr(value)) for path, value in effect.identity.items()))
    if facts is None or not facts.identity:
        return ()
    leaves = leaves_of(history, effect)
    if KEY_PATH in facts.identity and effect.key is not None:
        leaves[KEY_PATH] = repr(effect.key)
    return tuple((path, leaves.get(path, MISSING_LEAF)) for path in sorted(facts.identity))


def identity_text(identity: Mapping[str, Json]) -> str:
    """Return an identity as a person says it: `partner_id 4471`; what has no value is left out, long ones are cut."""
    said = {path: value for path, value in identity.items() if value not in (None, "None", "")} or identity
    parts = [f"{path.rpartition('.')[2]} {_plain(value)}" for path, value in said.items()]
    text = ", ".join(parts)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _plain(value: Json) -> str:
    text = str(value)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text
