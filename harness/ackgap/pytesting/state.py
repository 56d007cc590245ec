"""State of a test run: its options, its censuses, and what runs its cells. Light until a cell is needed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ackgap.project import ProjectOptions
from ackgap.pytesting.census import Census, CensusShelf
from ackgap.pytesting.wanted import CellName, Wanted
from ackgap.report.failing import FAILING
from ackgap.support import cores

if TYPE_CHECKING:
    from ackgap.matrix_run import MatrixRun
    from ackgap.model.matrix import CellResult
    from ackgap.pytesting.progress import Following, Voice
    from ackgap.pytesting.running import Running

__all__ = ["Options", "State", "directory_name", "state_of"]

_STATE = pytest.StashKey["State"]()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is in force: the command line, else the project, else what is usual."""

    jobs: int | None
    network: str
    warm: bool
    copies: bool
    out: Path
    fail_on: str
    slice_name: str | None
    collect: bool

    @classmethod
    def of(cls, config: pytest.Config, project: ProjectOptions) -> Options:
        """Return what the command line and a project say together."""

        def option(name: str, said: Any, usual: Any) -> Any:
            value = config.getoption(f"--ackgap-{name}")
            return value if value is not None else said if said is not None else usual

        return cls(
            jobs=option("jobs", project.jobs, None),
            network=option("network", project.network, "auto"),
            warm=option("warm", project.warm, False),
            copies=bool(project.copies),
            out=Path(option("out", project.out, config.rootpath / "reports")).absolute(),
            fail_on=project.fail_on or FAILING,
            slice_name=option("slice", project.slice_name, None),
            collect=project.collect is not False,
        )


