"""Learning which cells a part of a matrix has: by running its variants undisturbed, as every campaign begins."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ackgap.campaign.campaign import Campaign
from ackgap.campaign.choosing import selection_of
from ackgap.campaign.listener import Listener
from ackgap.campaign.selection import Selection
from ackgap.environments.cache import with_environments
from ackgap.errors import UsageInvalid
from ackgap.files import parse_json
from ackgap.fingerprint import fingerprint
from ackgap.model.codec import encode
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import UNDISTURBED
from ackgap.pytesting.census import Census
from ackgap.pytesting.stamp import Inputs
from ackgap.pytesting.wanted import Wanted
from ackgap.requirements import check_requirements, versions
from ackgap.scenario.scenario import Scenario
from ackgap.source import Source

__all__ = ["Learned", "Part", "learn", "part_of"]

_NOWHERE = ("",)
"""A glob that no crash point matches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a matrix, loaded."""

    source: Source
    scenario: Scenario
    selection: Selection
    variants: tuple[Variant, ...]

    def fingerprint(self, results: Path) -> str:
        """Return what tells it from others; what lies where results go does not count."""
        return fingerprint(self.scenario, self.selection, versions(self.scenario, self.variants), results=results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What undisturbed runs have shown: the cells, and the results of the runs themselves, by cell."""

    census: Census
    undisturbed: dict[str, CellResult]


def part_of(wanted: Wanted, root: Path) -> Part:
    """Load a part.

    Raises:
        AckgapError: The scenario cannot be read, or has no such part.
        UsageInvalid: The part is one whose cells are known only once it has run.
    """
    settings = parse_json(wanted.settings)
    source = Source(path=wanted.path, settings=settings, home=root, engine_defaults=wanted.engine_defaults)
    scenario = source.scenario()
    slice_name = wanted.slice_name
    if slice_name is None and wanted.slice_if_there in [part.name for part in scenario.slices]:
        slice_name = wanted.slice_if_there
    selection = selection_of(
        scenario,
        only=wanted.only,
        points=wanted.points,
        slice_name=slice_name,
        schedules=wanted.schedules,
        faults=wanted.faults,
        unsettled=wanted.unsettled,
    )
    if selection.depth > 1 or selection.orders:
        what = "kills recoveries as well (depth)" if selection.depth > 1 else "tries other orders of writes (orders)"
        raise UsageInvalid(
            f"the slice {slice_name!r} {what}, so its cells are known only once it has run",
            where=f"{wanted.path}, key slices.{slice_name}",
            next_step=f'use the fixture: crash_matrix("{wanted.path.parent.name}", slice_name="{slice_name}")',
        )
    return Part(source=source, scenario=scenario, selection=selection, variants=selection.variants_of(scenario))


def learn(
    part: Part,
    *,
    results: Path,
    jobs: int,
    network: str,
    warm: bool,
    listener: Listener,
    tell: Callable[[str], None],
    only: Sequence[Variant] = (),
) -> Learned:
    """Run each variant undisturbed, twice, and return what that shows.

    Args:
        part: Of a matrix.
        results: Where results go.
        jobs: How many runs at a time.
        network: `auto`, `isolated` or `host`.
        warm: Check the second run, from a warm parent, against the first.
        listener: Follows.
        tell: Told what takes its time before.
        only: These variants alone.

    Raises:
        AckgapError: The runs prove nothing, or this machine lacks something.
    """
    variants = tuple(only) or part.variants
    check_requirements(part.scenario, variants)
    equipped = with_environments(part.scenario, variants, tell=tell)
    check_requirements(equipped, variants)
    chosen = tuple({axis: (value,) for axis, value in variant.values} for variant in variants)
    follower = _Follower(listener)
    campaign = Campaign(
        equipped,
        selection=replace(part.selection, variants=chosen, points=_NOWHERE, schedules=()),
        listener=follower,
        jobs=jobs,
        network=network,
        warm=warm,
    )
    campaign.run()
    schedules = {variant: part.selection.chosen(found.points) for variant, found in follower.expectations.items()}
    cells = tuple(
        (schedule.label, str(schedule), str(variant))
        for variant in variants
        for schedule in (UNDISTURBED, *schedules[variant])
    )
    gaps = part.scenario.known_gaps
    covered = {id(gap) for gap in gaps for row, _, text in cells if gap.covers(row, Variant.parse(text))}
    census = Census(
        scenario=part.scenario.name,
        cells=cells,
        fingerprint=part.fingerprint(results),
        inputs=_inputs(part.scenario, equipped),
        expectations={str(variant): encode(found) for variant, found in follower.expectations.items()},
        modules=campaign.modules,
        notes=tuple(follower.notes),
        uncovered=tuple(gap.where for gap in gaps if id(gap) not in covered),
    )
    return Learned(census=census, undisturbed={result.cell: result for result in follower.results})


@dataclass
class _Follower:
    """Keeps what a campaign tells, and passes it on."""

    listener: Listener
    expectations: dict[Variant, Expectation] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    results: list[CellResult] = field(default_factory=list)

    def began(self, variants: Sequence[Variant], isolated: bool) -> None:
        self.listener.began(variants, isolated)

    def probed(self, variant: Variant, expectation: Expectation) -> None:
        self.expectations[variant] = expectation
        self.listener.probed(variant, expectation)

    def planned(self, cells: int) -> None:
        self.listener.planned(cells)

    def noted(self, text: str) -> None:
        self.notes.append(text)
        self.listener.noted(text)

    def finished(self, result: CellResult) -> None:
        self.results.append(result)
        self.listener.finished(result)


def _inputs(scenario: Scenario, equipped: Scenario) -> Inputs:
    """Return what cells depend on, as far as it lies in files."""
    places = [scenario.worker.directory, *(release.directory for release in scenario.releases)]
    profiles = [target.profile for target in scenario.targets if Path(target.profile).is_file()]
    replays = [str(target.replay) for target in scenario.targets if target.replay is not None]
    commands = [scenario.worker.command, *(value.command for axis in scenario.axes for value in axis.values)]
    programs = dict.fromkeys(command[0] for command in commands if command)
    interpreters = {program for program in programs if Path(program).name.startswith("python")}
    interpreters |= {str(spec.interpreter) for spec in equipped.environments if spec.directory is not None}
    return Inputs(
        directories=tuple(str(place) for place in dict.fromkeys(places) if place is not None),
        files=(scenario.source, *profiles, *replays),
        programs=tuple(programs),
        packages=tuple(sorted({place for program in interpreters for place in _packages_of(program)})),
    )


def _packages_of(python: str) -> Iterator[str]:
    """Yield where an interpreter imports installed packages from."""
    if Path(python) == Path(sys.executable):
        yield from (path for path in sys.path if path.endswith(("site-packages", "dist-packages")))
        return
    code = "import sys\nfor path in sys.path:\n    if path.endswith(('site-packages', 'dist-packages')): print(path)"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
    yield from done.stdout.splitlines() if done.returncode == 0 else ()
