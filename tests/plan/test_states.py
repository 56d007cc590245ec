"""Which crash points leave the same state behind, and where that is not certain."""

from __future__ import annotations

from dataclasses import replace

import pytest
from notation import h

from ackgap.model.boundary import BoundaryKind, Phase
from ackgap.model.event import BoundaryReached, FaultInjected, InjectorReady, Note
from ackgap.model.history import History
from ackgap.model.manner import Manner
from ackgap.plan.states import common_states, crash_states, leaves_only_state, state_at_death

GAP = "READY(unmoved) [intent] search.query tickets.create [journal]"


def peace(text: str) -> History:
    return h(f"1> {text} DONE").history


def classes(history: History, incarnation: int = 1) -> list[list[str]]:
    """Return points by state, in order; only what is certain."""
    groups: dict[object, list[str]] = {}
    for point, state in crash_states(history, incarnation).items():
        groups.setdefault(state, []).append(point)
    return list(groups.values())


def changed(history: History, kind: type, which=lambda _event: True, **values: object) -> History:
    """Return the history with other values in some of its events."""
    return History(
        tuple(replace(event, **values) if isinstance(event, kind) and which(event) else event for event in history)
    )


def test_the_acknowledgment_gap_is_one_state_and_so_is_what_lies_before_the_next_effect():
    assert classes(peace(GAP)) == [
        ["intent#1:committing"],
        ["intent#1:committed", "search.query#1:sending", "search.query#1:received"],
        [
            "search.query#1:applied",
            "search.query#1:returned",
            "tickets.create#1:sending",
            "tickets.create#1:received",
        ],
        ["tickets.create#1:applied", "tickets.create#1:returned", "journal#1:committing"],
        ["journal#1:committed"],
    ]


def test_a_read_between_two_points_keeps_them_apart():
    points = classes(peace("READY(unmoved) [intent] tickets.find tickets.create"))
    assert ["intent#1:committed"] in points
    assert ["tickets.create#1:sending", "tickets.create#1:received"] in points


def test_a_write_that_the_digest_does_not_show_keeps_points_apart():
    history = changed(peace("READY(unmoved) tickets.create [journal]"), BoundaryReached, store_digest="blind")
    assert ["journal#1:committed"] in classes(history)


def test_nothing_is_certain_without_a_digest_or_without_hooks():
    assert crash_states(changed(peace(GAP), BoundaryReached, store_digest="")) == {}
    assert crash_states(h("1> tickets.create DONE", hooks=False).history) == {}


@pytest.mark.parametrize(
    "values",
    [{"overlapped": True}, {"blocks_loop": True}, {"beside": ("other#1",)}, {"phase": Phase.STREAM_HALF}],
    ids=lambda values: next(iter(values)),
)
def test_a_point_that_is_not_simple_has_no_state(values):
    history = peace("READY(unmoved) tickets.create [journal]")
    assert "journal#1:committing" in crash_states(history)
    history = changed(history, BoundaryReached, lambda event: event.point_text == "journal#1:committing", **values)
    assert "journal#1:committing" not in crash_states(history)


def test_points_beside_a_call_that_is_under_way_have_no_state():
    history = peace("READY(unmoved) tickets.create:received notify.send tickets.create#1 [journal]")
    states = crash_states(history)
    assert not any(point.startswith("notify.send") for point in states)
    assert "tickets.create#1:sending" in states
    assert "journal#1:committing" in states


def test_points_beside_a_write_that_has_not_landed_have_no_state():
    history = peace("READY(unmoved) [a]:committing tickets.create")
    other = replace(history.passages[0], name="b", seq=0, boundary_kind=BoundaryKind.CHECKPOINT)
    events = list(history)
    events.insert(events.index(history.passages[0]) + 1, other)
    assert classes(History(tuple(events))) == [["a#1:committing"]]


def test_several_processes_and_time_that_goes_by_leave_nothing_certain():
    history = peace(GAP)
    ready = history.of(InjectorReady)[0]
    assert crash_states(History((*history, replace(ready, pid=7)))) == {}
    passed = Note(seq=99, at_s=1.0, code="time_passed", text="72 virtual hours go by")
    assert crash_states(History((*history, passed))) == {}
    assert state_at_death(History((*h("1> READY(unmoved) [intent] KILL").history, passed))) is None


