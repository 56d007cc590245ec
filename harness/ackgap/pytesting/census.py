"""Census: which cells a part of a matrix has, kept in pytest's cache by content. Light: yardsticks stay JSON."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ackgap.files import alone, write_whole
from ackgap.pytesting.stamp import Inputs, stamp
from ackgap.pytesting.wanted import CellName, Wanted

__all__ = ["Census", "CensusShelf"]

_FORM = 1
"""Of what is kept; with another one everything is learned anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """The cells of a part, and what is needed to run one of them without running the others.

    Attributes:
        scenario: Name of the scenario.
        cells: Row, text form of the schedule, and variant of each cell.
        fingerprint: Of the part.
        inputs: What it depends on.
        expectations: Yardsticks by variant, as JSON.
        modules: By environment, what a warm parent imports.
        notes: What a reader should know of the undisturbed runs.
        uncovered: What each known gap names that covers none of the cells.
    """

    scenario: str
    cells: tuple[tuple[str, str, str], ...]
    fingerprint: str = ""
    inputs: Inputs = field(default_factory=Inputs)
    expectations: Mapping[str, Any] = field(default_factory=dict)
    modules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()

    def names(self, wanted: Wanted) -> Iterator[CellName]:
        """Yield the cells, in order."""
        for row, schedule, variant in self.cells:
            yield CellName(wanted=wanted, row=row, schedule=schedule, variant=variant)

    def to_json(self) -> dict[str, Any]:
        """Return it for a file."""
        return {**asdict(self), "form": _FORM, "stamp": stamp(self.inputs)}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Census:
        """Read what `to_json` wrote.

        Raises:
            ValueError: It is nothing of the kind.
        """
        try:
            if document["form"] != _FORM:
                raise ValueError("another form")
            return cls(
                scenario=document["scenario"],
                cells=tuple((row, schedule, variant) for row, schedule, variant in document["cells"]),
                fingerprint=document["fingerprint"],
                inputs=Inputs.of(document["inputs"]),
                expectations=dict(document["expectations"]),
                modules={name: tuple(names) for name, names in document["modules"].items()},
                notes=tuple(document["notes"]),
                uncovered=tuple(document["uncovered"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(str(error)) from None


class CensusShelf:
    """Where censuses are kept: a directory that the processes of a test run share.

    Args:
        directory: Of the cache; None keeps nothing.
        run: Of which several processes each do a part; empty where one does all.
    """

    def __init__(self, directory: Path | None, *, run: str = "") -> None:
        self.directory = directory
        self._run = run

    @contextlib.contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Keep other processes from doing the same at the same time; the system frees the lock of a dead one."""
        if self.directory is None:
            yield
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        with alone(self.directory / f"{_file_name(name)}.lock"):
            yield

    def take(self, wanted: Wanted) -> Census | None:
        """Return what is kept of a part if nothing that it depends on has changed since; None otherwise."""
        document = self._document(wanted)
        try:
            census = Census.of(document)
        except ValueError:
            return None
        return census if document["stamp"] == stamp(census.inputs) else None

    def old(self, wanted: Wanted) -> Census | None:
        """Return what is kept of a part, whatever has changed since; None where nothing is."""
        try:
            return Census.of(self._document(wanted))
        except ValueError:
            return None

    def keep(self, wanted: Wanted, census: Census) -> None:
        """Keep what is known of a part, where that is possible."""
        if self.directory is not None:
            with contextlib.suppress(OSError):
                self.directory.mkdir(parents=True, exist_ok=True)
                write_whole(self._file(wanted), [json.dumps(census.to_json()), "\n"])

    def forget(self, wanted: Wanted) -> None:
        """Keep nothing of a part any more."""
        if self.directory is not None:
            with contextlib.suppress(OSError):
                self._file(wanted).unlink(missing_ok=True)

    def keep_result(self, cell: str, surroundings: str, document: Mapping[str, Any]) -> None:
        """Keep a result for the other processes of the test run, where there are some."""
        if self.directory is not None and self._run:
            with contextlib.suppress(OSError):
                write_whole(self._run_file(cell, surroundings), [json.dumps(document)])

    def take_result(self, cell: str, surroundings: str) -> dict[str, Any] | None:
        """Return a result that a process of the test run has kept; None where none has."""
        if self.directory is None or not self._run:
            return None
        try:
            document: dict[str, Any] = json.loads(self._run_file(cell, surroundings).read_bytes())
        except (OSError, ValueError):
            return None
        return document

    def clear(self, run: str) -> None:
        """Remove what the processes of a test run kept for each other."""
        if self.directory is not None and run:
            for file in self.directory.glob(f"*.{run}"):
                file.unlink(missing_ok=True)

    def _run_file(self, cell: str, surroundings: str) -> Path:
        assert self.directory is not None
        return self.directory / f"{_file_name(f'{cell} {surroundings}')}.{self._run}"

    def _document(self, wanted: Wanted) -> Mapping[str, Any]:
        if self.directory is None:
            return {}
        try:
            document = json.loads(self._file(wanted).read_bytes())
        except (OSError, ValueError):
            return {}
        return document if isinstance(document, dict) else {}

    def _file(self, wanted: Wanted) -> Path:
        assert self.directory is not None
        return self.directory / f"{_file_name(f'{wanted.path.parent.name} {wanted.key}')}.json"


def _file_name(text: str) -> str:
    """Return a name for a file that is told apart by all of a text, and recognised by its beginning."""
    told = re.sub(r"[^A-Za-z0-9.-]+", "-", text)[:40].strip("-.")
    return f"{told}-{hashlib.blake2b(text.encode('utf-8', 'surrogateescape'), digest_size=8).hexdigest()}"
