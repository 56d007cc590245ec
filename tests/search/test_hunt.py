"""The hunt finds what is planted, shrinks it to the shortest, says what of it matters, and does the same again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import POINTS, FakeWorker, has

from ackgap.errors import HarnessFailed
from ackgap.model.boundary import BoundaryKind, CrashPoint
from ackgap.model.event import BoundaryReached, Injector
from ackgap.model.history import History
from ackgap.model.manner import Manner
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.search.hunt import Effort, hunt

OK, DUPLICATE, LOST = VerdictKind.OK, VerdictKind.DUPLICATE, VerdictKind.LOST

CALLS = tuple(f"{name}#1:applied" for name in ("desk.open", "desk.note", "mail.send", "bank.pay", "desk.close"))
"""Five calls, of which each can be struck by a kill or lose its answer: ten faults, in whichever life."""


def planted(schedule: Schedule) -> VerdictKind:
    lost = any(fault.kind == "lose" and fault.point.name == "mail.send" for fault in schedule.faults)
    killed = any(fault.kind == "kill" and fault.point.name == "desk.close" for fault in schedule.faults)
    return DUPLICATE if lost and killed else OK


@pytest.mark.parametrize("seed", range(20))
def test_of_ten_faults_the_two_that_matter_come_out(seed):
    worker = FakeWorker(planted)
    effort = Effort(seed=seed, examples=2_000, shrinks=300, max_faults=10, options={"kinds": ("kill", "lose")})
    found = hunt(worker, CALLS, effort)
    assert found.smallest is not None
    assert found.shrunk
    faults = found.smallest.schedule.faults
    assert {f"{fault.kind}@{fault.point}" for fault in faults} == {
        "lose@mail.send#1:applied",
        "kill@desk.close#1:applied",
    }
    assert len(faults) == 2
    again = [schedule for schedule in set(worker.ran) if worker.ran.count(schedule) > 1]
    assert again == [found.smallest.schedule]


EFFORT = Effort(examples=500, shrinks=300, max_faults=4, options={"kinds": ("kill", "lose"), "downs_s": (0.0, 3600.0)})


def test_the_same_seed_makes_the_same_search_and_another_seed_another_one():
    def ran(seed: int) -> list[Schedule]:
        worker = FakeWorker(planted)
        hunt(worker, CALLS, replace(EFFORT, seed=seed, max_faults=8))
        return worker.ran

    assert ran(1) == ran(1)
    assert ran(1) != ran(2)


def test_it_says_what_of_the_smallest_schedule_matters():
    def judge(schedule: Schedule) -> VerdictKind:
        late = [fault for fault in schedule.faults if fault.down_s >= 86400 and fault.point.name == "mail.send"]
        return DUPLICATE if late else OK

    options = {"kinds": ("kill", "pause"), "downs_s": (0.0, 259_200.0)}
    found = hunt(FakeWorker(judge), POINTS, replace(EFFORT, options=options))
    assert found.smallest is not None
    assert found.smallest.schedule.label == "kill@mail.send#1:sending,down=3d"
    parts = {part.what: part for part in found.parts}
    assert parts["down"].matters is True
    assert dict(parts["down"].tried) == {"left out": OK, "1h": OK, "30d": DUPLICATE}
    assert parts["phase"].matters is False
    assert [other for other, _ in parts["phase"].tried] == ["received", "applied", "returned"]
    assert parts["boundary"].matters is True
    assert parts["kind"].matters is False
    assert parts["kind"].tried == (("pause,down=3d", DUPLICATE),)
    assert "fault" not in parts


def test_a_kind_that_takes_no_such_option_says_nothing_about_the_kind():
    """A lost answer takes no `down`: without it two things would be others at once."""

    def judge(schedule: Schedule) -> VerdictKind:
        return DUPLICATE if any(fault.down_s >= 86400 for fault in schedule.faults) else OK

    options = {"kinds": ("kill", "lose", "twice", "fail"), "more": (Manner(down_s=259_200.0),)}
    for points in (POINTS[2:3], POINTS):
        worker = FakeWorker(judge)
        found = hunt(worker, points, replace(EFFORT, options=options))
        assert found.smallest is not None
        assert found.smallest.schedule.label == f"kill@{points[0]},down=3d"
        parts = {part.what: part for part in found.parts}
        assert parts["down"].matters is True
        assert "kind" not in parts


def late_after_the_call(schedule: Schedule) -> VerdictKind:
    """Red three days after the ticket is there, whoever knows of it."""
    there = ("tickets.create#1:applied", "tickets.create#1:returned")
    return DUPLICATE if any(f.down_s >= 86400 and str(f.point) in there for f in schedule.faults) else OK


@pytest.mark.parametrize("seed", range(10))
def test_no_schedule_that_ran_and_did_the_same_is_smaller_than_the_result(seed):
    """Other points have other faults to choose from, so that Hypothesis does not come to the same one earlier."""
    options = {"more": (Manner(down_s=259_200.0),)}
    worker = FakeWorker(late_after_the_call)
    found = hunt(worker, POINTS, replace(EFFORT, seed=seed, options=options))
    assert found.smallest is not None
    assert found.shrunk
    assert found.smallest.schedule.label == "kill@tickets.create#1:applied,down=3d"


def test_where_a_part_turns_out_to_do_the_same_earlier_that_is_the_result_and_it_goes_on_from_there():
    """No effort is left for shrinking, so it is found only while the parts are told apart."""
    effort = Effort(examples=2, shrinks=1, max_faults=1, options={"kinds": (), "more": (Manner(down_s=259_200.0),)})
    label, found = "", None
    for seed in range(50):  # until the later of the two red ones is drawn
        found = hunt(FakeWorker(late_after_the_call), POINTS[:4], replace(effort, seed=seed))
        label = "" if found.found is None else found.found.schedule.label
        if label == "kill@tickets.create#1:returned,down=3d":
            break
    assert label == "kill@tickets.create#1:returned,down=3d"
    assert found is not None
    assert found.smallest is not None
    assert found.smallest.schedule.label == "kill@tickets.create#1:applied,down=3d"
    assert ("returned", DUPLICATE) in next(part.tried for part in found.parts if part.what == "phase")
    assert not found.shrunk


def test_what_does_not_come_out_each_time_is_said_and_nothing_of_its_parts():
    runs = iter([DUPLICATE, OK, DUPLICATE, VerdictKind.INCONCLUSIVE])
    found = hunt(FakeWorker(planted), CALLS, EFFORT, again=FakeWorker(lambda schedule: next(runs)))
    assert found.smallest is not None
    assert not found.steady
    assert (found.came_out, len(found.again)) == (3, 4)
    assert found.parts == ()


def test_what_comes_out_each_time_was_run_again_without_counting_as_another_schedule():
    again = FakeWorker(planted)
    worker = FakeWorker(planted)
    found = hunt(worker, CALLS, EFFORT, again=again)
    assert found.smallest is not None
    assert found.steady
    assert again.ran == [found.smallest.schedule] * EFFORT.repeats
    assert found.ran == len(set(worker.ran)) - 1 == len(worker.ran) - 1
    assert found.parts


def test_a_fault_that_can_be_left_out_is_left_out():
    found = hunt(FakeWorker(planted), CALLS, replace(EFFORT, options={"kinds": ("kill", "lose")}))
    matter = [part.matters for part in found.parts if part.what == "fault"]
    assert matter
    assert all(matter)


def test_where_nothing_is_red_it_says_how_much_was_run():
    worker = FakeWorker(lambda schedule: OK)
    found = hunt(worker, POINTS, replace(EFFORT, examples=50))
    assert (found.found, found.smallest, found.exhausted) == (None, None, False)
    assert found.drawn == found.ran == 50 == len(set(worker.ran) - {UNDISTURBED})


def test_it_stops_by_itself_where_there_is_nothing_more_to_draw():
    worker = FakeWorker(lambda schedule: OK)
    found = hunt(worker, POINTS[:3], Effort(max_faults=1, examples=100, options={"kinds": ("kill",)}))
    assert found.exhausted
    assert {schedule.label for schedule in worker.ran} == {"undisturbed", *POINTS[:3]}


def test_what_proved_nothing_is_counted_and_is_not_red():
    def judge(schedule: Schedule) -> VerdictKind:
        return VerdictKind.INCONCLUSIVE if schedule.depth > 1 else OK

    found = hunt(FakeWorker(judge), POINTS, replace(EFFORT, examples=60))
    assert found.found is None
    assert 0 < found.proved_nothing < found.ran


def test_little_effort_for_shrinking_is_said():
    found = hunt(FakeWorker(planted), CALLS, replace(EFFORT, shrinks=1, max_faults=10))
    assert found.smallest is not None
    assert not found.shrunk
    assert found.ran <= found.drawn + 1 + EFFORT.variations


def test_a_worker_that_is_red_in_peace_is_not_searched():
    worker = FakeWorker(lambda schedule: DUPLICATE)
    found = hunt(worker, POINTS, EFFORT)
    assert worker.ran == [UNDISTURBED]
    assert found.smallest is not None
    assert found.smallest.schedule == UNDISTURBED


def test_shrinking_keeps_to_the_verdict_and_tells_of_another_one():
    def judge(schedule: Schedule) -> VerdictKind:
        if len(schedule.faults) >= 2 and any(fault.kind == "lose" for fault in schedule.faults):
            return DUPLICATE
        return LOST if has(schedule, "1.kill@mail.send#1:received") else OK

    found = hunt(FakeWorker(judge), POINTS, replace(EFFORT, seed=1))
    assert found.found is not None
    assert found.smallest is not None
    assert found.smallest.verdict.kind is found.found.verdict.kind
    others = {result.verdict.kind for result in found.other_reds}
    assert found.found.verdict.kind not in others
    assert others | {found.found.verdict.kind} == {DUPLICATE, LOST}


def test_points_that_only_a_recovery_has_are_drawn_for_later_lives():
    only = CrashPoint.parse("mail.apologise#1:applied")

    def history(schedule: Schedule) -> tuple:
        if not schedule.faults:
            return ()
        event = BoundaryReached(
            seq=0,
            at_s=0.0,
            incarnation=2,
            name=only.name,
            occurrence=only.occurrence,
            phase=only.phase,
            boundary_kind=BoundaryKind.CALL,
            source=Injector.WIRE,
        )
        return tuple(History(events=(event,)).to_json())

    def judge(schedule: Schedule) -> VerdictKind:
        return DUPLICATE if has(schedule, f"2.kill@{only}") else OK

    worker = FakeWorker(judge, history)
    found = hunt(worker, POINTS, EFFORT)
    assert found.smallest is not None
    assert [str(fault) for fault in found.smallest.schedule.faults][1:] == [f"2.kill@{only}"]
    assert not any(has(schedule, f"1.kill@{only}") for schedule in worker.ran[: found.drawn])


def test_an_error_of_the_runner_ends_the_hunt_as_it_is():
    def judge(schedule: Schedule) -> VerdictKind:
        if schedule.faults:
            raise HarnessFailed("a slot died", next_step="look for memory")
        return OK

    worker = FakeWorker(judge)
    with pytest.raises(HarnessFailed, match="a slot died"):
        hunt(worker, POINTS, EFFORT)
    assert len(worker.ran) == 2


def test_an_interrupt_ends_the_hunt():
    def judge(schedule: Schedule) -> VerdictKind:
        if schedule.faults:
            raise KeyboardInterrupt
        return OK

    with pytest.raises(KeyboardInterrupt):
        hunt(FakeWorker(judge), POINTS, EFFORT)
