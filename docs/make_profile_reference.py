"""Write docs/writing-a-profile.md: an example, and every key of a profile as the program knows it.

Names, types, defaults and allowed values come from the schema, meanings from the `Attributes:` of what a table
becomes. A key without a meaning is an error.

python docs/make_profile_reference.py            write it
python docs/make_profile_reference.py --check    exit 1 if the file there is not what would be written
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le
from pydantic import BaseModel, StringConstraints
from pydantic_core import PydanticUndefined

from ackgap.target.profiles import schema
from ackgap.target.profiles.describe import GRADES
from ackgap.target.profiles.operation import Operation, Outcome, Page, TextSearch
from ackgap.target.profiles.profile import Later, Profile, Setting, Source
from ackgap.target.profiles.rules import ConditionRule, KeyRule, NaturalKeyRule, Protection
from ackgap.target.wire.answer import ROOTS, AnswerSpec

REFERENCE = Path(__file__).with_name("writing-a-profile.md")

EXAMPLE = """\
name = "desk"
title = "Our service desk"
about = "Tickets of the operations team. Nobody but us has it."
default_protection = "reference"

[[sources]]
claim = "It gives back the open ticket of a reference that it knows; it has no idempotency keys."
date = "2026-11-29"
grade = "own"

[[operations]]
name = "create"
method = "POST"
path = "/api/tickets"
does = "create"
effect = true
noun = ["ticket", "tickets"]
identity = ["body.reference"]
required = ["body.reference"]

[[operations]]
name = "find"
method = "GET"
path = "/api/tickets"
does = "list"
filters = { reference = "reference" }

[protections.none]
title = "every request files another ticket"

