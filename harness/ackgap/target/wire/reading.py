"""Reading: the request that a target has to answer, out of what came over a connection."""

from __future__ import annotations

from dataclasses import replace

from ackgap.target.profiles.profile import Profile
from ackgap.target.protection.keys import digest_beside_keys
from ackgap.target.wire.connection import BODY_BYTES, RawRequest
from ackgap.target.wire.paths import plain_path
from ackgap.target.wire.payload import BodyTooLarge, decode_body, decode_query, inflate
from ackgap.target.wire.request import Request

__all__ = ["read_request"]


def read_request(raw: RawRequest, profile: Profile) -> tuple[Request, int]:
    """Return the request that was read, and the status with which it has to be refused, 0 if it need not."""
    refusal, problem, body = raw.refusal, raw.problem, raw.body
    headers: dict[str, str] = {}
    for name, value in raw.headers:
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    try:
        body = inflate(raw.body, headers.get("content-encoding", ""), BODY_BYTES)
    except BodyTooLarge:
        refusal, problem = 413, f"the body is larger than {BODY_BYTES} bytes"
    except ValueError as error:
        refusal, problem = 400, str(error)
    decoded = decode_body(body, headers.get("content-type", ""))
    request = Request(
        method=raw.method.upper(),
        path=plain_path(raw.request_target),
        query=decode_query(raw.request_target.partition("#")[0].partition("?")[2]),
        headers=headers,
        body=body,
        payload=decoded.value,
        problem=problem or decoded.problem,
    )
    request = replace(request, digest=digest_beside_keys(request, profile.protections))
    if profile.graphql:
        # Imported here: few services speak it, and its parser takes a while to load.
        from ackgap.target.wire.graphql_body import read_graphql

        request = replace(request, graphql=read_graphql(request.payload))
    return request, refusal
