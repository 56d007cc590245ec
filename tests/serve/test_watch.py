"""What the watch of served targets counts, keeps and forgets."""

from __future__ import annotations

import pytest

from ackgap.model.event import AttemptAnswered, AttemptDropped, AttemptReceived, Decision, EffectApplied
from ackgap.serve import watch as watch_module
from ackgap.serve.watch import Watch


@pytest.fixture
def watch():
    return Watch(clock=lambda: 1_800_000_000.0, currencies={"search": "EUR"})


def attempt(watch, number, *, target="shop", digest="d", identity=None, effect=True, cost=0.0, path="/things"):
    operation = f"{target}.create"
    watch.record(
        AttemptReceived,
        attempt=number,
        incarnation=1,
        target=target,
        operation=operation,
        occurrence=number,
        method="POST",
        path=path,
        effectful=effect,
        payload_digest=digest,
    )
    if effect:
        watch.record(
            EffectApplied,
            effect=number,
            attempt=number,
            incarnation=1,
            target=target,
            operation=operation,
            object_id=f"o{number}",
            identity=identity or {},
        )
    watch.record(
        AttemptAnswered,
        attempt=number,
        status=201,
        decision=Decision.APPLIED if effect else Decision.READ,
        rule="r",
        cost=cost,
    )


def test_effects_of_one_identity_are_one_action_that_is_repeated(watch):
    attempt(watch, 1, identity={"body.id": 1, "body.note": None}, digest="first wording")
    attempt(watch, 2, identity={"body.id": 2, "body.note": None})
    attempt(watch, 3, identity={"body.id": 1, "body.note": None}, digest="second wording")
    assert [(action.text, action.count, action.object_ids) for action in watch.actions] == [
        ("id 1", 2, ["o1", "o3"]),
        ("id 2", 1, ["o2"]),
    ]
    assert [action.text for action in watch.repeated] == ["id 1"]
    assert [row.copies for row in watch.rows] == [1, 1, 2]


def test_identities_of_different_types_are_different_actions(watch):
    attempt(watch, 1, identity={"body.id": 1})
    attempt(watch, 2, identity={"body.id": "1"})
    assert watch.repeated == ()


def test_where_a_service_names_no_identity_the_same_request_is_the_same_action(watch):
    attempt(watch, 1, digest="a")
    attempt(watch, 2, digest="b")
    attempt(watch, 3, digest="a")
    attempt(watch, 4, digest="a", path="/others")
    assert [action.count for action in watch.actions] == [2, 1, 1]


def test_costs_are_summed_by_the_currency_of_their_target(watch):
    attempt(watch, 1, target="search", effect=False, cost=0.04)
    attempt(watch, 2, target="search", effect=False, cost=0.04)
    attempt(watch, 3, target="shop", effect=False)
    assert watch.costs == {"EUR": pytest.approx(0.08)}


def test_an_attempt_whose_connection_was_dropped_is_done(watch):
    watch.record(
        AttemptReceived,
        attempt=1,
        incarnation=1,
        target="shop",
        operation="shop.create",
        occurrence=1,
        method="POST",
        path="/things",
        effectful=True,
    )
    (row,) = watch.rows
    assert not row.done
    watch.record(AttemptDropped, attempt=1)
    assert row.done
    assert row.dropped


def test_only_the_newest_events_are_kept_and_all_are_counted(monkeypatch):
    monkeypatch.setattr(watch_module, "_EVENT_LIMIT", 5)
    monkeypatch.setattr(watch_module, "_ROW_LIMIT", 2)
    watch = Watch(clock=lambda: 0.0)
    for number in range(1, 11):
        attempt(watch, number, identity={"body.id": number})
    document = watch.document()
    assert [event["seq"] for event in document["events"]] == [26, 27, 28, 29, 30]
    assert document["oldest_seq"] == 26
    assert len(watch.rows) == 2
    assert (watch.attempt_count, watch.effect_count, document["totals"]["effects"]) == (10, 10, 10)


def test_a_reader_gets_only_what_it_does_not_have(watch):
    attempt(watch, 1)
    assert [event["seq"] for event in watch.document(since=2)["events"]] == [3]
    assert watch.document(since=3)["events"] == []


def test_after_a_reset_nothing_is_left_but_the_numbering(watch):
    attempt(watch, 1, cost=1.0)
    watch.reset()
    assert watch.document() == {
        "seq": 3,
        "oldest_seq": 4,
        "events": [],
        "totals": {"attempts": 0, "effects": 0, "costs": {}, "actions": []},
    }
