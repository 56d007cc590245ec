"""An identity that was learned neither hides a duplicate nor invents one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import codes, judged, only, world

from ackgap.model.verdict import Colour, Verdict, VerdictKind

RED = Colour.RED


# --------------------------------------------------- order of arrival

PAIR = ("crm.add(1,title=A) crm.add(2,title=B)", "crm.add(2,title=C) crm.add(1,title=D)")
"""Two effects, sent in the order of a set: in the second probe the other one is first."""


def test_a_repeat_of_one_beside_the_loss_of_another_shows_whatever_the_order_of_the_probes() -> None:
    verdict = judged("1> crm.add(1,title=A):applied KILL | 2> crm.add(1,title=D) DONE", *PAIR)
    assert (verdict.kind, codes(verdict)) == (VerdictKind.DUPLICATE, ["duplicate", "lost"])


def test_effects_in_another_order_are_right() -> None:
    for text in ("1> crm.add(2,title=A) KILL | 2> crm.add(1,title=D) DONE", "1> crm.add(2) crm.add(1) DONE"):
        assert judged(text, *PAIR).kind == "ok"


# ------------------------------------ fields that move only after a restart

STEADY_PAIR = "crm.add(1,name=a,life=1) crm.add(2,name=b,life=1)"


def test_effects_whose_fields_all_move_a_little_after_a_restart_stand_for_what_they_are_closest_to() -> None:
    text = "1> crm.add(1,name=a,life=1) KILL | 2> crm.add(2,name=b,life=2) DONE"
    assert codes(judged(text, STEADY_PAIR)) == ["identity_moved"]
    text = "1> crm.add(1,name=a,life=1):received KILL | 2> crm.add(1,name=a,life=2) crm.add(2,name=b,life=2) DONE"
    verdict = judged(text, STEADY_PAIR)
    assert (verdict.kind, codes(verdict)) == (VerdictKind.OK, ["identity_moved", "identity_moved"])


def test_a_copy_of_one_action_with_a_moved_field_never_takes_the_place_of_another_that_is_missing() -> None:
    text = "1> crm.add(1,name=a,life=1):applied KILL | 2> crm.add(1,name=a,life=2) DONE"
    verdict = judged(text, STEADY_PAIR)
    assert codes(verdict) == ["duplicate", "lost"]
    assert only(verdict, "duplicate").identity["body.partner_id"] == "'1'"
    assert only(verdict, "lost").identity["body.partner_id"] == "'2'"


def test_two_moved_copies_of_one_action_do_not_stand_for_two_missing_ones() -> None:
    text = "1> crm.add(1,name=a,life=2):applied KILL | 2> crm.add(1,name=a,life=3) DONE"
    assert codes(judged(text, STEADY_PAIR)) == ["duplicate", "lost"]


def test_an_effect_that_is_as_close_to_one_action_as_to_another_stands_for_neither() -> None:
    probe = "crm.add(1) crm.add(2)"
    verdict = judged("1> crm.add(1) KILL | 2> crm.add(7) DONE", probe)
    assert (verdict.kind, codes(verdict)) == (VerdictKind.LOST, ["lost", "phantom"])
    verdict = judged("1> crm.add(1):applied KILL | 2> crm.add(7) crm.add(2) DONE", probe)
    assert codes(verdict) == ["duplicate"]
    verdict = judged("1> crm.add(1) KILL | 2> crm.add(7) EXIT(1) GAVE_UP(crash_loop)", probe)
    assert "phantom" in codes(verdict)


def test_an_effect_under_the_key_of_another_repeats_that_one_however_it_looks() -> None:
    probe = "crm.add(1,key=k1) crm.add(2,key=k2)"
    verdict = judged("1> crm.add(1,key=k1):applied KILL | 2> crm.add(9,key=k1) DONE", probe)
    assert codes(verdict) == ["duplicate", "lost"]


def test_a_key_that_every_effect_shares_says_nothing() -> None:
    probe = "crm.add(1,name=a,life=1,key=k) crm.add(2,name=b,life=1,key=k)"
    text = "1> crm.add(1,name=a,life=1,key=k) KILL | 2> crm.add(2,name=b,life=2,key=k) DONE"
    assert codes(judged(text, probe)) == ["identity_moved"]


# --------------------------------- effects that no field tells apart

BLIND = ("crm.add(1,title=A) crm.add(1,title=B)", "crm.add(1,title=C) crm.add(1,title=D)")


def test_a_right_number_of_effects_that_cannot_be_told_apart_proves_nothing_over_several_lives() -> None:
    verdict = judged("1> crm.add(1,title=A):applied KILL | 2> crm.add(1,title=D) DONE", *BLIND)
    assert (verdict.kind, codes(verdict)) == (VerdictKind.INCONCLUSIVE, ["identity_unclear"])
    assert "--expect 'crm.add=2'" in only(verdict, "identity_unclear").summary


def test_a_right_number_from_one_life_is_right_with_a_remark() -> None:
    for text in (
        "1> crm.add(1,title=A) crm.add(1,title=B) DONE",
        "1> crm.add:received KILL | 2> crm.add(1,title=C) crm.add(1,title=D) DONE",
    ):
        verdict = judged(text, *BLIND)
        assert (verdict.kind, codes(verdict)) == (VerdictKind.OK, ["counted_only"])


def test_a_declared_number_is_enough() -> None:
    text = "1> crm.add(1,title=A):applied KILL | 2> crm.add(1,title=D) DONE"
    verdict = judged(text, *BLIND, declared_counts={"crm.add": 2})
    assert (verdict.kind, codes(verdict)) == (VerdictKind.OK, ["counted_only"])


def test_a_wrong_number_of_effects_that_cannot_be_told_apart_is_red_as_ever() -> None:
    three = "1> crm.add(1,title=A):applied KILL | 2> crm.add(1,title=C) crm.add(1,title=D) DONE"
    assert judged(three, *BLIND).kind == "duplicate"
    assert judged("1> crm.add(1,title=A) KILL | 2> DONE", *BLIND).kind == "lost"


def test_an_exact_copy_among_a_right_number_is_a_duplicate_beside_a_loss() -> None:
    verdict = judged("1> crm.add(1,title=A):applied KILL | 2> crm.add(1,title=A) DONE", *BLIND)
    assert codes(verdict) == ["duplicate", "lost"]
    assert only(verdict, "duplicate").summary == "1 of 2 leads is a copy of another"


def test_equal_effects_of_an_undisturbed_run_are_no_copies() -> None:
    assert judged("1> crm.add(1) KILL | 2> crm.add(1) DONE", "crm.add(1) crm.add(1)").kind == "ok"


def test_effects_that_only_keys_tell_apart_are_told_apart_by_keys_that_stay() -> None:
    probes = (
        "crm.add(1,title=A,key=k1) crm.add(1,title=B,key=k2)",
        "crm.add(1,title=C,key=k2) crm.add(1,title=D,key=k1)",
    )
    assert judged("1> crm.add(1,title=A,key=k1) KILL | 2> crm.add(1,title=D,key=k2) DONE", *probes).kind == "ok"
    twice = judged("1> crm.add(1,title=A,key=k1):applied KILL | 2> crm.add(1,title=D,key=k1) DONE", *probes)
    assert codes(twice) == ["duplicate", "lost"]


# ------------------------------------------------- the same object again

PUT = ("docs.put(/7,at=1)", "docs.put(/7,at=2)")


def test_an_object_that_a_later_life_writes_again_at_another_time_is_one_action() -> None:
    verdict = judged("1> docs.put(/7,at=3):applied KILL | 2> docs.put(/7,at=4) DONE", *PUT)
    assert (verdict.kind, codes(verdict)) == (VerdictKind.OK, ["rewritten"])


@pytest.mark.parametrize(
    "text",
    [
        "1> docs.put(/7,at=3) docs.put(/7,at=4) DONE",
        "1> docs.put(/7,at=3):applied KILL | 2> docs.put(/7,at=4) docs.put(/7,at=5) DONE",
    ],
)
def test_writing_again_in_one_life_is_another_action(text: str) -> None:
    assert judged(text, *PUT).kind.colour is RED


def test_a_later_put_with_another_identity_is_another_action() -> None:
    for other in ("4472,at=4", "4471,at=4,more=x"):
        verdict = judged(f"1> docs.put(/7,4471,at=3):applied KILL | 2> docs.put(/7,{other}) DONE", *PUT)
        assert codes(verdict) == ["duplicate"]


def test_a_put_to_another_place_is_another_action_also_where_places_are_new_each_time() -> None:
    verdict = judged("1> docs.put(/a):applied KILL | 2> docs.put(/b) DONE", "docs.put(/x)", "docs.put(/y)")
    assert codes(verdict) == ["duplicate"]


def test_a_later_patch_or_post_is_another_action() -> None:
    for call in ("docs.patch(/7,at={0})", "crm.add(1,at={0})"):
        text = f"1> {call}:applied KILL | 2> {call} DONE".format(3)
        assert judged(text, call.format(1), call.format(2)).kind == "duplicate"


def described(
    text: str, probe: str = "docs.put(/7,7,at=1)", second: str | None = None, *, overwrites: bool = True
) -> Verdict:
    """Judge with a description of the service: who an object is about, and whether writes go over what is there."""
    who = ("body.partner_id",)
    facts = world("docs.put", identity=who, overwrites=overwrites)
    return judged(text, probe, second, facts={**facts, "docs.delete": replace(facts["docs.delete"], identity=who)})


def test_a_described_object_that_a_later_life_writes_in_other_words_is_one_action() -> None:
    text = "1> docs.put(/7,7,at=3):applied KILL | 2> docs.put(/7,7,at=4) DONE"
    verdict = described(text, "docs.put(/7,7,at=1)", "docs.put(/7,7,at=2)")
    assert (verdict.kind, codes(verdict)) == (VerdictKind.OK, ["rewritten"])


def test_a_described_object_whose_balance_goes_up_twice_is_a_duplicate() -> None:
    text = "1> docs.put(/7,7,balance=110):applied KILL | 2> docs.put(/7,7,balance=120) DONE"
    balance = "docs.put(/7,7,balance=110)"
    assert described(text, balance, balance).kind == "duplicate"


def test_a_described_object_that_is_written_over_with_two_states_in_peace_is_two_actions() -> None:
    probe = "docs.put(/7,7,state=open) docs.put(/7,7,state=shut)"
    assert described(f"1> {probe} DONE", probe, probe).kind == "ok"


def test_a_described_object_is_two_actions_if_written_twice_in_one_life_or_not_written_over() -> None:
    assert described("1> docs.put(/7,7,at=3) docs.put(/7,7,at=4) DONE").kind == "duplicate"
    again = "1> docs.put(/7,7,at=3):applied KILL | 2> docs.put(/7,7,at=4) DONE"
    assert described(again, overwrites=False).kind == "duplicate"


def test_a_described_object_that_is_written_again_after_it_was_removed_is_a_duplicate() -> None:
    text = "1> docs.put(/7,7,at=3) docs.delete(/7,7):applied KILL | 2> docs.put(/7,7,at=4) DONE"
    assert described(text, "docs.put(/7,7,at=1) docs.delete(/7,7)").kind == "duplicate"


STATES = "docs.put(/7,state=open,at={0}) docs.put(/7,state=shut,at={0})"
STATE_PROBES = (STATES.format(1), STATES.format(2))


def test_all_states_of_an_object_written_again_leave_it_as_it_was() -> None:
    verdict = judged(f"1> {STATES.format(3)} KILL | 2> {STATES.format(4)} DONE", *STATE_PROBES)
    assert (verdict.kind, codes(verdict)) == (VerdictKind.OK, ["rewritten", "rewritten"])


def test_an_earlier_state_written_again_over_a_later_one_is_a_duplicate() -> None:
    verdict = judged(f"1> {STATES.format(3)} KILL | 2> docs.put(/7,state=open,at=4) DONE", *STATE_PROBES)
    assert verdict.kind == "duplicate"


def test_an_object_that_is_made_and_removed_again_is_gone_and_one_that_only_is_made_again_is_not() -> None:
    probes = ("docs.put(/7,at=1) docs.delete(/7)", "docs.put(/7,at=2) docs.delete(/7)")
    first = "1> docs.put(/7,at=3) docs.delete(/7):applied KILL"
    assert judged(f"{first} | 2> docs.put(/7,at=4) docs.delete(/7) DONE", *probes).kind == "ok"
    assert judged(f"{first} | 2> docs.put(/7,at=4) DONE", *probes).kind == "duplicate"


def test_a_put_over_a_patch_that_is_not_made_again_loses_it_and_is_a_duplicate() -> None:
    probes = ("docs.put(/7,at=1) docs.patch(/7,note=x)", "docs.put(/7,at=2) docs.patch(/7,note=x)")
    verdict = judged("1> docs.put(/7,at=3) docs.patch(/7,note=x) KILL | 2> docs.put(/7,at=4) DONE", *probes)
    assert verdict.kind == "duplicate"


def test_progress_that_is_put_to_one_place_several_times_needs_no_telling_apart() -> None:
    probes = ("docs.put(/7,at=1) docs.put(/7,at=2)", "docs.put(/7,at=3) docs.put(/7,at=4)")
    assert judged("1> docs.put(/7,at=5) KILL | 2> docs.put(/7,at=6) DONE", *probes).kind == "ok"
    assert judged("1> docs.put(/7,at=5) KILL | 2> docs.put(/7,at=6) docs.put(/7,at=7) DONE", *probes).kind == "ok"


# ------------------------------------------------ small worlds, truth known


@dataclass(frozen=True)
class World:
    """What a worker is to do: actions, each with the fields that say what it is."""

    actions: tuple[dict[str, str], ...]
    worded: bool
    numbered: bool
    marked: bool

    def calls(self, chosen: list[int], words: str, life: int) -> str:
        """Write down effects: worded by whoever speaks, numbered as they arrive, marked with the life."""
        parts = []
        for place, action in enumerate(chosen):
            fields = dict(self.actions[action])
            if self.worded:
                fields["title"] = f"{words}{action}"
            if self.numbered:
                fields["place"] = str(place)
            if self.marked:
                fields["life"] = str(life)
            parts.append(f"crm.add({','.join(f'{name}={value}' for name, value in fields.items())})")
        return " ".join(parts)


@st.composite
def worlds(draw: st.DrawFn, *, marked: bool | None = None) -> World:
    """A world whose actions have one to three fields of their own, or hardly any."""
    count = draw(st.integers(1, 4))
    names = draw(st.sampled_from([("who", "name"), ("who", "name", "kind"), ("who",), ("kind",)]))
    kinds = draw(st.lists(st.sampled_from("xy"), min_size=count, max_size=count))
    values = {
        "who": [str(place) for place in range(count)],
        "name": [f"n{place}" for place in range(count)],
        "kind": kinds,
    }
    return World(
        actions=tuple({name: values[name][place] for name in names} for place in range(count)),
        worded=draw(st.booleans()),
        numbered=draw(st.booleans()),
        marked=draw(st.booleans()) if marked is None else marked,
    )


@st.composite
def stories(draw: st.DrawFn, world: World) -> tuple[Verdict, list[int], list[int]]:
    """Judge a run of two lives; return with it what each did."""
    every = list(range(len(world.actions)))
    one, two = draw(st.permutations(every)), draw(st.permutations(every))
    first = draw(st.permutations(every))[: draw(st.integers(1, len(every)))]
    rest = [action for action in every if action not in first]
    second = draw(
        st.permutations(rest)
        # A repeat in the place of something that is never done: the number is right.
        | st.tuples(st.sampled_from(first), st.permutations(rest)).map(lambda drawn: [drawn[0], *drawn[1][1:]])
        | st.permutations(every)
        | st.lists(st.sampled_from(every), max_size=4)
    )
    text = f"1> {world.calls(first, 'A', 1)} KILL | 2> {world.calls(second, 'B', 2)} DONE"
    verdict = judged(text, world.calls(one, "A", 1), world.calls(two, "B", 1))
    return verdict, first, list(second)


def alike(world: World) -> bool:
    """Whether some actions have no field that tells them from others."""
    return len({tuple(sorted(action.items())) for action in world.actions}) < len(world.actions)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_run_with_a_repeat_or_a_loss_is_never_green(data: st.DataObject) -> None:
    world = data.draw(worlds())
    verdict, first, second = data.draw(stories(world))
    done = Counter([*first, *second])
    # Actions that are equal in every field are one action that happens several times.
    truth = Counter(tuple(sorted(world.actions[action].items())) for action in done.elements())
    wanted = Counter(tuple(sorted(action.items())) for action in world.actions)
    right = done == Counter(range(len(world.actions))) if world.worded else truth == wanted
    if not right:
        assert verdict.kind.colour in {RED, Colour.GREY}, (world, first, second, codes(verdict))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_run_with_every_action_once_is_not_red_where_fields_tell_them_apart(data: st.DataObject) -> None:
    world = data.draw(worlds())
    verdict, first, second = data.draw(stories(world))
    right = Counter([*first, *second]) == Counter(range(len(world.actions)))
    told = not alike(world) and (not world.numbered or len(world.actions[0]) > 1)
    if right and told:
        assert verdict.kind.colour is not RED, (world, first, second, codes(verdict))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_where_fields_tell_actions_apart_the_verdict_is_the_truth(data: st.DataObject) -> None:
    world = data.draw(worlds(marked=False))
    verdict, first, second = data.draw(stories(world))
    if alike(world) or world.numbered:
        return
    done = Counter([*first, *second])
    kinds: set[Any] = {finding.kind for finding in verdict.findings}
    assert (VerdictKind.DUPLICATE in kinds) == (max(done.values()) > 1)
    assert (VerdictKind.LOST in kinds) == (len(done) < len(world.actions))


SCRIPT = [
    "docs.put(/7,state=open,at={0})",
    "docs.put(/8,state=open,at={0})",
    "docs.put(/7,state=shut,at={0})",
    "docs.delete(/8)",
]
"""What is done to two objects, in order; the time differs each time."""


def after(steps: list[int]) -> dict[str, str]:
    """Return the state of each object after some steps of the script."""
    states: dict[str, str] = {}
    for step in steps:
        states["78"[step % 2]] = ("open", "open", "shut", "gone")[step]
    return states


@settings(deadline=None, max_examples=80)
@given(st.integers(1, 4), st.lists(st.integers(0, 3), max_size=5) | st.integers(0, 4))
def test_objects_written_again_are_right_if_and_only_if_they_end_as_they_should(
    cut: int, then: list[int] | int
) -> None:
    first = list(range(cut))
    second = list(range(then, 4)) if isinstance(then, int) else then
    calls = [" ".join(SCRIPT[step] for step in steps) for steps in (first, second)]
    probe = " ".join(SCRIPT)
    text = f"1> {calls[0].format(3)} KILL | 2> {calls[1].format(4)} DONE"
    verdict = judged(text, probe.format(1), probe.format(2))
    whole = set(first) | set(second) == set(range(4))
    right = whole and after(first + second) == after(list(range(4)))
    if not right and sorted(first + second) == list(range(4)):
        return  # each step was taken once, in another order: that is what [[order]] is for
    if not right:
        assert verdict.kind.colour is RED, (first, second, codes(verdict))
    elif len(second) == len(set(second)):
        assert verdict.kind == "ok", (first, second, codes(verdict))
