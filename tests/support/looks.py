"""What `ackgap init` makes of a project, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ackgap.scenario.load import load_scenario
from ackgap.scenario.scenario import Scenario
from ackgap.starting.compose import compose
from ackgap.starting.draft import Draft, Remarks
from ackgap.starting.project import read_project
from ackgap.starting.writing import scenario_text

__all__ = ["Look", "look_at"]


@dataclass
class Look:
    draft: Draft
    remarks: Remarks
    scenario: Scenario
    """As the real loader has it."""
    text: str

    @property
    def env(self) -> dict[str, str]:
        return dict(self.scenario.worker.env)

    @property
    def profiles(self) -> dict[str, str]:
        return {target.name: target.profile for target in self.scenario.targets}

    def said(self, kind: str) -> str:
        pairs = getattr(self.remarks, kind)
        return "\n".join(pair if isinstance(pair, str) else ": ".join(pair) for pair in pairs)


def look_at(directory: Path, command: str | None = None) -> Look:
    draft, remarks = compose(read_project(directory), command)
    text = scenario_text(draft)
    file = directory / "scenario.toml"
    file.write_text(text)
    try:
        return Look(draft, remarks, load_scenario(file), text)
    finally:
        file.unlink()
