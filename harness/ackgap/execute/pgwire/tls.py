"""The end of a client's TLS, bytes in and bytes out, with a certificate made for the run."""

from __future__ import annotations

import ssl
from pathlib import Path

from ackgap.execute.pgwire.frames import Misspoken
from ackgap.target.wire import tls

__all__ = ["TlsEnd", "tls_context"]


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


class TlsEnd(tls.TlsEnd):
    """One client's TLS."""

    def take(self, data: bytes) -> bytes:
        """Take what has come from the client; return what it says.

        Raises:
            Misspoken: It is no TLS, or not one that we speak.
        """
        try:
            return super().take(data)
        except tls.NotTrusted as error:
            raise Misspoken(f"no TLS came about: {error.reason}") from error
