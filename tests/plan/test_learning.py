"""What tells effects apart is learned from two runs as from two sets: the order in which effects came says nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import WORLD, expect, undisturbed

from ackgap.model.event import AttemptReceived
from ackgap.model.expectation import Expectation, OperationFacts
from ackgap.model.history import History
from ackgap.plan.census import take_census


def learned(first: str, second: str) -> OperationFacts:
    return expect(first, second).operations["crm.add"]


def body_paths(paths: tuple[str, ...]) -> set[str]:
    return {path for path in paths if path.startswith("body.")}


THREE = ("crm.add(1,name=a,title={0})", "crm.add(2,name=b,title={1})", "crm.add(3,name=c,title={2})")


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_effects_that_arrive_in_another_order_keep_their_identity(order: tuple[int, ...]) -> None:
    first = " ".join(THREE).format("A", "B", "C")
    second = " ".join(THREE[place] for place in order).format("D", "E", "F")
    facts = learned(first, second)
    assert body_paths(facts.identity) == {"body.partner_id", "body.name"}
    assert body_paths(facts.content_learned) == {"body.title"}
    expectation = expect(first, second)
    assert [effect.count for effect in expectation.effects] == [1, 1, 1]
    assert expectation.nondeterministic == ()


def test_a_number_in_the_order_of_arrival_is_content_if_more_fields_say_who_is_meant() -> None:
    facts = learned(
        "crm.add(1,name=a,place=1) crm.add(2,name=b,place=2)", "crm.add(2,name=b,place=1) crm.add(1,name=a,place=2)"
    )
    assert body_paths(facts.identity) == {"body.partner_id", "body.name"}


def test_a_field_with_few_values_gives_way_to_one_with_many() -> None:
    facts = learned(
        "crm.add(1,mood=low) crm.add(2,mood=high) crm.add(3,mood=low)",
        "crm.add(1,mood=high) crm.add(2,mood=low) crm.add(3,mood=low)",
    )
    assert body_paths(facts.identity) == {"body.partner_id"}
    assert body_paths(facts.content_learned) == {"body.mood"}


def test_of_two_fields_that_contradict_each_other_and_weigh_the_same_neither_is_relied_on() -> None:
    first, second = "crm.add(1,place=1) crm.add(2,place=2)", "crm.add(2,place=1) crm.add(1,place=2)"
    assert body_paths(learned(first, second).identity) == set()
    (effect,) = expect(first, second).effects
    assert (effect.count, effect.copies) == (2, 1)
    assert expect(first, second).nondeterministic == ()


def test_what_is_the_same_in_every_effect_of_both_runs_is_identity() -> None:
    facts = learned("crm.add(1,kind=x) crm.add(2,kind=x)", "crm.add(2,kind=x) crm.add(1,kind=x)")
    assert body_paths(facts.identity) == {"body.partner_id", "body.kind"}


def test_a_field_that_some_effects_lack_is_identity_where_it_lacks_in_the_same_ones() -> None:
    facts = learned("crm.add(1,extra=x) crm.add(2)", "crm.add(2) crm.add(1,extra=x)")
    assert "body.extra" in facts.identity


def test_a_key_is_identity_only_where_nothing_else_tells_effects_apart_and_it_stays() -> None:
    def keyed(title_1: str, title_2: str, key_1: str, key_2: str) -> str:
        return f"crm.add(1,key={key_1},title={title_1}) crm.add(1,key={key_2},title={title_2})"

    assert "key" in learned(keyed("A", "B", "k1", "k2"), keyed("C", "D", "k1", "k2")).identity
    assert "key" in learned(keyed("A", "B", "k1", "k2"), keyed("C", "D", "k2", "k1")).identity
    assert "key" not in learned(keyed("A", "B", "k1", "k2"), keyed("C", "D", "k3", "k4")).identity
    assert "key" not in learned("crm.add(1,key=a) crm.add(2,key=b)", "crm.add(1,key=a) crm.add(2,key=b)").identity


def test_keys_tell_copies_only_if_every_effect_of_both_runs_had_one_of_its_own() -> None:
    own, shared, none = (
        "crm.add(1,key=a) crm.add(2,key=b)",
        "crm.add(1,key=a) crm.add(2,key=a)",
        "crm.add(1) crm.add(2)",
    )
    assert learned(own, own).keys_tell
    assert not learned(own, shared).keys_tell
    assert not learned(shared, own).keys_tell
    assert not learned(none, none).keys_tell


def test_how_many_effects_may_be_equal_is_the_most_that_one_run_had() -> None:
    def copies(first: str, second: str) -> list[int]:
        return [effect.copies for effect in expect(first, second).effects]

    assert copies("crm.add(1,title=A) crm.add(1,title=B)", "crm.add(1,title=C) crm.add(1,title=D)") == [1]
    assert copies("crm.add(1,title=A) crm.add(1,title=B)", "crm.add(1,title=C) crm.add(1,title=C)") == [2]
    assert copies("tickets.create", "tickets.create") == [0]


# -------------------------------------------------- paths and headers


def with_attempts(history: History, **changes: list[Any]) -> History:
    """Return a history whose attempts have other values, one for each attempt."""
    events, place = [], 0
    for event in history:
        if isinstance(event, AttemptReceived):
            event = replace(event, **{name: values[place] for name, values in changes.items()})
            place += 1
        events.append(event)
    return History(events=tuple(events))


def census(text: str, first: dict[str, list[Any]], second: dict[str, list[Any]]) -> Expectation:
    return take_census(with_attempts(undisturbed(text), **first), with_attempts(undisturbed(text), **second), WORLD)


def test_a_header_that_says_who_is_meant_tells_effects_apart() -> None:
    expectation = census(
        "crm.add(1) crm.add(1)",
        {"headers": [{"x-tenant": "a"}, {"x-tenant": "b"}]},
        {"headers": [{"x-tenant": "b"}, {"x-tenant": "a"}]},
    )
    assert "header.x-tenant" in expectation.operations["crm.add"].identity
    assert [effect.count for effect in expectation.effects] == [1, 1]


def test_a_header_that_moves_is_content() -> None:
    facts = census("crm.add(1)", {"headers": [{"x-run": "a"}]}, {"headers": [{"x-run": "b"}]}).operations["crm.add"]
    assert "header.x-run" in facts.content_learned


def test_a_url_is_identity_as_a_whole_where_it_stays_and_in_parts_where_only_some_stay() -> None:
    still = census("crm.add(1)", {"path": ["/p/7/notes"]}, {"path": ["/p/7/notes"]}).operations["crm.add"]
    assert [path for path in still.identity if path.startswith("path")] == ["path"]
    assert not [path for path in still.content_learned if path.startswith("path")]
    moved = census("crm.add(1) crm.add(1)", {"path": ["/p/7/a", "/p/8/b"]}, {"path": ["/p/8/c", "/p/7/d"]})
    facts = moved.operations["crm.add"]
    assert [path for path in facts.identity if path.startswith("path")] == ["path.1", "path.2"]
    assert [path for path in facts.content_learned if path.startswith("path")] == ["path", "path.3"]
    assert [effect.count for effect in moved.effects] == [1, 1]


# ----------------------------------------------------------- properties

EFFECTS = st.lists(
    st.tuples(st.sampled_from("123"), st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=6
)


def calls(effects: list[tuple[str, str, str]]) -> str:
    return " ".join(f"crm.add({partner},name={name},title={title})" for partner, name, title in effects)


@settings(deadline=None, max_examples=50)
@given(EFFECTS, EFFECTS, st.randoms(use_true_random=False))
def test_no_order_of_arrival_changes_what_is_learned(
    first: list[tuple[str, str, str]], second: list[tuple[str, str, str]], random: Any
) -> None:
    one, two = random.sample(first, len(first)), random.sample(second, len(second))
    there, turned = expect(calls(first), calls(second)), expect(calls(one), calls(two))
    assert there.operations == turned.operations
    assert sorted(map(repr, there.effects)) == sorted(map(repr, turned.effects))


@settings(deadline=None, max_examples=50)
@given(EFFECTS, st.data())
def test_runs_with_equally_many_effects_never_differ_in_what_was_learned(
    first: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    second = data.draw(
        st.lists(
            st.sampled_from([("1", "a", "x"), ("2", "b", "y"), ("3", "a", "z")]),
            min_size=len(first),
            max_size=len(first),
        )
    )
    assert expect(calls(first), calls(second)).nondeterministic == ()
    assert learned(calls(first), calls(second)).identity == learned(calls(second), calls(first)).identity
