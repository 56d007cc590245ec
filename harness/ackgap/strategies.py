"""Hypothesis strategies of schedules, for tests of your own.

    from hypothesis import given
    from ackgap.strategies import schedules

    @given(schedules(["tickets.create#1:applied", "tickets.create#1:returned"], max_faults=2))
    def test_something(schedule): ...

`crash_machine` makes a stateful test out of a scenario, whose rules build a schedule step by step.
"""

from __future__ import annotations

from ackgap.search.drawing import (
    DEFAULT_KINDS,
    MannerOptions,
    Points,
    crash_points,
    every_manner,
    faults,
    manners,
    schedules,
)
from ackgap.search.machine import ScheduleMachine, crash_machine

__all__ = [
    "DEFAULT_KINDS",
    "MannerOptions",
    "Points",
    "ScheduleMachine",
    "crash_machine",
    "crash_points",
    "every_manner",
    "faults",
    "manners",
    "schedules",
]
