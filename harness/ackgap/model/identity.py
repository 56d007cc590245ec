"""What makes two effects the same logical action for the world; never only the worker's own key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ackgap.model.event import EffectApplied, Json
from ackgap.model.expectation import OperationFacts
from ackgap.model.history import History

__all__ = ["Identity", "at_path", "effect_document", "flatten", "identity_of", "identity_text"]

Identity = tuple[tuple[str, str], ...]
"""Path and canonical text of each value, sorted by path; hashable, so that effects can be counted by it."""

_MISSING = "(missing)"


def effect_document(history: History, effect: EffectApplied) -> dict[str, Json]:
    """Return what an effect's request consisted of, under the roots that paths begin with."""
    try:
        attempt = history.attempt(effect.attempt)
    except KeyError:
        return {"body": effect.content}
    return {"body": effect.content, "path": attempt.path.partition("?")[0], "query": attempt.query}


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
    if effect.identity:
        return tuple(sorted((path, repr(value)) for path, value in effect.identity.items()))
    if facts is None or not facts.identity:
        return ()
    leaves = dict(flatten(effect_document(history, effect)))
    return tuple((path, leaves.get(path, _MISSING)) for path in sorted(facts.identity))


def identity_text(identity: Mapping[str, Json]) -> str:
    """Return an identity as a person says it: `partner_id 4471`; long ones are cut."""
    parts = [f"{path.rpartition('.')[2]} {_plain(value)}" for path, value in identity.items()]
    text = ", ".join(parts)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _plain(value: Json) -> str:
    text = str(value)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text
