"""The judge as a whole: what raises proves nothing, the worst wins, and nothing but the history decides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from notation import codes, expect, h, judged

from ackgap.judge import ORACLES, Case, judge
from ackgap.model.event import Note
from ackgap.model.history import History
from ackgap.model.schedule import UNDISTURBED
from ackgap.model.verdict import SEVERITY, Finding, Verdict, VerdictKind

DUPLICATE = "1> search.query [found] tickets.create:applied KILL | 2> search.query tickets.create DONE"
PROBE = "search.query [found] tickets.create"


def failing(case: Case) -> Iterator[Finding]:
    raise LookupError("there is no such thing")


def half_failing(case: Case) -> Iterator[Finding]:
    yield Finding(kind=VerdictKind.DUPLICATE, code="duplicate", summary="seen before it failed")
    raise LookupError("there is no such thing")


@pytest.mark.parametrize("oracle", [failing, half_failing])
def test_an_oracle_that_raises_makes_the_cell_inconclusive_and_stops_no_other(oracle: object) -> None:
    run = h(DUPLICATE)
    verdict = judge(run.history, expect(PROBE), run.schedule, oracles=(oracle, *ORACLES))
    assert verdict.kind == "inconclusive"
    assert {"oracle_failed", "duplicate", "wasted"} <= set(codes(verdict))
    assert verdict.headline == f"the oracle `{oracle.__name__}` failed: LookupError: there is no such thing"


def test_an_effect_without_its_attempt_makes_the_cell_inconclusive_and_not_red() -> None:
    run = h(DUPLICATE)
    kept = tuple(event for event in run.history if event.kind != "attempt_received")
    assert judge(History(events=kept), expect(PROBE), run.schedule).kind == "inconclusive"


def test_an_empty_history_is_inconclusive() -> None:
    verdict = judge(History(events=()), expect(PROBE), UNDISTURBED)
    assert codes(verdict) == ["no_attempts", "not_concluded"]
    assert verdict.kind == "inconclusive"


@pytest.mark.parametrize("worse", range(len(SEVERITY)))
def test_the_worst_finding_wins_and_inconclusive_overrules_it(worse: int) -> None:
    kinds = [kind for kind in SEVERITY[worse:] if kind is not VerdictKind.INCONCLUSIVE]
    findings = [Finding(kind=kind, code=kind.value, summary=kind.value) for kind in reversed(kinds)]
    expected = kinds[0] if kinds else VerdictKind.OK
    assert Verdict.of(findings).kind is expected
    doubtful = Finding(kind=VerdictKind.INCONCLUSIVE, code="x", summary="x")
    assert Verdict.of([*findings, doubtful]).kind is VerdictKind.INCONCLUSIVE


def test_a_remark_alone_leaves_the_cell_ok() -> None:
    assert Verdict.of([Finding(kind=None, code="unstable_key", summary="x")]).kind is VerdictKind.OK


def test_evidence_names_events_that_are_in_the_history() -> None:
    histories = (
        (DUPLICATE, PROBE),
        ("1> tickets.create:received PAUSE | 2> tickets.create DONE | 1> tickets.create#1 EXIT(0)", "tickets.create"),
        ("1> tickets.create:applied KILL | 2> EXIT(3) DOUBT", "tickets.create"),
        ("1> tickets.create:received KILL(store) | 2> DONE CHECK(a,fails)", "tickets.create"),
    )
    for text, probe in histories:
        seqs = {event.seq for event in h(text).history}
        findings = judged(text, probe).findings
        assert findings
        assert {seq for finding in findings for seq in finding.evidence} <= seqs


def test_the_order_of_what_was_expected_decides_nothing() -> None:
    probe = "tickets.create(1) tickets.create(2) notify.send(1)"
    run = h("1> tickets.create(1) tickets.create(2):applied KILL | 2> tickets.create(2) DONE")
    expectation = expect(probe)
    turned = replace(
        expectation,
        effects=tuple(reversed(expectation.effects)),
        operations=dict(reversed(list(expectation.operations.items()))),
    )
    one, two = (judge(run.history, yardstick, run.schedule) for yardstick in (expectation, turned))
    assert one.kind == two.kind == "duplicate"
    assert codes(one) == codes(two) == ["duplicate", "lost"]


def test_real_time_and_notes_of_others_decide_nothing() -> None:
    run, expectation = h(DUPLICATE), expect(PROBE)
    verdict = judge(run.history, expectation, run.schedule)
    slow = tuple(replace(event, at_s=event.at_s * 1000) for event in run.history)
    assert judge(History(events=slow), expectation, run.schedule) == verdict
    noted = (*run.history.events, Note(seq=999, at_s=9.0, code="woken", text="somebody woke up"))
    assert judge(History(events=noted), expectation, run.schedule) == verdict