class State:
    """Of one test run, in one process of it.

    Args:
        config: Of pytest.
        project: What the project says.
    """

    def __init__(self, config: pytest.Config, project: ProjectOptions) -> None:
        self.config = config
        self.options = Options.of(config, project)
        self.reports: dict[str, None] = {}
        """Directories of results, in the order in which they were first written to."""
        self.uncovered: dict[str, None] = {}
        """What there is to say of known gaps that cover no cell."""
        self.matrices: dict[tuple[str, int, str], MatrixRun] = {}
        """Red runs of the fixture by test and arguments: a test that is rerun gets the same run again."""
        self.told: dict[tuple[object, ...], str] = {}
        """The first cell that failed in each way: of the others it need not be told again why."""
        self._shelf = CensusShelf(
            _shelf_directory(config), run=getattr(config, "workerinput", {}).get("testrunuid", "")
        )
        self._censuses: dict[str, Census] = {}
        self._running: dict[tuple[str, ...], Running] = {}
        self._selected: list[CellName] = []
        self._begun: set[tuple[str, ...]] = set()
        self._made: list[str] = []
        self._runs: set[str] = set()

    @property
    def is_xdist_worker(self) -> bool:
        """Whether other processes run a part of the tests."""
        return hasattr(self.config, "workerinput")

    def census(self, wanted: Wanted) -> Census:
        """Return which cells a part has; runs its variants undisturbed where nothing is known, or something changed.

        Raises:
            AckgapError: The scenario cannot be read, or its undisturbed runs prove nothing.
        """
        known = self._censuses.get(wanted.key)
        if known is None:
            with self._shelf.alone(wanted.key):
                known = self._shelf.take(wanted) or self._learned(wanted)
            self._censuses[wanted.key] = known
        for where in known.uncovered if wanted.whole else ():
            self.uncovered.setdefault(f"{self._relative(wanted.path)}: a known gap covers no cell: {where}")
        return known

    def select(self, names: Iterable[CellName]) -> None:
        """Say which cells the tests of this run need, in their order; a worker of several cannot know that before."""
        if not self.is_xdist_worker:
            self._selected = list(names)

    def result(self, name: CellName) -> CellResult:
        """Return the result of a cell; with the first one of a scenario, its others that are selected begin to run.

        Raises:
            AckgapError: It could not be run.
        """
        running = self.running(name.wanted)
        self.reports.setdefault(str(running.directory))
        surroundings = name.wanted.surroundings
        if surroundings not in self._begun:
            self._begun.add(surroundings)
            mine = [each for each in self._selected if each.wanted.surroundings == surroundings]
            for wanted in {each.wanted.key: each.wanted for each in (name, *mine)}.values():
                running.expect(wanted, self.census(wanted))
            running.want(mine)
        running.expect(name.wanted, self.census(name.wanted))
        return running.result(name)

    def running(self, wanted: Wanted) -> Running:
        """Return what runs the cells of a part.

        Raises:
            AckgapError: The scenario cannot be read or run here.
        """
        from ackgap.pytesting.running import Running

        running = self._running.get(wanted.surroundings)
        if running is None:
            running = self._running[wanted.surroundings] = Running(
                wanted,
                root=self.config.rootpath,
                directory=self._directory(wanted),
                jobs=self.jobs(),
                network=self.options.network,
                shelf=self._shelf,
                shared=self.is_xdist_worker,
                listener=self.following(self._relative(wanted.path), counts=False),
                tell=self.voice().say,
            )
        return running

    def voice(self) -> Voice:
        """Return what is said with on the terminal."""
        from ackgap.pytesting.progress import Voice

        return Voice(self.config)

    def following(self, name: str, *, always: bool = False, counts: bool = True) -> Following:
        """Return what follows a run on the terminal."""
        from ackgap.pytesting.progress import Following

        return Following(self.voice(), name, always=always, counts=counts)

    def jobs(self) -> int:
        """Return how many cells run at a time."""
        from ackgap.matrix_run import share_of_cores

        return self.options.jobs or share_of_cores(os.environ, cores())

    def finish(self) -> None:
        """End whatever runs; make the reports, or leave them to the process that has the terminal."""
        for running in self._running.values():
            running.close()
        if self.is_xdist_worker:
            self.config.workeroutput["ackgap"] = {  # type: ignore[attr-defined]
                "reports": list(self.reports),
                "uncovered": list(self.uncovered),
            }
            return
        for run in self._runs:
            self._shelf.clear(run)
            shutil.rmtree(_shared_directory(run), ignore_errors=True)
        if self.reports:
            self._conclude()

    def take_over(self, told: Mapping[str, Sequence[str]], *, run: str) -> None:
        """Take over what another process of the test run leaves to this one."""
        self.reports.update(dict.fromkeys(told["reports"]))
        self.uncovered.update(dict.fromkeys(told["uncovered"]))
        self._runs.add(run)

    def summary(self) -> Iterator[str]:
        """Yield what a person should know at the end."""
        yield from self.uncovered
        yield from self._made

    def _conclude(self) -> None:
        from ackgap.errors import AckgapError
        from ackgap.pytesting.record import conclude

        here = self.config.invocation_params.dir
        for directory in self.reports:
            try:
                page = conclude(Path(directory))
                self._made.append(str(page.relative_to(here)) if page.is_relative_to(here) else str(page))
            except AckgapError as error:
                self._made.append(str(error))

    def _learned(self, wanted: Wanted) -> Census:
        from ackgap.pytesting.learning import learn, part_of

        part = part_of(wanted, self.config.rootpath)
        directory = self._directory(wanted)
        old = self._shelf.old(wanted)
        if old is not None and old.fingerprint == part.fingerprint(directory):
            self._shelf.keep(wanted, old)  # what changed is nothing that cells depend on
            return old
        following = self.following(self._relative(wanted.path), always=True, counts=False)
        try:
            learned = learn(
                part,
                results=directory,
                jobs=self.jobs(),
                network=self.options.network,
                warm=wanted.warm,
                listener=following,
                tell=self.voice().say,
            )
        finally:
            following.ended()
        self._shelf.keep(wanted, learned.census)
        if not self.config.option.collectonly:
            self.running(wanted).learned(learned.undisturbed)
        return learned.census

    def _directory(self, wanted: Wanted) -> Path:
        name = directory_name(self._relative(wanted.path.parent))
        usual = replace(wanted, settings="[]", engine_defaults=False, warm=False)
        if wanted.surroundings != usual.surroundings and (wanted.settings, wanted.engine_defaults) != ("[]", False):
            import hashlib

            name += "-" + hashlib.blake2b(repr(wanted.surroundings).encode(), digest_size=4).hexdigest()
        return self.options.out / name

    def _relative(self, path: Path) -> str:
        root = self.config.rootpath
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def state_of(config: pytest.Config, project: ProjectOptions | None = None) -> State:
    """Return the state of a test run, which `project` makes."""
    if project is not None:
        config.stash[_STATE] = State(config, project)
    return config.stash[_STATE]


def directory_name(text: str) -> str:
    """Return a text as the name of a directory."""
    return re.sub(r"[/\\:\[\]<>*?\"' ]", "-", text).strip(".-") or "scenario"


def _shelf_directory(config: pytest.Config) -> Path | None:
    """Return where censuses are kept: in pytest's cache, else where the processes of this very run find them."""
    cache: pytest.Cache | None = getattr(config, "cache", None)
    if cache is not None:
        return cache.mkdir("ackgap")
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return None
    return _shared_directory(worker["testrunuid"])


def _shared_directory(run: str) -> Path:
    return Path(tempfile.gettempdir()) / f"ackgap-{os.getuid()}-{run}"
