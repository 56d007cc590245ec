"""`ackgap search`: schedules beyond the bounds, drawn until one is red, and that one made as small as it gets."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from hypothesis.configuration import set_hypothesis_home_dir
from rich.console import Console
from rich.text import Text

from ackgap.campaign.choosing import manners_of, selection_of
from ackgap.cli.progress import LiveProgress
from ackgap.cli.project import reports_of, settle
from ackgap.cli.run import print_what_there_is
from ackgap.environments.cache import tell_on_stderr
from ackgap.errors import AckgapError, HarnessFailed, UsageInvalid
from ackgap.model.manner import FaultKind, Manner
from ackgap.model.matrix import Variant
from ackgap.model.verdict import Colour
from ackgap.report.terminal import STYLES, make_console
from ackgap.report.write import HTML_FILE
from ackgap.scenario.discover import find_scenario
from ackgap.scenario.scenario import Scenario
from ackgap.search.drawing import DEFAULT_KINDS, MannerOptions
from ackgap.search.hunt import Effort, Hunt, hunt
from ackgap.search.session import Cells, SearchSession
from ackgap.search.told import hunt_lines, hunt_sentence, part_notes
from ackgap.source import Source
from ackgap.target.wire.redaction import command_without_secrets

__all__ = ["search"]

_LATE = Manner(down_s=72 * 3600.0)
"""Drawn as well where nothing is said: most services forget a key after a day."""


def search(options: argparse.Namespace) -> int:
    """Search each variant, say what came of it, and return the exit status."""
    project = settle(options)
    source = Source(path=find_scenario(options.scenario))
    scenario = source.scenario()
    effort = Effort(
        seed=options.seed,
        examples=options.examples,
        shrinks=options.shrinks,
        max_faults=options.max_faults,
        options=_manner_options(scenario, options.kinds, options.fault),
    )
    directory = Path(options.out) if options.out else reports_of(project) / f"{scenario.name.replace('/', '-')}-search"
    console = make_console()
    progress = LiveProgress(console, quiet=options.quiet)
    session = SearchSession(
        source,
        scenario,
        selection_of(scenario, only=options.only),
        directory=directory,
        display=progress,
        network=options.network,
        command=command_without_secrets(["ackgap", *sys.argv[1:]], os.environ),
        tell=(lambda _: None) if options.quiet else tell_on_stderr,
    )
    hunts: dict[Variant, Hunt] = {}
    try:
        with _hypothesis_nowhere(), progress, session.opened() as variants:
            for variant in variants:
                with session.cells(variant) as cells:
                    hunts[variant] = _hunted(cells, effort)
                session.noted(hunt_sentence(variant, hunts[variant], effort))
                for text in part_notes(hunts[variant]):
                    session.keep(text)
    except (AckgapError, KeyboardInterrupt):
        _tell_all(console, hunts, effort, session)
        print_what_there_is(session.so_far(), directory)
        raise
    _tell_all(console, hunts, effort, session)
    if any(found.ran for found in hunts.values()):
        console.print(f"\n{directory / HTML_FILE}")
    for error in session.unwritten:
        print(f"ackgap: {error}", file=sys.stderr)
    return _status(hunts.values()) or (HarnessFailed.exit_status if session.unwritten else 0)


def _hunted(cells: Cells, effort: Effort) -> Hunt:
    try:
        return hunt(cells.run, cells.expectation.points, effort, again=cells.again)
    except ValueError as error:
        raise UsageInvalid(
            str(error), where="--kinds or --fault", next_step="name a fault that can strike; `kill` always can"
        ) from None


def _tell_all(console: Console, hunts: Mapping[Variant, Hunt], effort: Effort, session: SearchSession) -> None:
    for variant, found in hunts.items():
        _tell(console, list(hunt_lines(variant, found, effort, session.replay_prefix)), found)


def _tell(console: Console, lines: Sequence[str], found: Hunt) -> None:
    colour = found.smallest.verdict.kind.colour if found.smallest is not None else Colour.GREEN
    console.print()
    console.print(Text(lines[0], style=STYLES[colour]))
    for line in lines[1:]:
        # Never wrapped by us: a line end in the middle of a command would break it when it is copied.
        console.print(line, soft_wrap=True)


def _status(hunts: Collection[Hunt]) -> int:
    """Return 1 where something is red, 3 where all that a variant's search ran proved nothing, else 0."""
    if any(found.smallest is not None for found in hunts):
        return 1
    return 3 if any(found.ran and found.ran == found.proved_nothing for found in hunts) else 0


def _manner_options(scenario: Scenario, kinds: str | None, faults: Sequence[str]) -> MannerOptions:
    """Return what may be done; where nothing is said, what takes no real time, and a kill with 72 hours after it."""
    if kinds is None and not faults:
        return MannerOptions(kinds=DEFAULT_KINDS, more=(_LATE,))
    try:
        chosen = tuple(FaultKind(kind) for kind in kinds.split(",")) if kinds is not None else ()
    except ValueError as error:
        raise UsageInvalid(
            f"{str(error).split(' is not ')[0]} is not a kind of fault",
            where="--kinds",
            next_step=f"write some of: {', '.join(FaultKind)}",
        ) from None
    toxics = tuple(toxic.name for toxic in scenario.toxics)
    return MannerOptions(kinds=chosen, more=manners_of(scenario, faults), toxics=toxics)


@contextlib.contextmanager
def _hypothesis_nowhere() -> Iterator[None]:
    """Keep Hypothesis from leaving a directory of its own in the user's.

    What it would keep there only saves it time. A place where nothing can be made needs no clearing up, which a search
    that is killed could not do.
    """
    set_hypothesis_home_dir(Path(os.devnull) / "hypothesis")
    try:
        yield
    finally:
        set_hypothesis_home_dir(None)
