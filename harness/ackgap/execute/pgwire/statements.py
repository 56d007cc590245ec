"""What statements do to a transaction, and what they write to: as much of SQL as that takes.

Names of what is written are those that the hook inside Python workers gives (`ackgap/worker/pgsql.py`), since they are
found by the same functions.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from ackgap.worker import pgsql

__all__ = ["Does", "Statement", "Wanted", "statements_of"]

_LONG = 1 << 24
"""Characters; of a longer text only the two ends are read: it is data in between."""
_QUOTED = re.compile(
    r"""\b[eE]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*' | (?:'[^']*')+ | (?:"[^"]*")+ | \$((?:[A-Za-z_]\w*)?)\$.*?\$\1\$"""
    r"""| --[^\n]* | /\*.*?\*/ | (?P<end>;)""",
    re.DOTALL | re.VERBOSE,
)
_ATOMIC = re.compile(r"^ ?CREATE\b.*\bBEGIN ATOMIC\b", re.IGNORECASE)
_NAME = r'(?P<name>"[^"]+"|[\w$]+)'


class Does(Enum):
    """What a statement does to the transaction that it runs in."""

    WORK = "work"
    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    SAVEPOINT = "savepoint"
    ROLLBACK_TO = "rollback to"
    RELEASE = "release"
    PREPARE = "prepare transaction"
    COMMIT_PREPARED = "commit prepared"
    ROLLBACK_PREPARED = "rollback prepared"
    COPY_IN = "copy in"
    NAME = "prepare"
    RUN_NAMED = "execute"


_BEGINNINGS = (
    (Does.BEGIN, r"^ ?(?:BEGIN|START TRANSACTION)\b"),
    (Does.PREPARE, r"^ ?PREPARE TRANSACTION\b"),
    (Does.COMMIT_PREPARED, r"^ ?COMMIT PREPARED\b"),
    (Does.ROLLBACK_PREPARED, r"^ ?ROLLBACK PREPARED\b"),
    (Does.COMMIT, r"^ ?(?:COMMIT|END)\b"),
    (Does.ROLLBACK_TO, rf"^ ?(?:ROLLBACK|ABORT)(?: WORK| TRANSACTION)? TO (?:SAVEPOINT )?{_NAME}"),
    (Does.ROLLBACK, r"^ ?(?:ROLLBACK|ABORT)\b"),
    (Does.SAVEPOINT, rf"^ ?SAVEPOINT {_NAME}"),
    (Does.RELEASE, rf"^ ?RELEASE (?:SAVEPOINT )?{_NAME}"),
    (Does.COPY_IN, r"^ ?COPY\b.*\bFROM STDIN\b"),
    (Does.NAME, rf"^ ?PREPARE {_NAME}"),
    (Does.RUN_NAMED, rf"^ ?EXECUTE {_NAME}"),
)
_DOES = tuple((does, re.compile(pattern, re.IGNORECASE)) for does, pattern in _BEGINNINGS)
_CHAINS = re.compile(r"\bAND CHAIN\b", re.IGNORECASE)
_ONLY_EXPLAINS = re.compile(r"^ ?EXPLAIN (?!.*\bANALYZE\b)", re.IGNORECASE)
_LITERAL = re.compile(r"'((?:[^']|'')*)'")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement.

    Attributes:
        does: To its transaction.
        writes: What it writes to, by name.
        only_data: Everything that it writes is rows, so that no row changed means that nothing did.
        name: Of a savepoint, of a prepared statement or transaction.
        chains: Another transaction begins at once.
        plain: Its text without literals and comments, for patterns.
    """

    does: Does
    writes: tuple[str, ...]
    only_data: bool
    name: str
    chains: bool
    plain: str


class Wanted:
    """Statements at which somebody wants to park: patterns with `*`, wherever they stand in a text."""

    def __init__(self, patterns: tuple[str, ...] = ()) -> None:
        self._patterns = [(pattern, " ".join(pattern.lower().split())) for pattern in patterns]

    def name_of(self, statement: Statement) -> str:
        """Return what a statement is called that somebody wants to park at; empty where nobody does."""
        text = statement.plain.lower()
        for pattern, wanted in self._patterns:
            if fnmatch.fnmatchcase(text, f"*{wanted}*"):
                return "_".join(re.findall(r"\w+", pattern.lower())) or "statement"
        return ""


@lru_cache(maxsize=512)
def _short(text: str) -> tuple[Statement, ...]:
    return tuple(_statement(part, plain) for part, plain in _split(text))


def statements_of(text: str) -> tuple[Statement, ...]:
    """Return the statements of a text; there are none in an empty one."""
    if len(text) > _LONG:
        text = text[: _LONG // 2] + "\n" + text[-_LONG // 4 :]
    return _short(text) if len(text) < 4096 else _short.__wrapped__(text)


def _split(text: str) -> list[tuple[str, str]]:
    """Return the text of each statement, and the same without literals and comments."""
    parts, begin = [], 0
    for match in _QUOTED.finditer(text):
        if match["end"]:
            parts.append(text[begin : match.start()])
            begin = match.end()
    parts.append(text[begin:])
    joined: list[tuple[str, str]] = []
    inside = False
    for part in parts:
        plain = pgsql.plain(part).strip()
        if inside:
            joined[-1] = (f"{joined[-1][0]};{part}", f"{joined[-1][1]};{plain}")
            inside = plain.upper() != "END"
        elif plain:
            joined.append((part, plain))
            inside = _ATOMIC.match(plain) is not None
    return joined


def _statement(text: str, plain: str) -> Statement:
    does, name = Does.WORK, ""
    for kind, pattern in _DOES:
        if match := pattern.match(plain):
            does, name = kind, (match.groupdict().get("name") or "").strip('"').lower()
            break
    if does in (Does.PREPARE, Does.COMMIT_PREPARED, Does.ROLLBACK_PREPARED):
        literal = _LITERAL.search(text)
        name = literal[1].replace("''", "'") if literal else ""
    written = plain[: plain.upper().index("BEGIN ATOMIC")] if _ATOMIC.match(plain) else plain
    writes = [] if _ONLY_EXPLAINS.match(plain) else pgsql.targets(written)
    return Statement(
        does=does,
        writes=tuple(writes),
        only_data=pgsql.is_data(writes, written),
        name=name,
        chains=does in (Does.COMMIT, Does.ROLLBACK) and _CHAINS.search(plain) is not None,
        plain=plain,
    )
