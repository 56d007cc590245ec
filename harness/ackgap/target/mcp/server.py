"""MCP: a target as a server of the Model Context Protocol, below `/mcp` on its own port.

A tool is an operation. Calling it is the very request that the operation has over HTTP, and goes the very same way.
Everything else of the protocol is answered here and has no effect on anything but the protocol's own sessions.

Spoken are the versions with a handshake and a session, up to 2025-11-25, and 2026-07-28, in which each request stands
for itself. See https://modelcontextprotocol.io/specification (read 2026-11-29); where it leaves a choice, the answer is
that of the official Python package, `mcp` 2.3.0.
"""

from __future__ import annotations

import http
import ipaddress
import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from ackgap.model.event import Decision, Json
from ackgap.target.engine import Engine
from ackgap.target.mcp.tools import ArgumentMissing, Tool, request_for, tools_of
from ackgap.target.profiles.profile import Profile
from ackgap.target.wire.answer import Answer
from ackgap.target.wire.connection import RawRequest
from ackgap.target.wire.envelope import Enveloped, Refused
from ackgap.target.wire.paths import learned_name, plain_path, segments_of
from ackgap.target.wire.reading import read_request
from ackgap.target.wire.request import Request

__all__ = ["MCP_PATH", "McpServer", "speaks_mcp"]

MCP_PATH = "/mcp"
"""Where every described target serves it."""

_WITH_HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_STANDING_ALONE = ("2026-07-28",)
_VERSION_IN_META = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_IN_META = "io.modelcontextprotocol/clientCapabilities"
_SESSION_HEADER = "mcp-session-id"
_VERSION_HEADER = "mcp-protocol-version"
_OWN_HEADERS = frozenset(
    {_SESSION_HEADER, _VERSION_HEADER, "mcp-method", "mcp-name", "last-event-id", "accept", "host", "connection"}
)

_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602
_HEADER_MISMATCH = -32020
_UNSUPPORTED_VERSION = -32022