[protections.reference]
title = "a ticket with the same reference is given back"
natural_key = { paths = ["body.reference"] }
"""

_WORDS: list[tuple[Any, str]] = [
    (schema._Name, "name"),
    (schema._Path, "[path](#paths)"),
    (schema._StatePath, "[path](#paths)"),
    (schema._Text, "text"),
    (schema._Seconds, "number, not negative"),
    (schema._Regex, "regular expression"),
    (schema._Answer, "[answer](#answer)"),
    (str, "text"),
    (bool, "`true` or `false`"),
    (int, "whole number"),
    (float, "number"),
    (Any, "anything"),
]
_PATTERNS = {
    r"^\d{4}-\d{2}-\d{2}$": "day, such as `2026-11-29`",
    r"^/[^\s?#]*$": "address, beginning with `/`",
    r"^[1-5](\d\d|xx)$": "`429` or `5xx`",
    r"^body\.\S+$": "path into the body",
}
_TABLES: tuple[tuple[str, str, str, type[BaseModel], type, dict[str, str]], ...] = (
    ("The file", "", "Keys at the top, before any table.", schema.ProfileTable, Profile, {}),
    (
        "Source",
        "[[sources]]",
        "Where a fact comes from. The first one says what the service is.",
        schema._Source,
        Source,
        {},
    ),
    (
        "Operation",
        "[[operations]]",
        "One thing that the service does.",
        schema._Operation,
        Operation,
        {"method": "methods"},
    ),
    (
        "Outcome",
        "[[operations.outcomes]]",
        "Another answer of an operation, where the request has certain values.",
        schema._Outcome,
        Outcome,
        {},
    ),
    ("Search", "search", "Of a `list`: a question in the service's own language.", schema._Search, TextSearch, {}),
    ("Page", "page", "Of a `list`: how it is cut.", schema._Page, Page, {}),
    (
        "Protection",
        "[protections.NAME]",
        "A way in which the service treats repeats. Each kind of rule is one table or a list of them.",
        schema._Protection,
        Protection,
        {"key": "keys", "condition": "conditions", "natural_key": "natural_keys"},
    ),
    ("Key", "[protections.NAME.key]", "An idempotency key.", schema._Key, KeyRule, {"place": "places"}),
    ("Condition", "[protections.NAME.condition]", "A conditional write.", schema._Condition, ConditionRule, {}),
    (
        "Natural key",
        "[protections.NAME.natural_key]",
        "A repeat is recognised by what it is about.",
        schema._NaturalKey,
        NaturalKeyRule,
        {},
    ),
    ("Setting", "[settings.NAME]", "What a scenario may set, and `--set` with it.", schema._Setting, Setting, {}),
    ("Later", "[[later]]", "What objects show only after some virtual time.", schema._Later, Later, {}),
    ("Answer", "answer", "Wherever an answer stands, and below `[errors]`.", schema._Answer, AnswerSpec, {}),
)
_DOES = {
    "create": "makes an object: the operation's `object`, or what was sent and an id. 201 with the object",
    "get": "answers with the object that the path names, or `not_found`",
    "list": "answers with the objects of the collection that `filters` and `search` find",
    "put": "makes or replaces the object of the id in the path",
    "upsert": "makes it, or writes over some of its fields",
    "patch": "changes fields of an object: those of `object`, or those that were sent",
    "delete": "removes it",
    "answer": "nothing but its answer; with `effect = true` each request counts, as a message that is sent does",
    "search": "a search engine that answers from the setting `results`",
    "chat": "a scripted model in the form of OpenAI's Chat Completions",
    "responses": "the same as OpenAI's Responses",
    "messages": "the same as Anthropic's Messages",
    "count_tokens": "Anthropic's count of tokens",
    "models": "OpenAI's list of models",
    "anthropic_models": "Anthropic's list of models",
}
_PLACEHOLDERS = {
    "object": "the object: `{object}` whole, `{object.id}`, `{object.number}`, any field of it",
    "payload": "the body, decoded: `{payload}`, `{payload.partner.id}`",
    "path": "what stands in the path's braces: `{path.id}`",
    "query": "a query parameter: `{query.q}`",
    "header": "a header: `{header.x-amz-target}`",
    "graphql": "the field that is asked for: `{graphql.args.input}`",
    "setting": "a setting of the profile: `{setting.after_s}`",
    "clock": "the targets' time: `{clock.iso}`, `{clock.unix}`",
    "items": "what a listing found",
    "count": "how many that are",
    "more": "whether there is another page",
    "next": "what names it",
    "problem": "what is wrong with the request",
    "key": "the idempotency key",
    "raw": "the body as text",
    "attempt": "`{attempt.id}`, a UUID of this attempt",
    "md5": "`{md5.payload.text}`: MD5 of another placeholder",
    "number": "`{number.payload.amount}`: another placeholder as a number, as in a form",
}


def reference() -> str:
    """Return the text of docs/writing-a-profile.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from _beginning()
    yield ""
    yield from _basics()
    for title, written, about, model, becomes, renamed in _TABLES:
        yield ""
        yield f"## {title}"
        yield ""
        yield f"`{written}`. {about}" if written else about
        yield ""
        yield "| key | value | default | meaning |"
        yield "|---|---|---|---|"
        yield from _rows(model, becomes, renamed)
        if model is schema._Operation:
            yield ""
            yield "### does"
            yield ""
            yield "| word | what it does |"
            yield "|---|---|"
            words = get_args(schema._Does)
            yield from (_row(f"`{word}`", _DOES[word]) for word in words)
        if model is schema._Source:
            yield ""
            yield "| grade | comes from |"
            yield "|---|---|"
            yield from (_row(f"`{grade}`", meaning) for grade, meaning in GRADES.items())


def _beginning() -> Iterator[str]:
    yield "# Writing a profile"
    yield ""
    yield "<!-- Written by docs/make_profile_reference.py. Change that, or the schema, then run it again. -->"
    yield ""
    yield "A profile is one TOML file that says what a service does, how it treats repeats, and how anybody knows."
    yield "With one, reports name operations and objects, know what makes two effects the same, and can say who could"
    yield "have prevented a repeat. A service that nobody described is `any`."
    yield ""
    yield "This is a whole one, of a service that only one company has:"
    yield ""
    yield "```toml"
    yield from EXAMPLE.rstrip().split("\n")
    yield "```"
    yield ""
    yield "```"
    yield "ackgap targets --check desk.toml         # says what is wrong, with file, key and allowed values"
    yield "ackgap targets ./desk.toml               # tells its rules in words"
    yield "ackgap serve ./desk.toml                 # serves it, as HTTP and as tools of MCP"
    yield 'ackgap run --worker "python agent.py" --target desk=./desk.toml --env "DESK_URL={desk.url}/api"'
    yield "```"
    yield ""
    yield "To begin with one that is there: `ackgap targets case-management --toml > desk.toml`. All of them are in"
    yield "[targets](targets.md); how a scenario uses one is in [writing a scenario](writing-a-scenario.md)."
    yield ""
    yield "Two things deserve thought. `identity` is what makes two effects the same action *for the world*: a matter,"
    yield "an invoice, a recipient and an occasion, never a text that a model writes anew. And a protection claims no"
    yield "more than is known: what nobody found out goes below `unknown`, and the weakest reading is served."


