from __future__ import annotations

import time

import pytest

from ackgap.campaign.choosing import selection_of
from ackgap.campaign.selection import VARIANT_LIMIT, Selection
from ackgap.errors import UsageInvalid
from ackgap.scenario.scenario import Axis, AxisValue, Scenario, WorkerSpec


def scenario(axes: int, values: int = 2) -> Scenario:
    return Scenario(
        name="wide",
        worker=WorkerSpec(command=("true",)),
        targets=(),
        source="wide/scenario.toml",
        axes=tuple(
            Axis(name=f"a{n}", title="", values=tuple(AxisValue(name=f"v{m}") for m in range(values)))
            for n in range(axes)
        ),
    )


def test_more_variants_than_anyone_can_run_are_refused_at_once_with_their_number():
    began_s = time.monotonic()
    with pytest.raises(UsageInvalid) as caught:
        Selection().variants_of(scenario(40))
    assert time.monotonic() - began_s < 1
    assert f"{2**40:,}" in str(caught.value)
    assert "--only" in str(caught.value)
    assert "wide/scenario.toml" in str(caught.value)


def test_a_narrow_part_of_a_wide_scenario_can_be_run():
    chosen = {f"a{n}": ("v1",) for n in range(39)}
    variants = Selection(variants=(chosen,)).variants_of(scenario(40))
    assert [variant["a39"] for variant in variants] == ["v0", "v1"]
    assert {variant["a0"] for variant in variants} == {"v1"}


def test_partial_variants_that_overlap_give_each_variant_once_in_the_order_of_the_scenario():
    small = scenario(2)
    selection = Selection(variants=({"a1": ("v1",)}, {"a0": ("v0",)}))
    variants = selection.variants_of(small)
    assert list(variants) == [variant for variant in small.variants() if selection.has(variant)]
    assert len(variants) == 3


def test_the_limit_itself_can_be_run():
    assert len(Selection().variants_of(scenario(4, 10))) == VARIANT_LIMIT


@pytest.mark.parametrize("text", ["none", "1/none", "undisturbed"])
def test_an_undisturbed_run_is_made_anyway_and_is_no_schedule_to_ask_for(text):
    with pytest.raises(UsageInvalid) as caught:
        selection_of(scenario(1), schedules=["kill@tickets.create#1:applied", text])
    assert "each variant is run undisturbed in every run" in str(caught.value)
    assert "--schedule" in str(caught.value)