class _Mistaken(Exception):
    """A message that is answered with an error of JSON-RPC.

    Args:
        code: Of the error.
        text: What is wrong.
        status: Of HTTP.
        data: More of it.
    """

    def __init__(self, code: int, text: str, status: int = 400, data: Json = None) -> None:
        super().__init__(text)
        self.code, self.status, self.data = code, status, data


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """A request of JSON-RPC.

    Attributes:
        alone: It is of a version without sessions.
        streams: Its sender reads nothing but an event stream.
    """

    id: Json
    method: str
    params: Mapping[str, Json]
    headers: Mapping[str, str]
    alone: bool
    streams: bool

    def answered(self, result: Mapping[str, Json], *, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
        """Return a result as it goes over the connection."""
        whole = {**result, "resultType": "complete"} if self.alone else result
        return _over_http({"jsonrpc": "2.0", "id": self.id, "result": whole}, 200, streams=self.streams, more=headers)


def speaks_mcp(profile: Profile, method: str, request_target: str, headers: Mapping[str, str] | None = None) -> bool:
    """Whether a request to a target is one of MCP.

    An operation of the service's own at that very address comes first. Where one merely has a path of that form
    (`GET /{bucket}`), messages are still those of MCP, and the protocol's headers tell the other methods apart.

    Args:
        profile: The service.
        method: Of the request.
        request_target: Likewise.
        headers: By lower-case name; None where they are not known.
    """
    path = plain_path(request_target)
    if not profile.described or not profile.operations or segments_of(path) != ("mcp",):
        return False
    if any(segments_of(operation.path) == ("mcp",) for operation in profile.operations):
        return False
    if method == "POST" or not profile.candidates(method, path):
        return True
    return bool({_SESSION_HEADER, _VERSION_HEADER} & set(headers or ()))


class McpServer:
    """One target as an MCP server, in one cell.

    Args:
        engine: The target's engine; decides nothing here, but knows what an operation is.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sessions: set[str] = set()
        self._session_count = 0
        self._tools: dict[str, Tool] | None = None

    @property
    def sessions(self) -> tuple[frozenset[str], int]:
        """Sessions that are open, and how many there have been."""
        return frozenset(self._sessions), self._session_count

    @sessions.setter
    def sessions(self, known: tuple[frozenset[str], int]) -> None:
        self._sessions, self._session_count = set(known[0]), known[1]

    def serves(self, raw: RawRequest) -> bool:
        """Whether a request is one of MCP."""
        if not raw.method or raw.refusal or "mcp" not in raw.request_target:
            return False
        headers = {name.lower(): value for name, value in raw.headers}
        return speaks_mcp(self._engine.profile, raw.method.upper(), raw.request_target, headers)

    @property
    def tools(self) -> dict[str, Tool]:
        """The operations, by the names of their tools."""
        if self._tools is None:
            engine = self._engine
            effectful = {operation.name: engine.is_effectful(operation) for operation in engine.profile.operations}
            self._tools = tools_of(engine.profile, engine.protection, effectful=effectful)
        return self._tools

    def open(self, raw: RawRequest) -> Answer | Enveloped:
        """Return the answer to a message about the protocol itself, or the call of an operation that was in it.

        A message that is none at all comes back refused, so that it is in the ledger as any bad request is.
        """
        request, refusal = read_request(raw, self._engine.profile)
        accept = request.headers.get("accept", "*/*")
        streams = "application/json" not in accept and "*/*" not in accept
        try:
            self._check_sender(request)
            if request.method == "GET":
                raise _Mistaken(_INVALID_REQUEST, "Method Not Allowed: there is no stream of the server's own", 405)
            if request.method == "DELETE":
                self._check_session(request)
                self._sessions.discard(request.headers[_SESSION_HEADER])
                return Answer(status=200)
            if request.method != "POST":
                raise _Mistaken(_INVALID_REQUEST, "Method Not Allowed", 405)
        except _Mistaken as mistake:
            return _error(mistake, None, streams=False)
        message_id: Json = None
        try:
            document = _document(request, refusal, accept)
            message_id = document.get("id")
            answer = self._take(document, request, streams)
        except _Mistaken as mistake:
            answer = _error(mistake, message_id, streams=streams and mistake.status == 200)
            if message_id is None:
                return self._refused(request, Decision.MALFORMED, str(mistake), answer)
        return answer

    # ------------------------------------------------------------ what is asked

    def _take(self, document: Mapping[str, Json], request: Request, streams: bool) -> Answer | Enveloped:
        method, params = document.get("method"), document.get("params", {})
        alone = self._stands_alone(document, request)
        if "id" not in document or method is None:
            # Notifications, and answers to requests that nobody has made.
            if not alone:
                self._check_session(request)
            return Answer(status=202)
        if not isinstance(params, Mapping):
            raise _Mistaken(_INVALID_PARAMS, "params must be an object")
        message = _Message(
            id=document["id"],
            method=method,
            params=params,
            headers=request.headers,
            alone=alone,
            streams=streams,
        )
        if alone:
            _check_envelope(message)
        elif method != "initialize":
            self._check_session(request)
        if method == "tools/call":
            return self._call(message, request)
        return self._about_the_protocol(message)

    def _about_the_protocol(self, message: _Message) -> Answer:
        method = message.method
        if method == "initialize" and not message.alone:
            return self._initialize(message)
        if method == "server/discover" and message.alone:
            versions = [*_STANDING_ALONE, *reversed(_WITH_HANDSHAKE)]
            return message.answered({"supportedVersions": versions, **self._about(), **_NOT_CACHED})
        if method == "ping" and not message.alone:
            return message.answered({})
        if method == "tools/list":
            listed = [tool.described(self._engine.profile) for tool in self.tools.values()]
            return message.answered({"tools": listed, **(_NOT_CACHED if message.alone else {})})
        raise _Mistaken(_METHOD_NOT_FOUND, f"Method not found: {method}", 404 if message.alone else 200)

    def _initialize(self, message: _Message) -> Answer:
        wanted = message.params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise _Mistaken(_INVALID_PARAMS, "protocolVersion is missing", 200)
        version = wanted if wanted in _WITH_HANDSHAKE else _WITH_HANDSHAKE[-1]
        self._session_count += 1
        session = uuid5(NAMESPACE_URL, f"{self._engine.target} {self._session_count}").hex
        self._sessions.add(session)
        return message.answered({"protocolVersion": version, **self._about()}, headers=(("Mcp-Session-Id", session),))

    def _about(self) -> dict[str, Json]:
        profile = self._engine.profile
        return {
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": profile.name, "title": profile.title, "version": "1"},
            "instructions": " ".join(profile.about.split()),
        }

    # --------------------------------------------------------- calling a tool

    def _call(self, message: _Message, request: Request) -> Enveloped:
        name, arguments = message.params.get("name"), message.params.get("arguments")
        arguments = {} if arguments is None else arguments
        if not isinstance(name, str) or not isinstance(arguments, Mapping):
            raise _Mistaken(_INVALID_PARAMS, "tools/call takes a name and an object of arguments", 200)
        tool = self.tools.get(name)
        if tool is None:
            said = f"Unknown tool: {name}"
            answer = message.answered(_tool_result(said, None, is_error=True))
            return self._refused(
                request, Decision.UNKNOWN_PATH, "there is no such tool", answer, path=f"{MCP_PATH}/{name}"
            )
        try:
            inner, match = request_for(tool, arguments, self._passed_on(request.headers))
        except ArgumentMissing as missing:
            said = f"the argument {missing} is missing"
            answer = message.answered(_tool_result(said, None, is_error=True))
            return self._refused(request, Decision.MALFORMED, said, answer, name=tool.operation.name)
        return Enveloped(
            request=inner,
            match=match,
            name=tool.operation.name,
            line=(request.method, request.path),
            wrap=lambda answer: _wrapped(answer, message),
        )

    def _refused(
        self,
        request: Request,
        decision: Decision,
        rule: str,
        answer: Answer,
        *,
        path: str = MCP_PATH,
        name: str = "",
    ) -> Enveloped:
        """Return a message that means no operation; in the ledger it has a name, or that of a path."""
        return Enveloped(
            request=replace(request, headers=self._passed_on(request.headers)),
            match=None,
            name=name or learned_name(request.method, segments_of(path)),
            line=(request.method, request.path),
            wrap=lambda answer: answer,
            refused=Refused(decision=decision, rule=rule, answer=answer),
        )

    def _passed_on(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers that say who is meant; keys are arguments, as are the words of a service's protocol."""
        rules = [rule for protection in self._engine.profile.protections.values() for rule in protection.keys]
        keys = {place.removeprefix("header.") for rule in rules for place in rule.places}
        return {
            name: value
            for name, value in headers.items()
            if name not in _OWN_HEADERS
            and not name.startswith("content-")
            and name not in keys
            and "idempotency" not in name
        }

    # ------------------------------------------------------------- who asks

    def _check_sender(self, request: Request) -> None:
        """Refuse web pages: a browser that was led here has a loopback address like everyone else."""
        origin = request.headers.get("origin")
        if origin is not None and not _is_here(urlsplit(origin).hostname or ""):
            raise _Mistaken(_INVALID_REQUEST, "Forbidden: the origin is another host", 403)

    def _check_session(self, request: Request) -> None:
        session = request.headers.get(_SESSION_HEADER)
        if session is None:
            raise _Mistaken(_INVALID_REQUEST, "Bad Request: Missing session ID", 400)
        if session not in self._sessions:
            raise _Mistaken(_INVALID_REQUEST, "Session not found", 404)

    def _stands_alone(self, document: Mapping[str, Json], request: Request) -> bool:
        version = request.headers.get(_VERSION_HEADER)
        if document.get("method") == "initialize" or version in _WITH_HANDSHAKE:
            return False
        params: Any = document.get("params")
        meta = params.get("_meta") if isinstance(params, Mapping) else None
        in_meta = meta.get(_VERSION_IN_META) if isinstance(meta, Mapping) else None
        asked = version or in_meta
        if asked is None:
            return False
        if asked not in _STANDING_ALONE:
            served = [*_STANDING_ALONE, *reversed(_WITH_HANDSHAKE)]
            data = {"supported": served, "requested": str(asked)}
            raise _Mistaken(_UNSUPPORTED_VERSION, "Unsupported protocol version", 400, data)
        return True


_NOT_CACHED: Mapping[str, Json] = {"ttlMs": 0, "cacheScope": "private"}


def _document(request: Request, refusal: int, accept: str) -> Mapping[str, Json]:
    """Return the one message of a request."""
    if "application/json" not in accept and "*/*" not in accept and "text/event-stream" not in accept:
        raise _Mistaken(_INVALID_REQUEST, "Not Acceptable: Client must accept application/json", 406)
    if "application/json" not in request.headers.get("content-type", ""):
        raise _Mistaken(_INVALID_REQUEST, "Unsupported Media Type: Content-Type must be application/json", 415)
    if refusal or request.problem or not request.body:
        raise _Mistaken(_PARSE_ERROR, f"Parse error: {request.problem or 'there is no body'}", refusal or 400)
    document = request.payload
    if isinstance(document, list):
        raise _Mistaken(_INVALID_REQUEST, "a batch of messages is not taken, only a single one")
    known = isinstance(document, Mapping) and document.get("jsonrpc") == "2.0"
    if not known or not ({"result", "error"} & set(document) or isinstance(document.get("method"), str)):
        raise _Mistaken(_INVALID_REQUEST, "the body is not a message of JSON-RPC 2.0")
    if "id" in document and (isinstance(document["id"], bool) or not isinstance(document["id"], str | int)):
        raise _Mistaken(_INVALID_REQUEST, "the id of a request is a text or a whole number")
    result: Mapping[str, Json] = document
    return result


def _check_envelope(message: _Message) -> None:
    """Check what a request without a session has to say about itself, in its headers as in its body."""
    meta = message.params.get("_meta")
    if not isinstance(meta, Mapping) or not {_VERSION_IN_META, _CAPABILITIES_IN_META} <= set(meta):
        raise _Mistaken(_INVALID_PARAMS, f"params._meta needs {_VERSION_IN_META} and {_CAPABILITIES_IN_META}")
    expected = {_VERSION_HEADER: meta[_VERSION_IN_META], "mcp-method": message.method}
    if message.method == "tools/call" and isinstance(message.params.get("name"), str):
        expected["mcp-name"] = message.params["name"]
    for name, value in expected.items():
        if _plain(message.headers.get(name)) != value:
            raise _Mistaken(_HEADER_MISMATCH, f"the header {name} does not say what the body says")


def _plain(value: str | None) -> str | None:
    """Return what a header says; what headers cannot hold comes as `=?base64?...?=`."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return b64decode(value[len("=?base64?") : -len("?=")], validate=True).decode()
    except ValueError:
        return None


def _wrapped(answer: Answer, message: _Message) -> Answer:
    """Return an operation's answer as the result of a tool."""
    text = answer.body.decode("utf-8", "replace")
    structured: Json = None
    kind = next((value for name, value in answer.headers if name.lower() == "content-type"), "")
    if "json" in kind:
        try:
            structured = json.loads(text)
        except ValueError:
            structured = None
    if not text:
        text = f"{answer.status} {_phrase(answer.status)}".strip()
    return message.answered(_tool_result(text, structured, is_error=answer.status >= 400))


def _tool_result(text: str, structured: Json, *, is_error: bool) -> dict[str, Json]:
    result: dict[str, Json] = {"content": [{"type": "text", "text": text}], "isError": is_error}
    if isinstance(structured, Mapping):
        result["structuredContent"] = structured
    return result


def _error(mistake: _Mistaken, message_id: Json, *, streams: bool) -> Answer:
    error = {"code": mistake.code, "message": str(mistake)}
    if mistake.data is not None:
        error["data"] = mistake.data
    more = (("Allow", "POST, DELETE"),) if mistake.status == 405 else ()
    document = {"jsonrpc": "2.0", "id": message_id, "error": error}
    return _over_http(document, mistake.status, streams=streams, more=more)


def _over_http(document: Json, status: int, *, streams: bool, more: tuple[tuple[str, str], ...] = ()) -> Answer:
    text = json.dumps(document, separators=(",", ":"))
    if streams:
        kind, body = "text/event-stream", f"event: message\r\ndata: {text}\r\n\r\n"
    else:
        kind, body = "application/json", text
    return Answer(status=status, headers=(("Content-Type", kind), *more), parts=(body.encode(),))


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return ""


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
