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
from ackgap.target.profiles.describe import (
    GRADES,
    KINDS,
    answer_in_words,
    effect_in_words,
    grades_of,
    kind_of,
    lookup_in_words,
    rules_in_words,
)
from ackgap.target.profiles.profile import Profile, load_profile
from ackgap.target.profiles.rules import Protection

CATALOGUE = Path(__file__).with_name("targets.md")


def catalogue() -> str:
    """Return the text of docs/targets.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    profiles = [load_profile(name) for name in profile_names()]
    yield "# Targets"
    yield ""
    yield "<!-- Written by docs/make_targets.py from targets/*.toml. Change those, then run it again. -->"
    yield ""
    yield "The fake services that ship with ackgap. `ackgap targets NAME` shows one in the terminal, and"
    yield "`ackgap serve NAME` serves it alone, for developing an agent against it."
    yield ""
    yield "A profile of your own is one TOML file outside the package, named by its path where a profile is named:"
    yield "`--target desk=./desk.toml`. Begin with a copy, `ackgap targets case-management --toml > desk.toml`, and let"
    yield "`ackgap targets --check desk.toml` say what is wrong with it. Every key, and a short example of a service"
    yield "that only one company has, are in [writing a profile](writing-a-profile.md)."
    yield ""
    yield "**Through MCP.** Each of them but `any` is an MCP server as well, below `/mcp` on its own port"
    yield "(`{NAME.mcp}` in a scenario): every operation below is a tool, named with `_` for every dot, such as"
    yield "`payments_create`. A call of a tool is the request of its operation, under the same rules for repeats and in"
    yield "the same ledger. See"
    yield "[Tools](writing-a-scenario.md#tools-mcp)."
    for kind in KINDS:
        yield ""
        yield f"{kind}:"
        yield ""
        yield "| profile | what it is | repeats, by default | other protections | facts |"
        yield "|---|---|---|---|---|"
        for profile in profiles:
            if kind_of(profile) != kind:
                continue
            default = profile.protections[profile.default_protection]
            others = ", ".join(f"`{name}`" for name in profile.protections if name != default.name)
            grades = ", ".join(f"{count} {grade}" for grade, count in grades_of(profile).items())
            yield _row(f"[`{profile.name}`](#{profile.name})", profile.title, default.title, others, grades)
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
        yield from _rules(protection, profile)
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
    if profile.errors:
        yield ""
        yield f"### {profile.name}: errors"
        yield ""
        yield "| error | answer |"
        yield "|---|---|"
        for name, answer in profile.errors.items():
            yield _row(f"`{name}`", answer_in_words(answer))
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
        yield _row(f"`{operation.name}`", request, effect_in_words(operation, profile), identity)
    for operation in profile.operations:
        lookup = lookup_in_words(operation)
        if lookup:
            yield ""
            yield f"`{operation.name}`: {' '.join(lookup)}"
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


def _rules(protection: Protection, profile: Profile) -> Iterator[str]:
    """Yield blocks of lines, each with an empty line before it."""
    groups = rules_in_words(profile, protection)
    guarded = [(names, lines) for names, lines in groups if lines]
    for names, lines in guarded:
        if len(groups) > 1:
            yield ""
            yield f"{', '.join(f'`{name}`' for name in names)}:"
        yield ""
        yield from (f"- {line}" for line in lines)
    unguarded = [f"`{name}`" for names, lines in groups if not lines for name in names]
    if guarded and unguarded:
        yield ""
        yield f"Not protected by it: {', '.join(unguarded)}."
    if protection.unknown:
        yield ""
        yield "Not known of it:"
        yield ""
        yield from (f"- `{axis}`: {served}" for axis, served in protection.unknown.items())


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