def test_a_recovery_that_has_changed_nothing_stands_in_the_state_of_the_death():
    history = h(
        "1> READY(unmoved) [intent] tickets.create:applied KILL 2> READY(unmoved) tickets.create [journal] DONE"
    ).history
    dead = state_at_death(history)
    assert dead is not None
    recovery = crash_states(history, 2)
    assert [point for point, state in recovery.items() if state == dead] == [
        "tickets.create#1:sending",
        "tickets.create#1:received",
    ]
    assert crash_states(history, 1)["tickets.create#1:applied"] == dead


@pytest.mark.parametrize("text", ["KILL(quiet)", "KILL(unsettled)"])
def test_the_state_at_a_death_is_certain_only_where_it_was_settled(text):
    assert state_at_death(h(f"1> READY(unmoved) [intent] {text}").history) is None


def test_siblings_that_stood_parked_at_a_death_leave_its_state_uncertain():
    history = h("1> READY(unmoved) [intent] KILL").history
    assert state_at_death(history) is not None
    assert state_at_death(changed(history, FaultInjected, parked_siblings=("a.b#1:sending",))) is None


def test_a_write_that_landed_while_the_fault_settled_leaves_the_state_uncertain():
    history = h("1> READY(unmoved) [intent] tickets.create:applied KILL").history
    struck = history.faults[0]
    assert state_at_death(history) is not None
    assert state_at_death(changed(history, FaultInjected, store_digest="later")) is None
    landed = replace(history.passages[1], name="behind", phase=Phase.COMMITTED, seq=0)
    events = list(history)
    events.insert(events.index(struck), landed)
    assert state_at_death(History(tuple(events))) is None


def common(text: str, point: str, life: int, *, lives_alike: bool = True):
    """Return the state at a point as other runs can have it; the store says the same everywhere."""
    history = changed(h(text).history, BoundaryReached, masked_digest="the same")
    return common_states(history, life, lives_alike=lives_alike)[point]


WITHOUT_A_CRASH = "1> READY(unmoved) [a] search.query tickets.create DONE"


def test_a_recovery_after_a_death_that_left_nothing_unrecorded_has_the_states_of_any_other_run():
    recovered = "1> READY(unmoved) [a] KILL 2> READY(unmoved) search.query tickets.create DONE"
    for point in ("search.query#1:sending", "search.query#1:applied", "tickets.create#1:returned"):
        assert common(recovered, point, 2) == common(WITHOUT_A_CRASH, point, 1)
        assert common(recovered, point, 2, lives_alike=False) != common(WITHOUT_A_CRASH, point, 1, lives_alike=False)


@pytest.mark.parametrize(
    "text",
    [
        "1> READY(unmoved) [a] search.query:applied KILL 2> READY(unmoved) tickets.create DONE",  # not recorded
        "1> READY(unmoved) [a] search.query KILL 2> READY(unmoved) search.query tickets.create DONE",  # paid twice
        "1> READY(unmoved) search.query [a] KILL 2> READY(unmoved) tickets.create DONE",  # in another order
        "1> READY(unmoved) [a] KILL 2> READY(unmoved) [a] search.query tickets.create DONE",  # written twice
        "1> READY(unmoved) [a] KILL 2> READY(unmoved) search.query tickets.create(other) DONE",  # something else
        "1> READY(unmoved) [a] KILL 2> READY(unmoved) search.query tickets.create(4471,key=k1) DONE",  # another key
    ],
)
def test_another_past_is_another_state_in_another_run(text):
    point = "tickets.create#1:applied"
    assert common(text, point, 2) != common(WITHOUT_A_CRASH, point, 1)


def test_without_a_masked_digest_no_state_is_known_to_other_runs():
    assert common_states(h(WITHOUT_A_CRASH).history) == {}


def test_no_other_life_may_be_there():
    history = h("1> READY(unmoved) [intent] PAUSE 2> READY(unmoved) tickets.create [journal] DONE").history
    assert crash_states(history, 2) == {}


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("kill", True),
        ("kill,down=72h", True),
        ("kill,stale=1h", True),
        ("kill,lives=3", False),
        ("kill,heirs=2", False),
        ("kill,release=next", False),
        ("kill,unsettled=5", False),
        ("kill,without=db", False),
        ("term", False),
        ("pause", False),
        ("lose", False),
        ("twice", False),
        ("hold,until=a#1", False),
    ],
)
def test_only_plain_deaths_leave_nothing_but_a_state(text, only):
    assert leaves_only_state(Manner.parse(text)) is only
