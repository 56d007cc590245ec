"""Which headers of a request may say who or what is meant, and so belong to what an action is.

Most headers are about the way: the connection, the client, the trace, the proof of who sends. They change from
request to request, or never, and say nothing about the action. A few services put meaning there, such as the tenant
or the account for whom something is done. Which ones cannot be listed, so the others are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ackgap.model.event import Json
from ackgap.target.wire.payload import safe_at, shortened

__all__ = ["telling_headers"]

_LIMIT = 24
"""Headers that are kept of one request."""
_NAME_LIMIT = 128

_ABOUT_THE_WAY = re.compile(
    r"""
    accept(-.*)? | a-im | alt-used | cache-control | connection | content-.* | cookie2? | date | dnt | dpr | early-data
    | expect | expires | forwarded | from | host | if-.* | keep-alive | last-modified | link | max-forwards | origin
    | pragma | prefer | priority | proxy-.* | range | referer | save-data | sec-.* | server-timing | te | trailer
    | transfer-encoding | upgrade(-.*)? | user-agent | via | warning | width
    | x-forwarded-.* | x-real-ip | x-client-ip | true-client-ip | cf-.* | fastly-.* | x-envoy-.* | x-original-.*
    | x-http-method(-override)? | x-method-override | x-requested-with | x-powered-by
    # What client libraries say about themselves and about this very request.
    | x-stainless-.* | x-stripe-client-.* | x-goog-api-client | x-ms-client-.* | x-ms-return-.* | x-ms-date | x-amz-date
    | x-amz-content-.* | x-amz-security-.* | amz-sdk-.* | x-sdk-.* | x-client-(name|version|info|data)
    # Traces.
    | trace.* | baggage | b3 | x-b3-.* | uber-.* | jaeger-.* | sentry-.* | x-datadog-.* | newrelic | elastic-.*
    | x-cloud-trace-.* | x-amzn-trace-.* | x-instana-.* | x-dynatrace | x-ot-span-.* | grpc-.*
    """,
    re.VERBOSE,
)
_ABOUT_THE_WAY_PART = re.compile(
    # Proof of who sends; the same person may send with another one after a restart.
    r"auth(?!or(?!iz))|cookie|csrf|xsrf|signature|digest|hmac"
    # Keys, and names of this one request.
    r"|idempot|request[-_]?(id|token)|correlation|transaction[-_]?id|dedup|nonce|unique"
    # What is new in each try.
    r"|retry|attempt|timestamp|telemetry|trace|span[-_]?id|user-agent|timeout|deadline"
)


def telling_headers(headers: Mapping[str, str], *, key: str | None) -> dict[str, Json]:
    """Return the headers that may say who or what is meant, redacted and cut.

    Args:
        headers: Of a request, by lower-case name.
        key: The idempotency key that was found in the request; a header that holds it is left out.
    """
    telling = [
        (name, value)
        for name, value in sorted(headers.items())
        if (key is None or value != key) and not _ABOUT_THE_WAY.fullmatch(name) and not _ABOUT_THE_WAY_PART.search(name)
    ]
    return {shortened(name, _NAME_LIMIT): safe_at(name, value) for name, value in telling[:_LIMIT]}
