"""Subjects: the shipped agents that are right, and within which bounds each of them is."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

__all__ = ["FAULTS", "SUBJECTS", "Subject"]

FAULTS = ("kill", "lose", "fail,status=503")
"""What is done at every point: killed, its answer lost, an error in the answer's place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A shipped agent that is right.

    Attributes:
        scenario: Its name, as `ackgap list` has it.
        engine: What makes it durable; `plain` where it does that itself.
        only: The variant that is right: `AXIS=VALUE` each.
        faults: What is done at every point.
        modules: What has to be installed for it.
        file: Its source, in the scenario's folder.
        sample: Of its mutants every so-manieth is tried where nobody asks for all.
    """

    scenario: str
    engine: str = "plain"
    only: tuple[str, ...] = ()
    faults: tuple[str, ...] = FAULTS
    modules: tuple[str, ...] = ()
    file: str = "worker.py"
    sample: int = 1

    @property
    def missing(self) -> tuple[str, ...]:
        """Modules that this interpreter does not have."""
        return tuple(name for name in self.modules if importlib.util.find_spec(name.partition(".")[0]) is None)


_KILLS = ("kill",)
_LEASE = ("kill,down=1h", "lose", "fail,status=503")

SUBJECTS: tuple[Subject, ...] = (
    Subject(scenario="selfcheck/review"),
    Subject(scenario="selfcheck/claims"),
    Subject(scenario="selfcheck/payouts"),
    Subject(scenario="selfcheck/bookings"),
    Subject(scenario="selfcheck/charges"),
    Subject(scenario="selfcheck/inbox"),
    Subject(scenario="selfcheck/journal", modules=("httpx",)),
    Subject(scenario="known-answers/duplicate-correct"),
    Subject(scenario="known-answers/lost-correct"),
    Subject(scenario="known-answers/wasted-correct"),
    Subject(scenario="known-answers/stuck-slow-correct", faults=_KILLS, sample=2),
    Subject(scenario="known-answers/stuck-crash-loop-correct"),
    Subject(scenario="known-answers/phantom-correct"),
    Subject(scenario="known-answers/term-correct"),
    Subject(scenario="known-answers/lease-correct", faults=_LEASE),
    Subject(scenario="known-answers/write-order-correct"),
    Subject(scenario="known-answers/two-faults-correct"),
    Subject(scenario="known-answers/diverged-correct"),
    Subject(scenario="selfcheck/graph", engine="langgraph", modules=("langgraph",)),
    Subject(scenario="selfcheck/dbos", engine="dbos", faults=_KILLS, modules=("dbos",)),
)
