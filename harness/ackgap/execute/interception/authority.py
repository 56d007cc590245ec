"""Authority: who vouches for hosts that targets stand for, as long as a slot lives."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

__all__ = ["ADDED_TO", "REPLACING", "Authority"]

REPLACING = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "PIP_CERT",
)
"""Variables that name the file of all authorities that a client trusts."""
ADDED_TO = ("NODE_EXTRA_CA_CERTS", "DENO_CERT")
"""Variables that name a file of more authorities, beside those that a client trusts anyway."""


class Authority:
    """A certificate authority that exists nowhere else, and the files that tell clients of it.

    Its key, and those of the hosts, are never written down.

    Args:
        directory: For the files; made here, for this user alone.
    """

    def __init__(self, directory: Path) -> None:
        import trustme

        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._maker = trustme.CA(organization_name="ackgap, for this run alone")
        self.certificate = directory / "authority.pem"
        """File with the authority alone."""
        self._bundle = directory / "bundle.pem"
        self._own = self._maker.cert_pem.bytes()
        self.certificate.write_bytes(self._own)
        self._known = dict.fromkeys(_read(_usual_files()))
        self._written = b""

    def context(self, host: str) -> ssl.SSLContext:
        """Return what a client's TLS is ended with in the place of a host."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._maker.issue_cert(host).configure_cert(context)
        context.set_alpn_protocols(["http/1.1"])
        return context

    def variables(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that tell clients of the authority.

        Args:
            inherited: What the worker would have without them: authorities that are named there stay trusted.
        """
        named = [Path(inherited[name]) for name in REPLACING if inherited.get(name)]
        joined = b"\n".join([self._own, *{**self._known, **dict.fromkeys(_read(named))}])
        if joined != self._written:  # somebody may be reading it
            self._bundle.write_bytes(joined)
            self._written = joined
        found = dict.fromkeys(REPLACING, str(self._bundle))
        return found | {name: self._beside(name, inherited.get(name)) for name in ADDED_TO}

    def _beside(self, name: str, inherited: str | None) -> str:
        if not inherited:
            return str(self.certificate)
        both = self.certificate.with_name(f"{name.lower()}.pem")
        both.write_bytes(b"\n".join([self._own, *_read([Path(inherited)])]))
        return str(both)


def _usual_files() -> Iterator[Path]:
    """Yield the files that clients of this machine trust by themselves."""
    paths = ssl.get_default_verify_paths()
    for name in (paths.openssl_cafile, paths.cafile, "/etc/ssl/certs/ca-certificates.crt"):
        if name:
            yield Path(name)
    try:
        import certifi
    except ImportError:
        return
    yield Path(certifi.where())


def _read(files: Iterable[Path]) -> Iterator[bytes]:
    for file in dict.fromkeys(Path(os.path.realpath(file)) for file in files):
        try:
            yield file.read_bytes()
        except OSError:
            continue
