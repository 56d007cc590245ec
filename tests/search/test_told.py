"""A hunt is told in words: the smallest schedule, what of it matters, and what was not proven."""

from __future__ import annotations

from fakes import POINTS, FakeWorker, has

from ackgap.model.matrix import Variant
from ackgap.model.verdict import VerdictKind
from ackgap.search.hunt import Effort, hunt
from ackgap.search.told import hunt_lines, hunt_sentence, part_notes


def two_needed(schedule):
    """Red after a lost ticket and a second life that dies, wherever that is."""
    second = any(fault.incarnation == 2 and fault.kind == "kill" for fault in schedule.faults)
    lost = has(schedule, "1.lose@tickets.create#1:applied")
    return VerdictKind.DUPLICATE if second and lost else VerdictKind.OK


def test_what_is_needed_and_what_does_not_matter_is_said_of_each_fault():
    effort = Effort(seed=3, examples=400, options={"kinds": ("kill", "lose")})
    found = hunt(FakeWorker(two_needed), POINTS, effort)
    assert found.smallest is not None
    assert [fault.incarnation for fault in found.smallest.schedule.faults] == [1, 2]
    lines = list(hunt_lines(Variant(), found, effort, "ackgap replay out"))
    assert any(line.split()[:1] == ["needed"] for line in lines)
    assert f"   again  ackgap replay out '{found.smallest.cell}'" in lines
    first, second = part_notes(found)
    assert "needed without it: exactly once" in first
    assert "matters phase (applied)" in first or "matters which call" in first
    assert "needed without it: exactly once" in second
    assert "does not matter phase" in second
    assert str(found.smallest.schedule.faults[1]) in second


def test_nothing_found_is_no_proof_and_is_not_told_as_one():
    effort = Effort(examples=20)
    found = hunt(FakeWorker(lambda _: VerdictKind.OK), POINTS, effort)
    assert list(part_notes(found)) == []
    said = hunt_sentence(Variant(), found, effort)
    assert "nothing red in 20 different schedules" in said
    assert said.endswith("A sample, no proof.")


def test_how_often_it_came_out_is_said_and_a_coin_matters_for_no_part():
    effort = Effort(seed=3, examples=400, options={"kinds": ("kill", "lose")})
    runs = iter([VerdictKind.OK, VerdictKind.DUPLICATE, VerdictKind.OK, VerdictKind.OK])
    coin = hunt(FakeWorker(two_needed), POINTS, effort, again=FakeWorker(lambda _: next(runs)))
    for said in (
        "\n".join(hunt_lines(Variant(), coin, effort, "ackgap replay out")),
        hunt_sentence(Variant(), coin, effort),
    ):
        assert "It came out in 2 of 5 runs" in said
        assert "nothing is said of which parts matter" in said
        assert "told its parts apart" not in said
        assert "needed  " not in said
    assert list(part_notes(coin)) == []
    sure = hunt(FakeWorker(two_needed), POINTS, effort)
    assert "It came out in each of 5 runs." in hunt_sentence(Variant(), sure, effort)
