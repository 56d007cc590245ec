"""Wasted: paid calls that were made again although the worker had recorded them.

Paid calls are counted attempts, never effects. Extra is the run's count minus the probe's. Allowed is the number of
paid calls that had been served and not recorded when a life was killed, summed over all kills: nobody could have
known of those. What is repeated beyond that is waste; what is repeated within it is a remark.

A question that a model had never been asked repeats nothing, and is paid for all the same: a recovery may tell it of
what was interrupted. How far a conversation is shows by what the model has said and been given in it, not by its
wording (`stage_of`). Where that does not show, a call counts as a repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from ackgap.judge.case import Case
from ackgap.model import money
from ackgap.model.event import Json
from ackgap.model.verdict import Attribution, Finding, VerdictKind

__all__ = ["stage_of", "wasted"]

_ASKED_AGAIN = Attribution(
    worker="asked again for what it had already recorded",
    engine="started from a point before the recorded step",
    target="charges for each call",
    preventable_by=("worker", "engine"),
    fix="Resume from the checkpoint instead of from the input, or keep paid answers by request.",
)
_ASKED_BESIDES = Attribution(
    worker="asked for more than it does in peace",
    engine="left it to the worker to find out what had happened",
    target="charges for each call",
    preventable_by=("worker",),
    fix="Settle in code what can be settled without a paid call, such as whether an action is there.",
)


def wasted(case: Case) -> Iterator[Finding]:
    """Yield a finding for each paid operation that was attempted more often than an undisturbed run does."""
    allowed = _allowed(case)
    for operation, count in case.history.paid_counts().items():
        probe = case.expectation.paid_counts.get(operation, 0)
        extra = count - probe
        if extra <= 0:
            continue
        facts = case.facts(operation)
        price = facts.price if facts is not None else 0.0
        currency = facts.currency if facts is not None else ""
        waste = extra - allowed[operation]
        evidence = tuple(attempt.seq for attempt in case.history.attempts if attempt.operation == operation)
        cost = _cost(case, operation, extra, price)
        detail = {
            "probe": probe,
            "seen": count,
            "extra": extra,
            "allowed": allowed[operation],
            "cost": cost,
            "currency": currency,
        }
        finding = partial(Finding, evidence=evidence, operation=operation)
        told = f"{operation} was paid {count} times instead of {probe}"
        if waste <= 0:
            yield finding(
                kind=None,
                code="repeated_unrecorded_paid_work",
                summary=f"{told}; nothing had recorded the first ones",
                detail=detail,
            )
        elif _repeats(case, operation) > allowed[operation]:
            price_tag = _price_tag("the repeat" if extra == 1 else "the repeats", cost, currency)
            yield finding(
                kind=VerdictKind.WASTED,
                code="wasted",
                summary=f"{told}; {waste} of the repeats had been recorded before{price_tag}",
                detail={**detail, "wasted": waste},
                attribution=_ASKED_AGAIN,
            )
        else:
            price_tag = _price_tag("what was more", cost, currency)
            yield finding(
                kind=VerdictKind.WASTED,
                code="more_paid_work",
                summary=f"{told}; what was asked besides had not been asked before{price_tag}",
                detail={**detail, "wasted": waste},
                attribution=_ASKED_BESIDES,
            )


def _price_tag(what: str, cost: float, currency: str) -> str:
    return f"; {what} cost {money.in_words(cost, currency)}" if cost else ""


def _repeats(case: Case, operation: str) -> int:
    """Return how many served attempts of an operation stand where an earlier one of this run already stood."""
    stages = [
        stage_of(attempt.payload)
        for attempt in case.history.attempts
        if attempt.operation == operation and case.history.served(attempt.attempt)
    ]
    return len(stages) - len({stage for stage in stages if stage is not None})


def stage_of(payload: Json) -> tuple[str, ...] | None:
    """Return how far the conversation of a request to a model is; None where that is not to be seen.

    Args:
        payload: Of OpenAI's Chat Completions or Responses, or of Anthropic's Messages.
    """
    if not isinstance(payload, Mapping) or payload.get("previous_response_id") or payload.get("conversation"):
        return None
    entries = payload.get("messages", payload.get("input"))
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return None
    stage: list[str] = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            return None
        content = entry.get("content")
        blocks = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
        results = [block for block in blocks if isinstance(block, Mapping) and block.get("type") == "tool_result"]
        kind = str(entry.get("role") or entry.get("type"))
        if results:
            stage += ["tool"] * len(results)
        elif kind not in ("user", "system", "developer"):
            stage.append(kind)
    return tuple(stage)


def _allowed(case: Case) -> Counter[str]:
    """Return how many served calls of each operation nothing had recorded when a life was struck or failed."""
    unknown = {attempt.attempt: attempt for fault in case.history.faults for attempt in case.unrecorded(fault)}
    for end in case.history.ends.values():
        if not end.by_harness and (end.exit_code or end.signal is not None):
            unknown |= {attempt.attempt: attempt for attempt in case.unrecorded(end)}
    paid = (attempt for attempt in unknown.values() if attempt.paid and case.history.served(attempt.attempt))
    return Counter(attempt.operation for attempt in paid)


def _cost(case: Case, operation: str, extra: int, price: float) -> float:
    """Return what the repeats cost: the latest `extra` served attempts, at what each was charged."""
    charged = []
    for attempt in case.history.attempts:
        if attempt.operation == operation and case.history.served(attempt.attempt):
            answer = case.history.answers.get(attempt.attempt) or case.history.drops.get(attempt.attempt)
            charged.append(answer.cost if answer is not None and answer.cost else price)
    return round(sum(charged[-extra:]), 9)
