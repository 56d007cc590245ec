"""Wanted: which part of which scenario a test is about, as text. Light, as every collection makes it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackgap.errors import UsageInvalid
from ackgap.scenario.words import did_you_mean

__all__ = ["MARKER", "CellName", "Wanted", "marked"]

MARKER = "crash_matrix"
_WHERE = f"@pytest.mark.{MARKER}(...)"
_INSTEAD = {"slice": "slice_name", "point": "points", "schedule": "schedules", "fault": "faults", "set": "settings"}
_ALONE = frozenset({"depth", "orders", "prune", "copies", "check", "worker", "targets", "env"})
"""Arguments of the fixture that a list of cells, which has to be known before anything runs, cannot have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A part of a matrix.

    Attributes:
        path: Its `scenario.toml`.
        only: `AXIS=VALUE` each.
        points: Globs over crash points.
        slice_name: A slice of the scenario.
        faults: What is done at every point.
        schedules: Beside, or in place of, a kill at every point.
        unsettled: Kill at every point also without waiting, in so many runs.
        settings: Of profiles, as JSON: a list of texts, or values by target and setting.
        engine_defaults: Shorten nothing of what an engine waits for.
        warm: Fork Python lives from a warm parent.
        slice_if_there: A slice that counts only where the scenario has one of that name.
    """

    path: Path
    only: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    slice_name: str | None = None
    faults: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()
    unsettled: int = 0
    settings: str = "[]"
    engine_defaults: bool = False
    warm: bool = False
    slice_if_there: str | None = None

    @property
    def surroundings(self) -> tuple[str, ...]:
        """Equal for parts whose cells are the same where they have one in common, and run side by side."""
        return (str(self.path), self.settings, str(self.engine_defaults), str(self.warm))

    @property
    def whole(self) -> bool:
        """Whether it is the matrix as the scenario has it, so that what it does not have is not there."""
        parts = (self.only, self.points, self.slice_name, self.faults, self.schedules, self.slice_if_there)
        return not any(parts)

    @property
    def key(self) -> str:
        """Equal for equal parts, in every process."""
        parts = (*self.surroundings, self.only, self.points, self.slice_name, self.faults, self.schedules)
        return json.dumps([*parts, self.unsettled, self.slice_if_there])


@dataclass(frozen=True, slots=True, kw_only=True)
class CellName:
    """A cell of a part: what a test that is parametrised by cells gets as its parameter.

    Attributes:
        wanted: The part.
        row: Label of the schedule.
        schedule: Its text form.
        variant: Its text form.
        allow: Verdicts that pass besides `ok`; None leaves that to the project.
        asserted: The test does not look at the cell itself, so its verdict is asserted for it.
    """

    wanted: Wanted
    row: str
    schedule: str
    variant: str
    allow: tuple[str, ...] | None = None
    asserted: bool = False

    @property
    def cell(self) -> str:
        """As reports and `ackgap replay` name it."""
        return f"{self.row}@{self.variant}"

    @property
    def test(self) -> str:
        """As a test is named after it: two colons would end a part of a node id."""
        return self.cell.replace("::", ":%3A")

    @property
    def keywords(self) -> frozenset[str]:
        """What `-k` finds it by, beside its name: `-k` knows no equals sign, so `key=none` is also `key:none`."""
        pairs = [pair for pair in self.variant.split(",") if "=" in pair]
        return frozenset(pair.replace("=", ":", 1) for pair in pairs)


def marked(path: Path, arguments: Mapping[str, Any], *, warm: bool) -> tuple[Wanted, tuple[str, ...] | None]:
    """Return what a marker asks for, and which verdicts it lets pass.

    Args:
        path: Of the scenario, found already.
        arguments: Its keywords.
        warm: Where the marker does not say.

    Raises:
        UsageInvalid: An argument is not known, or is not what it has to be.
    """
    given = dict(arguments)
    allow = given.pop("allow", None)
    known = [*inspect.signature(_checked).parameters]
    for name in given:
        if name in _ALONE:
            raise UsageInvalid(
                f"{name!r} is for a matrix as a whole: its cells are not known before it runs",
                where=_WHERE,
                next_step=f"use the fixture: crash_matrix(..., {name}=...)",
            )
        if name not in known:
            near = f"write {_INSTEAD[name]}=..." if name in _INSTEAD else did_you_mean(name, [*known, "allow"])
            raise UsageInvalid(f"the marker has no argument {name!r}", where=_WHERE, next_step=near)
    return _checked(path, **{"warm": warm, **given}), None if allow is None else _verdicts(allow)


def _verdicts(allow: object) -> tuple[str, ...]:
    from ackgap.model.verdict import VerdictKind

    known = [kind.value for kind in VerdictKind]
    for word in _texts("allow", allow):
        if word not in known:
            raise UsageInvalid(f"{word!r} is no verdict", where=_WHERE, next_step=did_you_mean(word, known))
    return _texts("allow", allow)


def _checked(
    path: Path,
    *,
    only: Sequence[str] = (),
    points: Sequence[str] = (),
    slice_name: str | None = None,
    faults: Sequence[str] = (),
    schedules: Sequence[str] = (),
    unsettled: int = 0,
    settings: Sequence[str] | Mapping[str, Any] = (),
    engine_defaults: bool = False,
    warm: bool = False,
) -> Wanted:
    kept = dict(settings) if isinstance(settings, Mapping) else list(_texts("settings", settings))
    return Wanted(
        path=path,
        only=_texts("only", only),
        points=_texts("points", points),
        slice_name=slice_name,
        faults=_texts("faults", faults),
        schedules=_texts("schedules", schedules),
        unsettled=unsettled,
        settings=json.dumps(kept, sort_keys=True),
        engine_defaults=bool(engine_defaults),
        warm=bool(warm),
    )


def _texts(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(text, str) for text in value):
        raise UsageInvalid(
            f"{name!r} is a list of texts, as on the command line", where=_WHERE, next_step=f'write {name}=["..."]'
        )
    return tuple(value)
