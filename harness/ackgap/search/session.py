"""A session whose next schedule is decided when the last one has its verdict; its files are those of any run."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ackgap.campaign.choosing import selection_of
from ackgap.campaign.listener import Silent
from ackgap.campaign.notes import assumed, seen_in_probe
from ackgap.campaign.single import single_cells
from ackgap.campaign.stage import wants_isolation
from ackgap.environments.cache import with_environments
from ackgap.errors import UsageInvalid
from ackgap.model.bounds import Bounds
from ackgap.model.expectation import Expectation
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.report.lock import directory_lock
from ackgap.requirements import check_requirements
from ackgap.scenario.discover import find_scenario
from ackgap.session import Session, check_writable
from ackgap.source import Source
from ackgap.support import check_platform

__all__ = ["Cells", "SearchSession", "cells_of"]


@dataclass(frozen=True, slots=True)
class Cells:
    """Runs schedules of one variant and has each result written down.

    Attributes:
        expectation: The yardstick of the variant.
        run: Runs one cell.
        again: Runs a cell that has a result already, which stays: nothing of this run is written down.
        replay_prefix: What a cell's name is appended to for a replay.
    """

    expectation: Expectation
    run: Callable[[Schedule], CellResult]
    again: Callable[[Schedule], CellResult]
    replay_prefix: str


class SearchSession(Session):
    """Runs schedules one by one, and keeps the results in a directory as a session does.

    Its selection says only which variants there are.
    """

    @contextlib.contextmanager
    def opened(self) -> Iterator[tuple[Variant, ...]]:
        """Hold the directory, and write the reports at the end, also where that is an error.

        Yields:
            The variants.

        Raises:
            AckgapError: Something that the scenario needs is missing, or the directory cannot be written.
        """
        variants = self._selection.variants_of(self._scenario)
        check_requirements(self._scenario, variants)
        isolated = wants_isolation(self._scenario, self._network)
        check_writable(self._directory)
        complete = False
        with directory_lock(self._directory):
            self._scenario = with_environments(self._scenario, variants, tell=self._tell)
            check_requirements(self._scenario, variants)
            self.began(variants, isolated)
            try:
                yield variants
                complete = True
            finally:
                ran = sum(bool(result.schedule.faults) for result in self._results)
                # Nothing was to be complete, so there are no bounds but what was drawn.
                self._info = replace(self._info, interrupted=not complete, planned_cells=ran)
                self._conclude(Bounds(faults=(), variants=len(variants), named=ran, ran=ran))

    @contextlib.contextmanager
    def cells(self, variant: Variant) -> Iterator[Cells]:
        """Probe a variant and lend what runs its cells, in one slot that is kept.

        Raises:
            AckgapError: The undisturbed run proves nothing.
        """
        with single_cells(self._scenario, variant, network=self._network) as run:
            self.probed(variant, run.expectation)
            for text in assumed(run.expectation):
                self.noted(text)

            def recorded(schedule: Schedule) -> CellResult:
                result = run(schedule)
                if not schedule.faults:
                    for text in seen_in_probe(History.from_json([dict(event) for event in result.history])):
                        self.noted(text)
                self.finished(result)
                return result

            yield Cells(run.expectation, recorded, run, self.replay_prefix)

    @property
    def replay_prefix(self) -> str:
        """What a cell's name is appended to for a replay."""
        return self._info.replay_prefix

    def keep(self, text: str) -> None:
        """Keep what a reader of the report should know, and a terminal says in other words."""
        self._info = replace(self._info, notes=(*self._info.notes, text))

    def _not_applicable(self, missing: int) -> int:  # noqa: ARG002 - a schedule that was not drawn is possible
        return 0


@contextlib.contextmanager
def cells_of(scenario: str | Path, *, only: Sequence[str], directory: Path, network: str = "auto") -> Iterator[Cells]:
    """Lend what runs the cells of the one variant that is chosen, and write their results into a directory.

    Raises:
        AckgapError: The scenario cannot be read or run, or several variants are chosen.
    """
    check_platform()
    source = Source(path=find_scenario(str(scenario)))
    loaded = source.scenario()
    selection = selection_of(loaded, only=only)
    variants = selection.variants_of(loaded)
    if len(variants) != 1:
        axes = ", ".join(f"{axis.name}={'|'.join(value.name for value in axis.values)}" for axis in loaded.axes)
        raise UsageInvalid(
            f"{len(variants)} variants are left, and one machine drives one",
            where="crash_machine(..., only=[...])",
            next_step=f"choose one value of each axis: {axes}",
        )
    session = SearchSession(
        source, loaded, selection, directory=directory, display=Silent(), network=network, command="pytest"
    )
    with session.opened() as (variant,), session.cells(variant) as cells:
        yield cells
    for error in session.unwritten:
        warnings.warn(str(error), stacklevel=2)
