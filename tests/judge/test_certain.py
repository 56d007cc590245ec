"""From when on a bad end was certain: walked back over cells that ended in the same way, and no further."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ackgap.judge.certain import Certainty, certain_since
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.rate import Rate
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind

SENDING, RECEIVED, APPLIED, RETURNED = (f"tickets.create#1:{p}" for p in ("sending", "received", "applied", "returned"))
LIFE = [SENDING, RECEIVED, APPLIED, RETURNED, "journal#1:committing", "journal#1:committed"]
BAD, GOOD = VerdictKind.DUPLICATE, VerdictKind.OK


def cell(schedule: str, kind: VerdictKind, operation: str = "tickets.create", variant: str = "default") -> CellResult:
    finding = Finding(kind=kind, code=kind.value, summary="x", operation=operation)
    return CellResult(
        scenario="s",
        variant=Variant.parse(variant),
        schedule=Schedule.parse(schedule),
        verdict=Verdict.of([finding]),
        incarnations=2,
    )


def before(result: CellResult) -> Sequence[str]:
    """Every life passes the same points."""
    return LIFE[: LIFE.index(str(result.schedule.faults[-1].point))]


def since(schedule: str, *cells: CellResult) -> Certainty:
    result = next(each for each in cells if each.schedule.label == Schedule.parse(schedule).label)
    found = certain_since(result, cells, before)
    assert found is not None
    return found


def test_it_is_the_earliest_point_with_the_same_end_and_the_cells_on_the_way_show_it() -> None:
    found = since(
        LIFE[4],
        cell(RECEIVED, GOOD),
        cell(APPLIED, BAD),
        cell(RETURNED, BAD),
        cell(LIFE[4], BAD),
        cell("undisturbed", GOOD),
    )
    assert (found.life, found.point) == (1, APPLIED)
    assert found.cells == (f"{LIFE[4]}@default", f"{RETURNED}@default", f"{APPLIED}@default")
    assert found.otherwise == f"{RECEIVED}@default"
    assert (found.between, found.unknown) == ((), ())


def test_a_point_that_was_not_run_is_named_and_does_not_end_the_walk() -> None:
    found = since(LIFE[4], cell(APPLIED, BAD), cell(LIFE[4], BAD), cell(SENDING, GOOD))
    assert (found.point, found.between, found.unknown) == (APPLIED, (RETURNED,), (RECEIVED,))


def test_later_points_with_the_same_end_are_counted_up_to_the_first_that_ends_otherwise() -> None:
    kinds = (GOOD, GOOD, BAD, BAD, GOOD, BAD)
    cells = [cell(point, kind) for point, kind in zip(LIFE, kinds, strict=True)]
    found = since(APPLIED, *reversed(cells))
    assert (found.point, found.later) == (APPLIED, (f"{RETURNED}@default",))
    assert since(RETURNED, *cells).later == ()


@pytest.mark.parametrize(
    "other",
    [
        cell(RECEIVED, VerdictKind.LOST),
        cell(RECEIVED, BAD, operation="notify.send"),
        cell(RECEIVED, VerdictKind.INCONCLUSIVE),
    ],
)
def test_another_bad_end_is_not_the_same_end(other: CellResult) -> None:
    found = since(APPLIED, other, cell(APPLIED, BAD))
    assert (found.point, found.otherwise) == (APPLIED, other.cell)
    assert found.at_the_fault


def test_what_is_red_in_another_variant_or_by_another_fault_shows_nothing() -> None:
    others = [cell(RECEIVED, BAD, variant="key=none"), cell(f"kill@{RECEIVED},down=72h", BAD)]
    assert since(APPLIED, *others, cell(APPLIED, BAD)).unknown == (RECEIVED, SENDING)


def test_only_points_at_which_the_fault_can_strike_count_as_not_run() -> None:
    found = since(f"lose@{APPLIED}", cell(f"lose@{APPLIED}", BAD))
    assert (found.point, found.unknown) == (APPLIED, ())


def twice(point: str) -> str:
    return f"kill@{RETURNED};2.kill@{point}"


def test_a_second_crash_decides_where_the_first_alone_ends_well() -> None:
    cells = [cell(twice(point), kind) for point, kind in zip(LIFE, [GOOD, BAD, BAD], strict=False)]
    found = since(twice(APPLIED), cell(RETURNED, GOOD), cell(APPLIED, BAD), *cells)
    assert (found.life, found.point) == (2, RECEIVED)


def test_it_goes_into_the_earlier_life_where_the_end_needs_no_second_crash() -> None:
    cells = [cell(twice(point), BAD) for point in LIFE[:3]]
    firsts = [cell(RECEIVED, GOOD), cell(APPLIED, BAD), cell(RETURNED, BAD)]
    found = since(twice(APPLIED), *firsts, *cells)
    assert (found.life, found.point, found.otherwise) == (1, APPLIED, f"{RECEIVED}@default")
    assert found.cells[-2:] == (f"{RETURNED}@default", f"{APPLIED}@default")
    assert len(found.cells) == 5


def test_it_stays_in_the_later_life_where_the_first_crash_alone_ends_otherwise() -> None:
    cells = [cell(twice(point), BAD) for point in LIFE[:3]]
    for alone in (GOOD, VerdictKind.LOST):
        found = since(twice(APPLIED), cell(RETURNED, alone), *cells)
        assert (found.life, found.point, len(found.cells)) == (2, SENDING, 3)


def test_it_stays_in_the_later_life_where_a_crash_in_it_can_still_avert_the_end() -> None:
    cells = [cell(twice(SENDING), GOOD), *(cell(twice(point), BAD) for point in LIFE[1:3])]
    found = since(twice(APPLIED), cell(RETURNED, BAD), *cells)
    assert (found.life, found.point) == (2, RECEIVED)


def test_a_bad_end_that_needs_no_crash_was_certain_from_the_beginning() -> None:
    found = since(RECEIVED, cell("undisturbed", BAD), cell(SENDING, BAD), cell(RECEIVED, BAD))
    assert (found.life, found.point) == (0, "")
    assert found.cells[-1] == "undisturbed@default"


def test_nothing_is_said_of_a_good_end_or_of_a_race() -> None:
    raced = cell(APPLIED, BAD)
    raced = CellResult(
        **{name: getattr(raced, name) for name in ("scenario", "variant", "schedule", "verdict", "incarnations")},
        rate=Rate.of([BAD, GOOD]),
    )
    for result in (cell(APPLIED, GOOD), cell(APPLIED, VerdictKind.IN_DOUBT), cell("undisturbed", BAD), raced):
        assert certain_since(result, [result], before) is None
