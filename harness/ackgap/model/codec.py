"""Frozen data to JSON and back, by the types that the fields declare.

One walker for every dataclass of the model, so that a new field needs no code here. Reading ignores keys it does not
know, since results of a later version may have more of them; a missing key takes the field's default.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ackgap.model.event import Json
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.rate import Rate
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind

__all__ = ["decode", "encode", "result_from_json", "result_to_json"]

T = TypeVar("T")


def encode(value: object) -> Json:
    """Return a value of the model as something that `json.dumps` writes and any JSON reader accepts.

    Variants become objects and schedules their text form. Numbers that JSON does not have (a worker may have sent
    them) become text.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Variant):
        return value.as_mapping()
    if isinstance(value, Schedule):
        return str(value)
    if is_dataclass(value):
        return {item.name: encode(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode(item) for item in value]
    return str(value)


def decode(kind: type[T], document: Json) -> T:
    """Read what `encode` wrote for a dataclass of that type.

    Raises:
        ValueError: The document is not one.
    """
    try:
        value: T = _decode(kind, document)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"not a {kind.__name__}: {error}") from error
    return value


def result_to_json(result: CellResult) -> dict[str, Json]:
    """Return the line of `cells.jsonl` for a result; its history is kept elsewhere."""
    return {
        "cell": result.cell,
        "scenario": result.scenario,
        "variant": encode(result.variant),
        "schedule": encode(result.schedule),
        "verdict": result.verdict.kind.value,
        "headline": result.verdict.headline,
        "findings": encode(result.findings),
        "incarnations": result.incarnations,
        "effects": encode(result.effects),
        "duration_s": round(result.duration_s, 6),
        "settling": result.settling,
        "kept_directory": result.kept_directory,
        "equal_to": result.equal_to,
        "copied": result.copied,
        "rate": encode(result.rate),
    }


def result_from_json(document: Mapping[str, Json]) -> CellResult:
    """Read what `result_to_json` wrote; the result has no history.

    Raises:
        ValueError: The document is not a result.
    """
    try:
        return CellResult(
            scenario=str(document["scenario"]),
            variant=decode(Variant, document["variant"]),
            schedule=Schedule.parse(document["schedule"]),
            verdict=Verdict(
                kind=VerdictKind(document["verdict"]),
                findings=tuple(decode(Finding, finding) for finding in document["findings"]),
            ),
            incarnations=int(document["incarnations"]),
            effects={str(operation): int(count) for operation, count in document["effects"].items()},
            duration_s=float(document["duration_s"]),
            settling=str(document.get("settling", "")),
            kept_directory=str(document.get("kept_directory", "")),
            equal_to=str(document.get("equal_to", "")),
            copied=bool(document.get("copied", False)),
            rate=decode(Rate, document["rate"]) if document.get("rate") else None,
        )
    except (AttributeError, KeyError, OverflowError, TypeError) as error:
        raise ValueError(f"not the result of a cell: {error!r}") from error


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, document: Json) -> Any:
    if kind is Any or kind is object:
        return document
    origin = get_origin(kind)
    if origin is not None:
        return _decode_generic(origin, get_args(kind), document)
    if kind is Variant:
        return Variant(values=tuple((str(axis), str(value)) for axis, value in document.items()))
    if kind is Schedule:
        return Schedule.parse(document)
    if isinstance(kind, type) and is_dataclass(kind):
        return _decode_dataclass(kind, document)
    if kind is float and isinstance(document, int | float):
        return float(document)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(document)
    if kind is int and isinstance(document, bool):
        raise TypeError("expected a number, found true or false")
    if not isinstance(document, kind):
        raise TypeError(f"expected {kind.__name__}, found {type(document).__name__}")
    return document


def _decode_generic(origin: Any, arguments: tuple[Any, ...], document: Json) -> Any:
    if origin in {Union, types.UnionType}:
        if document is None and type(None) in arguments:
            return None
        return _decode(next(argument for argument in arguments if argument is not type(None)), document)
    if origin is tuple:
        if not isinstance(document, list | tuple):
            raise TypeError(f"expected a list, found {type(document).__name__}")
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_decode(arguments[0], item) for item in document)
        return tuple(_decode(argument, item) for argument, item in zip(arguments, document, strict=True))
    return {key: _decode(arguments[1], item) for key, item in document.items()}


def _decode_dataclass(kind: Any, document: Mapping[str, Json]) -> Any:
    hints = _hints(kind)
    values = {}
    for item in fields(kind):
        if item.name in document:
            values[item.name] = _decode(hints[item.name], document[item.name])
        elif item.default is MISSING and item.default_factory is MISSING:
            raise KeyError(item.name)
    return kind(**values)
