"""What is written can be read, and what is not of ours is refused in plain words and in no other way."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from model_strategies import BY_TYPE, EVENTS, FAULTS, JSON, POINTS, SPECIAL, VARIANTS, WORDS, events_of, schedules

from ackgap.model.boundary import CHECKPOINT_PHASES, Boundary, BoundaryKind, CrashPoint, Phase
from ackgap.model.codec import decode, encode, result_from_json, result_to_json
from ackgap.model.event_codec import EVENT_TYPES, event_from_json, event_to_json
from ackgap.model.expectation import ApprovalRule, Expectation, ExpectedEffect, OperationFacts, OrderRule, Proof
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant, cell_id
from ackgap.model.schedule import UNDISTURBED, Fault, Schedule
from ackgap.model.verdict import Attribution, Finding, Verdict, VerdictKind


class Refused(str):
    """What a ValueError said; it is never empty."""

    __slots__ = ()


def or_refusal(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ValueError as error:
        if str(error):
            return Refused(error)
        raise


quick = settings(deadline=None, max_examples=50)

# ----------------------------------------------------------- points, schedules


@quick
@given(POINTS)
@example(CrashPoint(name="a#1:applied", occurrence=1, phase=Phase.SENDING))
@example(CrashPoint(name="kill", occurrence=1, phase=Phase.SENDING))
def test_a_crash_point_is_read_back_from_its_text(point: CrashPoint) -> None:
    assert CrashPoint.parse(str(point)) == point


@quick
@given(schedules())
@example(UNDISTURBED)
@example(Schedule.kill(CrashPoint(name="a", occurrence=1, phase=Phase.SENDING), down_s=1e-7))
@example(Schedule.kill(CrashPoint(name="a", occurrence=1, phase=Phase.SENDING), down_s=5e-324))
@example(Schedule.kill(CrashPoint(name="a", occurrence=1, phase=Phase.SENDING), down_s=86400.0 * 36_499))
def test_a_schedule_is_read_back_from_its_text(schedule: Schedule) -> None:
    assert Schedule.parse(str(schedule)) == schedule
    assert str(Schedule.parse(str(schedule))) == str(schedule)


@quick
@given(schedules(), st.integers(0, 4000))
def test_the_faults_of_a_life_and_the_depth_are_told_without_listing_every_life(schedule: Schedule, life: int) -> None:
    ends = {0, life, *(fault.incarnation + fault.manner.lives for fault in schedule.faults)}
    for number in sorted(ends | {end - 1 for end in ends}):
        assert schedule.faults_in(number) == tuple(one for one in schedule.by_life if one.incarnation == number)
    assert schedule.depth == len([fault for fault in schedule.by_life if fault.kind.strikes_worker])


@quick
@given(st.lists(FAULTS, min_size=1, max_size=1))
def test_a_label_means_the_same_schedule_where_its_names_hold_no_slash(faults: list[Fault]) -> None:
    schedule = Schedule(faults=tuple(faults))
    if "/" not in schedule.label:
        assert Schedule.parse(schedule.label) == schedule


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("tickets.create#1:applied", "1/kill@tickets.create#1:applied"),
        ("kill@tickets.create#1:applied", "1/kill@tickets.create#1:applied"),
        ("kill@tickets.create#1:applied,down=72h", "1/kill@tickets.create#1:applied,down=3d"),
        ("1/kill@a.b#1:applied,down=90s", "1/kill@a.b#1:applied,down=90s"),
        ("1/kill@a.b#1:applied,down=5400s", "1/kill@a.b#1:applied,down=90m"),
        ("1/kill@a.b#1:applied,down=0.5s", "1/kill@a.b#1:applied,down=0.5s"),
        ("pause@a.b#1:sending;2.kill@c#2:committed", "1/pause@a.b#1:sending;2.kill@c#2:committed"),
        ("crm.POST/leads/{id}#1:applied", "1/kill@crm.POST/leads/{id}#1:applied"),
        ("none", "1/none"),
        ("undisturbed", "1/none"),
    ],
)
def test_every_way_to_write_a_schedule_has_one_long_form(text: str, written: str) -> None:
    assert str(Schedule.parse(text)) == written


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2/kill@a#1:applied", "version 2"),
        ("kill@a#1:applied;kill@a#1:applied", "at most one such fault"),
        ("2.kill@a#1:applied;kill@a#1:applied", "in the order"),
        ("lose@a#1:applied;fail@a#1:applied", "at the same point"),
        ("hold@a#1:committing", "needs to know what is to land first"),
        ("hold@a#1:committing,until=b", "is not a crash point"),
        ("hold@a#1:committed,until=b#1", "strikes at committing"),
        ("kill@a#1:applied,heirs=9", "no more than 4 at once"),
        ("kill@a#1:applied,heirs=2,lives=2", "leave out lives or heirs"),
        ("kill@a#1:applied,unsettled=0", "is not a number of runs"),
        ("pause@a#1:applied,heirs=2", "'heirs' is not an option"),
        ("melt@a#1:applied", "'melt' is not a fault; write one of kill, term, pause, disconnect"),
        ("kill@a#1:applied,up=3h", "'up' is not an option"),
        ("kill@a#1:applied,down=soon", "'soon' is not a duration"),
        ("kill@a#1:applied,down=40000d", "no more than 100 years"),
        ("kill@a#1:applied,down=", "option 'down' has no value"),
        ("kill@a#1:applied,", "'' is not an option"),
        ("kill@a#1:applied,down=3d,down=4h", "'down' is there twice"),
        ("KILL@a#1:applied", "'KILL' is not a fault; write one of kill, term, pause, disconnect"),
        ("0.kill@a#1:applied", "'0' in '0.kill@a#1:applied' is no number of a life; they are counted from 1"),
        ("kill@", "'' is not a crash point"),
        ("a#1:applied,down=3d", "has options and no kind of fault; write it like kill@a#1:applied,down=3d"),
        ("a#1:melting", "'melting' is not a phase; write one of sending"),
        ("a#0:applied", "is not a crash point"),
        ("a:applied", "is not a crash point"),
        ("", "is not a crash point"),
        ("kill@a#1:applied,down=" + "9" * 400 + "d", "no more than 100 years"),
    ],
)
def test_a_text_that_is_no_schedule_is_refused_with_what_to_write(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=r".") as refusal:
        Schedule.parse(text)
    assert says in str(refusal.value)


HOSTILE = st.one_of(
    st.text(max_size=60),
    st.text("0123456789./#:@,;=killpausedownhs \n\u0660", max_size=40),
    st.builds(lambda schedule, cut, more: f"{str(schedule)[:cut]}{more}", schedules(), st.integers(0, 60), WORDS),
)


@settings(deadline=None, max_examples=150)
@given(HOSTILE)
@example("\u0661/none")
@example("1/")
@example("1/kill@a#1:applied,down=1e5s")
@example("1/kill@a#\u0661:applied")
@example("9" * 5000 + "/none")
@example("kill@a#1:applied,down=" + "9" * 5000 + "s")
def test_hostile_text_gives_a_value_error_or_something_that_reads_back(text: str) -> None:
    for kind in (Schedule, CrashPoint, Variant):
        value = or_refusal(lambda kind=kind: kind.parse(text))
        assert isinstance(value, Refused) or kind.parse(str(value)) == value


@pytest.mark.parametrize("down_s", [-1.0, float("nan"), float("inf"), 4e9])
def test_a_downtime_that_no_clock_can_show_is_refused(down_s: float) -> None:
    with pytest.raises(ValueError, match="100 years"):
        Schedule.kill(CrashPoint(name="a", occurrence=1, phase=Phase.SENDING), down_s=down_s)


def test_lives_are_numbered_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        Fault(point=CrashPoint(name="a", occurrence=1, phase=Phase.SENDING), incarnation=0)


@pytest.mark.parametrize("phase", list(Phase))
def test_the_kind_of_a_boundary_follows_from_the_phase(phase: Phase) -> None:
    kind = BoundaryKind.CHECKPOINT if phase in CHECKPOINT_PHASES else BoundaryKind.CALL
    boundary = Boundary(name="a", occurrence=2, kind=kind)
    assert boundary.at(phase).boundary == boundary
    assert str(boundary.at(phase)) == f"a#2:{phase.value}"


# ------------------------------------------------------------------- variants


@quick
@given(VARIANTS)
def test_a_variant_is_read_back_from_its_text(variant: Variant) -> None:
    assert Variant.parse(str(variant)) == variant


@pytest.mark.parametrize("text", ["", "a", "a=", "=b", "a=b,", "a=b,c", "a=b,a=c"])
def test_a_text_that_is_no_variant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"variant|twice"):
        Variant.parse(text)


@quick
@given(POINTS, VARIANTS, VARIANTS)
def test_cells_of_different_variants_have_different_names(point: CrashPoint, one: Variant, other: Variant) -> None:
    schedule = Schedule.kill(point)
    assert (cell_id(schedule, one) == cell_id(schedule, other)) is (str(one) == str(other))


# --------------------------------------------------------------------- events


@pytest.mark.parametrize("kind", list(EVENT_TYPES.values()), ids=list(EVENT_TYPES))
def test_every_kind_of_event_survives_json(kind: type) -> None:
    @settings(deadline=None, max_examples=12)
    @given(events_of(kind))
    def survives(event: Any) -> None:
        back = event_from_json(json.loads(json.dumps(event_to_json(event))))
        assert back == event
        assert [type(getattr(back, item.name)) for item in fields(back)] == [
            type(getattr(event, item.name)) for item in fields(event)
        ]

    survives()


@quick
@given(st.lists(EVENTS, max_size=6))
def test_a_history_survives_json(events: list[Any]) -> None:
    history = History(events=tuple(events))
    assert History.from_json(json.loads(json.dumps(history.to_json()))) == history


@settings(deadline=None, max_examples=80)
@given(JSON | st.fixed_dictionaries({"kind": st.sampled_from(list(EVENT_TYPES)) | JSON}, optional={"phase": JSON}))
@example([1, 2])
@example({"kind": []})
@example({"kind": "note"})
@example({"kind": "attempt_answered", "decision": "made up", "seq": 1, "at_s": 0.0, "attempt": 1, "status": 200})
def test_what_is_no_event_is_refused_with_a_value_error(document: Any) -> None:
    with pytest.raises(ValueError, match=r"not an event"):
        event_from_json(document)


# ------------------------------------------------------- results, expectations


ATTRIBUTIONS = st.builds(
    Attribution,
    key_sent=BY_TYPE["bool | None"],
    window_exceeded=BY_TYPE["bool | None"],
    worker=WORDS,
    preventable_by=st.lists(st.sampled_from(["worker", "engine", "target"]), max_size=2).map(tuple),
)
FINDINGS = st.builds(
    Finding,
    kind=st.none() | st.sampled_from(VerdictKind),
    code=WORDS,
    summary=WORDS,
    evidence=st.lists(st.integers(1, 99), max_size=3).map(tuple),
    identity=SPECIAL["identity"],
    attribution=st.none() | ATTRIBUTIONS,
    detail=st.dictionaries(WORDS, JSON, max_size=2),
)
RESULTS = st.builds(
    CellResult,
    scenario=WORDS,
    variant=VARIANTS,
    schedule=schedules(),
    verdict=st.lists(FINDINGS, max_size=3).map(Verdict.of),
    incarnations=st.integers(0, 9),
    effects=st.dictionaries(WORDS, st.integers(0, 9), max_size=2),
    duration_s=st.integers(0, 10**6).map(lambda number: number / 1000),
    settling=WORDS,
    kept_directory=WORDS,
)
COUNTS = st.dictionaries(WORDS, st.integers(0, 9), max_size=2)
FACTS = st.builds(
    OperationFacts,
    name=WORDS,
    noun=st.tuples(WORDS, WORDS),
    effectful=st.booleans(),
    price=st.floats(0, 100),
    identity=st.lists(WORDS, max_size=2).map(tuple),
    key_window_s=st.none() | st.floats(0, 1e6),
)
EXPECTATIONS = st.builds(
    Expectation,
    operations=st.dictionaries(WORDS, FACTS, max_size=2),
    effects=st.lists(
        st.builds(ExpectedEffect, operation=WORDS, identity=SPECIAL["identity"], count=st.integers(0, 9)), max_size=2
    ).map(tuple),
    paid_counts=COUNTS,
    declared_counts=COUNTS,
    approvals=st.lists(
        st.builds(
            ApprovalRule,
            operation=WORDS,
            field=WORDS,
            approved_by=WORDS,
            artifact=WORDS,
            join=st.lists(st.tuples(WORDS, WORDS), max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    orders=st.lists(st.builds(OrderRule, before=WORDS, after=WORDS), max_size=1).map(tuple),
    proofs=st.lists(st.builds(Proof, axis=WORDS, value=WORDS, kind=WORDS, pattern=WORDS), max_size=1).map(tuple),
    points=st.lists(POINTS.map(str), max_size=2).map(tuple),
    nondeterministic=st.lists(WORDS, max_size=1).map(tuple),
)


@quick
@given(RESULTS)
def test_a_result_survives_its_line_but_for_the_history(result: CellResult) -> None:
    line = json.dumps(result_to_json(result), allow_nan=False)
    assert result_from_json(json.loads(line)) == result


@quick
@given(EXPECTATIONS)
def test_a_yardstick_survives_its_file(expectation: Expectation) -> None:
    assert decode(Expectation, json.loads(json.dumps(encode(expectation), allow_nan=False))) == expectation


def test_a_line_of_a_later_version_with_more_keys_is_read() -> None:
    result = CellResult(
        scenario="s", variant=Variant(), schedule=UNDISTURBED, verdict=Verdict(kind=VerdictKind.OK), incarnations=1
    )
    line = result_to_json(result)
    assert result_from_json({**line, "colour_of_the_moon": "grey"}) == result
    assert decode(Finding, {"kind": None, "code": "a", "summary": "b", "later": 1}) == Finding(
        kind=None, code="a", summary="b"
    )


def test_numbers_that_json_does_not_have_become_text() -> None:
    written = encode({"a": float("inf"), "b": [float("nan")], "c": {1}, "d": 1.5})
    assert written == {"a": "inf", "b": ["nan"], "c": [1], "d": 1.5}
    assert json.dumps(written, allow_nan=False)


LINE = result_to_json(
    CellResult(
        scenario="s",
        variant=Variant(values=(("a", "b"),)),
        schedule=Schedule.kill(CrashPoint(name="a", occurrence=1, phase=Phase.APPLIED)),
        verdict=Verdict.of(
            [Finding(kind=VerdictKind.LOST, code="lost", summary="gone", attribution=Attribution(key_sent=True))]
        ),
        incarnations=2,
    )
)
ODD = JSON | st.sampled_from([float("inf"), float("nan"), 10**400])


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(sorted(LINE)), ODD)
@example("incarnations", float("inf"))
@example("effects", {"a": float("inf")})
@example("duration_s", 10**400)
@example("findings", [{"kind": "lost", "code": "a", "summary": "b", "evidence": 7}])
@example("findings", [{"kind": "lost", "code": "a", "summary": "b", "attribution": {"key_sent": "yes"}}])
def test_a_line_with_something_odd_in_it_is_read_or_refused_with_a_value_error(key: str, odd: Any) -> None:
    assert isinstance(or_refusal(lambda: result_from_json({**LINE, key: odd})), Refused | CellResult)


@pytest.mark.parametrize("missing", ["scenario", "variant", "schedule", "verdict", "findings", "incarnations"])
def test_a_line_without_a_key_that_it_needs_is_refused(missing: str) -> None:
    with pytest.raises(ValueError, match="not the result of a cell"):
        result_from_json({key: value for key, value in LINE.items() if key != missing})


@settings(deadline=None, max_examples=80)
@given(st.sampled_from([Expectation, Finding, OperationFacts, Variant, Schedule]), ODD)
@example(OperationFacts, {"name": "a", "noun": ["a"], "effectful": True})
@example(OperationFacts, {"name": "a", "noun": ["a", "b"], "effectful": True, "price": 10**400})
@example(Expectation, {"paid_counts": {"a": True}})
@example(Expectation, {"operations": []})
def test_what_is_no_document_of_ours_is_read_or_refused_with_a_value_error(kind: type, document: Any) -> None:
    assert isinstance(or_refusal(lambda: decode(kind, document)), (Refused, kind))


def test_what_was_written_before_headers_and_copies_were_recorded_can_still_be_read() -> None:
    received = {
        "kind": "attempt_received",
        "seq": 1,
        "at_s": 0.0,
        "attempt": 1,
        "incarnation": 1,
        "target": "crm",
        "operation": "crm.add",
        "occurrence": 1,
        "method": "POST",
        "path": "/crm",
        "effectful": True,
    }
    assert event_from_json(received).headers == {}
    effect = decode(ExpectedEffect, {"operation": "crm.add", "identity": {}, "count": 2})
    facts = decode(OperationFacts, {"name": "crm.add", "noun": ["lead", "leads"], "effectful": True})
    assert (effect.copies, facts.keys_tell) == (0, False)
