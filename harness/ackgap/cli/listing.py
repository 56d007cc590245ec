"""`ackgap list` and `ackgap targets`."""

from __future__ import annotations

import argparse
import json
import math
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ackgap import content
from ackgap.campaign.selection import Selection
from ackgap.errors import UsageInvalid
from ackgap.report.plain import plain
from ackgap.report.terminal import make_console
from ackgap.scenario.discover import find_scenario, shipped_scenarios
from ackgap.scenario.load import load_scenario
from ackgap.target.profiles.describe import (
    KINDS,
    answer_in_words,
    effect_in_words,
    grades_of,
    kind_of,
    lookup_in_words,
    rules_in_words,
)
from ackgap.target.profiles.profile import Profile, load_profile

__all__ = ["scenarios", "targets"]


def scenarios(options: argparse.Namespace) -> int:
    """List the shipped scenarios, or show the axes of one."""
    console = make_console()
    if options.scenario is None:
        table = _table("scenario", "what it is")
        for name, folder in shipped_scenarios().items():
            table.add_row(name, Text(load_scenario(folder).title))
        console.print(table)
        return 0
    scenario = load_scenario(find_scenario(options.scenario))
    console.print(Text(scenario.title or scenario.name, style="bold"))
    console.print(Text(scenario.about))
    table = _table("axis", "value", "what it means")
    for axis in scenario.axes:
        for place, value in enumerate(axis.values):
            table.add_row(axis.name if place == 0 else "", value.name, Text(value.about))
    if scenario.axes:
        console.print(table)
    variants = math.prod(len(axis.values) for axis in scenario.axes)
    console.print(f"{variants} {'variant' if variants == 1 else 'variants'}. Targets:")
    for target in scenario.targets:
        console.print(f"  {target.name}: {target.profile}")
    for part in scenario.slices:
        selection = Selection(variants=part.variants)
        count = sum(1 for _ in selection.variants_of(scenario))
        console.print(f"Slice {part.name}: {count} variants, points {', '.join(part.points) or 'all'}")
    return 0


def targets(options: argparse.Namespace) -> int:
    """List the profiles, explain one, print its file, or check one of the user's own."""
    if options.check is not None:
        return _check(options)
    if options.name is None:
        if options.toml:
            raise UsageInvalid(
                "--toml needs the name of a profile.", where="--toml", next_step="Write ackgap targets NAME --toml."
            )
        _catalogue(make_console())
        return 0
    if options.toml:
        sys.stdout.write(content.find_profile(options.name).read_text(encoding="utf-8"))
        return 0
    _explain(make_console(), load_profile(options.name))
    return 0


def _check(options: argparse.Namespace) -> int:
    if options.name is not None:
        raise UsageInvalid(
            f"--check takes one file, and {options.name!r} is another word.",
            where="--check",
            next_step="Write ackgap targets --check FILE.",
        )
    file = options.check if "/" in options.check else f"./{options.check}"
    profile = load_profile(file)
    counts = [
        f"{count} {noun}{'' if count == 1 else 's'}"
        for count, noun in (
            (len(profile.operations), "operation"),
            (len(profile.protections), "protection"),
            (len(profile.sources), "source"),
        )
    ]
    make_console().print(Text(f"{options.check}: {plain(profile.name)} can be served: {', '.join(counts)}."))
    return 0


def _catalogue(console: Console) -> None:
    profiles = [load_profile(name) for name in content.profile_names()]
    for kind in KINDS:
        table = _table("profile", "what it is", "repeats, by default", "facts")
        for profile in profiles:
            if kind_of(profile) == kind:
                default = profile.protections[profile.default_protection]
                facts = ", ".join(f"{count} {grade}" for grade, count in grades_of(profile).items())
                table.add_row(profile.name, Text(profile.title), Text(default.title), Text(facts, style="dim"))
        console.print(Text(kind, style="bold"))
        console.print(table)
        console.print()
    console.print(Text("`ackgap targets NAME` explains one; `ackgap serve NAME` serves it alone.", style="dim"))


def _explain(console: Console, profile: Profile) -> None:
    """Print everything that a profile says. Its texts may be anybody's, so they are made harmless first."""
    _say(console, f"{profile.name}: {profile.title}", "bold")
    _say(console, " ".join(profile.about.split()))
    _heading(console, "Operations")
    if profile.operations:
        table = _table("operation", "request", "effect", "what makes two the same")
        for operation in profile.operations:
            identity = ", ".join(operation.identity) or ("learned" if operation.effect else "")
            table.add_row(
                plain(operation.name),
                plain(f"{'|'.join(operation.methods)} {operation.path}"),
                plain(effect_in_words(operation, profile)),
                plain(identity),
            )
        console.print(table)
        for operation in profile.operations:
            for line in lookup_in_words(operation):
                _item(console, f"{operation.name}: {line}")
    else:
        _say(console, "Named as they are seen, such as POST/tickets or DELETE/tickets/{id}.")
    for protection in profile.protections.values():
        mark = " (default)" if protection.name == profile.default_protection else ""
        _heading(console, f"Protection {protection.name}{mark}: {protection.title}")
        groups = rules_in_words(profile, protection)
        for names, lines in groups:
            if len(groups) > 1:
                _say(console, f"{', '.join(names)}: {'' if lines else 'every request acts'}")
            for line in lines:
                _item(console, line)
        for axis, served in protection.unknown.items():
            _item(console, f"not known: {axis}: {served}")
    if profile.settings:
        _heading(console, "Settings")
        for setting in profile.settings.values():
            choices = f" One of {', '.join(map(str, setting.choices))}." if setting.choices else ""
            _item(
                console, f"{setting.name} = {json.dumps(setting.default)}: {' '.join(setting.about.split())}{choices}"
            )
    if profile.errors:
        _heading(console, "Errors")
        for name, answer in profile.errors.items():
            _item(console, f"{name}: {answer_in_words(answer)}")
    _sources(console, profile)


def _sources(console: Console, profile: Profile) -> None:
    _heading(console, "Sources")
    for source in profile.sources:
        if source.grade != "unknown":
            _item(console, source.claim)
            where = f"    {source.grade}, {source.date}{f', {source.url}' if source.url else ''}"
            console.print(Text(plain(where), style="dim"), soft_wrap=True)  # an address that is cut leads nowhere
    unknown = [source for source in profile.sources if source.grade == "unknown"]
    if unknown:
        _heading(console, "Not known; the weakest reading is served")
        for source in unknown:
            _item(console, f"{source.claim} ({source.date})")


def _heading(console: Console, text: str) -> None:
    console.print()
    _say(console, text, "bold")


def _item(console: Console, text: str) -> None:
    table = Table.grid(padding=(0, 1))
    table.add_row("  -", Text(plain(text).replace("`", "")))
    console.print(table)


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(plain(text), style=style))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, style="", header_style="dim", overflow="fold")
    return table
