"""The stateful test builds valid schedules, and fails at the smallest that is red."""

from __future__ import annotations

import contextlib

import pytest
from fakes import POINTS, FakeWorker, has
from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule, run_state_machine_as_test

from ackgap.errors import HarnessFailed
from ackgap.model.boundary import CrashPoint
from ackgap.model.manner import FaultKind, Manner
from ackgap.model.verdict import VerdictKind
from ackgap.search.machine import CrashTest, ScheduleMachine

SETTINGS = settings(
    max_examples=200, stateful_step_count=8, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


def machine_of(worker, base=ScheduleMachine, max_faults=3):
    points = tuple(map(CrashPoint.parse, POINTS))
    more = {"run": staticmethod(worker), "points": points, "later": points, "max_faults": max_faults, "results": {}}
    return type("Machine", (base,), more)


def ran(judge, **more):
    worker = FakeWorker(judge)
    run_state_machine_as_test(machine_of(worker, **more), settings=SETTINGS)
    return worker.ran


def test_schedules_of_every_kind_are_built_and_each_is_run_once():
    schedules = ran(lambda schedule: VerdictKind.OK)
    assert len(schedules) == len(set(schedules))
    assert max(len(schedule.faults) for schedule in schedules) == 3
    kinds = {fault.kind for schedule in schedules for fault in schedule.faults}
    assert kinds == {
        FaultKind.KILL,
        FaultKind.PAUSE,
        FaultKind.LOSE,
        FaultKind.FAIL,
        FaultKind.TWICE,
        FaultKind.RESET,
    }
    assert any(fault.down_s for schedule in schedules for fault in schedule.faults)
    assert any(has(schedule, "2.kill@mail.send#1:applied") or schedule.depth > 1 for schedule in schedules)


def test_it_fails_at_the_smallest_red_schedule_with_the_way_to_see_it_again():
    def judge(schedule):
        return VerdictKind.DUPLICATE if "mail.send#1:applied" in str(schedule) else VerdictKind.OK

    with pytest.raises(AssertionError) as caught:
        ran(judge)
    text = str(caught.value)
    assert "duplicate" in text
    assert "1. mail.send#1:applied, " in text
    assert "2. " not in text
    assert "ackgap replay " in text
    assert "mail.send#1:applied" in text.partition("ackgap replay ")[2].partition("@default")[0]


def test_rules_of_ones_own_are_taken():
    class Looping(ScheduleMachine):
        @rule()
        def crash_loop(self):
            self.do(POINTS[0], Manner(lives=3))

    schedules = ran(lambda schedule: VerdictKind.OK, base=Looping)
    assert any(fault.manner.lives == 3 for schedule in schedules for fault in schedule.faults)


def test_a_harness_that_fails_is_not_taken_for_a_finding():
    worker = FakeWorker(lambda schedule: VerdictKind.OK)

    def run(schedule):
        worker(schedule)
        raise HarnessFailed("a slot died", next_step="look for memory")

    class Test(CrashTest):
        settings = SETTINGS

        def machine(self):
            return contextlib.nullcontext(machine_of(run))

    with pytest.raises(AssertionError, match="ackgap: a slot died") as caught:
        Test().runTest()
    assert caught.value.__cause__ is None
    assert len(worker.ran) == 1
