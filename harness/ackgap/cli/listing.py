"""`ackgap list` and `ackgap targets`."""

from __future__ import annotations

import argparse

from rich.table import Table
from rich.text import Text

from ackgap import content
from ackgap.campaign.campaign import Selection
from ackgap.report.terminal import make_console
from ackgap.scenario.discover import find_scenario, shipped_scenarios
from ackgap.scenario.load import load_scenario
from ackgap.target.profile import Profile, load_profile

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
    variants = sum(1 for _ in scenario.variants())
    console.print(f"{variants} {'variant' if variants == 1 else 'variants'}. Targets:")
    for target in scenario.targets:
        console.print(f"  {target.name}: {target.profile}")
    for part in scenario.slices:
        selection = Selection(variants=part.variants)
        count = sum(1 for variant in scenario.variants() if selection.has(variant))
        console.print(f"Slice {part.name}: {count} variants, points {', '.join(part.points) or 'all'}")
    return 0


def targets(options: argparse.Namespace) -> int:
    """List the profiles, or explain one."""
    console = make_console()
    if options.name is None:
        table = _table("profile", "what it is", "protections")
        for name in content.profile_names():
            profile = load_profile(name)
            table.add_row(name, Text(profile.title), Text(", ".join(profile.protections)))
        console.print(table)
        return 0
    _explain(load_profile(options.name))
    return 0


def _explain(profile: Profile) -> None:
    console = make_console()
    console.print(Text(f"{profile.name}: {profile.title}", style="bold"))
    console.print(Text(profile.about))
    if profile.operations:
        table = _table("operation", "request", "what it does", "identity")
        for operation in profile.operations:
            does = "effect" if operation.effect else "paid read" if operation.paid else "read"
            if operation.paid:
                does += f", {operation.price:g} {profile.currency}"
            table.add_row(
                operation.name, f"{'|'.join(operation.methods)} {operation.path}", does, ", ".join(operation.identity)
            )
        console.print(table)
    table = _table("protection", "how it treats repeats")
    for protection in profile.protections.values():
        mark = " (default)" if protection.name == profile.default_protection else ""
        table.add_row(protection.name + mark, Text(protection.title))
    console.print(table)
    for source in profile.sources:
        console.print(Text(f"[{source.grade}] {source.claim}  {source.url} ({source.date})", style="dim"))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, style="", header_style="dim", overflow="fold")
    return table
