"""TlsEnd: the service's end of a client's TLS, bytes in and bytes out, so that its socket stays in our own hands.

What a dead client has sent and nobody has read can then still be read, and counted, as it is without encryption.
"""

from __future__ import annotations

import ssl
from contextlib import suppress

__all__ = ["LEFT", "NotTrusted", "TlsEnd"]

LEFT = "it left as soon as it had seen the certificate, as clients do that do not trust it"
"""Reason where a client says nothing, not even why it goes."""

_AT_ONCE = 1 << 16
_DISTRUST = ("UNKNOWN_CA", "BAD_CERTIFICATE", "CERTIFICATE_UNKNOWN", "UNSUPPORTED_CERTIFICATE")
"""What clients say, in the names of alerts, that do not take a certificate."""


class NotTrusted(Exception):
    """No TLS came about.

    Attributes:
        reason: As OpenSSL has it.
        by_certificate: The client said that it does not take the certificate.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason if reason == LEFT else reason.lower().replace("_", " "))
        self.by_certificate = any(word in reason.upper() for word in _DISTRUST)


class TlsEnd:
    """One client's TLS.

    Args:
        context: With the certificate.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._begun = self._shaken = self._has_spoken = False
        self.is_midway = False
        """What came last was only a part of something."""

    @property
    def is_unheard(self) -> bool:
        """Whether the client has begun, and has said nothing under it yet."""
        return self._begun and not self._has_spoken

    def take(self, data: bytes) -> bytes:
        """Take what has come from the client; return what it says.

        Raises:
            NotTrusted: It is no TLS, not one that we speak, or the client does not want to go on.
        """
        self._begun = True
        self._in.write(data)
        said, was_shaken = bytearray(), self._shaken
        try:
            if not self._shaken:
                self._tls.do_handshake()
                self._shaken = True
            while piece := self._tls.read(_AT_ONCE):
                said += piece
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        except ssl.SSLError as error:
            raise NotTrusted(error.reason or str(error)) from error
        self._has_spoken = self._has_spoken or bool(said)
        self.is_midway = was_shaken and not said
        return bytes(said)

    def wrap(self, data: bytes) -> bytes:
        """Return what is to be sent to say something to the client."""
        with suppress(ssl.SSLError):  # it never came about: there is no saying anything
            while data:
                data = data[self._tls.write(data) :]
        return self.due()

    def due(self) -> bytes:
        """Return what is to be sent now, for the sake of TLS itself."""
        return self._out.read()

    def farewell(self) -> bytes:
        """Return what says that nothing more comes."""
        with suppress(ssl.SSLError):  # its answer is not waited for
            self._tls.unwrap()
        return self.due()
