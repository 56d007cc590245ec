"""Write docs/targets.md from the profiles in targets/, so that the catalogue can never say what is not served.

python docs/make_targets.py            write it
python docs/make_targets.py --check    exit 1 if the file there is not what would be written
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from ackgap.content import profile_names
from ackgap.target.profile import AnswerSpec, KeyRule, NaturalKeyRule, Operation, Profile, Protection, load_profile

CATALOGUE = Path(__file__).with_name("targets.md")

GRADES = {
    "vendor": "the service's own documentation, or a standard",
    "thread": "an issue or pull request of those who build or use it",
    "third-party": "somebody else's page",
    "probed": "a measurement",
    "invented": "nowhere: a service or a number that exists only here",
    "unknown": "nowhere yet: nobody found out, and the weakest reading is served",
}
_STORES = {
    "all": "every answer is kept, errors too",
    "executed": "every answer is kept, errors too, except of requests that fail validation",
    "successes": "only answers of success are kept",
}
_COMPARES = {
    "parameters": "the decoded parameters",
    "bytes": "the bytes of the body",
    "nothing": "nothing: the repeat may say anything",
}


def catalogue() -> str:
    """Return the text of docs/targets.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    profiles = [load_profile(name) for name in profile_names()]
    yield "# Targets"
    yield ""
    yield "<!-- Written by docs/make_targets.py from targets/*.toml. Change those, then run it again. -->"
    yield ""
    yield "The fake services that ship with ackgap. `ackgap targets NAME` shows one in the terminal. A profile of your"
    yield "own is one TOML file, named where a profile is named: `--target desk=./desk.toml`."
    yield ""
    yield "| profile | what it is | repeats, by default | other protections |"
    yield "|---|---|---|---|"
    for profile in profiles:
        default = profile.protections[profile.default_protection]
        others = [f"`{name}`" for name in profile.protections if name != default.name]
        yield _row(f"[`{profile.name}`](#{profile.name})", profile.title, default.title, ", ".join(others))
    yield ""
    yield "Where a source gives no answer, the fake does what protects the worker least, and says so under *Not known*."
    yield "Grades of sources:"
    yield ""
    yield "| grade | comes from |"
    yield "|---|---|"
    for grade, meaning in GRADES.items():
        yield _row(f"`{grade}`", meaning)
    for profile in profiles:
        yield ""
        yield from _profile(profile)


def _profile(profile: Profile) -> Iterator[str]:
    yield f"## {profile.name}"
    yield ""
    yield f"**{profile.title}.** {' '.join(profile.about.split())}"
    yield ""
    if profile.operations:
        yield from _operations(profile)
    else:
        yield "Operations are named as they are seen, such as `POST/tickets` or `DELETE/tickets/{id}`."
    for protection in profile.protections.values():
        yield ""
        mark = " (default)" if protection.name == profile.default_protection else ""
        yield f"### {profile.name}: {protection.name}{mark}"
        yield ""
        yield f"{_sentence(protection.title)}"
        rules = list(_rules(protection, profile))
        if rules:
            yield ""
            yield from rules
    if profile.settings:
        yield ""
        yield f"### {profile.name}: settings"
        yield ""
        yield "| setting | default | meaning |"
        yield "|---|---|---|"
        for setting in profile.settings.values():
            default = f"`{json.dumps(setting.default)}`"
            choices = f" One of {', '.join(f'`{choice}`' for choice in setting.choices)}." if setting.choices else ""
            yield _row(f"`{setting.name}`", default, setting.about + choices)
    yield ""
    yield from _sources(profile)


def _operations(profile: Profile) -> Iterator[str]:
    yield "| operation | request | effect | what makes two the same |"
    yield "|---|---|---|---|"
    for operation in profile.operations:
        request = f"`{'` or `'.join(operation.methods)} {operation.path}`"
        identity = ", ".join(f"`{path}`" for path in operation.identity)
        if operation.effect and not identity:
            identity = "learned from two undisturbed runs"
        yield _row(f"`{operation.name}`", request, _effect(operation, profile), identity)
    shown = [operation for operation in profile.operations if operation.artifact]
    for operation in shown:
        yield ""
        yield f"`{operation.name}` shows a person `{operation.artifact}`; what is done later can be compared with it."
    for later in profile.later:
        fields = ", ".join(f"`{name}`" for name in later.fields)
        yield ""
        name = str(later.after_s).removeprefix("{setting.").removesuffix("}")
        after = f"as many virtual seconds as `{name}` says" if name in profile.settings else f"{name} virtual seconds"
        yield f"Objects of `{later.collection}` show {fields} after {after}."


