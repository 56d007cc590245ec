"""Summary: what a self-check has shown, as numbers and as JSON. Pure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ackgap.model.event import Json
from ackgap.selfcheck.check import MutantResult, SubjectResult
from ackgap.selfcheck.classify import Fate

__all__ = ["Line", "Summary", "again"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One operator in the agents of one engine."""

    engine: str
    operator: str
    fates: Mapping[Fate, int]

    def __getitem__(self, fate: Fate) -> int:
        return self.fates.get(fate, 0)

    @property
    def viable(self) -> int:
        """How many did their work undisturbed."""
        return sum(self.fates.values()) - self[Fate.NOT_VIABLE]


@dataclass(frozen=True)
class Summary:
    """What a self-check has shown.

    Attributes:
        subjects: What came of each.
    """

    subjects: Sequence[SubjectResult]

    @cached_property
    def mutants(self) -> tuple[MutantResult, ...]:
        """Every mutant of every subject."""
        return tuple(each for subject in self.subjects for each in subject.mutants)

    @cached_property
    def fates(self) -> Mapping[Fate, int]:
        """How many mutants came to what."""
        return Counter(each.ruling.fate for each in self.mutants)

    @property
    def ok_cells(self) -> int:
        """In how many cells agents that are right came out ok."""
        return sum(subject.ok_cells for subject in self.subjects)

    @property
    def alarms(self) -> int:
        """How many false alarms there were: of agents that are right, and of mutants that did nothing else."""
        return sum(len(subject.alarms) for subject in self.subjects) + self.fates.get(Fate.UNFOUNDED, 0)

    @property
    def broken(self) -> int:
        """How many mutants there are that are viable and not equivalent."""
        return sum(self.fates.get(fate, 0) for fate in (Fate.CAUGHT, Fate.MISSED, Fate.UNFOUNDED))

    @property
    def kept(self) -> int:
        """How many mutants were proven equivalent earlier, and not run."""
        return sum(each.ruling.kept for each in self.mutants)

    @property
    def passed(self) -> bool:
        """Whether everything broken was caught and nothing else was; with at least one of each."""
        caught = self.fates.get(Fate.CAUGHT, 0)
        return not self.fates.get(Fate.MISSED, 0) and not self.alarms and caught > 0 and self.ok_cells > 0

    def lines(self) -> Iterator[Line]:
        """Yield a line for each engine and operator, in the order of subjects."""
        pairs = dict.fromkeys((each.subject.engine, each.mutant.operator.name) for each in self.mutants)
        for engine, operator in pairs:
            mine = [
                each.ruling.fate
                for each in self.mutants
                if (each.subject.engine, each.mutant.operator.name) == (engine, operator)
            ]
            yield Line(engine=engine, operator=operator, fates=Counter(mine))

    def to_json(self) -> dict[str, Json]:
        """Return everything as one JSON document."""
        return {
            "passed": self.passed,
            "mutants": {fate.value: self.fates.get(fate, 0) for fate in Fate},
            "catch_rate": round(self.fates.get(Fate.CAUGHT, 0) / self.broken, 4) if self.broken else None,
            "proofs_kept": self.kept,
            "ok_cells": self.ok_cells,
            "false_alarms": self.alarms,
            "subjects": [_subject_json(subject) for subject in self.subjects],
        }


def again(directory: Path | str, only: Sequence[str], schedule: str) -> str:
    """Return the command that runs one cell of an agent again, or all of them where no cell is named."""
    parts = ["ackgap", "run", str(directory), *(f"--only={each}" for each in only)]
    if schedule and not schedule.endswith("/none"):
        parts += ["--schedule", schedule]
    return shlex.join(parts)


def _subject_json(subject: SubjectResult) -> dict[str, Json]:
    return {
        "scenario": subject.subject.scenario,
        "engine": subject.subject.engine,
        "faults": list(subject.subject.faults),
        "skipped": subject.skipped,
        "ok_cells": subject.ok_cells,
        "alarms": [
            {
                "schedule": cell.schedule,
                "verdict": cell.verdict.value,
                "why": cell.headline,
                "again": again(subject.subject.scenario, subject.subject.only, cell.schedule),
            }
            for cell in subject.alarms
        ],
        "mutants": [
            {
                "name": each.mutant.name,
                "operator": each.mutant.operator.name,
                "line": each.mutant.change.line,
                "about": each.mutant.change.about,
                "fate": each.ruling.fate.value,
                "verdict": each.ruling.verdict,
                "schedule": each.ruling.schedule,
                "why": each.ruling.why,
                "cells": each.ruling.cells,
                "kept": each.ruling.kept,
            }
            for each in subject.mutants
        ],
    }
