"""The end of a client's TLS, bytes in and bytes out, with a certificate made for the run."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

from ackgap.execute.pgwire.frames import Misspoken

__all__ = ["TlsEnd", "tls_context"]

_AT_ONCE = 1 << 16


def tls_context(authority: Path) -> ssl.SSLContext:
    """Make an authority and a certificate for this machine's own addresses; write the authority's where clients look.

    Args:
        authority: File for what clients check the certificate with (`sslrootcert`).

    Raises:
        OSError: It cannot be written.
    """
    import trustme

    maker = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    maker.issue_cert("localhost", "127.0.0.1", "::1").configure_cert(context)
    context.set_alpn_protocols(["postgresql"])  # demanded of whoever speaks TLS at once
    maker.cert_pem.write_to_path(str(authority))
    return context


class TlsEnd:
    """One client's TLS.

    Args:
        context: With the certificate.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._shaken = False

    def take(self, data: bytes) -> bytes:
        """Take what has come from the client; return what it says.

        Raises:
            Misspoken: It is no TLS, or not one that we speak.
        """
        self._in.write(data)
        said = bytearray()
        try:
            if not self._shaken:
                self._tls.do_handshake()
                self._shaken = True
            while piece := self._tls.read(_AT_ONCE):
                said += piece
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        except ssl.SSLError as error:
            raise Misspoken(f"no TLS came about: {error.reason or error}") from error
        return bytes(said)

    def wrap(self, data: bytes) -> None:
        """Say something to the client; `due` has it."""
        with suppress(ssl.SSLError):  # it never came about: there is no saying anything
            self._tls.write(data)

    def due(self) -> bytes:
        """Return what is to be sent to the client now."""
        return self._out.read()
