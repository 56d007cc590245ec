"""Running: the cells that tests of one scenario ask for, each once, with slots, servers and warm parents in common."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ackgap.campaign.listener import Listener
from ackgap.campaign.picking import Picked, PickedCells
from ackgap.environments.cache import with_environments
from ackgap.errors import ProbeFailed
from ackgap.model.codec import decode, encode, result_from_json, result_to_json
from ackgap.model.expectation import Expectation
from ackgap.model.gap import KnownGap
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.pytesting.census import Census, CensusShelf
from ackgap.pytesting.learning import Part, learn, part_of
from ackgap.pytesting.record import Record
from ackgap.pytesting.wanted import CellName, Wanted
from ackgap.requirements import check_requirements

__all__ = ["Running"]


class Running:
    """Runs cells of one scenario on demand, and writes their results down.

    Args:
        wanted: One of the parts that have their surroundings in common.
        root: Of pytest.
        directory: Where results go.
        jobs: Cells at a time.
        network: `auto`, `isolated` or `host`.
        shelf: Where censuses are kept.
        shared: Other processes of the test run may run cells of the scenario at the same time.
        listener: Follows undisturbed runs.
        tell: Told what takes its time.

    Raises:
        AckgapError: The scenario cannot be read or run here.
    """

    def __init__(
        self,
        wanted: Wanted,
        *,
        root: Path,
        directory: Path,
        jobs: int,
        network: str,
        shelf: CensusShelf,
        shared: bool,
        listener: Listener,
        tell: Callable[[str], None],
    ) -> None:
        self.directory = directory
        self._wanted = wanted
        self._surroundings = json.dumps(wanted.surroundings)
        self._root = root
        self._jobs = jobs
        self._network = network
        self._shelf = shelf
        self._shared = shared
        self._listener = listener
        self._tell = tell
        self._part: Part = part_of(replace(wanted, slice_name=None, slice_if_there=None, only=(), points=()), root)
        self._record = Record(directory, self._part.source, self._part.scenario)
        self._cells: PickedCells | None = None
        self._expectations: dict[Variant, Expectation] = {}
        self._modules: dict[str, tuple[str, ...]] = {}
        self._known: set[str] = set()
        self._learned: dict[str, CellResult] = {}
        self._results: dict[str, CellResult] = {}

    @property
    def prefix(self) -> str:
        """What a cell's name is appended to, to run it again."""
        return self._record.prefix

    @property
    def gaps(self) -> tuple[KnownGap, ...]:
        """What the scenario declares of cells that are not exactly once."""
        return self._part.scenario.known_gaps

    def learned(self, undisturbed: Mapping[str, CellResult]) -> None:
        """Take over what undisturbed runs of this very test run have shown, so that they are not made again."""
        self._learned |= undisturbed
        for cell, result in undisturbed.items():
            self._shelf.keep_result(
                cell, self._surroundings, {**result_to_json(result), "history": list(result.history)}
            )

    def expect(self, wanted: Wanted, census: Census) -> None:
        """Say which cells there are, and what they are measured by.

        Raises:
            ResultsInvalid: Results cannot be written.
        """
        if wanted.key in self._known:
            return
        self._known.add(wanted.key)
        for text, document in census.expectations.items():
            self._expectations[Variant.parse(text)] = decode(Expectation, document)
        if wanted.warm:
            self._modules |= census.modules
        there = [(Variant.parse(variant), Schedule.parse(schedule)) for _, schedule, variant in census.cells]
        self._record.open(there, self._expectations, census.notes)

    def want(self, names: Iterable[CellName]) -> None:
        """Say which cells will be asked for, in this order; they run ahead as there is room."""
        picked = [_picked(name) for name in names if name.cell not in self._results]
        cells = self._opened()
        if not self._exclusive:
            cells.want(cell for cell in picked if cell[1].faults)

    def result(self, name: CellName) -> CellResult:
        """Return the result of a cell, with its history where it has just run.

        A result stands: asked again (a test that is rerun, another test of the same cell), it is not run a second
        time, so that a cell which is red now and then cannot become green by being asked often enough. Only one that
        proves nothing is run again.

        Raises:
            AckgapError: It could not be run.
        """
        known = self._results.get(name.cell)
        if known is not None and known.verdict.kind is not VerdictKind.INCONCLUSIVE:
            return known
        result = self._undisturbed(name) if not _picked(name)[1].faults else self._run(name)
        self._record.keep(result)
        self._results[name.cell] = replace(result, history=())
        return result

    def history(self, cell: str) -> History:
        """Return the history of a cell that was run."""
        return self._record.history(cell)

    def close(self) -> None:
        """End whatever runs."""
        if self._cells is not None:
            self._cells.close()
        self._record.close()

    @property
    def _exclusive(self) -> bool:
        """Whether cells have to be run one at a time on this machine, over all processes of the test run."""
        return self._shared and self._opened().shares_state

    def _opened(self) -> PickedCells:
        if self._cells is None:
            variants = tuple(self._expectations)
            check_requirements(self._part.scenario, variants)
            equipped = with_environments(self._part.scenario, variants, tell=self._tell)
            check_requirements(equipped, variants)
            self._cells = PickedCells(equipped, jobs=self._jobs, network=self._network, modules=self._modules)
        self._cells.measure(self._expectations)
        return self._cells

    def _run(self, name: CellName) -> CellResult:
        cells = self._opened()
        if not self._exclusive:
            return cells.result(_picked(name))
        with self._shelf.alone(f"state {self._wanted.path}"):
            try:
                return cells.result(_picked(name))
            finally:
                cells.close()

    def _undisturbed(self, name: CellName) -> CellResult:
        """Return the result of the undisturbed run, which is made anew where it was made in an earlier session.

        Raises:
            ProbeFailed: It is not what it was when the cells were learned.
        """
        found = self._learned.pop(name.cell, None)
        if found is not None:
            return found
        document = self._shelf.take_result(name.cell, self._surroundings)
        if document is not None:  # another process of this test run has made it
            return replace(result_from_json(document), history=tuple(document["history"]))
        variant = Variant.parse(name.variant)
        with self._shelf.alone(f"state {self._wanted.path}"):
            learned = learn(
                self._part,
                results=self.directory,
                jobs=self._jobs,
                network=self._network,
                warm=self._wanted.warm,
                listener=self._listener,
                tell=self._tell,
                only=[variant],
            )
        now = decode(Expectation, learned.census.expectations[name.variant])
        if encode(now.without_races()) != encode(self._expectations[variant].without_races()):
            self._shelf.forget(name.wanted)
            raise ProbeFailed(
                f"the undisturbed run of {variant} is not what it was when its cells were learned",
                where=str(self._wanted.path),
                next_step="run pytest again, which learns them anew; if this comes back, the worker depends on "
                "something that is no file of its directory, or is not deterministic",
            )
        return learned.undisturbed[name.cell]


def _picked(name: CellName) -> Picked:
    return Variant.parse(name.variant), Schedule.parse(name.schedule)
