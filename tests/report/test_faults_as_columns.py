"""What is done at a point is a column of the matrix, beside the scenario's own axes."""

from __future__ import annotations

from dataclasses import replace

from ackgap.model.boundary import CrashPoint
from ackgap.model.manner import Manner
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import UNDISTURBED, Fault, Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind
from ackgap.report.view import FAULT_AXIS, Views

APPLIED = CrashPoint.parse("tickets.create#1:applied")
SYNC, ASYNC = (Variant(values=(("durability", name),)) for name in ("sync", "async"))


def cell(schedule: Schedule, variant: Variant = SYNC) -> CellResult:
    verdict = Verdict.of([Finding(kind=VerdictKind.OK, code="ok", summary="fine")])
    return CellResult(scenario="s", variant=variant, schedule=schedule, verdict=verdict, incarnations=1)


def struck(text: str) -> Schedule:
    return Schedule(faults=(Fault(point=APPLIED, manner=Manner.parse(text)),))


def test_kills_alone_are_no_axis():
    views = Views.of([cell(UNDISTURBED), cell(Schedule.kill(APPLIED))], [SYNC])
    assert views.variants == (SYNC,)
    assert not views.several


def test_different_faults_at_one_point_share_its_row_and_have_columns_of_their_own():
    results = [cell(struck(text)) for text in ("lose", "kill", "kill,down=72h")]
    views = Views.of(results, [SYNC])
    assert {row for row, _ in views.place.values()} == {"tickets.create#1:applied"}
    assert [variant[FAULT_AXIS] for variant in views.variants] == ["killed", "killed, 3d down", "answer lost"]


def test_a_run_of_one_fault_that_is_no_kill_says_which_it_is():
    views = Views.of([cell(struck("lose"))], [SYNC])
    assert [variant[FAULT_AXIS] for variant in views.variants] == ["answer lost"]


def test_faults_are_repeated_within_each_variant_in_which_they_ran():
    results = [cell(struck(text), variant) for text in ("kill", "lose") for variant in (ASYNC, SYNC)]
    views = Views.of([*results[:-1]], [SYNC, ASYNC])
    assert [(view["durability"], view[FAULT_AXIS]) for view in views.variants] == [
        ("sync", "killed"),
        ("async", "killed"),
        ("async", "answer lost"),
    ]
    assert views.real(views.variants[0]) == SYNC


def test_the_undisturbed_run_stands_with_the_first_fault():
    views = Views.of([cell(UNDISTURBED), cell(struck("lose")), cell(struck("kill"))], [SYNC])
    assert views.place["undisturbed@durability=sync"][1][FAULT_AXIS] == "killed"


def test_schedules_of_several_lives_keep_a_row_of_their_own_below_their_first_point():
    twice = Schedule(faults=(Fault(point=APPLIED), Fault(point=APPLIED, incarnation=2)))
    views = Views.of([cell(twice), cell(struck("lose"))], [SYNC])
    assert views.place[cell(twice).cell][0] == twice.label
    rows = views.rows([twice, struck("lose")], [])
    assert [row.label for row in rows] == ["tickets.create#1:applied", twice.label]
    assert [row.plain for row in rows] == [True, False]


def test_the_same_fault_in_each_life_is_a_column_as_one_in_the_first_is():
    slept = Schedule.parse(f"kill@{APPLIED},down=72h;2.kill@{APPLIED},down=72h")
    plain = Schedule.parse(f"kill@{APPLIED};2.kill@{APPLIED}")
    views = Views.of([cell(slept), cell(plain)], [SYNC])
    assert {row for row, _ in views.place.values()} == {plain.label}
    assert [view[FAULT_AXIS] for view in views.variants] == ["killed", "killed, 3d down"]


def test_a_race_is_a_row_and_no_column():
    views = Views.of([cell(Schedule.kill(APPLIED)), cell(Schedule.parse(f"kill@{APPLIED},unsettled=20"))], [SYNC])
    assert not views.several
    assert len({row for row, _ in views.place.values()}) == 2


def test_a_row_keeps_what_is_known_of_its_point():
    results = [cell(struck("lose"))]
    views = Views.of(results, [SYNC])
    known = replace(views.rows([Schedule.kill(APPLIED)], [])[0], noun="ticket")
    assert [row.noun for row in views.rows([struck("lose")], [known])] == ["ticket"]
