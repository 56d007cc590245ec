"""GraphQL requests: what is asked for, with variables put in, so that profiles can speak of arguments by path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from graphql import DocumentNode, FieldNode, GraphQLSyntaxError, OperationDefinitionNode, SelectionSetNode, parse
from graphql.language import (
    ArgumentNode,
    BooleanValueNode,
    ConstArgumentNode,
    EnumValueNode,
    FloatValueNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    ObjectValueNode,
    StringValueNode,
    ValueNode,
    VariableNode,
)

from ackgap.model.event import Json
from ackgap.target.wire.request import MISSING

__all__ = ["read_graphql"]

_LONGEST = 256 * 1024


def read_graphql(payload: Json) -> Json:
    """Return the first field that a GraphQL request asks for, None where it is no GraphQL.

    The value is `{"kind": "mutation", "field": "orderCreate", "args": {...}, "directives": {"idempotent": {...}},
    "alias": "..."}`. Only the first field of the operation is read: fakes do one thing a request. An argument whose
    variable was not given is left out.
    """
    if not isinstance(payload, Mapping) or not isinstance(payload.get("query"), str):
        return None
    text = payload["query"]
    document = _parsed(text) if len(text) <= _LONGEST else None
    if document is None:
        return None
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    named = [node for node in operations if node.name is not None and node.name.value == payload.get("operationName")]
    chosen = next(iter(named or operations), None)
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    first = next(_fields(chosen.selection_set, fragments), None) if chosen else None
    if chosen is None or first is None:
        return None
    try:
        known = _variables(chosen, payload.get("variables"))
        return {
            "kind": chosen.operation.value,
            "field": first.name.value,
            "alias": first.alias.value if first.alias else first.name.value,
            "args": _arguments(first.arguments or (), known),
            "directives": {node.name.value: _arguments(node.arguments or (), known) for node in first.directives or ()},
        }
    except (ValueError, RecursionError):  # a number beyond measure, or lists in lists without end
        return None


@lru_cache(maxsize=64)
def _parsed(text: str) -> DocumentNode | None:
    try:
        return parse(text, no_location=True, max_tokens=20_000)
    except (GraphQLSyntaxError, RecursionError):
        return None


def _fields(selections: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode]) -> Iterator[FieldNode]:
    """Yield the fields of a selection, those of its fragments in their place."""
    for node in selections.selections:
        if isinstance(node, FieldNode):
            yield node
        elif isinstance(node, InlineFragmentNode):
            yield from _fields(node.selection_set, fragments)
        elif isinstance(node, FragmentSpreadNode):
            name = node.name.value
            if name in fragments:
                # A fragment that holds itself is not looked into twice.
                rest = {other: fragment for other, fragment in fragments.items() if other != name}
                yield from _fields(fragments[name].selection_set, rest)


def _variables(operation: OperationDefinitionNode, given: Json) -> dict[str, Json]:
    defaults = {
        node.variable.name.value: _value(node.default_value, {})
        for node in operation.variable_definitions or ()
        if node.default_value is not None
    }
    return {**defaults, **(given if isinstance(given, Mapping) else {})}


def _arguments(arguments: Iterable[ArgumentNode | ConstArgumentNode], known: Mapping[str, Json]) -> dict[str, Json]:
    values = {node.name.value: _value(node.value, known) for node in arguments}
    return {name: value for name, value in values.items() if value is not MISSING}


def _value(node: ValueNode, known: Mapping[str, Json]) -> Json:
    """Return a value as JSON, `MISSING` where it is a variable that nobody gave.

    Raises:
        ValueError: It is a number that JSON cannot hold.
    """
    if isinstance(node, VariableNode):
        return known.get(node.name.value, MISSING)
    if isinstance(node, ListValueNode):
        items = [_value(item, known) for item in node.values]
        return [None if item is MISSING else item for item in items]
    if isinstance(node, ObjectValueNode):
        fields = {field.name.value: _value(field.value, known) for field in node.fields}
        return {name: value for name, value in fields.items() if value is not MISSING}
    if isinstance(node, IntValueNode):
        return int(node.value)
    if isinstance(node, FloatValueNode):
        number = float(node.value)
        if not math.isfinite(number):
            raise ValueError(node.value)
        return number
    return node.value if isinstance(node, StringValueNode | BooleanValueNode | EnumValueNode) else None
