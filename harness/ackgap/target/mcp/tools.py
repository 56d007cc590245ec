"""Tools: a profile's operations as an MCP server offers them, and the request that a call of one stands for.

A tool takes the operation's own parameters by name, wherever these belong: into the path, the query, the body, a
header, or the arguments of a GraphQL field. What it is given beyond those it hands on as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote

from ackgap.model.event import Json
from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.profile import Match, Profile
from ackgap.target.profiles.rules import Protection
from ackgap.target.wire.answer import placeholders
from ackgap.target.wire.payload import digest
from ackgap.target.wire.request import MISSING, Request

__all__ = ["ArgumentMissing", "Tool", "request_for", "tools_of"]

_COMMON_KEY_PLACE = "header.idempotency-key"
_ANYONES_KEY = "idempotencykey"
_QUERY_METHODS = frozenset({"GET", "HEAD", "DELETE"})
# Whoever wraps a service in tools has settled for one version of its interface, and asks nobody for it.
_VERSION_NAMES = frozenset({"version", "api_version"})
_A_VERSION = "v1"


class ArgumentMissing(Exception):
    """A call leaves out what is part of the operation's path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """An operation as a tool.

    Attributes:
        name: What a client calls it.
        places: Argument to path into the request.
        required: Arguments without which the service answers with an error.
        key_place: Where the service looks for an idempotency key in this operation; empty where it does not look.
    """

    name: str
    operation: Operation
    places: Mapping[str, str]
    required: tuple[str, ...] = ()
    key_place: str = ""
    effectful: bool = True
    _by_spelling: Mapping[str, str] = field(default_factory=dict)

    def place_of(self, argument: str) -> str:
        """Return where an argument belongs; a path into the request."""
        if argument in self.places:
            return self.places[argument]
        spelling = _spelling(argument)
        if spelling in self._by_spelling:
            return self._by_spelling[spelling]
        if self.effectful and spelling == _ANYONES_KEY:
            return self.key_place or _COMMON_KEY_PLACE
        return f"{_root_of(self.operation)}.{argument}"

    def described(self, profile: Profile) -> dict[str, Json]:
        """Return what `tools/list` says of it."""
        operation = self.operation
        effect = f"one {operation.noun[0]}" if self.effectful else "changes nothing"
        properties = {name: _schema(place) for name, place in self.places.items()}
        if self.key_place:
            properties.setdefault(
                "idempotency_key",
                {"type": "string", "description": "the same for every try of one action, and for no other"},
            )
        return {
            "name": self.name,
            "title": f"{profile.title}: {operation.name}",
            "description": f"{operation.methods[0]} {operation.path} of {profile.title}: {effect}",
            "inputSchema": {
                "type": "object",
                "properties": properties,
                **({"required": list(self.required)} if self.required else {}),
                "additionalProperties": True,
            },
            "annotations": {
                "title": operation.name,
                "readOnlyHint": not self.effectful,
                "destructiveHint": self.effectful and operation.does in {"put", "upsert", "patch", "delete"},
                "idempotentHint": operation.overwrites or operation.does == "delete",
                "openWorldHint": True,
            },
        }


def tools_of(profile: Profile, protection: Protection, *, effectful: Mapping[str, bool]) -> dict[str, Tool]:
    """Return the tools of a service by their names.

    Args:
        profile: The service.
        protection: How it treats repeats; a tool says that it takes a key where one is looked at.
        effectful: By operation, whether it changes the world.
    """
    tools: dict[str, Tool] = {}
    for operation in profile.operations:
        name = wanted = re.sub(r"[^A-Za-z0-9_-]", "_", operation.name)
        number = 1
        while name in tools:
            number += 1
            name = f"{wanted}_{number}"
        tools[name] = _tool(name, operation, profile, protection, effectful[operation.name])
    return tools


def request_for(tool: Tool, arguments: Mapping[str, Json], headers: Mapping[str, str]) -> tuple[Request, Match]:
    """Return the request that a call of a tool stands for, and what it means.

    Args:
        tool: The operation.
        arguments: Of the call.
        headers: By lower-case name, of the message that the call came in: who is meant may stand there.

    Raises:
        ArgumentMissing: A part of the path was not given.
    """
    operation = tool.operation
    parts: dict[str, Json] = {"path": {}, "query": {}, "body": {}, "header": {}, "graphql": {"args": {}}}
    for argument, value in arguments.items():
        if value is not None:
            _put(parts, tool.place_of(argument), value)
    for place, text in operation.match.items():
        if text:
            _put(parts, place, text, over=False)
    values, path = _filled(operation, parts["path"])
    method = operation.methods[0]
    graphql = _graphql(operation, parts["graphql"])
    payload = graphql[1] if graphql else parts["body"]
    body = b"" if method in _QUERY_METHODS and not payload else json.dumps(payload).encode()
    named = {name: _as_text(value) for name, value in parts["header"].items()}
    request = Request(
        method=method,
        path=path,
        query=parts["query"],
        headers={**headers, **({"content-type": "application/json"} if body else {}), **named},
        body=body,
        payload=payload if body else None,
        digest=digest(body),
        path_values=values,
        graphql=graphql[0] if graphql else None,
    )
    return request, Match(operation=operation, path_values=values)


def _tool(name: str, operation: Operation, profile: Profile, protection: Protection, effectful: bool) -> Tool:
    rule = protection.key_rule_for(operation)
    places = _places(operation)
    key_place = rule.places[0] if rule is not None and rule.places and effectful else ""
    known = {place: argument for argument, place in places.items()}
    required = [argument for argument in _path_names(operation) if argument not in _VERSION_NAMES]
    for path in operation.required:
        argument = known.get(path) or _argument(path)
        if argument in places and argument not in required:
            required.append(argument)
    spellings = {_spelling(argument): place for argument, place in places.items()}
    for other in (protection, *profile.protections.values()):
        other_rule = other.key_rule_for(operation)
        for place in other_rule.places if other_rule else ():
            if place.startswith("header."):
                spellings.setdefault(_spelling(place.partition(".")[2]), place)
    return Tool(
        name=name,
        operation=operation,
        places=places,
        required=tuple(required),
        key_place=key_place,
        effectful=effectful,
        _by_spelling=spellings,
    )


def _places(operation: Operation) -> dict[str, str]:
    """Return the parameters that a profile speaks of: argument to where it belongs."""
    places = {name: f"path.{name}" for name in _path_names(operation)}
    fixed = {_argument(path) for path, text in operation.match.items() if text and path.count(".") == 1}
    for path in _spoken_of(operation):
        root, _, rest = path.partition(".")
        argument = _argument(path)
        if not rest or not argument or argument in fixed or root in {"path", "header"}:
            continue
        if root == "graphql":
            if rest.startswith("args."):
                places.setdefault(argument, f"graphql.args.{argument}")
        elif root in {"body", "query"}:
            places.setdefault(argument, f"{root}.{argument}")
    return places


def _spoken_of(operation: Operation) -> Iterator[str]:
    """Yield every path into the request that a profile names for an operation."""
    yield from operation.required
    yield from operation.identity
    yield from (narrowed.place for narrowed in operation.filters)
    yield from operation.consistent_for
    yield from operation.consistent_when
    yield from (path for outcome in operation.outcomes for path in outcome.when)
    if operation.search is not None:
        yield operation.search.parameter
    if operation.page is not None:
        yield from (operation.page.parameter, operation.page.size_parameter)
    answers = [answer.body for answer in (operation.answer, operation.updated) if answer is not None]
    templates = [operation.object, operation.object_id, dict(operation.find_by), dict(operation.appends), *answers]
    for name in placeholders([*templates, operation.collection]):
        path = name.removeprefix("md5.").removeprefix("number.")
        yield f"body.{path.removeprefix('payload.')}" if path.startswith("payload.") else path


def _argument(path: str) -> str:
    root, _, rest = path.partition(".")
    if root == "graphql":
        rest = rest.removeprefix("args.")
    return rest.partition(".")[0]


def _path_names(operation: Operation) -> list[str]:
    return re.findall(r"\{(\w+)\+?\}", operation.path)


def _root_of(operation: Operation) -> str:
    if any(path.startswith("graphql.") for path in operation.match):
        return "graphql.args"
    return "query" if operation.methods[0] in _QUERY_METHODS else "body"


@lru_cache(maxsize=1024)
def _spelling(name: str) -> str:
    """Return a name without the habits of a place: `Idempotency-Key` and `idempotency_key` are one."""
    return re.sub(r"[-_]", "", name).lower()


def _schema(place: str) -> dict[str, Json]:
    root = place.partition(".")[0]
    if root == "path":
        return {"type": "string", "description": "part of the path"}
    return {"description": "argument" if root == "graphql" else f"in the {root}"}


def _put(parts: dict[str, Json], place: str, value: Json, *, over: bool = True) -> None:
    """Put a value where a path says; names on the way become objects.

    Args:
        parts: Of the request, by their roots.
        place: The path.
        value: What to put there.
        over: Take the place of a value that is there; what is fixed for an operation only takes that of nonsense.
    """
    root, _, rest = place.partition(".")
    node: Json = parts[root]
    steps = [rest] if root in {"query", "header", "path"} else rest.split(".")
    for step in steps[:-1]:
        if not isinstance(node.get(step), dict):
            if step in node and over:
                return
            node[step] = {}
        node = node[step]
    if over or node.get(steps[-1], MISSING) is MISSING:
        node[steps[-1]] = value


def _filled(operation: Operation, given: Mapping[str, Json]) -> tuple[dict[str, str], str]:
    values: dict[str, str] = {}
    path = operation.path
    for name in _path_names(operation):
        value = given.get(name, _A_VERSION if name in _VERSION_NAMES else None)
        if value is None or value == "":
            raise ArgumentMissing(name)
        values[name] = _as_text(value)
        path = path.replace(f"{{{name}}}", quote(values[name], safe=""))
        path = path.replace(f"{{{name}+}}", quote(values[name], safe="/"))
    return values, path


def _graphql(operation: Operation, given: Mapping[str, Json]) -> tuple[Json, Json] | None:
    """Return what a GraphQL body would be read as, and the body; None for other services."""
    name = given.get("field")
    if not name:
        return None
    kind = "mutation" if operation.effect else "query"
    arguments = dict(given["args"])
    directives = given.get("directives", {})
    asked = {"kind": kind, "field": name, "alias": name, "args": arguments, "directives": directives}
    chosen = "(" + ", ".join(f"{argument}: ${argument}" for argument in arguments) + ")" if arguments else ""
    marks = "".join(
        f" @{mark}({', '.join(f'{key}: {json.dumps(value)}' for key, value in values.items())})"
        for mark, values in directives.items()
    )
    return asked, {"query": f"{kind} {{ {name}{chosen}{marks} }}", "variables": arguments}


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)
