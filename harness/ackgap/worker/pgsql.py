"""Just enough of PostgreSQL's SQL to name what a statement writes to."""

from __future__ import annotations

import re

from .names import word

__all__ = ["commits", "is_data", "name_of", "plain", "rolls_back", "targets"]

_NOISE = re.compile(
    r"\b[eE]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'|(?:'[^']*')+|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/|\s+", re.DOTALL
)
_NAME = r'(?P<name>(?:"[^"]+"|[\w$]+)(?:\.(?:"[^"]+"|[\w$]+))*)'
_DATA = re.compile(
    r"(?:\bINSERT INTO|\bMERGE INTO|\bDELETE FROM|\bTRUNCATE(?: TABLE)?"
    r"|(?<!FOR )(?<!KEY )(?<!DO )(?<!ON )\bUPDATE(?! SET\b))"
    rf" (?:ONLY )?{_NAME}",
    re.IGNORECASE,
)
_COPY = re.compile(rf"^ ?COPY {_NAME} ?(?:\([^)]*\) ?)?FROM\b", re.IGNORECASE)
_DEFINITION = re.compile(
    r"\b(?P<verb>CREATE|ALTER|DROP) (?:OR REPLACE |UNIQUE |UNLOGGED |MATERIALIZED |FOREIGN )*"
    r"(?:TABLE|INDEX|VIEW|SCHEMA|SEQUENCE|TYPE|FUNCTION|PROCEDURE|TRIGGER|EXTENSION|ROLE|USER|DATABASE|POLICY)"
    rf" (?:CONCURRENTLY )?(?:IF (?:NOT )?EXISTS )?(?:ONLY )?{_NAME}",
    re.IGNORECASE,
)
_COMMIT = re.compile(r"(?:^|;) ?(?:COMMIT|END)\b(?! PREPARED)", re.IGNORECASE)
_ROLLBACK = re.compile(r"(?:^|;) ?(?:ROLLBACK|ABORT)\b(?! TO\b)", re.IGNORECASE)
_MOST_NAMES = 3


def targets(statement: str) -> list[str]:
    """Return what a statement writes to, in order: a table by its name, a definition as `create_journal`."""
    text = plain(statement)
    found = [(match.start(), _last(match["name"])) for match in _DATA.finditer(text)]
    found += [(match.start(), _last(match["name"])) for match in _COPY.finditer(text)]
    found += [
        (match.start(), f"{match['verb'].lower()}_{_last(match['name'])}") for match in _DEFINITION.finditer(text)
    ]
    return list(dict.fromkeys(name for _, name in sorted(found)))


def is_data(names: list[str], statement: str) -> bool:
    """Whether everything that is written is rows, so that no row changed means that nothing did."""
    return bool(names) and _DEFINITION.search(plain(statement)) is None


def commits(statement: str) -> bool:
    """Whether a text ends a transaction for good."""
    return _COMMIT.search(plain(statement)) is not None


def rolls_back(statement: str) -> bool:
    """Whether a text throws a transaction away."""
    return _ROLLBACK.search(plain(statement)) is not None


def name_of(names: list[str]) -> str:
    """Return the name of a commit of what was written: `pg.journal+outbox.commit`."""
    shown = [word(name) for name in names[:_MOST_NAMES]]
    if len(names) > _MOST_NAMES:
        shown.append(f"{len(names) - _MOST_NAMES}_more")
    return f"pg.{'+'.join(shown)}.commit"


def plain(statement: str) -> str:
    """Return a statement without texts and comments, single spaces in their place."""
    return re.sub(" +", " ", _NOISE.sub(" ", statement))


def _last(name: str) -> str:
    return str(re.findall(r'"[^"]+"|[\w$]+', name)[-1]).strip('"')