def _effect(operation: Operation, profile: Profile) -> str:
    if operation.effect:
        return operation.noun[0]
    if operation.paid:
        return f"none; costs {operation.price:g} {profile.currency}" if operation.price else "none; paid by use"
    return "none"


def _rules(protection: Protection, profile: Profile) -> Iterator[str]:
    if protection.key is not None:
        yield from _key(protection.key)
    if protection.natural_key is not None:
        yield from _natural_key(protection.natural_key)
    if protection.key is None and protection.natural_key is None:
        return
    unguarded = [
        f"`{operation.name}`"
        for operation in profile.operations
        if operation.effect and not protection.guards(operation)
    ]
    if unguarded:
        yield f"- Not protected by it: {', '.join(unguarded)}."


def _key(rule: KeyRule) -> Iterator[str]:
    kind, _, name = rule.place.partition(".")
    space = "one key space" if rule.scope == "account" else "one key space for each method and path"
    yield f"- The key is in the {kind}, as `{name}`; {space}."
    if rule.operations:
        yield f"- Looked at by {', '.join(f'`{operation}`' for operation in rule.operations)}."
    start = "the first request" if rule.window_starts == "first_request" else "the end of the first request"
    yield f"- Remembered {_duration(rule.window_s)}{f' from {start} on' if rule.window_s is not None else ''}."
    yield f"- A repeat gets the first answer again: {_STORES[rule.stores]}."
    if rule.replay_headers:
        marks = ", ".join(f"`{header}: {value}`" for header, value in rule.replay_headers.items())
        yield f"- An answer that is given again is marked {marks}."
    if rule.compares == "nothing":
        yield f"- Compared under the same key: {_COMPARES[rule.compares]}."
    else:
        yield (
            f"- Compared under the same key: {_COMPARES[rule.compares]}. Where they differ: "
            f"{_answer(rule.mismatch, 'the first answer, as if they did not')}."
        )
    yield f"- While the first request runs, another one gets {_answer(rule.concurrent, 'through, undetected')}."
    if rule.max_length is not None:
        yield f"- A key of more than {rule.max_length} characters gets {_answer(rule.too_long, 'refused')}."


def _natural_key(rule: NaturalKeyRule) -> Iterator[str]:
    yield f"- A repeat is what has the same {', '.join(f'`{path}`' for path in rule.paths)}."
    if rule.operations:
        yield f"- Looked at by {', '.join(f'`{operation}`' for operation in rule.operations)}."
    for field, values in rule.unless.items():
        yield f"- Objects no longer count once `{field}` is {' or '.join(f'`{value}`' for value in values)}."
    yield f"- A repeat gets {_answer(rule.answer, '200 and the object that exists')}; nothing is made."


def _answer(answer: AnswerSpec | None, otherwise: str) -> str:
    if answer is None:
        return otherwise
    return f"{answer.status} and `{json.dumps(answer.body)}`" if answer.body is not None else f"{answer.status}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "for ever"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        # A day is said as 24 hours, as services do.
        if seconds >= size and seconds % size == 0 and (size != 86400 or seconds > 86400):
            number = round(seconds / size)
            return f"for {number} {unit}{'' if number == 1 else 's'}"
    return f"for {seconds:g} seconds"


def _sources(profile: Profile) -> Iterator[str]:
    known = [source for source in profile.sources if source.grade != "unknown"]
    unknown = [source for source in profile.sources if source.grade == "unknown"]
    yield "| fact | grade | date |"
    yield "|---|---|---|"
    for source in known:
        where = f"[{source.date}](<{source.url}>)" if source.url else source.date
        yield _row(source.claim, f"`{source.grade}`", where)
    if unknown:
        yield ""
        yield f"**Not known** of {profile.title}:"
        yield ""
        for source in unknown:
            yield f"- {source.claim} ({source.date})"


def _row(*cells: str) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    return "<br>".join(line.strip() for line in text.strip().splitlines()).replace("|", "\\|")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def main() -> int:
    """Write the catalogue, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it would change")
    options = parser.parse_args()
    text = catalogue()
    if options.check:
        if CATALOGUE.exists() and CATALOGUE.read_text(encoding="utf-8") == text:
            return 0
        print("docs/targets.md is not up to date: python docs/make_targets.py", file=sys.stderr)
        return 1
    CATALOGUE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
