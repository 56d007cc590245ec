"""Recording: what an upstream answered, as lines of JSON, and the same answers again without it.

An answer is given again to the same request in the same situation. What a service says depends on what was done before,
so the situation is part of it: which effects the target had by then, in the same cell, and the how-manieth key this is.
Two reads before and after an effect are two answers; a create that is sent again is not its first time again.

Secrets are taken out before anything is written, from requests and from answers.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ackgap.errors import UsageInvalid
from ackgap.files import FileUnfit, parse_json, read_text
from ackgap.model.event import Decision, Json
from ackgap.target.upstream.live import Said, split_stream
from ackgap.target.wire.payload import digest
from ackgap.target.wire.request import Request
from ackgap.target.wire.secrets import is_secret, without_secrets

__all__ = [
    "Recorded",
    "Recording",
    "RecordingWriter",
    "Situation",
    "Tally",
    "described",
    "fingerprint_of",
    "in_this_cell",
]

_FORMAT = 1
_STAND_IN = "[redacted]"
_CELL = "{cell}"
_LEFT_OUT = frozenset({"set-cookie", "content-encoding", "content-length"})
_LIMIT_BYTES = 1024 * 1024 * 1024
_ELEMENT = re.compile(r"<([\w:.-]+)>([^<]+)</")


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What an answer depends on.

    Attributes:
        fingerprint: Of the request.
        key: 0 without an idempotency key; else the how-manieth key that was sent with this operation in the cell.
        after: Digest of the effects that the upstream had had from this cell.
    """

    fingerprint: str
    key: int
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One answer, and what came of its request.

    Attributes:
        cell: Name of the cell in which it was given.
        incarnation: The life that had asked.
        request: Method, path, query and body, for readers and to find the nearest one.
    """

    cell: str
    incarnation: int
    operation: str
    request: Mapping[str, Json]
    situation: Situation
    said: Said
    decision: Decision
    rule: str
    object_id: str


class Tally:
    """Counts, in one cell of one target, what the situation of a request is made of."""

    def __init__(self) -> None:
        self._keys: defaultdict[str, list[str]] = defaultdict(list)
        self._effects: Counter[str] = Counter()

    def situation(self, operation: str, fingerprint: str, key: str | None) -> Situation:
        """Return the situation of a request that has come."""
        number = 0
        if key is not None:
            known = self._keys[operation]
            if key not in known:
                known.append(key)
            number = known.index(key) + 1
        done = digest(json.dumps(sorted(self._effects.items())).encode())[:16] if self._effects else ""
        return Situation(fingerprint=fingerprint, key=number, after=done)

    def applied(self, situation: Situation) -> None:
        """Take note of an effect."""
        self._effects[situation.fingerprint] += 1


def described(request: Request, *, cell: str, key: str | None, known: Sequence[str] = ()) -> dict[str, Json]:
    """Return a request as it is recorded: without secrets, and without what is another in each cell.

    Args:
        request: As it was read.
        cell: Text that is another in each cell.
        key: The idempotency key that it carries.
        known: Secrets that the worker was given, longest first.
    """
    body = request.payload
    if isinstance(body, str):
        body = _readable(body, ())
    shown = {
        "method": request.method,
        "path": _readable(request.path, ()),
        "query": _hidden(dict(request.query)),
        "body": _hidden(body),
    }
    for secret in known:
        shown = _replaced(shown, secret, _STAND_IN)
    return _without_key(_without_cell(shown, cell), key)


def fingerprint_of(shown: Mapping[str, Json]) -> str:
    """Return the digest of a request as it is recorded; the order of the keys of its body does not count."""
    return digest(json.dumps(shown, sort_keys=True, separators=(",", ":")).encode())


class RecordingWriter:
    """Appends to a recording; several processes may do so at once.

    Args:
        path: Of the file.
        cell: Name of the cell.
        own_words: Short text that is another in each cell, and that the worker may send; empty for none.
    """

    def __init__(self, path: Path, *, cell: str, own_words: str = "") -> None:
        self._path = path
        self._cell = cell
        self._own_words = own_words

    @staticmethod
    def begin(path: Path, target: str) -> None:
        """Begin a file.

        Raises:
            UsageInvalid: There is one already, or it cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(json.dumps({"ackgap_recording": _FORMAT, "target": target}) + "\n")
        except FileExistsError:
            raise UsageInvalid(
                "there is a recording already, and it may have been paid for",
                where=f"--record {path}",
                next_step="name another file, or remove that one",
            ) from None
        except OSError as error:
            raise UsageInvalid(f"it cannot be written: {error.strerror or error}", where=f"--record {path}") from error

    def write(self, recorded: Recorded, *, secrets: tuple[str, ...]) -> None:
        """Write an answer down.

        Args:
            recorded: The answer.
            secrets: What the request proved itself with; an answer may repeat it.

        Raises:
            OSError: It cannot be written.
        """
        line = json.dumps(self._document(recorded, secrets)) + "\n"
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            data = line.encode()
            while data:
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)

    def _document(self, recorded: Recorded, secrets: tuple[str, ...]) -> dict[str, Json]:
        said = recorded.said
        headers = [
            [name, _readable(value, secrets)]
            for name, value in said.headers
            if name.lower() not in _LEFT_OUT and not is_secret(name, value)
        ]
        answer: dict[str, Json] = {"status": said.status, "headers": headers, "streamed": said.streamed}
        try:
            text = said.plain.decode()
        except UnicodeDecodeError:
            answer["base64"] = b64encode(said.plain).decode()
        else:
            answer["body"] = _clean_text(text, secrets)
        document = {
            "cell": self._cell,
            "life": recorded.incarnation,
            "operation": recorded.operation,
            "request": dict(recorded.request),
            "key": recorded.situation.key,
            "after": recorded.situation.after,
            "answer": answer,
            "decision": recorded.decision.value,
            "rule": recorded.rule,
            "object_id": recorded.object_id,
        }
        cleaned = _without_cell(document, self._own_words)
        assert isinstance(cleaned, dict)
        return cleaned


