"""What of a scenario lies where ackgap does not see it, so that two moments of it cannot be known to be the same."""

from __future__ import annotations

from ackgap.scenario.scenario import Scenario

__all__ = ["out_of_sight"]


def out_of_sight(scenario: Scenario) -> str:
    """Return what is not seen, in words; empty where all of it is."""
    if not scenario.worker.python_injector and scenario.worker.injector != "trace":
        return "no hook in the worker proves that no write is in flight"
    if scenario.services:
        return f"the service {scenario.services[0].name!r} lives on beside the worker, and what it has in memory"
    if scenario.toxics:
        return "what is under way lies in Toxiproxy as well, where ackgap does not look"
    if scenario.client is not None:
        return "the client lives on beside the worker, and waits for an answer or does not"
    if scenario.worker.reset is not None:
        return "a reset command clears state that ackgap does not see"
    real = [target.name for target in scenario.targets if target.upstream is not None or target.replay is not None]
    if real:
        return f"{real[0]} is a real service or a recording of one, whose state ackgap does not see"
    if scenario.worker.allow_write:
        return "the worker may write outside of its cell (allow_write), where ackgap does not look"
    return ""
