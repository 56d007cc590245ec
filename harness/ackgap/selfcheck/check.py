"""SelfCheck: every subject as it is, then every mutant of it, on the slots of one pool."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path

from ackgap.campaign.choosing import manners_of, selection_of
from ackgap.campaign.pool import SlotPool, limit_of
from ackgap.campaign.stage import checked_profiles, on_ground, wants_isolation
from ackgap.errors import EnvironmentLacks, HarnessFailed
from ackgap.execute.order import Order
from ackgap.judge import judge
from ackgap.model.schedule import UNDISTURBED
from ackgap.model.verdict import VerdictKind
from ackgap.scenario.discover import shipped_scenarios
from ackgap.scenario.load import load_scenario
from ackgap.scenario.scenario import Scenario
from ackgap.selfcheck.agent_source import AgentSource
from ackgap.selfcheck.classify import Fate, Reference, Ruling, ruling_of
from ackgap.selfcheck.operators.catalogue import OPERATORS, Mutant, mutants_of
from ackgap.selfcheck.operators.operator import Operator
from ackgap.selfcheck.proofs import Proof, Proofs, circumstances
from ackgap.selfcheck.subjects import Subject
from ackgap.selfcheck.trial import TRAP_STATUS, Judge, Trial, TrialCell, TrialResult, run_trial

__all__ = ["MutantResult", "SelfCheck", "SubjectResult"]

_MOST_CELLS = 200
_MOST_POOLS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantResult:
    """What became of one mutant.

    Attributes:
        directory: Where the mutant is, ready to be run again.
    """

    subject: Subject
    mutant: Mutant
    ruling: Ruling
    directory: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectResult:
    """What came of one subject.

    Attributes:
        ok_cells: In how many cells it came out ok, the undisturbed run among them.
        alarms: Cells in which it did not.
        mutants: What became of each.
        skipped: Why it was not tried; empty where it was.
        circumstances: Digest of what proofs about its mutants rest on.
    """

    subject: Subject
    ok_cells: int = 0
    alarms: tuple[TrialCell, ...] = ()
    mutants: tuple[MutantResult, ...] = ()
    skipped: str = ""
    circumstances: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheck:
    """Tries shipped agents and mutants of them.

    Attributes:
        directory: Where mutants are written.
        operators: Which are used.
        everything: Try every mutant, where a subject would be sampled.
        jobs: How many slots.
        network: `auto`, `isolated` or `host`.
        judge: What says what a history proves.
        proofs: Of mutants that are equivalent; what has one is not run.
        tell: Told of each result as it comes.
    """

    directory: Path
    operators: tuple[Operator, ...] = OPERATORS
    everything: bool = False
    jobs: int = 1
    network: str = "auto"
    judge: Judge = judge
    proofs: Proofs = field(default_factory=Proofs)
    tell: Callable[[MutantResult], None] = field(default=lambda _: None)

    def run(self, subjects: Sequence[Subject]) -> Iterator[SubjectResult]:
        """Try each subject that can be tried here, and yield what came of it.

        Raises:
            AckgapError: A subject could not be run, or its undisturbed run failed.
        """
        for subject in subjects:
            if subject.missing:
                yield SubjectResult(subject=subject, skipped=f"{', '.join(subject.missing)} is not installed")
                continue
            try:
                yield self._try(subject)
            except EnvironmentLacks as error:
                yield SubjectResult(subject=subject, skipped=error.what)

    def _try(self, subject: Subject) -> SubjectResult:
        folder = shipped_scenarios()[subject.scenario]
        scenario = load_scenario(folder)
        trial = self._trial(subject, scenario)
        reference = Reference(self._all(scenario, [trial])[0])
        if reference.result.peace is None:
            raise HarnessFailed(
                f"the undisturbed run of {subject.scenario} failed: {reference.result.failed}",
                where="ackgap selfcheck",
                next_step=f"try `ackgap run {subject.scenario}`",
            )
        cells = (reference.result.peace, *reference.result.cells)
        alarms = tuple(cell for cell in cells if cell.verdict is not VerdictKind.OK)
        trial = replace(
            trial,
            order=replace(trial.order, warm=reference.result.modules),
            all_cells=frozenset(reference.by_schedule),
            ok_cells=frozenset(cell.schedule for cell in reference.result.cells if cell.verdict is VerdictKind.OK),
        )
        rests_on = circumstances(subject, scenario, folder)
        mutants = self._mutants(subject, folder)
        directories = [self._written(subject, folder, each.name, each.change.text) for each in mutants]
        rulings = [_proven(self.proofs.of(subject, rests_on, mutant)) for mutant in mutants]
        left = [n for n, ruling in enumerate(rulings) if ruling is None]
        results = dict(
            zip(left, self._all(scenario, [_of_directory(trial, directories[n]) for n in left]), strict=True)
        )
        for n in left:
            rulings[n] = ruling_of(reference, results[n])
        open_ones = [n for n in left if rulings[n] is None]
        reached = self._reached(subject, folder, scenario, trial, [mutants[n] for n in open_ones])
        for n, was_reached in zip(open_ones, reached, strict=True):
            rulings[n] = ruling_of(reference, results[n], unreached=not was_reached)
        found = []
        for mutant, ruling, directory in zip(mutants, rulings, directories, strict=True):
            assert ruling is not None
            found.append(MutantResult(subject=subject, mutant=mutant, ruling=ruling, directory=directory))
            self.tell(found[-1])
        return SubjectResult(
            subject=subject,
            ok_cells=len(cells) - len(alarms),
            alarms=alarms,
            mutants=tuple(found),
            circumstances=rests_on,
        )

    def _trial(self, subject: Subject, scenario: Scenario) -> Trial:
        selection = selection_of(scenario, only=subject.only)
        return Trial(
            order=Order(
                scenario=scenario,
                variant=selection.variants_of(scenario)[0],
                schedule=UNDISTURBED,
                profiles=checked_profiles(scenario),
            ),
            manners=manners_of(scenario, subject.faults),
            isolated=wants_isolation(scenario, self.network),
            judge=self.judge,
        )

    def _mutants(self, subject: Subject, folder: Path) -> list[Mutant]:
        text = (folder / subject.file).read_text(encoding="utf-8")
        found = list(mutants_of(subject.file, text, self.operators))
        return found if self.everything else found[:: subject.sample]

    def _reached(
        self, subject: Subject, folder: Path, scenario: Scenario, trial: Trial, mutants: Sequence[Mutant]
    ) -> list[bool]:
        """Return of each mutant whether its line is reached by the agent as it was, in any cell: by setting a trap."""
        text = (folder / subject.file).read_text(encoding="utf-8")
        trials = [
            _of_directory(
                replace(trial, all_cells=frozenset(), ok_cells=frozenset()),
                self._written(subject, folder, f"{mutant.name}.trap", _trapped(text, mutant)),
            )
            for mutant in mutants
        ]
        results = self._all(scenario, trials)
        return [result.trapped or any(cell.trapped for cell in result.cells) for result in results]

    def _written(self, subject: Subject, folder: Path, name: str, text: str) -> Path:
        directory = self.directory / subject.scenario.replace("/", "-") / name
        if directory.exists():
            shutil.rmtree(directory)
        shutil.copytree(folder, directory, ignore=shutil.ignore_patterns("__pycache__", "expected*.json", "*.md"))
        (directory / subject.file).write_text(text, encoding="utf-8")
        return directory

    def _all(self, scenario: Scenario, trials: Sequence[Trial]) -> list[TrialResult]:
        """Return what came of trials of the same scenario; a slot that is lost costs another beginning."""
        results: dict[int, TrialResult] = {}
        isolated = wants_isolation(scenario, self.network)
        with on_ground(scenario) as ground:
            for _ in range(_MOST_POOLS):
                left = [n for n in range(len(trials)) if n not in results]
                if not left:
                    break
                with SlotPool(scenario, ground, min(self.jobs, len(left)), isolated=isolated) as pool:
                    try:
                        _work(pool, trials, left, results)
                    except BrokenProcessPool:
                        continue
        if len(results) < len(trials):
            raise HarnessFailed(
                "slots were lost again and again",
                where="ackgap selfcheck",
                next_step="run again; if memory ran out, with fewer --jobs",
            )
        return [results[n] for n in range(len(trials))]


def _proven(proof: Proof | None) -> Ruling | None:
    """Return the ruling that was found earlier."""
    if proof is None:
        return None
    return Ruling(fate=Fate.EQUIVALENT, why=proof.why, cells=proof.cells, kept=True)


def _work(pool: SlotPool, trials: Sequence[Trial], left: Sequence[int], results: dict[int, TrialResult]) -> None:
    running: dict[Future[TrialResult], int] = {}
    for n in left:
        limit_s = _MOST_CELLS * limit_of(trials[n].order)
        running[pool.submit(run_trial, trials[n], limit_s=limit_s)] = n
    while running:
        for future in pool.wait(running):
            results[running.pop(future)] = future.result()


def _of_directory(trial: Trial, directory: Path) -> Trial:
    """Return the trial of an agent that is elsewhere."""
    scenario = trial.order.scenario
    moved = replace(scenario, worker=replace(scenario.worker, directory=directory), source=str(directory))
    return replace(trial, order=replace(trial.order, scenario=moved))


def _trapped(text: str, mutant: Mutant) -> str:
    """Return the agent as it was, but for a trap before the statement that a mutant has changed."""
    source = AgentSource(text)
    statement = next(each for body in source.bodies for each in body if each.lineno == mutant.change.line)
    return source.with_line_before(statement, f"__import__('os')._exit({TRAP_STATUS})")