class Recording:
    """A recording that has been read."""

    def __init__(self, path: Path, entries: tuple[Recorded, ...]) -> None:
        self.path = path
        self.entries = entries
        self._by_situation: defaultdict[Situation, list[Recorded]] = defaultdict(list)
        self._by_operation: defaultdict[str, list[Recorded]] = defaultdict(list)
        for entry in entries:
            self._by_situation[entry.situation].append(entry)
            self._by_operation[entry.operation].append(entry)

    def in_situation(self, situation: Situation) -> list[Recorded]:
        """Return the answers to one request in one situation, in the order in which they were given."""
        return self._by_situation.get(situation, [])

    def to_operation(self, operation: str) -> list[Recorded]:
        """Return the answers to all requests to an operation, in the order in which they were given."""
        return self._by_operation.get(operation, [])

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Read a file.

        Raises:
            UsageInvalid: It is none, or damaged; the message names the line.
        """
        number = 0
        try:
            lines = read_text(path, limit_bytes=_LIMIT_BYTES).rstrip("\n").split("\n")
            entries = []
            for number, line in enumerate(lines, start=1):
                document = parse_json(line)
                if number == 1:
                    if document["ackgap_recording"] != _FORMAT:
                        raise ValueError(f"it is of version {document['ackgap_recording']}")
                else:
                    entries.append(_recorded(document))
            if not entries:
                raise ValueError("there is no answer in it")
        except (OSError, FileUnfit, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"it {error}" if isinstance(error, FileUnfit) else str(error)
            raise UsageInvalid(
                f"no recording can be read: {reason}",
                where=f"{path}, line {number}" if number else str(path),
                next_step="name a file that `ackgap run --record` wrote",
            ) from error
        return cls(path, tuple(entries))


def in_this_cell(said: Said, own_words: str) -> Said:
    """Return a recorded answer as it is given in a cell: with the text that is the cell's own."""
    if not own_words or _CELL.encode() not in said.plain:
        return said
    old, new = _CELL.encode(), own_words.encode()
    return replace(said, parts=tuple(part.replace(old, new) for part in said.parts), plain=said.plain.replace(old, new))


def _recorded(document: Mapping[str, Json]) -> Recorded:
    answer, shown = document["answer"], dict(document["request"])
    headers = tuple((str(name), str(value)) for name, value in answer["headers"])
    plain = b64decode(answer["base64"]) if "base64" in answer else str(answer["body"]).encode()
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    streamed = bool(answer["streamed"])
    parts = split_stream(plain, kind) if streamed else (plain,) if plain else ()
    return Recorded(
        cell=str(document["cell"]),
        incarnation=int(document["life"]),
        operation=str(document["operation"]),
        request=shown,
        situation=Situation(fingerprint=fingerprint_of(shown), key=int(document["key"]), after=str(document["after"])),
        said=Said(status=int(answer["status"]), headers=headers, parts=parts, streamed=streamed, plain=plain),
        decision=Decision(document["decision"]),
        rule=str(document["rule"]),
        object_id=str(document["object_id"]),
    )


def _hidden(value: Json) -> Json:
    """Return a value without its secrets, whole otherwise."""
    if isinstance(value, str):
        return without_secrets(value, lambda _: _STAND_IN)
    if isinstance(value, Mapping):
        return {str(name): _STAND_IN if is_secret(str(name), item) else _hidden(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(item) for item in value]
    return value


def _readable(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, _STAND_IN)
    return without_secrets(text, lambda _: _STAND_IN)


def _clean_text(text: str, secrets: tuple[str, ...]) -> str:
    """Return the body of an answer without its secrets; it is left as it is, to the byte, where it has none."""
    whole = _clean_json(text)
    if whole is None:
        # A stream: each of its lines may hold a document.
        lines = []
        for line in text.splitlines(keepends=True):
            head, found, rest = line.partition("data:")
            stripped = rest.strip() if found and not head else line.strip()
            cleaned = _clean_json(stripped) if stripped.startswith("{") else None
            lines.append(line if cleaned is None else line.replace(stripped, cleaned))
        whole = "".join(lines)
    return _readable(_ELEMENT.sub(_clean_element, whole), secrets)


def _clean_element(match: re.Match[str]) -> str:
    return f"<{match[1]}>{_STAND_IN}</" if is_secret(match[1], match[2]) else match[0]


def _clean_json(text: str) -> str | None:
    try:
        value = parse_json(text)
    except (ValueError, FileUnfit):
        return None
    hidden = _hidden(value)
    return text if hidden == value else json.dumps(hidden)


def _without_cell(value: Json, own_words: str) -> Json:
    return _replaced(value, own_words, _CELL) if own_words else value


def _without_key(shown: Json, key: str | None) -> dict[str, Json]:
    """Return a request without its idempotency key: which one it is, is part of the situation instead."""
    hidden = _replaced(shown, key, "{key}") if key is not None and len(key) > 3 else shown
    assert isinstance(hidden, dict)
    return hidden


def _replaced(value: Json, old: str, new: str) -> Json:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, Mapping):
        return {_replaced(str(name), old, new): _replaced(item, old, new) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item, old, new) for item in value]
    return value
