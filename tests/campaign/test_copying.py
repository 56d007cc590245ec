"""Which cells that began with a copy are run again with a real kill."""

from __future__ import annotations

from dataclasses import replace

from ackgap.campaign.copying import CopyAudit
from ackgap.execute.copies import point_of_copy
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind


def cell(number: int, variant: str = "default", *, copied: bool = True, kind: VerdictKind = VerdictKind.OK, tickets=1):
    finding = Finding(kind=kind, code="x", summary="x")
    return CellResult(
        scenario="s",
        variant=Variant.parse(variant),
        schedule=Schedule.parse(f"tickets.create#{number}:applied"),
        verdict=Verdict.of((finding,)),
        incarnations=2,
        effects={"tickets.create": tickets},
        copied=copied,
    )


def audit_of(*results: CellResult) -> CopyAudit:
    audit = CopyAudit()
    for result in results:
        audit.take(result)
    return audit


def test_one_in_twenty_is_checked_and_one_of_each_variant():
    many = [cell(number, "a=1") for number in range(1, 42)]
    audit = audit_of(*many, cell(1, "a=2"), cell(2, "a=2", copied=False))

    due = list(audit.due())

    assert [str(variant) for variant, _ in due] == ["a=1"] * 3 + ["a=2"]
    assert list(audit.due()) == []


def test_the_same_cells_are_checked_in_whatever_order_they_finish():
    results = [cell(number) for number in range(1, 42)]
    assert set(audit_of(*results).due()) == set(audit_of(*reversed(results)).due())


def test_a_cell_that_differs_when_it_is_killed_is_named():
    audit = audit_of(cell(1), cell(2, kind=VerdictKind.DUPLICATE, tickets=2))

    assert audit.compare(cell(1, copied=False)) == ""
    assert "tickets.create#1:applied@default" in audit.compare(cell(1, copied=False, tickets=2))
    assert "duplicate" in audit.compare(cell(2, copied=False))


def test_what_is_done_to_the_first_life_makes_a_group_of_its_own():
    plain = [cell(number) for number in range(1, 10)]
    down = [replace(one, schedule=Schedule.parse(f"{one.schedule},down=72h")) for one in plain]
    due = [schedule for _, schedule in audit_of(*plain, *down).due()]
    assert sorted("down" in str(schedule) for schedule in due) == [False, True]


def test_a_copied_cell_that_proves_nothing_is_to_be_killed():
    audit = CopyAudit()
    assert not audit.take(cell(1, kind=VerdictKind.INCONCLUSIVE))
    assert audit.take(cell(1, kind=VerdictKind.INCONCLUSIVE, copied=False))
    assert list(audit.due()) == []


def test_another_cell_is_checked_where_a_real_kill_proves_nothing():
    audit = audit_of(cell(1), cell(2))
    ((_, first),) = audit.due()
    audit.compare(replace(cell(1, copied=False, kind=VerdictKind.INCONCLUSIVE), schedule=first))
    ((_, second),) = audit.due()
    assert {first, second} == {cell(1).schedule, cell(2).schedule}


def test_a_real_kill_that_proves_nothing_is_no_check():
    audit = audit_of(cell(1))
    assert audit.compare(cell(1, copied=False, kind=VerdictKind.INCONCLUSIVE)) == ""
    assert "0 of them were run again" in next(audit.notes("", complete=True))
    assert "1 more that were so prove nothing" in next(audit.notes("", complete=True))


def test_only_one_plain_kill_of_the_first_life_can_be_copied():
    copied = ("x.y#1:applied", "kill@x.y#1:applied,down=72h", "x.y#1:applied;2.kill@x.y#1:sending")
    lived = (
        "none",
        "pause@x.y#1:applied",
        "kill@x.y#1:applied,unsettled=20",
        "lose@x.y#1:applied;kill@x.y#2:applied",
        "2.kill@x.y#1:applied",
    )
    assert [point_of_copy(Schedule.parse(text)) for text in copied] == ["x.y#1:applied"] * 3
    assert [point_of_copy(Schedule.parse(text)) for text in lived] == [""] * 5
