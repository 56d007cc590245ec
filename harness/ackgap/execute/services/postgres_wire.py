"""Just enough of PostgreSQL's protocol (version 3.0) to ask a server something: log in, simple queries, text results.

So that ackgap needs neither a driver nor `psql`. No TLS: the servers asked are on this machine, or given by the user in
a URL that says so.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import secrets
import socket
import struct
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit

__all__ = ["Login", "PostgresRefused", "PostgresWire"]

Row = tuple[str | None, ...]

_PROTOCOL = 196608
_AUTH_OK, _AUTH_CLEAR, _AUTH_MD5, _AUTH_SASL, _AUTH_SASL_CONTINUE, _AUTH_SASL_FINAL = 0, 3, 5, 10, 11, 12


class PostgresRefused(Exception):
    """The server, or the way to it, said no.

    Args:
        text: What it said.
        code: SQLSTATE, empty where there is none.
    """

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class Login:
    """Where a server is, and who asks it about which database; the user is `postgres` where none is named."""

    host: str
    port: int
    user: str
    password: str
    database: str

    @classmethod
    def of(cls, url: str) -> Login:
        """Read the URL of a server; the database is called as the user where none is named."""
        parts = urlsplit(url)
        user = unquote(parts.username or "postgres")
        return cls(
            host=parts.hostname or "127.0.0.1",
            port=parts.port or 5432,
            user=user,
            password=unquote(parts.password or ""),
            database=unquote(parts.path.lstrip("/")) or user,
        )


class PostgresWire:
    """A connection; a context manager.

    Args:
        host: Of the server.
        port: Likewise.
        user: Who asks.
        password: Theirs; may be empty.
        database: Which database.
        limit_s: Real seconds for each answer.

    Raises:
        PostgresRefused: There is no connection to be had.
    """

    def __init__(
        self, *, host: str, port: int, user: str, database: str, password: str = "", limit_s: float = 30.0
    ) -> None:
        self._user = user
        self._password = password
        self._scram: _Scram | None = None
        self._buffer = b""
        try:
            self._socket = socket.create_connection((host, port), timeout=limit_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise PostgresRefused(f"no connection to {host}:{port}: {error}") from error
        try:
            self._log_in(database)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Say goodbye."""
        with contextlib.suppress(PostgresRefused):
            self._send(b"X", b"")
        self._socket.close()

    def ask(self, sql: str) -> list[Row]:
        """Run SQL, one statement or several, and return the rows of all of them.

        Raises:
            PostgresRefused: As the server says; the connection can be used again unless it is broken.
        """
        self._send(b"Q", sql.encode() + b"\0")
        rows: list[Row] = []
        refused: PostgresRefused | None = None
        while True:
            kind, body = self._receive()
            if kind == b"D":
                rows.append(_row(body))
            elif kind == b"E":
                refused = _refusal(body)
                if refused.code.startswith(("57P", "08")):  # it is about to hang up
                    raise refused
            elif kind == b"Z":
                if refused is not None:
                    raise refused
                return rows

    def _log_in(self, database: str) -> None:
        fields = {
            "user": self._user,
            "database": database,
            "client_encoding": "UTF8",
            "application_name": "ackgap",
        }
        text = b"".join(f"{name}\0{value}\0".encode() for name, value in fields.items()) + b"\0"
        self._write(struct.pack(">II", len(text) + 8, _PROTOCOL) + text)
        while True:
            kind, body = self._receive()
            if kind == b"E":
                raise _refusal(body)
            if kind == b"R":
                self._authenticate(struct.unpack(">I", body[:4])[0], body[4:])
            elif kind == b"Z":
                return

    def _authenticate(self, method: int, rest: bytes) -> None:
        if method == _AUTH_OK:
            return
        if method == _AUTH_CLEAR:
            self._send(b"p", self._password.encode() + b"\0")
        elif method == _AUTH_MD5:
            inner = hashlib.md5((self._password + self._user).encode()).hexdigest()  # noqa: S324 - the protocol's
            outer = hashlib.md5(inner.encode() + rest[:4]).hexdigest()  # noqa: S324
            self._send(b"p", b"md5" + outer.encode() + b"\0")
        elif method == _AUTH_SASL:
            self._scram = _Scram(self._password)
            first = self._scram.first()
            self._send(b"p", b"SCRAM-SHA-256\0" + struct.pack(">I", len(first)) + first)
        elif method == _AUTH_SASL_CONTINUE and self._scram is not None:
            self._send(b"p", self._scram.proof(rest))
        elif method != _AUTH_SASL_FINAL:
            raise PostgresRefused(f"the server asks for a way to log in that ackgap does not know ({method})")

    def _send(self, kind: bytes, body: bytes) -> None:
        self._write(kind + struct.pack(">I", len(body) + 4) + body)

    def _write(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise PostgresRefused(f"the connection is gone: {error}", "08006") from error

    def _receive(self) -> tuple[bytes, bytes]:
        head = self._exactly(5)
        return head[:1], self._exactly(struct.unpack(">I", head[1:])[0] - 4)

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            try:
                piece = self._socket.recv(65536)
            except OSError as error:
                raise PostgresRefused(f"no answer: {error}", "08006") from error
            if not piece:
                raise PostgresRefused("the server hung up", "08006")
            self._buffer += piece
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data


class _Scram:
    """SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding."""

    def __init__(self, password: str) -> None:
        self._password = password
        self._bare = "n=,r=" + secrets.token_urlsafe(18)

    def first(self) -> bytes:
        return b"n,," + self._bare.encode()

    def proof(self, challenge: bytes) -> bytes:
        said = dict(part.split("=", 1) for part in challenge.decode().split(","))
        salted = hashlib.pbkdf2_hmac("sha256", self._password.encode(), base64.b64decode(said["s"]), int(said["i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        unproven = f"c=biws,r={said['r']}"
        signed = f"{self._bare},{challenge.decode()},{unproven}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        proof = bytes(one ^ other for one, other in zip(key, signature, strict=True))
        return f"{unproven},p={base64.b64encode(proof).decode()}".encode()


def _row(body: bytes) -> Row:
    (count,) = struct.unpack_from(">H", body)
    place, values = 2, []
    for _ in range(count):
        (size,) = struct.unpack_from(">i", body, place)
        place += 4
        values.append(None if size < 0 else body[place : place + size].decode())
        place += max(size, 0)
    return tuple(values)


def _refusal(body: bytes) -> PostgresRefused:
    fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in body.split(b"\0") if part}
    return PostgresRefused(fields.get(b"M", "refused"), fields.get(b"C", ""))
