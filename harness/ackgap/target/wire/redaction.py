"""The one place that takes secrets out of what is written down, at the time at which it is written down.

Secrets are told by their names, by their looks, and by being known: whatever the worker has in an environment variable
that is named like a secret is one wherever it turns up, in what it prints as well as in what it sends. In a secret's
place stands its fingerprint, so that two of them stay two, and a verdict that compares them is the same.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from urllib.parse import quote, unquote, urlsplit

from ackgap.model.event import Json
from ackgap.target.wire.payload import redacted
from ackgap.target.wire.secrets import is_secret_variable, without_secrets

__all__ = ["Redactor", "assignments", "command_without_secrets", "secrets_in", "tail_of"]

_SHORTEST = 8
_REFERENCES = frozenset(
    {"name", "operation", "target", "fault", "beside", "parked_siblings", "thread", "payload_digest", "store_digest"}
    | {"masked_digest", "code", "engine", "state", "reason", "verdict"}
)
"""Fields of events by which one event refers to another or to the plan: names, which nobody has secrets in."""


class Redactor:
    """Takes secrets out of texts and of what events say.

    Args:
        known: Secrets that look like nothing: what the worker was given.
        stand_in: Returns what is written in place of a secret; its fingerprint, unless told otherwise.
    """

    def __init__(self, known: Iterable[str] = (), *, stand_in: Callable[[str], str] = redacted) -> None:
        self._stand_in = stand_in
        forms = {form: secret for secret in known if len(secret) >= _SHORTEST for form in _forms(secret)}
        self._secrets = forms
        self.forms = tuple(sorted(forms, key=len, reverse=True))
        """Whatever a known secret may be written as, longest first."""
        self._known = re.compile("|".join(map(re.escape, self.forms))) if forms else None

    @classmethod
    def of(cls, *environments: Mapping[str, str], stand_in: Callable[[str], str] = redacted) -> Redactor:
        """Return one that knows the secrets in some environments."""
        known = (secret for environment in environments for secret in secrets_in(environment))
        return cls(known, stand_in=stand_in)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        if self._known is not None:
            text = self._known.sub(lambda found: self._stand_in(self._secrets[found[0]]), text)
        return without_secrets(text, self._stand_in)

    def value(self, value: Json) -> Json:
        """Return a value in which no text has a secret; enumerations and numbers are left as they are."""
        if isinstance(value, str):
            return value if isinstance(value, Enum) else self.text(value)
        if isinstance(value, Mapping):
            return {self.value(name): self.value(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.value(item) for item in value)
        return value

    def fields(self, values: Mapping[str, Json]) -> dict[str, Json]:
        """Return the fields of an event without secrets; those by which events refer to each other stay."""
        return {name: value if name in _REFERENCES else self.value(value) for name, value in values.items()}


def command_without_secrets(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return a command line for readers to repeat, without what is secret in it or in an environment."""
    redactor = Redactor.of(environment, assignments(arguments))
    return shlex.join(map(redactor.text, arguments))


def assignments(arguments: Iterable[str]) -> dict[str, str]:
    """Return the `KEY=VALUE` among some texts."""
    pairs = (argument.partition("=") for argument in arguments)
    return {name: value for name, equals, value in pairs if equals and name.isidentifier()}


def secrets_in(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield what is secret of an environment: values of variables named so, and passwords in addresses."""
    for name, value in environment.items():
        if is_secret_variable(name, value):
            yield value
        if "://" in value and "@" in value:
            try:
                password = urlsplit(value).password
            except ValueError:
                continue
            if password:
                yield from {password, unquote(password)}


def tail_of(text: str, limit: int) -> str:
    """Return the end of a text, beginning with a whole line, or a whole word: half a secret is not known for one."""
    if len(text) <= limit:
        return text
    kept = text[-limit:]
    if text[-limit - 1].isspace():
        return kept
    found = re.search(r"\n|\s", kept) if "\n" not in kept else re.search(r"\n", kept)
    return kept[found.end() :] if found is not None else kept


def _forms(secret: str) -> Iterator[str]:
    """Yield how a secret may be written: as it is, in an address, in JSON, in the text of a value of Python."""
    yield from {secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1], repr(secret)[1:-1]}