def _basics() -> Iterator[str]:
    yield "## Paths"
    yield ""
    yield "A path into a request begins with `body`, `query`, `path`, `header` or `graphql`: `body.partner.id`,"
    yield "`header.idempotency-key`, `path.id`. In `when` of an outcome it may begin with `object`, the object that the"
    yield "request names, as it was before. Names of headers are the same in any case of letters."
    yield ""
    yield "## Templates"
    yield ""
    yield "Bodies of answers, objects and some other values are templates: text in them may hold placeholders. Text"
    yield "that is nothing but a placeholder takes the value with its type. What is missing becomes null, or nothing"
    yield 'inside longer text. The key `"*"` of a table spreads the fields of its value around it:'
    yield '`object = { "*" = "{payload}", id = "{object.id}", status = "open" }`.'
    yield ""
    yield "| placeholder | stands for |"
    yield "|---|---|"
    yield from (_row(f"`{{{root}}}`", _PLACEHOLDERS[root]) for root in sorted(ROOTS, key=[*_PLACEHOLDERS].index))


def _rows(model: type[BaseModel], becomes: type, renamed: dict[str, str]) -> Iterator[str]:
    meanings = _meanings(becomes)
    hints = get_type_hints(model, include_extras=True)
    for key, field in model.model_fields.items():
        meaning = meanings.get(renamed.get(key, key))
        if meaning is None:
            raise LookupError(f"nobody says what {key!r} of {becomes.__name__} means")
        if key == "does":
            meaning += " See [below](#does)."
        yield _row(f"`{key}`", _type(hints[key]) + _bounds(field.metadata), _default(field.default), meaning)


def _meanings(becomes: type) -> dict[str, str]:
    """Return the texts of a dataclass's `Attributes:`; what its program calls None is a key that is left out."""
    text = (inspect.getdoc(becomes) or "").partition("Attributes:\n")[2]
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {8,}.*)*)", text, re.MULTILINE)
    return {name: re.sub(r"\bNone\b", "leaving it out", " ".join(words.split())) for name, words in found}


def _type(hint: Any) -> str:
    for known, words in _WORDS:
        if hint == known:
            return words
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        pattern = next((item.pattern for item in hint.__metadata__ if isinstance(item, StringConstraints)), None)
        return _PATTERNS[str(pattern)] if pattern is not None else _type(inner[0])
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in inner if word)
    if origin in (Union, types.UnionType):
        return " or ".join(filter(None, (_type(part) for part in inner if part is not type(None))))
    if origin is list:
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return f"table of {_type(inner[1])}" if inner[0] is str else f"table: {_type(inner[0])} to {_type(inner[1])}"
    title = next((title for title, _, _, model, _, _ in _TABLES if model is hint), None)
    if title is None:
        raise LookupError(f"{hint!r} has no words and no section")
    return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"


def _bounds(metadata: list[Any]) -> str:
    least = next((item.ge for item in metadata if isinstance(item, Ge)), None)
    most = next((item.le for item in metadata if isinstance(item, Le)), None)
    if least is None or least == 0:
        return ""
    return f" of at least {least}" if most is None else f" from {least} to {most}"


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return "**required**"
    return "" if value in (None, "") or value == [] or value == {} else f"`{json.dumps(value)}`"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main() -> int:
    """Write the reference, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it would change")
    options = parser.parse_args()
    text = reference()
    if options.check:
        if REFERENCE.exists() and REFERENCE.read_text(encoding="utf-8") == text:
            return 0
        print("docs/writing-a-profile.md is not up to date: python docs/make_profile_reference.py", file=sys.stderr)
        return 1
    REFERENCE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
