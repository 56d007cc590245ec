"""Pure functions from a history to findings; nothing else decides right or wrong.

Every oracle is a function `(Case) -> Iterable[Finding]` in a module of its own. `judge` runs them all and lets the
worst finding win. An oracle that raises makes the cell inconclusive: never green, never red by accident.
"""

from __future__ import annotations

from ackgap.judge.case import Case, Oracle
from ackgap.judge.checks import checks
from ackgap.judge.diverged import diverged, out_of_order
from ackgap.judge.exactly_once import exactly_once
from ackgap.judge.keys import unstable_keys
from ackgap.judge.progress import progress
from ackgap.judge.proofs import axis_values_took_effect
from ackgap.judge.raced import raced
from ackgap.judge.validity import validity
from ackgap.judge.wasted import wasted
from ackgap.judge.zombie import zombies
from ackgap.model.expectation import Expectation
from ackgap.model.history import History
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind

__all__ = ["ORACLES", "Case", "Oracle", "judge"]

ORACLES: tuple[Oracle, ...] = (
    validity,
    axis_values_took_effect,
    exactly_once,
    zombies,
    diverged,
    out_of_order,
    progress,
    wasted,
    unstable_keys,
    raced,
    checks,
)


def judge(
    history: History, expectation: Expectation, schedule: Schedule, *, oracles: tuple[Oracle, ...] = ORACLES
) -> Verdict:
    """Return what one run proved.

    Args:
        history: The run's events.
        expectation: What an undisturbed run does, and what the scenario declares.
        schedule: The faults that were to happen.
        oracles: For tests; the default is all of them.
    """
    case = Case(history=history, expectation=expectation, schedule=schedule)
    findings: list[Finding] = []
    for oracle in oracles:
        try:
            findings.extend(oracle(case))
        except Exception as error:
            findings.append(
                Finding(
                    kind=VerdictKind.INCONCLUSIVE,
                    code="oracle_failed",
                    summary=f"the oracle `{oracle.__name__}` failed: {type(error).__name__}: {error}",
                )
            )
    return Verdict.of(findings)
