"""What holds of the judge whatever the history: it never raises, never wavers, and is never green without cause."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import EVENTS, schedules
from notation import KEYS, Run, codes, expect, h

from ackgap.judge import judge
from ackgap.model.codec import decode, encode
from ackgap.model.event import GaveUp, IncarnationEnded, InDoubtSurfaced, WorkFinished
from ackgap.model.expectation import Expectation
from ackgap.model.history import History
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Colour, Finding, Verdict, VerdictKind

quick = settings(deadline=None, max_examples=50)

YARDSTICKS = [
    Expectation(),
    expect("search.query [found] tickets.create(1,key=k) [filed] tickets.create(2) notify.send(1)", facts=KEYS),
    expect("crm.add(1,title=A)", "crm.add(1,title=B)", declared_counts={"notify.send": 2}),
]

STEPS = st.sampled_from(
    [
        "search.query",
        "search.query:applied",
        "[found]",
        "[found]:committing",
        "tickets.create(1,key=k)",
        "tickets.create(1,key=m,title=B)",
        "tickets.create(1,key=k)=>replayed",
        "tickets.create(1):received",
        "tickets.create(1):applied",
        "tickets.create(2)",
        "tickets.create(2)=>rejected",
        "tickets.find notify.send(1)",
        "notify.send(1)",
        "crm.add(1,title=C)",
        "crm.add(1,title=C):applied",
    ]
)
LIVES = st.lists(STEPS, min_size=1, max_size=5).map(" ".join)
CUTS = st.sampled_from(["KILL", "KILL(unsettled)", "KILL(exit=0)", "KILL(down=72h)", "EXIT(1)", "DIES(11)"])
ENDS = st.sampled_from(["DONE", "EXIT(3) DOUBT", "EXIT(1) GAVE_UP(crash_loop)", "DIES(9) GAVE_UP(waiting)", ""])


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """A run of one to three lives, each but the last cut off in some way."""
    text = ""
    count = draw(st.integers(1, 3))
    for life in range(1, count + 1):
        steps = draw(LIVES)
        cut = draw(CUTS) if life < count else draw(ENDS)
        text += f" {life}> {steps} {cut}"
    return h(text, facts=KEYS)


def sure(verdict: Verdict) -> bool:
    return VerdictKind.INCONCLUSIVE not in {finding.kind for finding in verdict.findings}


@quick
@given(st.lists(EVENTS, max_size=6), st.sampled_from(YARDSTICKS), schedules())
def test_no_list_of_events_makes_the_judge_raise_or_waver(
    events: list[Any], expectation: Expectation, schedule: Schedule
) -> None:
    history = History(events=tuple(events))
    verdict = judge(history, expectation, schedule)
    assert judge(History(events=tuple(events)), expectation, schedule) == verdict
    assert verdict.headline
    assert all(finding.code and finding.summary for finding in verdict.findings)


@quick
@given(runs(), st.sampled_from(YARDSTICKS))
def test_a_history_read_back_from_json_gets_the_same_verdict(run: Run, expectation: Expectation) -> None:
    verdict = judge(run.history, expectation, run.schedule)
    back = History.from_json(json.loads(json.dumps(run.history.to_json())))
    assert judge(back, expectation, run.schedule) == verdict
    for finding in verdict.findings:
        assert decode(Finding, json.loads(json.dumps(encode(finding), allow_nan=False))) == finding


@quick
@given(runs())
def test_an_action_with_more_effects_than_expected_is_never_less_than_a_duplicate(run: Run) -> None:
    expectation = YARDSTICKS[1]
    verdict = judge(run.history, expectation, run.schedule)
    counts = Counter((effect.operation, effect.content["partner_id"]) for effect in run.history.effects)
    expected = {("tickets.create", "1"), ("tickets.create", "2"), ("notify.send", "1")}
    duplicated = {action for action, count in counts.items() if count > 1 and action in expected}
    found = [finding for finding in verdict.findings if finding.kind is VerdictKind.DUPLICATE]
    assert len(found) == len(duplicated)
    if sure(verdict) and duplicated:
        assert verdict.kind is VerdictKind.DUPLICATE


@quick
@given(runs())
def test_green_needs_a_conclusion_every_expected_effect_and_no_other(run: Run) -> None:
    verdict = judge(run.history, YARDSTICKS[1], run.schedule)
    concluded = [event for event in run.history if isinstance(event, WorkFinished | GaveUp | InDoubtSurfaced)]
    counts = Counter((effect.operation, effect.content["partner_id"]) for effect in run.history.effects)
    exactly = counts == {("tickets.create", "1"): 1, ("tickets.create", "2"): 1, ("notify.send", "1"): 1}
    if verdict.kind.colour in {Colour.GREEN, Colour.AMBER} and verdict.kind is not VerdictKind.IN_DOUBT:
        assert concluded
        assert exactly


@quick
@given(runs())
def test_a_kill_that_did_not_end_its_life_is_never_green_and_never_red(run: Run) -> None:
    ends = {event.incarnation: event for event in run.history.of(IncarnationEnded)}
    missed = [fault for fault in run.schedule.faults if ends[fault.incarnation].signal != 9]
    if missed:
        assert judge(run.history, YARDSTICKS[1], run.schedule).kind is VerdictKind.INCONCLUSIVE


@quick
@given(runs(), st.integers(2, 50))
def test_only_the_order_of_events_counts_and_not_their_numbers(run: Run, factor: int) -> None:
    spread = History(events=tuple(replace(event, seq=event.seq * factor, at_s=0.0) for event in run.history))
    one, two = (judge(history, YARDSTICKS[1], run.schedule) for history in (run.history, spread))
    assert (one.kind, codes(one)) == (two.kind, codes(two))


@quick
@given(runs(), st.randoms(use_true_random=False))
def test_the_order_in_which_expectations_are_listed_does_not_count(run: Run, random: Any) -> None:
    expectation = YARDSTICKS[1]
    effects = list(expectation.effects)
    random.shuffle(effects)
    turned = replace(expectation, effects=tuple(effects))
    one, two = (judge(run.history, yardstick, run.schedule) for yardstick in (expectation, turned))
    assert (one.kind, codes(one)) == (two.kind, codes(two))
