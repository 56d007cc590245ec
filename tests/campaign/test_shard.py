"""Rows are dealt out so that each is in one part, the same one in every variant, and parts are about as large."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackgap.campaign.shard import WHOLE, RowNumbers, Shard
from ackgap.errors import UsageInvalid
from ackgap.model.schedule import Schedule

POINTS = [f"tickets.create#{number}:applied" for number in range(1, 40)]
rows = st.lists(st.sampled_from(POINTS), unique=True).map(lambda points: [Schedule.parse(f"kill@{p}") for p in points])


@given(variants=st.lists(rows, min_size=1, max_size=4), of=st.integers(1, 7))
def test_every_row_of_every_variant_is_in_one_part_and_the_same_one(variants, of):
    place: dict[Schedule, int] = {}
    sizes = []
    for number in range(1, of + 1):
        deal = RowNumbers(Shard(number, of))
        mine = set()
        for schedules in variants:
            for schedule in deal.own(schedules):
                assert place.setdefault(schedule, number) == number
                mine.add(schedule)
        sizes.append(len(mine))
    assert set(place) == {schedule for schedules in variants for schedule in schedules}
    assert max(sizes) - min(sizes) <= 1


def test_a_part_reads_itself_back_and_the_whole_has_no_name():
    assert Shard.parse("2/8") == Shard(2, 8)
    assert str(Shard(2, 8)) == "2/8"
    assert Shard.parse("") == Shard.parse("1/1") == WHOLE
    assert str(WHOLE) == ""


@pytest.mark.parametrize("text", ["0/1", "2/1", "1/0", "1/1001", "-1/2", " 1/2", "1/2 ", "one/two"])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(UsageInvalid):
        Shard.parse(text)
