"""An MCP server over standard input and output that hands every message on to a target, which serves MCP over HTTP.

Agents start such servers as their children. This one belongs to the worker's life therefore: its connections are the
worker's, and it is killed with it.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import threading
import time
from urllib.parse import urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Mapping

__all__ = ["Bridge", "address_of"]

_LEAVE_S = 1.5
"""How long requests that are under way may take once the client has closed standard input; clients wait 2 seconds."""
_PARSE_ERROR = -32700
_INTERNAL_ERROR = -32603
_VERSION_IN_META = "io.modelcontextprotocol/protocolVersion"


def address_of(text: str, environment: Mapping[str, str], ancestor: int | None = None) -> str:
    """Return an address: the text itself, or what the environment variable of that name says.

    Clients start a server with next to nothing of their own environment, so what is not in ours is looked for in that
    of the processes above, where the system lets us (Linux).

    Args:
        text: An address, or the name of a variable.
        environment: Our own.
        ancestor: Process above us to begin with; None for the parent.

    Raises:
        LookupError: There is no such variable, or it holds no `http://` address.
    """
    found = text if "://" in text else environment.get(text)
    pid = os.getppid() if ancestor is None else ancestor
    while found is None and pid > 1:
        found = _environment_of(pid).get(text)
        pid = _parent_of(pid)
    if found is None:
        raise LookupError(f"{text!r} is neither an address nor the name of a variable that holds one")
    parts = urlsplit(found)
    if parts.scheme != "http" or not parts.hostname:
        raise LookupError(f"{found!r} is not an address that begins with http://")
    return found


class Bridge:
    """Reads messages, one a line, posts each to the target, and writes what that answers.

    Args:
        url: Where the target serves MCP.
        reading: From the client.
        writing: To the client.
    """

    def __init__(self, url: str, reading: BinaryIO, writing: BinaryIO) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or 80
        self._path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
        self._url = url
        self._reading = reading
        self._writing = writing
        self._lock = threading.Lock()
        self._session = ""
        self._version = ""

    def serve(self) -> None:
        """Serve until the client closes its end."""
        under_way: list[threading.Thread] = []
        for line in self._reading:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                self._write(_error(None, _PARSE_ERROR, "Parse error: %s" % error))
                continue
            # A handshake comes before all that follows it, and so does what is told without an answer; calls may
            # overtake one another, since one of them may take long.
            if not isinstance(message, dict) or "id" not in message or message.get("method") == "initialize":
                self._hand_on(message)
                continue
            thread = threading.Thread(target=self._hand_on, args=(message,), daemon=True)
            thread.start()
            under_way = [each for each in under_way if each.is_alive()] + [thread]
        ends_s = time.monotonic() + _LEAVE_S
        for thread in under_way:
            thread.join(max(0.0, ends_s - time.monotonic()))
        self._end_session()

    def _hand_on(self, message: Any) -> None:
        """Post a message, and write its answer if it has one."""
        try:
            answer = self._post(message)
        except (OSError, http.client.HTTPException, ValueError) as error:
            said = "%s did not answer: %s" % (self._url, error or type(error).__name__)
            answer = _error(None, _INTERNAL_ERROR, said)
        asked = isinstance(message, dict) and "id" in message and "method" in message
        if answer is None or (isinstance(message, dict) and not asked):
            return
        if asked and answer.get("id") is None:
            answer["id"] = message["id"]
        self._write(answer)

    def _post(self, message: Any) -> dict[str, Any] | None:
        connection = self._connect()
        try:
            connection.request("POST", self._path, json.dumps(message).encode(), self._headers(message))
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        if not body:
            return None if response.status < 300 else _error(None, _INTERNAL_ERROR, "HTTP %d" % response.status)
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or "jsonrpc" not in answer:
            return _error(None, _INTERNAL_ERROR, "HTTP %d, and no message of MCP" % response.status)
        if isinstance(message, dict) and message.get("method") == "initialize" and "result" in answer:
            self._session = response.headers.get("Mcp-Session-Id") or ""
            self._version = str(answer["result"].get("protocolVersion", ""))
        return answer

    def _connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self._host, self._port)
        # Here and not with the first byte, so that the port is known to whoever announces the request.
        connection.connect()
        return connection

    def _headers(self, message: Any) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        params: Any = message.get("params") if isinstance(message, dict) else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        version = meta.get(_VERSION_IN_META) if isinstance(meta, dict) else None
        if version is not None:
            # A message that stands for itself says in its headers once more what it is.
            headers["MCP-Protocol-Version"] = _header(version)
            headers["Mcp-Method"] = _header(message.get("method"))
            if "name" in params:
                headers["Mcp-Name"] = _header(params["name"])
            return headers
        if isinstance(message, dict) and message.get("method") != "initialize":
            headers.update(self._of_the_session())
        return headers

    def _of_the_session(self) -> dict[str, str]:
        headers = {"Mcp-Session-Id": self._session, "MCP-Protocol-Version": self._version}
        return {name: value for name, value in headers.items() if value}

    def _end_session(self) -> None:
        if not self._session:
            return
        try:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=_LEAVE_S)
            connection.request("DELETE", self._path, headers=self._of_the_session())
            connection.getresponse().read()
            connection.close()
        except (OSError, http.client.HTTPException):
            pass  # it is gone, and its sessions with it

    def _write(self, message: dict[str, Any]) -> None:
        with self._lock:
            try:
                self._writing.write(json.dumps(message).encode() + b"\n")
                self._writing.flush()
            except (OSError, ValueError):
                pass  # the client no longer reads


def _error(message_id: Any, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}


def _header(value: Any) -> str:
    """Return a value as headers hold it: what is not plain text is encoded."""
    text = str(value)
    plain = text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?")
    return text if plain else "=?base64?%s?=" % base64.b64encode(text.encode()).decode()


def _environment_of(pid: int) -> dict[str, str]:
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            pairs = (pair.partition(b"=") for pair in file.read().split(b"\0") if pair)
            return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
    except OSError:
        return {}


def _parent_of(pid: int) -> int:
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
