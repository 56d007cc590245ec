"""Question: the search languages of services, read as far as a worker needs them to look for what it may have made.

A clause is a name, an operator and a value: `metadata['order']:'7'`, `project = "OPS"`, `summary ~ "review 4471"`,
`correlation_id=7^active=true`, `labels in (a, b)`, `from Case`. `:` and `=` compare, in any case of letters; `~` and
`like` look for each word of the value; `!` or `not` before the operator, and `-` before the name, turn it round. `or`
is read, brackets around clauses are not: all that stands between two `or` holds together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ackgap.model.event import Json
from ackgap.target.profiles.operation import TextSearch
from ackgap.target.wire.request import MISSING, dig

__all__ = ["answers_question", "as_text", "is_value"]

_CLAUSE = re.compile(
    r"""
    (?<![\w.-]) (?: (?<!\S) (?P<minus>-) )?
    (?P<name>[A-Za-z_][\w-]* (?: \.[\w-]+ | \[\s*['"]?[\w.-]+['"]?\s*\] )*)
    (?: \s* (?P<symbol> != | !~ | [:=~] ) \s* | \s+ (?P<word> (?:not\s+)? (?:in|like) ) \s+ )
    (?P<value> "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | \([^()]*\) | [^\s^()]+ )
    | \b from \s+ (?P<source>\w+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OR = re.compile(r"(?<!\s)\s+or\s+|\^or(?!der)", re.IGNORECASE)
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_SUBSCRIPT = re.compile(r"\[\s*['\"]?([\w.-]+)['\"]?\s*\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clause:
    path: str
    wanted: tuple[str, ...]
    contains: bool
    negated: bool

    def holds(self, shown: Json) -> bool:
        """Whether an object is as the clause says."""
        value = dig(shown, self.path)
        found = any(_has_words(value, wanted) if self.contains else is_value(value, wanted) for wanted in self.wanted)
        return found is not self.negated


def answers_question(search: TextSearch, question: str, shown: Json) -> bool:
    """Whether an object is what a question asks for."""
    # Quotes may hold an `or`: it is looked for only outside of them.
    masked = re.sub(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", lambda match: "x" * len(match[0]), question)
    starts = [0, *(match.end() for match in _OR.finditer(masked))]
    ends = [*(match.start() for match in _OR.finditer(masked)), len(question)]
    parts = [question[start:end] for start, end in zip(starts, ends, strict=True)] if search.fields else [question]
    return any(_all_of(search, part, shown) for part in parts)


def as_text(value: Json) -> str:
    """Return a value as it stands in a URL or a question."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is MISSING or value is None else str(value)


def is_value(value: Json, wanted: str, *, exactly: bool = False) -> bool:
    """Whether a value, or one of a list of values, is the one wanted; in any case of letters unless `exactly`."""
    if isinstance(value, list):
        return any(is_value(item, wanted, exactly=exactly) for item in value)
    text = as_text(value)
    return text == wanted if exactly else text.casefold() == wanted.casefold()


def _all_of(search: TextSearch, question: str, shown: Json) -> bool:
    clauses: list[_Clause] = []

    def take(match: re.Match[str]) -> str:
        path = _path_of(search.fields, (match["source"] and "from") or match["name"])
        if path is None:
            return match[0]
        clauses.append(_clause(match, path))
        return " "

    rest = _CLAUSE.sub(take, question) if search.fields else question
    if not all(clause.holds(shown) for clause in clauses):
        return False
    return search.only_clauses or _mentions(search, rest, shown)


def _path_of(fields: Mapping[str, str], name: str) -> str | None:
    name = _SUBSCRIPT.sub(r".\1", name)
    first, _, rest = name.partition(".")
    for known, path in fields.items():
        if name.lower() == known:
            return path
        if rest and first.lower() == known:
            return f"{path}.{rest}"
    return name if "*" in fields else None


def _clause(match: re.Match[str], path: str) -> _Clause:
    if match["source"]:
        return _Clause(path=path, wanted=(match["source"],), contains=False, negated=False)
    operator = (match["symbol"] or match["word"]).lower()
    value = match["value"]
    if value.startswith("("):
        wanted = tuple(_unquoted(item.strip()) for item in value[1:-1].split(","))
    else:
        wanted = (_unquoted(value),)
    negated = operator.startswith(("!", "not")) is not bool(match["minus"])
    return _Clause(path=path, wanted=wanted, contains="~" in operator or "like" in operator, negated=negated)


def _unquoted(text: str) -> str:
    inner = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
    return re.sub(r"\\(.)", r"\1", inner)


def _has_words(value: Json, wanted: str) -> bool:
    held = as_text(value).lower()
    return all(word.strip("*%\"'").lower() in held for word in wanted.split())


def _mentions(search: TextSearch, question: str, shown: Json) -> bool:
    quoted = [first or second for first, second in _QUOTED.findall(question)]
    wanted = quoted or [word for word in question.split() if ":" not in word and "=" not in word]
    values = [dig(shown, path) for path in search.paths] if search.paths else [shown]
    held = "\n".join(as_text(value) for value in values).lower()
    return all(word.lower() in held for word in wanted)
