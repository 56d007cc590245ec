"""Secrets by their names and by their looks: what must not be written down, and what only sounds like it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ackgap.model.event import Json

__all__ = ["is_secret", "without_secrets"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET_WORDS = frozenset(
    {
        "auth",
        "token",
        "tokens",
        "secret",
        "secrets",
        "pwd",
        "passwd",
        "passphrase",
        "cookie",
        "cookies",
        "bearer",
        "jwt",
    }
)
# Names are also written without any boundary between their words.
_SECRET_PARTS = re.compile(
    r"authorization|apikey|password|passwd|credential|privatekey|accesskey|secretkey|signingkey|accountkey|sharedkey"
    r"|connectionstring|(client|app|shared|webhook)secret|(access|refresh|auth|bearer|session|csrf|xsrf|security)token"
)
_NO_SECRET = re.compile(
    # How somebody proves who they are, not the proof.
    r"auth(entication)?_(type|method|mode|status|provider|scheme|required)|token_(type|count|limit|budget|usage|endpoint)"
    r"|tokens?_(per|used|left|remaining).*|secret_?(name|version)|password_(policy|hint|reset|changed|updated).*"
)
_COUNT = re.compile(r"(.*_)?tokens(_details)?|(max|prompt|completion|input|output|total|cached|reasoning)_token")

_SECRET_VALUES = re.compile(
    r"""
      -----BEGIN\ [A-Z0-9 ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z0-9 ]*PRIVATE\ KEY-----|\Z)
    # With a digit, padding or a hump: `Basic understanding` is none.
    | (?<![A-Za-z0-9])(?i:bearer|basic)\s+(?=[\w.~+/-]*(?:[0-9=]|[a-z][A-Z]))[\w.~+/-]{8,}=*
    | (?<![A-Za-z0-9])(?:
          sk-[A-Za-z0-9_-]{20,} | [sr]k_(?:live|test)_[A-Za-z0-9]{8,} | whsec_[A-Za-z0-9+/=]{8,}
        | (?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])
        | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_\w{16,} | glpat-[\w-]{16,} | xox[abeoprs]-[A-Za-z0-9-]{8,}
        | AIza[\w-]{30,} | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*
      )
    | (?<=://)[^\s/:@]*:[^\s/@]+(?=@)
    """,
    re.VERBOSE | re.DOTALL,
)


def is_secret(name: str, value: Json) -> bool:
    """Whether the value of a field or header of that name is a secret.

    A flag is none, whatever it is called, nor is a count of tokens: models are paid by them.
    """
    if value is None or isinstance(value, bool) or not name:
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    joined = "_".join(words)
    if not (_SECRET_WORDS.intersection(words) or _SECRET_PARTS.search("".join(words))):
        return False
    if _NO_SECRET.fullmatch(joined):
        return False
    return not (_COUNT.fullmatch(joined) and isinstance(value, int | float | Mapping))


def without_secrets(text: str, stand_in: Callable[[str], str]) -> str:
    """Return a text in which everything that looks like a secret is replaced.

    Args:
        text: Anything.
        stand_in: Returns what is written in place of a secret.
    """
    return _SECRET_VALUES.sub(lambda found: stand_in(found[0]), text)
