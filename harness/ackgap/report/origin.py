"""Where what was run stands: a file of the user's repository and lines in it, for reports that point at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ackgap.model.matrix import Variant
from ackgap.scenario.places import path_in_project, scenario_lines
from ackgap.scenario.scenario import Scenario

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where what was run stands; it is kept with the results, since a report may be made on another machine.

    Attributes:
        file: The scenario's file, or the worker's where there is none; as seen from the root of the repository, never
            from that of the machine. Empty where neither is known.
        lines: In a scenario's file, from 1: `target tickets`, `axis key`, `value key=none`.
    """

    file: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario) -> Origin:
        """Return where a scenario stands, or the worker of a command line."""
        file = Path(scenario.source) if scenario.source else None
        try:
            if file is not None and file.is_file():
                return cls(file=path_in_project(file), lines=dict(_lines(scenario, file)))
            program = next(_programs(scenario), None)
            return cls(file=path_in_project(program)) if program is not None else cls()
        except (OSError, ValueError):  # a name that no file can have, a directory that may not be read
            return cls()

    def line(self, variant: Variant | None = None, operation: str = "") -> int:
        """Return the line that says most about a finding: of the target concerned, else of the variant's last value.

        Args:
            variant: In which it was found.
            operation: That it is about, `<target>.<operation>`; empty where none is.
        """
        target = f"target {operation.partition('.')[0]}"
        if operation and target in self.lines:
            return self.lines[target]
        values = () if variant is None else tuple(reversed(variant.values))
        found = [f"value {axis}={value}" for axis, value in values] + [f"axis {axis}" for axis, _ in values]
        return next((self.lines[name] for name in found if name in self.lines), 1)


def _lines(scenario: Scenario, file: Path) -> Iterator[tuple[str, int]]:
    known = scenario_lines(file)
    wanted: dict[str, tuple[str, ...]]
    wanted = {f"target {target.name}": ("targets", target.name) for target in scenario.targets}
    for axis in scenario.axes:
        wanted[f"axis {axis.name}"] = ("axes", axis.name)
        wanted |= {f"value {axis.name}={each.name}": ("axes", axis.name, "values", each.name) for each in axis.values}
    yield from ((name, known[path]) for name, path in wanted.items() if path in known)


def _programs(scenario: Scenario) -> Iterator[Path]:
    """Yield the files of the worker's own directory that its command names."""
    directory = scenario.worker.directory
    if directory is not None:
        found = (directory / word for word in scenario.worker.command)
        yield from (file for file in found if file.is_file() and file.resolve().is_relative_to(directory.resolve()))
