"""Where equal crash states may be taken for one: what a cell depends on has to be in the state."""

from __future__ import annotations

from collections.abc import Mapping

from ackgap.scenario.scenario import Scenario
from ackgap.target.profiles.profile import Profile

__all__ = ["lives_alike", "why_not_pruned"]

_MODELS = frozenset({"chat", "responses", "messages"})
"""What operations of scripted models do: they word a thing otherwise in each life."""


def why_not_pruned(scenario: Scenario) -> str:
    """Return why no two points of a scenario are known to lead to the same state; empty where they may be."""
    if not scenario.worker.python_injector:
        return "no hook in the worker proves that no write is in flight"
    if scenario.services:
        return f"the service {scenario.services[0].name!r} lives on beside the worker, and what it has in memory"
    if scenario.client is not None:
        return "the client lives on beside the worker, and waits for an answer or does not"
    if scenario.worker.reset is not None:
        return "a reset command clears state that ackgap does not see"
    real = [target.name for target in scenario.targets if target.upstream is not None or target.replay is not None]
    if real:
        return f"{real[0]} is a real service or a recording of one, whose state ackgap does not see"
    if scenario.worker.allow_write:
        return "the worker may write outside of its cell (allow_write), where ackgap does not look"
    if scenario.checks:
        return f"the check {scenario.checks[0].name!r} may look at anything in a history"
    return ""


def lives_alike(profiles: Mapping[str, Profile]) -> bool:
    """Whether targets do the same whatever the number of a life is."""
    return not any(operation.does in _MODELS for profile in profiles.values() for operation in profile.operations)
