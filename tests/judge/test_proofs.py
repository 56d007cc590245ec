"""Whether the values of a variant's axes took effect, as seen from outside."""

from __future__ import annotations

import pytest
from notation import codes, h, judged, only

from ackgap.judge.case import Case
from ackgap.judge.proofs import holds
from ackgap.model.expectation import Expectation, Proof

SYNC = "1> search.query [step] tickets.create [end] DONE"
LATE = "1> search.query tickets.create [step] [end] DONE"


@pytest.mark.parametrize(
    ("expected", "history", "proof"),
    [
        (True, SYNC, {"kind": "seen", "pattern": "step#1:committed"}),
        (True, SYNC, {"kind": "seen", "pattern": "s*#1:committed"}),
        (False, SYNC, {"kind": "seen", "pattern": "other*"}),
        (True, SYNC, {"kind": "never", "pattern": "other*"}),
        (False, SYNC, {"kind": "never", "pattern": "step#*"}),
        (True, SYNC, {"kind": "before", "pattern": "step#*:committed", "other": "tickets.create#1:sending"}),
        (False, LATE, {"kind": "before", "pattern": "step#*:committed", "other": "tickets.create#1:sending"}),
        (False, SYNC, {"kind": "never_before", "pattern": "step#*:committed", "other": "tickets.create#1:sending"}),
        (True, LATE, {"kind": "never_before", "pattern": "step#*:committed", "other": "tickets.create#1:sending"}),
        # Where the second point was not reached there is nothing to compare with.
        (None, "1> search.query KILL", {"kind": "before", "pattern": "step*", "other": "tickets.create#1:sending"}),
        # A proof about a life that never began says nothing.
        (None, SYNC, {"kind": "seen", "pattern": "step*", "incarnation": 2}),
        (True, "1> search.query KILL | 2> [step] DONE", {"kind": "seen", "pattern": "step*", "incarnation": 2}),
        (False, "1> [step] KILL | 2> search.query DONE", {"kind": "seen", "pattern": "step*", "incarnation": 2}),
        # Conditions look at the first life.
        (None, SYNC, {"kind": "seen", "pattern": "other*", "when": "notify.*"}),
        (False, SYNC, {"kind": "seen", "pattern": "other*", "when": "tickets.*"}),
        (None, SYNC, {"kind": "seen", "pattern": "other*", "unless": "tickets.*"}),
        (False, SYNC, {"kind": "seen", "pattern": "other*", "unless": "notify.*"}),
        # Keys.
        (True, "1> tickets.create DONE", {"kind": "keys_absent", "pattern": "tickets.create"}),
        (False, "1> tickets.create(key=k) DONE", {"kind": "keys_absent", "pattern": "tickets.create"}),
        (True, "1> tickets.create(key=k) DONE", {"kind": "keys_present", "pattern": "tickets.create"}),
        (
            False,
            "1> tickets.create(key=k) tickets.create DONE",
            {"kind": "keys_present", "pattern": "tickets.create"},
        ),
        (None, "1> notify.send DONE", {"kind": "keys_present", "pattern": "tickets.create"}),
        (
            True,
            "1> tickets.create(title=A,key=k) KILL | 2> tickets.create(title=B,key=k) DONE",
            {"kind": "keys_same", "pattern": "tickets.create"},
        ),
        (
            False,
            "1> tickets.create(title=A,key=k) KILL | 2> tickets.create(title=B,key=m) DONE",
            {"kind": "keys_same", "pattern": "tickets.create"},
        ),
        (
            True,
            "1> tickets.create(title=A,key=k) KILL | 2> tickets.create(title=B,key=m) DONE",
            {"kind": "keys_differ", "pattern": "tickets.create"},
        ),
        # No key at all is neither the same key nor different ones.
        (
            False,
            "1> tickets.create(title=A) KILL | 2> tickets.create(title=B) DONE",
            {"kind": "keys_same", "pattern": "tickets.create"},
        ),
        (
            False,
            "1> tickets.create(title=A) KILL | 2> tickets.create(title=B) DONE",
            {"kind": "keys_differ", "pattern": "tickets.create"},
        ),
        # A read is no crash point, and can be seen all the same.
        (True, "1> tickets.find DONE", {"kind": "seen", "pattern": "tickets.find#1:received"}),
        (False, "1> tickets.find DONE", {"kind": "never", "pattern": "tickets.find#*"}),
        (False, SYNC, {"kind": "seen", "pattern": "tickets.find#*"}),
        # One payload alone cannot tell a key made from the payload from a fixed one.
        (
            None,
            "1> tickets.create(title=A,key=k) KILL | 2> tickets.create(title=A,key=k) DONE",
            {"kind": "keys_differ", "pattern": "tickets.create"},
        ),
    ],
)
def test_a_proof_holds_fails_or_does_not_apply(expected: bool | None, history: str, proof: dict) -> None:
    run = h(history)
    case = Case(history=run.history, expectation=Expectation(), schedule=run.schedule)
    assert holds(case, Proof(axis="durability", value="sync", **proof)) is expected


def test_brackets_in_a_pattern_stand_for_themselves() -> None:
    run = h("1> [step] DONE")
    case = Case(history=run.history, expectation=Expectation(), schedule=run.schedule)
    assert holds(case, Proof(axis="a", value="b", kind="seen", pattern="[s]tep#1:committed")) is False


@pytest.mark.parametrize("kind", ["seen", "before", "keys_present", "keys_same"])
def test_a_variant_that_did_not_take_effect_is_inconclusive_even_where_a_duplicate_shows(kind: str) -> None:
    pattern = "tickets.create" if kind.startswith("keys") else "never-reached*"
    proof = Proof(axis="durability", value="sync", kind=kind, pattern=pattern, other="tickets.create#1:sending")
    verdict = judged(
        "1> tickets.create(title=A,key=a):applied KILL | 2> tickets.create(title=B) DONE",
        "tickets.create",
        proofs=(proof,),
    )
    assert verdict.kind == "inconclusive"
    assert "duplicate" in codes(verdict)
    assert only(verdict, "variant_not_effective").summary.startswith("nothing shows that durability=sync took effect: ")


@pytest.mark.parametrize("kind", ["never", "never_before", "keys_absent", "keys_differ"])
def test_every_kind_of_proof_that_fails_says_what_was_seen(kind: str) -> None:
    pattern = "tickets.create" if kind.startswith("keys") else "search.query#1:received"
    proof = Proof(axis="key", value="x", kind=kind, pattern=pattern, other="tickets.create#1:sending")
    verdict = judged(
        "1> search.query tickets.create(title=A,key=k):received KILL | 2> tickets.create(title=B,key=k) DONE",
        "search.query tickets.create",
        proofs=(proof,),
    )
    assert len(only(verdict, "variant_not_effective").summary.partition("took effect: ")[2]) > 10
