"""Describe: what a protection does about an operation, in words, for the catalogue and for `ackgap targets NAME`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.profile import Profile
from ackgap.target.profiles.rules import ConditionRule, KeyRule, NaturalKeyRule, Protection
from ackgap.target.wire.answer import AnswerSpec

__all__ = [
    "GRADES",
    "KINDS",
    "answer_in_words",
    "describe",
    "effect_in_words",
    "grades_of",
    "kind_of",
    "lookup_in_words",
    "rules_in_words",
]

GRADES = {
    "vendor": "the service's own documentation, or a standard",
    "thread": "an issue or pull request of those who build or use it",
    "third-party": "somebody else's page",
    "probed": "a measurement",
    "own": "whoever wrote the profile, who knows the service",
    "invented": "nowhere: a service or a number that exists only here",
    "unknown": "nowhere yet: nobody found out, and the weakest reading is served",
}
"""What each grade of a source means, the best first."""
KINDS = (
    "Real services, with their rules for repeats",
    "Made up, for what a company has in-house",
    "For any service",
)
"""The parts of the catalogue, in order."""
_STORES = {
    "all": "every answer is kept, errors too",
    "executed": "every answer is kept, errors too, except of requests that fail validation",
    "successes": "only answers of success are kept",
}
_COMPARES = {
    "parameters": "the decoded parameters",
    "bytes": "the bytes of the body",
}
_SILENT = {
    "original": "the first answer, as if they did not",
    "dropped": "it is answered as if it had been done, and dropped",
    "overwrite": "it is written over the first one",
}
_ANY_OPERATION = Operation(name="", methods=("POST",), path="/", does="create", effect=True, noun=("", ""))
"""Stands for every operation of a service that nobody described."""


def describe(protection: Protection, operation: Operation) -> list[str]:
    """Return the rules that a protection has for an operation, one sentence each; none if it does not guard it.

    A key that is accepted and not looked at guards nothing, and is said all the same.
    """
    lines: list[str] = []
    key = protection.key_rule_for(operation)
    if key is not None:
        lines += _key(key)
    for condition in protection.conditions_for(operation):
        lines += _condition(condition)
    for natural_key in protection.natural_rules_for(operation):
        lines += _natural_key(natural_key)
    return lines


def lookup_in_words(operation: Operation) -> list[str]:
    """Return how an operation finds what exists already, and what it may overlook."""
    lines: list[str] = []
    if operation.lag_s:
        if isinstance(operation.lag_s, int | float):
            lag = f"{operation.lag_s:g} virtual seconds"
        else:
            name = str(operation.lag_s).removeprefix("{setting.").removesuffix("}")
            lag = f"as many virtual seconds as the setting `{name}` says"
        lines.append(f"A new object is found only after {lag}.")
        lines += [f"Not so where `{path}` is `{value}`." for path, value in operation.consistent_when.items()]
        for path, named in operation.consistent_for.items():
            lines.append(f"Not so for objects whose `{named}` is named in `{path}`.")
    if operation.find_by:
        known = ", ".join(f"`{path}`" for path in operation.find_by)
        several = "the oldest is meant" if operation.several is None else answer_in_words(operation.several)
        lines.append(f"Its object is the one with the same {known}; where there are several, {several}.")
    if operation.page is not None:
        page = operation.page
        asked = (
            f", of at most {page.largest} where `{page.size_parameter}` asks for more" if page.size_parameter else ""
        )
        lines.append(f"Pages of {page.size}{asked}; the next by `{page.parameter}`.")
    return lines


def rules_in_words(profile: Profile, protection: Protection) -> list[tuple[tuple[str, ...], list[str]]]:
    """Return the rules of a protection for all effectful operations; those with the same rules stand together.

    Returns:
        Names of operations, and the sentences that hold for them. No sentences: not protected. No names: every
        operation of a service that nobody described.
    """
    if not profile.described:
        return [((), describe(protection, _ANY_OPERATION))]
    groups: dict[tuple[str, ...], list[str]] = {}
    for operation in profile.operations:
        if operation.effect:
            groups.setdefault(tuple(describe(protection, operation)), []).append(operation.name)
    return [(tuple(names), list(lines)) for lines, names in groups.items()]


def effect_in_words(operation: Operation, profile: Profile) -> str:
    """Return what an operation does to the world: what one effect is called, or that there is none, and its price."""
    if operation.effect:
        paid = f"; costs {operation.price:g} {profile.currency}" if operation.paid and operation.price else ""
        return operation.noun[0] + ("; a second one writes over the first" if operation.overwrites else "") + paid
    if operation.paid:
        return f"none; costs {operation.price:g} {profile.currency}" if operation.price else "none; paid by use"
    return "none"


def answer_in_words(answer: AnswerSpec) -> str:
    """Return an answer as status and body."""
    return f"{answer.status} and `{json.dumps(answer.body)}`" if answer.body is not None else f"{answer.status}"


def grades_of(profile: Profile) -> dict[str, int]:
    """Return how many of its facts have each grade, the best grade first."""
    counts = Counter(source.grade for source in profile.sources)
    return {grade: counts[grade] for grade in GRADES if counts[grade]}


def kind_of(profile: Profile) -> str:
    """Return the part of the catalogue that a profile stands in, one of `KINDS`.

    A profile says first what it is: where that is invented, or only its author's word, it is no service of the world's.
    """
    real, made_up, any_service = KINDS
    if not profile.described:
        return any_service
    return made_up if not profile.sources or profile.sources[0].grade in {"own", "invented"} else real


def _key(rule: KeyRule) -> Iterator[str]:
    places = " or ".join(_place(place) for place in rule.places)
    if rule.digest_of:
        places += f"{' or, without one, ' if places else ''}the digest of `{rule.digest_of}`"
    if rule.ignored:
        yield f"A key is accepted ({places}), and nobody looks at it."
        return
    yield f"The key is {places}; {_scope(rule.scope)}."
    if rule.missing is not None:
        yield f"Without a key: {answer_in_words(rule.missing)}."
    yield f"Remembered {_duration(rule.window_s)}{_window_start(rule)}."
    yield from _kept(rule)
    if rule.compares == "nothing":
        yield "Nothing is compared under the same key: the repeat may say anything."
    else:
        yield f"Compared under the same key: {_compared(rule)}. Where they differ: {_mismatch(rule)}."
    yield f"While the first request runs, another one {_meanwhile(rule)}."
    if rule.max_length is not None:
        yield f"A key of more than {rule.max_length} characters gets {_answer(rule.too_long, 'through')}."
    if rule.form:
        yield f"A key that is not of the form `{rule.form}` gets {_answer(rule.bad_form, 'through')}."


def _kept(rule: KeyRule) -> Iterator[str]:
    kept = _STORES[rule.stores]
    if rule.never_stores:
        kept += f"; never those with status {' or '.join(rule.never_stores)}"
    given = "the first answer again" if rule.replays == "stored" else "an answer about the object as it is now"
    yield f"A repeat gets {given}: {kept}."
    for which, headers in (("given again", rule.replay_headers), ("given first", rule.first_headers)):
        if headers:
            marks = ", ".join(f"`{header}: {value}`" for header, value in headers.items())
            yield f"An answer that is {which} is marked {marks}."


def _place(path: str) -> str:
    kind, _, name = path.partition(".")
    if kind == "header":
        return f"the header `{name}`"
    return f"`{name}` in the {kind}" if kind in {"body", "query", "path"} else f"`{path}`"


def _scope(scope: str | tuple[str, ...]) -> str:
    if scope == "account":
        return "one key space"
    if scope == "endpoint":
        return "one key space for each method and path"
    return f"one key space for each {', '.join(f'`{path}`' for path in scope)}"


def _window_start(rule: KeyRule) -> str:
    if rule.window_s is None:
        return ""
    if rule.window_starts == "object_end":
        return ", counted from the end of what the first request made"
    return f" from {'the first' if rule.window_starts == 'first_request' else 'the end of the first'} request on"


def _compared(rule: KeyRule) -> str:
    if not isinstance(rule.compares, str):
        return ", ".join(f"`{path}`" for path in rule.compares)
    but = f", but not {', '.join(f'`{path}`' for path in rule.ignores)}" if rule.ignores else ""
    return _COMPARES[rule.compares] + but


def _mismatch(rule: KeyRule) -> str:
    return answer_in_words(rule.mismatch) if isinstance(rule.mismatch, AnswerSpec) else _SILENT[rule.mismatch]


def _meanwhile(rule: KeyRule) -> str:
    if rule.concurrent is None:
        return "gets through, undetected"
    if isinstance(rule.concurrent, AnswerSpec):
        return f"gets {answer_in_words(rule.concurrent)}"
    return "waits for its answer"


def _condition(rule: ConditionRule) -> Iterator[str]:
    place = f"`{rule.place.partition('.')[2] or rule.place}`"
    stated = f"A request with {place}" if not rule.holds else f"A request with `{rule.holds}` in {place}"
    met = "nothing of that id exists" if rule.needs == "absent" else "the object has not changed since"
    yield f"{stated} is applied only if {met}; otherwise it gets {answer_in_words(rule.failed)}."
    busy = _answer(rule.concurrent, "through, undetected")
    yield f"While another such request for the same object runs, it gets {busy}."


def _natural_key(rule: NaturalKeyRule) -> Iterator[str]:
    yield f"A repeat is what has the same {', '.join(f'`{path}`' for path in rule.paths)}."
    for field, values in rule.unless.items():
        yield f"Objects no longer count once `{field}` is {' or '.join(f'`{value}`' for value in values)}."
    yield f"A repeat gets {_answer(rule.answer, '200 and the object that exists')}; nothing is made."
    if rule.lag_s:
        yield f"A new object is not noticed {_duration(rule.lag_s)}: a repeat meanwhile is applied."


def _answer(answer: AnswerSpec | None, otherwise: str) -> str:
    return otherwise if answer is None else answer_in_words(answer)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "for ever"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        # A day is said as 24 hours, as services do.
        if seconds >= size and seconds % size == 0 and (size != 86400 or seconds > 86400):
            number = round(seconds / size)
            return f"for {number} {unit}{'' if number == 1 else 's'}"
    return f"for {seconds:g} seconds"
