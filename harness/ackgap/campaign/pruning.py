"""Where equal crash states may be taken for one: what a cell depends on has to be in the state."""

from __future__ import annotations

from collections.abc import Mapping

from ackgap.campaign.sight import out_of_sight
from ackgap.scenario.scenario import Scenario
from ackgap.target.profiles.profile import Profile

__all__ = ["lives_alike", "why_not_pruned"]

_MODELS = frozenset({"chat", "responses", "messages"})
"""What operations of scripted models do: they word a thing otherwise in each life."""


def why_not_pruned(scenario: Scenario) -> str:
    """Return why no two points of a scenario are known to lead to the same state; empty where they may be."""
    if reason := out_of_sight(scenario):
        return reason
    if scenario.checks:
        return f"the check {scenario.checks[0].name!r} may look at anything in a history"
    return ""


def lives_alike(profiles: Mapping[str, Profile]) -> bool:
    """Whether targets do the same whatever the number of a life is."""
    return not any(operation.does in _MODELS for profile in profiles.values() for operation in profile.operations)
