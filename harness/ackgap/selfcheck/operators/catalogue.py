"""Every operator, with where it was published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ackgap.selfcheck.agent_source import AgentSource, Change
from ackgap.selfcheck.meaning import Meaning
from ackgap.selfcheck.operators import answers, commits, contents, keys, lookups
from ackgap.selfcheck.operators.operator import Concern, Operator

__all__ = ["OPERATORS", "Mutant", "mutants_of"]

_STATEMENT_DELETION = "statement deletion (SDL), Deng, Offutt and Li, ICST 2013"
_BIT_TRUE = "condition replaced by a constant (part of ROR/COR), Offutt et al., TOSEM 1996"

OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="drop-key",
        concern=Concern.KEY,
        about="A call that acts is sent without its idempotency key.",
        published="https://github.com/langgenius/dify/issues/39685; " + _STATEMENT_DELETION,
        changes=keys.dropped_keys,
    ),
    Operator(
        name="payload-key",
        concern=Concern.KEY,
        about="The key is a digest of what is sent, so that other words make another key.",
        published="https://github.com/paperclipai/paperclip/pull/8356",
        changes=keys.payload_keys,
    ),
    Operator(
        name="random-key",
        concern=Concern.KEY,
        about="The key is made anew for each attempt.",
        published="https://github.com/square/square-mcp-server/issues/31",
        changes=keys.random_keys,
    ),
    Operator(
        name="time-key",
        concern=Concern.KEY,
        about="The key is the time of the attempt.",
        published="https://github.com/akash-network/console/pull/3449",
        changes=keys.time_keys,
    ),
    Operator(
        name="attempt-key",
        concern=Concern.KEY,
        about="What is another in each attempt is part of the key.",
        published="https://github.com/tempoxyz/pympp/pull/155",
        changes=keys.attempt_keys,
    ),
    Operator(
        name="forget-commit",
        concern=Concern.COMMIT,
        about="A durable write is left out.",
        published="https://github.com/langchain-ai/langgraph/issues/8298; " + _STATEMENT_DELETION,
        changes=commits.forgotten_commits,
    ),
    Operator(
        name="commit-later",
        concern=Concern.COMMIT,
        about="A durable write comes after the next thing that is done.",
        published="https://github.com/temporalio/documentation/pull/3530",
        changes=commits.late_commits,
    ),
    Operator(
        name="commit-after-loop",
        concern=Concern.COMMIT,
        about="What is done in a loop is written down once the loop is over.",
        published="https://github.com/bytedance/deer-flow/issues/1087",
        changes=commits.commits_after_loop,
    ),
    Operator(
        name="ack-before-doing",
        concern=Concern.COMMIT,
        about="A step is written down as done before it is done.",
        published="https://github.com/celery/celery/issues/5935 (early acknowledgement)",
        changes=commits.acknowledged_first,
    ),
    Operator(
        name="swap-writes",
        concern=Concern.COMMIT,
        about="Two things that follow each other, one of them durable, come in the other order.",
        published="https://github.com/dbos-inc/dbos-transact-py/issues/769; "
        "exchanged statements, Bradbury, Cordy and Dingel, Mutation 2006",
        changes=commits.swapped_writes,
    ),
    Operator(
        name="non-atomic-write",
        concern=Concern.COMMIT,
        about="A state file is written over, instead of a new one being put in its place.",
        published="Pillai et al., All File Systems Are Not Created Equal, OSDI 2014",
        changes=commits.non_atomic_writes,
    ),
    Operator(
        name="torn-write",
        concern=Concern.COMMIT,
        about="A state file is written in two halves, so that a crash leaves it cut off.",
        published="Pillai et al., All File Systems Are Not Created Equal, OSDI 2014",
        changes=commits.torn_writes,
    ),
    Operator(
        name="split-transaction",
        concern=Concern.COMMIT,
        about="Two changes that belong together are committed apart.",
        published="https://github.com/dbos-inc/dbos-transact-py/issues/769",
        changes=commits.split_transactions,
    ),
    Operator(
        name="autocommit",
        concern=Concern.COMMIT,
        about="Every statement is a transaction of its own.",
        published="https://github.com/dbos-inc/dbos-transact-py/issues/769",
        changes=commits.autocommits,
    ),
    Operator(
        name="swallow-error",
        concern=Concern.ANSWER,
        about="An error of a call that acts is swallowed, and the step counts as done.",
        published="https://github.com/dbos-inc/dbos-transact-py/issues/716; Yuan et al., Simple Testing, OSDI 2014",
        changes=answers.swallowed_errors,
    ),
    Operator(
        name="catch-and-continue",
        concern=Concern.ANSWER,
        about="After an error the next piece of work is taken, and this one is forgotten.",
        published="https://github.com/dbos-inc/dbos-transact-py/issues/716; Yuan et al., Simple Testing, OSDI 2014",
        changes=answers.caught_and_continued,
    ),
    Operator(
        name="blind-retry",
        concern=Concern.ANSWER,
        about="A call is made again after an error, without asking what became of the first attempt.",
        published="https://github.com/SpillwaveSolutions/wiki_ticket_sdd/issues/235; "
        "https://github.com/Comfy-Org/ComfyUI/pull/16204",
        changes=answers.blind_retries,
    ),
    Operator(
        name="ignore-conflict",
        concern=Concern.ANSWER,
        about="An answer that says that it is done, or being done, is taken for a failure.",
        published="https://github.com/stripe/stripe-ruby/issues/431",
        changes=answers.ignored_conflicts,
    ),
    Operator(
        name="unchecked-answer",
        concern=Concern.ANSWER,
        about="The status of an answer is not looked at.",
        published="Yuan et al., Simple Testing, OSDI 2014; " + _STATEMENT_DELETION,
        changes=answers.unchecked_answers,
    ),
    Operator(
        name="forget-lookup",
        concern=Concern.LOOKUP,
        about="A step is repeated without asking the service whether it is done.",
        published="https://github.com/mcheemaa/mistri/pull/26",
        changes=lookups.forgotten_lookups,
    ),
    Operator(
        name="early-lookup",
        concern=Concern.LOOKUP,
        about="The service is asked where new things are found only after a while.",
        published="https://docs.stripe.com/search (data freshness)",
        changes=lookups.early_lookups,
    ),
    Operator(
        name="wide-lookup",
        concern=Concern.LOOKUP,
        about="A lookup has one condition less, and finds what is not meant.",
        published="https://github.com/pydantic/pydantic-ai/issues/6903",
        changes=lookups.widened_lookups,
    ),
    Operator(
        name="drop-guard",
        concern=Concern.LOOKUP,
        about="A step is done whatever the agent's own records say.",
        published="https://github.com/crewAIInc/crewAI/pull/6113; " + _BIT_TRUE,
        changes=lookups.dropped_guards,
    ),
    Operator(
        name="forget-state",
        concern=Concern.LOOKUP,
        about="What was kept is not read when the agent starts again.",
        published="https://github.com/crewAIInc/crewAI/issues/1776; " + _BIT_TRUE,
        changes=lookups.forgotten_states,
    ),
    Operator(
        name="remade-content",
        concern=Concern.CONTENT,
        about="What is filed is made anew, instead of being read from what was kept and approved.",
        published="https://github.com/microsoft/agent-framework/issues/7458",
        changes=contents.remade_contents,
    ),
    Operator(
        name="bypass-record",
        concern=Concern.CONTENT,
        about="A step is done past what keeps its result.",
        published="https://github.com/pydantic/pydantic-ai/issues/6907",
        changes=contents.bypassed_records,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """An agent with one change.

    Attributes:
        name: `<operator>.<n>`, unique within its agent.
    """

    name: str
    operator: Operator
    file: str
    change: Change


def mutants_of(file: str, text: str, operators: tuple[Operator, ...] = OPERATORS) -> Iterator[Mutant]:
    """Yield every mutant of an agent's file; of several that read the same only the first."""
    meaning = Meaning(AgentSource(text))
    seen = {text}
    for operator in operators:
        changes = sorted(operator.changes(meaning), key=lambda change: change.line)
        fresh = [change for change in changes if change.text not in seen and not seen.add(change.text)]  # type: ignore[func-returns-value]
        for number, change in enumerate(fresh, start=1):
            yield Mutant(name=f"{operator.name}.{number}", operator=operator, file=file, change=change)
