"""The files of a run: what is written while cells finish, and everything that a report is made of.

    run.json          what was run: scenario, versions, axes, order of rows, expectations; rewritten at the end
    cells.jsonl       one result a line, appended as cells finish
    histories.jsonl   the events of each cell, one cell a line

A harness that is killed leaves at most one torn last line, which readers skip and a resumed run cuts off.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from ackgap.errors import ResultsInvalid
from ackgap.files import FileUnfit, open_plain, parse_json, read_text, write_whole
from ackgap.model.codec import decode, encode, result_from_json, result_to_json
from ackgap.model.event import Json
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Matrix
from ackgap.report.info import RunInfo

__all__ = [
    "CELLS_FILE",
    "HISTORIES_FILE",
    "RUN_FILE",
    "Run",
    "RunWriter",
    "read_run",
]

FORMAT = 1
RUN_FILE = "run.json"
CELLS_FILE = "cells.jsonl"
HISTORIES_FILE = "histories.jsonl"

RESULTS_LIMIT_BYTES = 1024**3
"""Larger than any description of a run; a file beyond it is not one."""


class RunWriter:
    """Writes a run while it happens. A context manager; every line is in the file when its call returns.

    Args:
        directory: Where; made if it does not exist.
        resume: Go on with the run that the directory holds.

    Raises:
        ResultsInvalid: The directory cannot be written, or holds a run and `resume` is not set.
    """

    def __init__(self, directory: Path, *, resume: bool = False) -> None:
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if not resume:
                self._refuse_to_overwrite()
            self._histories = _open_for_append(directory / HISTORIES_FILE)
            self._cells = _open_for_append(directory / CELLS_FILE)
        except OSError as error:
            raise ResultsInvalid(
                f"Results cannot be written: {error.strerror or error}.",
                where=str(directory),
                next_step="Name a directory that you can write to with --out.",
            ) from error

    def _refuse_to_overwrite(self) -> None:
        found = [name for name in (RUN_FILE, CELLS_FILE, HISTORIES_FILE) if (self.directory / name).exists()]
        if found:
            raise ResultsInvalid(
                f"The directory already holds the results of a run ({', '.join(found)}).",
                where=str(self.directory),
                next_step="Name another directory with --out, or remove this one.",
            )

    def write_run(self, info: RunInfo) -> None:
        """Write or replace `run.json`; a reader sees the old one or the new one, never a half."""
        document = {"format": FORMAT, **encode(info)}
        try:
            write_whole(self.directory / RUN_FILE, [json.dumps(document, indent=1), "\n"])
        except OSError as error:
            raise self._lost(RUN_FILE, error) from error

    def append(self, result: CellResult) -> None:
        """Append a result and its history; the history first, so that every result that can be read has one."""
        try:
            if result.history:
                _append_line(self._histories, {"cell": result.cell, "history": encode(result.history)})
        except OSError as error:
            raise self._lost(HISTORIES_FILE, error) from error
        try:
            _append_line(self._cells, result_to_json(result))
        except OSError as error:
            raise self._lost(CELLS_FILE, error) from error

    def close(self) -> None:
        """Close the files."""
        for stream in (self._histories, self._cells):
            with contextlib.suppress(OSError):  # nothing is buffered, so nothing can be lost here
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lost(self, file: str, error: OSError) -> ResultsInvalid:
        return ResultsInvalid(
            f"Results cannot be written any more: {error.strerror or error}.",
            where=str(self.directory / file),
            next_step="Make room or restore the directory; the cells written so far can be read.",
        )


@dataclass(frozen=True)
class Run:
    """A run as its files tell it.

    Attributes:
        directory: Where the files are.
        info: What was run.
        cells: Results without histories, one a cell, the last one written where there are several; in the order
            of rows, then columns.
    """

    directory: Path
    info: RunInfo
    cells: tuple[CellResult, ...]

    @classmethod
    def of(cls, directory: Path, info: RunInfo, results: Iterable[CellResult]) -> Run:
        """Arrange results in the order of rows, then columns; of several of one cell the last one counts."""
        kept = {result.cell: result for result in results}
        return cls(directory=directory, info=info, cells=tuple(_in_order(info, kept.values())))

    @cached_property
    def matrix(self) -> Matrix:
        """The results, arranged: the undisturbed run first, then the rows in order."""
        return _arranged(self.info, self.cells)

    @cached_property
    def _offsets(self) -> dict[str, int]:
        path = self.directory / HISTORIES_FILE
        offsets: dict[str, int] = {}
        if path.exists():
            with _open_results(path) as stream:
                for offset, line in _whole_lines(stream):
                    cell = _leading_cell(line)
                    if cell:
                        offsets[cell] = offset
        return offsets

    def history_json(self, cell: str) -> tuple[dict[str, Json], ...]:
        """Return the events of a cell as JSON objects; none where no history was kept.

        Raises:
            ResultsInvalid: The line is damaged.
        """
        offset = self._offsets.get(cell)
        if offset is None:
            return ()
        path = self.directory / HISTORIES_FILE
        with _open_results(path) as stream:
            stream.seek(offset)
            line = stream.readline()
        try:
            return tuple(parse_json(line)["history"])
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(path, f"the history of {cell}", error) from error

    def history(self, cell: str) -> History:
        """Return the history of a cell.

        Raises:
            ResultsInvalid: An event is not one that this version knows.
        """
        try:
            return History.from_json(self.history_json(cell))
        except ValueError as error:
            raise _damaged(self.directory / HISTORIES_FILE, f"the history of {cell}", error) from error

    def with_history(self, result: CellResult) -> CellResult:
        """Return the result with its history filled in."""
        return replace(result, history=self.history_json(result.cell))


def read_run(directory: Path) -> Run:
    """Read a run from its files.

    Raises:
        ResultsInvalid: The directory holds no run, or a file of it is damaged or of a later version.
    """
    path = directory / RUN_FILE
    try:
        document = parse_json(read_text(path, limit_bytes=RESULTS_LIMIT_BYTES))
        if document.get("format") != FORMAT:
            raise ResultsInvalid(
                f"The results are written in format {document.get('format')!r}; this ackgap reads format {FORMAT}.",
                where=str(path),
                next_step="Read them with the version of ackgap that wrote them, or run the scenario again.",
            )
        info = decode(RunInfo, document)
    except OSError as error:
        raise ResultsInvalid(
            f"No results of a run can be read here: {error.strerror or error}.",
            where=str(path),
            next_step="Name the directory that was given to `ackgap run --out`.",
        ) from error
    except (FileUnfit, ValueError, AttributeError) as error:
        raise _damaged(path, "the description of the run", error) from error
    return Run.of(directory, info, _read_cells(directory / CELLS_FILE))


def _arranged(info: RunInfo, results: Iterable[CellResult]) -> Matrix:
    matrix = Matrix.of(results, row_order=["undisturbed", *(row.label for row in info.row_order)])
    place = {variant: number for number, variant in enumerate(info.variants)}
    columns = sorted(matrix.columns, key=lambda variant: (place.get(variant, len(place)), str(variant)))
    return Matrix(rows=matrix.rows, columns=tuple(columns), cells=matrix.cells)


def _in_order(info: RunInfo, results: Iterable[CellResult]) -> Iterator[CellResult]:
    # Rows that `row_order` does not name must not depend on which cell happened to finish first.
    matrix = _arranged(info, sorted(results, key=lambda result: result.cell))
    for row in matrix.rows:
        for column in matrix.columns:
            result = matrix.at(row, column)
            if result is not None:
                yield result


def _read_cells(path: Path) -> Iterator[CellResult]:
    if not path.exists():
        return
    with _open_results(path) as stream:
        for offset, line in _whole_lines(stream):
            try:
                yield result_from_json(parse_json(line))
            except ValueError as error:
                raise _damaged(path, f"the line at byte {offset}", error) from error


def _open_results(path: Path) -> BinaryIO:
    try:
        return open_plain(path)
    except FileUnfit as error:
        raise _damaged(path, "the file", ValueError(f"it {error}")) from None
    except OSError as error:
        raise _damaged(path, "the file", ValueError(error.strerror)) from error


def _whole_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    offset = 0
    for line in stream:
        if line.endswith(b"\n") and line.strip():
            yield offset, line
        offset += len(line)


def _leading_cell(line: bytes) -> str:
    """Read the cell's name at the front of a line without parsing the history behind it."""
    prefix = b'{"cell": '
    if not line.startswith(prefix):
        return ""
    end = line.find(b'", "history": ')
    if end < 0:
        return ""
    try:
        return str(json.loads(line[len(prefix) : end + 1]))
    except ValueError:
        return ""


def _open_for_append(path: Path) -> FileIO:
    """Open a file of lines; a torn last line, left by a harness that was killed, is cut off."""
    stream = path.open("a+b", buffering=0)
    end = stream.seek(0, os.SEEK_END)
    if end:
        stream.seek(0)
        kept = sum(len(line) for line in stream if line.endswith(b"\n"))
        if kept != end:
            stream.truncate(kept)
        stream.seek(0, os.SEEK_END)
    return stream


def _append_line(stream: FileIO, document: Mapping[str, Json]) -> None:
    """Append a line, or nothing: what there was room for is taken back, so that later readers meet whole lines."""
    line = memoryview(json.dumps(document, allow_nan=False).encode("ascii") + b"\n")
    end = stream.seek(0, os.SEEK_END)
    try:
        while line:
            line = line[stream.write(line) :]
    except OSError:
        with contextlib.suppress(OSError):
            stream.truncate(end)
        raise


def _damaged(path: Path, what: str, error: Exception) -> ResultsInvalid:
    return ResultsInvalid(
        f"Results are damaged: {what} cannot be read ({error}).",
        where=str(path),
        next_step="Run the scenario again into another directory.",
    )
