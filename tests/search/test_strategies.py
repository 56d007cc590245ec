"""Whatever the public strategies draw is valid, reads itself back, and shrinks to what is simplest."""

from __future__ import annotations

import pytest
from fakes import POINTS
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from ackgap.model.boundary import CrashPoint, Phase
from ackgap.model.manner import FaultKind, Manner
from ackgap.model.schedule import Fault, Schedule
from ackgap.strategies import crash_points, every_manner, faults, manners, schedules

EVERYTHING = {
    "kinds": tuple(FaultKind),
    "downs_s": (0.0, 259_200.0, 90.5),
    "stales_s": (0.0, 3600.0),
    "statuses": (503, 429),
    "lates_s": (30.0, 0.25),
    "lives": (1, 3),
    "heirs": (1, 2),
    "withouts": ("", "db"),
    "releases": ("", "next"),
    "toxics": ("cut-answer", "db-gone"),
}
NAMES = st.from_regex(r"[a-z][a-z._-]{0,8}", fullmatch=True)
POINT_LISTS = st.lists(
    st.builds(CrashPoint, name=NAMES, occurrence=st.integers(1, 4), phase=st.sampled_from(Phase)),
    min_size=1,
    max_size=6,
)
FAST = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


@FAST
@given(st.data(), POINT_LISTS, POINT_LISTS, st.integers(1, 5))
def test_every_drawn_schedule_is_valid_and_reads_itself_back(data, first, later, most):
    schedule = data.draw(schedules({1: first, 2: later}, max_faults=most, **EVERYTHING))
    assert 1 <= len(schedule.faults) <= most
    assert Schedule.parse(str(schedule)) == schedule
    assert Schedule.parse(schedule.label) == schedule
    for fault in schedule.faults:
        assert fault.point in (first if fault.incarnation == 1 else later)


@FAST
@given(schedules(POINTS, max_faults=4, **EVERYTHING))
def test_a_life_after_one_that_ended_is_the_next_one(schedule):
    for before, after in zip(schedule.by_life, schedule.by_life[1:], strict=False):
        assert before.incarnation <= after.incarnation <= before.incarnation + 1
        assert after.incarnation > before.incarnation or not before.kind.strikes_worker


@FAST
@given(schedules(POINTS, max_faults=4, **EVERYTHING), st.randoms())
def test_the_faults_of_a_schedule_stand_in_one_order(schedule, random):
    from ackgap.search.drawing import ordered

    faults = list(schedule.faults)
    random.shuffle(faults)
    assert ordered(faults) == schedule


@FAST
@given(st.data())
def test_a_fault_is_one_that_can_be_done_at_its_point(data):
    fault = data.draw(faults(POINTS, 2, **EVERYTHING))
    assert fault.incarnation == 2
    assert fault.manner.strikes_at(fault.point)
    assert fault.manner.until != str(fault.point.boundary)


def simplest(strategy, condition=lambda _: True):
    return str(find(strategy, condition, settings=settings(FAST, max_examples=300)))


def test_everything_shrinks_to_what_is_simplest():
    assert simplest(crash_points(POINTS)) == POINTS[0]
    assert simplest(manners(**EVERYTHING)) == "kill"
    assert simplest(faults(POINTS)) == f"kill@{POINTS[0]}"
    assert simplest(schedules(POINTS, max_faults=5, **EVERYTHING)) == f"1/kill@{POINTS[0]}"
    assert simplest(schedules(POINTS, min_faults=0)) == "1/none"
    two = simplest(schedules(POINTS, max_faults=5, **EVERYTHING), lambda schedule: len(schedule.faults) == 2)
    assert two == f"1/kill@{POINTS[0]};2.kill@{POINTS[0]}"


def test_one_fault_with_options_is_simpler_than_two_without():
    def with_three_options(schedule):
        return any(fault.down_s and fault.manner.stale_s and fault.manner.release for fault in schedule.faults)

    shortest = simplest(schedules(POINTS, max_faults=4, **EVERYTHING), with_three_options)
    assert shortest.count("@") == 1
    assert shortest.startswith(f"1/kill@{POINTS[0]},down=")


def test_at_a_point_the_plainest_manner_comes_first():
    assert [str(manner) for manner in every_manner(kinds=("pause", "kill"), downs_s=(0.0, 3600.0))] == [
        "kill",
        "pause",
        "kill,down=1h",
        "pause,down=1h",
    ]
    more = every_manner(kinds=("lose",), more=(Manner.parse("kill,heirs=2"), Manner.parse("lose")))
    assert [str(manner) for manner in more] == ["lose", "kill,heirs=2"]


def test_a_write_is_held_for_those_of_the_other_writes_that_there_are():
    points = ("a.write#1:committing", "a.write#1:committed", "b.write#1:committing", "b.write#1:committed")
    held = faults(points, kinds=("hold",))
    assert simplest(held) == "hold@a.write#1:committing,until=b.write#1"
    assert simplest(held, lambda fault: fault.point.name == "b.write") == "hold@b.write#1:committing,until=a.write#1"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"points": ["a#1:returned"], "kinds": ("lose",)}, "nothing can be done"),
        ({"points": POINTS, "kinds": ()}, "nothing to draw"),
        ({"points": POINTS, "kinds": ("explode",)}, "explode"),
        ({"points": POINTS, "max_faults": 0}, "max_faults"),
        ({"points": {2: POINTS}}, "first life"),
        ({"points": ["nonsense"]}, "not a crash point"),
    ],
)
def test_what_nothing_can_be_drawn_from_is_refused(options, what):
    points = options.pop("points")
    with pytest.raises(ValueError, match=what):
        schedules(points, **options)


def test_a_fault_of_a_later_life_is_at_a_point_of_that_life():
    later = find(
        schedules({1: POINTS[:2], 2: ["mail.send#2:applied"]}, max_faults=2),
        lambda schedule: len(schedule.faults) == 2,
        settings=FAST,
    )
    assert later.faults[1] == Fault(point=CrashPoint.parse("mail.send#2:applied"), incarnation=2)
