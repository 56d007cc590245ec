"""Calls through `http.client`: `urllib`, and `requests` and everything else on `urllib3`."""

from __future__ import annotations

from .announcer import Announcer, Call
from .replacement import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hook_http_client", "hook_urllib3"]

_READERS = ("read", "readinto", "read1", "readline", "peek")


def hook_http_client(module: Any, announcer: Announcer) -> None:
    """Announce `sending` at the end of a request's headers, `returned` with its response or the end of its body."""
    connection = module.HTTPConnection
    putrequest, endheaders, getresponse = connection.putrequest, connection.endheaders, connection.getresponse

    def remember(self: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        self._ackgap_request = (method, url or "/")
        return putrequest(self, method, url, *args, **kwargs)

    def send(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._ackgap_call = call = _call(announcer, self)
        if call is not None:
            call.at("sending")
        return endheaders(self, *args, **kwargs)

    def receive(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = self.__dict__.pop("_ackgap_call", None)
        if call is not None:
            call.local_port = _local_port(self.sock)
        response = getresponse(self, *args, **kwargs)
        if call is not None:
            if response.fp is None or response.length == 0:
                call.at("returned")
            else:
                response._ackgap_call = call
        return response

    connection.putrequest = around(putrequest, remember)
    connection.endheaders = around(endheaders, send)
    connection.getresponse = around(getresponse, receive)
    for name in _READERS:
        setattr(module.HTTPResponse, name, _reading(getattr(module.HTTPResponse, name)))


def hook_urllib3(module: Any, announcer: Announcer) -> None:  # noqa: ARG001
    """Announce `returned` for chunked bodies, which `urllib3` reads past `http.client`'s back."""
    original = module.HTTPResponse.read_chunked

    def read_chunked(self: Any, *args: Any, **kwargs: Any) -> Any:
        response: Any = getattr(self, "_original_response", None)
        yield from original(self, *args, **kwargs)
        call = getattr(response, "_ackgap_call", None)
        if call is not None and response.isclosed():
            response._ackgap_call = None
            call.at("returned")

    module.HTTPResponse.read_chunked = around(original, read_chunked)


def _call(announcer: Announcer, connection: Any) -> Call | None:
    try:
        method, url = getattr(connection, "_ackgap_request", ("", "/"))
        host, port = getattr(connection, "_tunnel_host", None), getattr(connection, "_tunnel_port", None)
        if not host:
            host, port = connection.host, connection.port
        call = announcer.call(str(host), int(port or 0), str(method), str(url))
    except Exception as error:
        announcer.trouble("a request of http.client could not be understood", error)
        return None
    if call is not None:
        call.local_port = _local_port(connection.sock)
    return call


def _reading(original: Any) -> Any:
    """Announce `returned` once a method that reads has taken the last byte of the body."""

    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        call: Call | None = self.__dict__.get("_ackgap_call")
        if call is None or self.fp is None:
            return original(self, *args, **kwargs)
        result = original(self, *args, **kwargs)
        # A body that broke off is closed as well, with something of its announced length missing.
        if self.length == 0 or (self.fp is None and self.length is None):
            self._ackgap_call = None
            call.at("returned")
        return result

    return around(original, read)


def _local_port(sock: Any) -> int | None:
    try:
        return int(sock.getsockname()[1])
    except (AttributeError, OSError, IndexError, TypeError, ValueError):
        return None
