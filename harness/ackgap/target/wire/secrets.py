"""Secrets by their names and by their looks: what must not be written down, and what only sounds like it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ackgap.model.event import Json

__all__ = ["is_secret", "is_secret_variable", "looks_invented", "without_secrets"]

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
_SIGNATURE = re.compile(
    # What proves that a request comes from whom it says; a signature under a document is none.
    r"(x_)?(amz|goog|hub|stripe|slack|shopify|twilio|paypal|svix|webhook)(_\w+)*_(signature|credential|hmac)(_\w+)?|sig"
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
    | (?<![0-9])[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![\w-])  # of a bot, in the paths of its requests
    | (?<=hooks\.slack\.com/services/)[\w/]{20,}
      # What a request is signed with: AWS, and services that sign what they send.
    | (?<=Signature=)[0-9a-f]{32,} | (?<=Credential=)[A-Z0-9]{16,}(?=/)
    | (?<![\w])t=[0-9]{9,},(?:v[0-9]=[0-9a-f]{32,},?)+
      # In an address: a password, or what stands alone and is longer than a name.
    | (?<=://)[^\s/:@]*:[^\s/@]+(?=@) | (?<=://)[^\s/:@]{20,}(?=@)
    """,
    re.VERBOSE | re.DOTALL,
)

_SHORTEST = 8
_SHORTEST_NAMED = 6
_LONG_ENOUGH = 16
_KEY_NAME = re.compile(
    r"(?i)(?!.*(idempot|dedup|order|ticket|primary|public|sort|cache|partition|routing|foreign|group|shard|object))"
    r"(.*_)?(key|pass|pat|dsn)"
)
_DIRECTORIES = ("PWD", "OLDPWD")
"""Variables of a shell, whose names sound like those of passwords."""
_PLACE = re.compile(r"(?i)(_|^)(file|path|dir|sock|url|uri|host|endpoint|name|id|user|method|type)$")
_INVENTED = re.compile(r"(?i)test|dummy|fake|unused|example|invented|placeholder|not[-_]?(a|real|used)|xxx|none|local")
# A name and what is given to it: in a header, an assignment, a query, an option, or a pair of two texts.
_NAMED_VALUES = re.compile(
    r"""
      (?<![\w.-])(?i:(?P<whole>(?:proxy-)?authorization|(?:set-)?cookie))
      \\*["']?(?:\s*[:=]|,)\s*b?\\*["']?(?P<rest>[^"'\\\r\n]{4,4096})
    | (?<![\w.-])(?P<name>[\w.-]{0,64}?(?i:auth|token|secret|passw|passphrase|pwd|jwt|key|credential|signature|hmac|sig)
        [\w.-]{0,64})
      (?:\\*["']?\s*[:=]\s*b?\\*["']?|["'],\s*b?["'])
      (?P<value>[^\s"'\\&,;<>()\]}]{6,4096})
    | (?<![\w.-])(?P<option>--[\w-]{0,32}?(?:auth|token|secret|passw|pwd|jwt|key|credential)[\w-]{0,32})[ ]
      ["']?(?P<given>[^\s"'&,;<>()\]}]{6,4096})
    """,
    re.VERBOSE,
)


def is_secret(name: str, value: Json) -> bool:
    """Whether the value of a field or header of that name is a secret.

    A flag is none, whatever it is called, nor is a count of tokens: models are paid by them.
    """
    if value is None or isinstance(value, bool) or not name:
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    joined = "_".join(words)
    if not (_SECRET_WORDS.intersection(words) or _SECRET_PARTS.search("".join(words)) or _SIGNATURE.fullmatch(joined)):
        return False
    if _NO_SECRET.fullmatch(joined):
        return False
    return not (_COUNT.fullmatch(joined) and isinstance(value, int | float | Mapping))


def is_secret_variable(name: str, value: str) -> bool:
    """Whether an environment variable of that name holds a secret: `STRIPE_KEY`, but not `TICKET_KEY=order-17`."""
    if len(value) < _SHORTEST or "{" in value or name in _DIRECTORIES or _PLACE.search(name):
        return False
    if is_secret(name, value):
        return _looks_drawn(value)
    key = _KEY_NAME.fullmatch(name)
    return key is not None and _looks_drawn(value) and len(value) >= _LONG_ENOUGH


def looks_invented(value: str) -> bool:
    """Whether a secret says of itself that it is none: whoever writes `sk_test_dummy` has nothing to hide."""
    return _INVENTED.search(value) is not None


def without_secrets(text: str, stand_in: Callable[[str], str]) -> str:
    """Return a text in which everything that looks like a secret is replaced, or follows the name of one.

    Args:
        text: Anything.
        stand_in: Returns what is written in place of a secret.
    """

    def named(found: re.Match[str]) -> str:
        whole = found["whole"]
        value = found["rest"] or found["value"] or found["given"]
        if value.startswith("[redacted]") or found["name"] in _DIRECTORIES:
            return found[0]
        if not is_secret(whole or found["name"] or found["option"], value) or not (whole or _looks_drawn(value)):
            return found[0]
        return f"{found[0][: -len(value)]}{stand_in(value)}"

    return _NAMED_VALUES.sub(named, _SECRET_VALUES.sub(lambda found: stand_in(found[0]), text))


def _looks_drawn(value: str) -> bool:
    """Whether somebody has drawn a value, in contrast to a word of a sentence and to a number."""
    if value.startswith(("[redacted]", "[redacted", "***", "<", "$")) or value.isdigit():
        return False
    return len(value) >= _SHORTEST_NAMED and (
        len(value) >= _LONG_ENOUGH or re.search(r"[0-9]|[a-z][A-Z]|[^\w]", value) is not None
    )
