"""Request: what a target has of an attempt once all of it is there, and paths into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ackgap.model.event import Json

__all__ = ["MISSING", "Request", "dig"]


class _Missing:
    """The one value that no payload has."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A whole request.

    Attributes:
        method: As sent, upper case.
        path: Without query and host, as sent.
        headers: By lower-case name; repeated ones are joined by commas.
        body: As sent, after undoing a `Content-Encoding`.
        payload: The decoded body.
        problem: Why the body is not what its content type says.
        digest: SHA-256 of what the body says beside an idempotency key.
        path_values: Values of the `{...}` in the operation's path.
        graphql: What a GraphQL body asks for, where the service speaks that; see `graphql_body.read_graphql`.
    """

    method: str
    path: str
    query: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    payload: Json = None
    problem: str = ""
    digest: str = ""
    path_values: Mapping[str, str] = field(default_factory=dict)
    graphql: Json = None

    def value_at(self, path: str) -> Json | _Missing:
        """Return the value at a path: `body.partner.id`, `query.q`, `path.id`, `graphql.args.id`, `header.x-id`.

        `MISSING` where the request has none. A bare `body` is the whole payload.
        """
        root, _, rest = path.partition(".")
        if root == "header":
            return self.headers.get(rest.lower(), MISSING)
        start: Json = {
            "body": self.payload,
            "query": self.query,
            "path": self.path_values,
            "graphql": self.graphql,
        }.get(root, MISSING)
        return dig(start, rest) if rest else start


def dig(value: Json, path: str) -> Json | _Missing:
    """Return what lies at a dotted path below a value: names of objects, positions of lists.

    A name may itself have dots (`InstanceId.1`), if nothing lies at its first part.
    """
    steps = path.split(".")
    for number, step in enumerate(steps):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, Mapping) and (rest := ".".join(steps[number:])) in value:
            return value[rest]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value
