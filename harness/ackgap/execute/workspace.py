"""Fresh state for every cell: a copy of the worker's directory, and a way back for state that lies elsewhere."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ackgap.errors import HarnessFailed, ProbeFailed

__all__ = [
    "LINKED_DIRECTORIES",
    "RESULT_FILES",
    "OutsideState",
    "content_digest",
    "copied_files",
    "fresh_copy",
    "lay_over",
    "remove_tree",
]

LINKED_DIRECTORIES = frozenset({".git", ".hg", ".tox", ".nox", ".venv", "venv", "node_modules"})
"""Directories that are large and hold no state of an agent: linked into the copy, not copied."""

RESULT_FILES = ("cells.jsonl", "histories.jsonl")
"""By these a directory of results is known; see `ackgap.report.store`, which lies higher and names them for itself."""

_LEFT_OUT = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "reports"})


def fresh_copy(source: Path | None, destination: Path, *, limit_bytes: int) -> None:
    """Make `destination` a fresh copy of `source`, or an empty directory.

    Raises:
        ProbeFailed: The source is larger than the limit.
        HarnessFailed: The disk is full, or the copy is not permitted.
    """
    try:
        remove_tree(destination)
        destination.mkdir(mode=0o700, parents=True)  # what is above it may be open to others
        if source is not None:
            _copy(source, destination, (source.absolute(), destination.absolute()), [limit_bytes])
    except OSError as error:
        raise HarnessFailed(
            f"a cell's directory could not be prepared: {error.strerror or error}",
            where=str(error.filename or destination),
            next_step="free some space there and remove what cannot be removed, or set TMPDIR to another directory",
        ) from error


def content_digest(file: Path) -> bytes:
    """Return a digest of what a file says, empty where it cannot be read."""
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=16).digest()
    except OSError:
        return b""


def copied_files(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and path of every file that a copy of `source` has, in the order of names."""
    for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
        path = Path(entry.path)
        if entry.is_symlink() or entry.is_file():
            if path.is_file():
                yield entry.name, path
        elif entry.is_dir() and entry.name not in LINKED_DIRECTORIES | _LEFT_OUT and not _holds_results(path):
            for name, file in copied_files(path):
                yield f"{entry.name}/{name}", file


def lay_over(source: Path, destination: Path) -> None:
    """Copy files over those of the same names; what else is there stays.

    Raises:
        HarnessFailed: They cannot be copied.
    """
    try:
        shutil.copytree(source, destination, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:  # shutil.Error is one
        raise HarnessFailed(
            f"the files of a release could not be copied into the cell: {error}",
            where=str(source),
            next_step="make them readable, and see that there is room",
        ) from error


def _copy(source: Path, destination: Path, whole: tuple[Path, Path], budget: list[int]) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            _copy_entry(entry, destination / entry.name, whole, budget)


def _copy_entry(entry: os.DirEntry[str], copy: Path, whole: tuple[Path, Path], budget: list[int]) -> None:
    try:
        if entry.is_symlink():
            _copy_link(Path(entry.path), copy, whole)
        elif entry.is_dir():
            if entry.name in LINKED_DIRECTORIES:
                copy.symlink_to(Path(entry.path).absolute())
            elif entry.name not in _LEFT_OUT and not _holds_results(Path(entry.path)):
                copy.mkdir()
                _copy(Path(entry.path), copy, whole, budget)
        elif entry.is_file():
            budget[0] -= entry.stat().st_size
            if budget[0] < 0:
                raise ProbeFailed(
                    "the worker's directory is too large to be copied into every cell",
                    where=str(Path(entry.path).parent),
                    next_step="start from a smaller directory (worker.directory), or raise limits.copy_bytes",
                )
            shutil.copy2(entry.path, copy)
    except FileNotFoundError:
        if os.path.lexists(entry.path):
            raise
        # Gone by now: somebody's temporary file, such as an editor's.


def _holds_results(directory: Path) -> bool:
    """Say whether runs of ackgap keep their results here: no state of the worker, and written while it is copied."""
    return all((directory / name).is_file() for name in RESULT_FILES)


def _copy_link(link: Path, copy: Path, whole: tuple[Path, Path]) -> None:
    """Copy a link so that what lies in the project is meant in the copy, and what lies elsewhere stays where it is."""
    project, copied = whole
    target = Path(os.path.normpath(link.parent.absolute() / link.readlink()))
    linked = (
        any(part in LINKED_DIRECTORIES for part in target.relative_to(project).parts)
        if target.is_relative_to(project)
        else True
    )
    copy.symlink_to(target if linked else os.path.relpath(copied / target.relative_to(project), copy.parent.absolute()))


def remove_tree(directory: Path) -> None:
    """Remove a directory whatever its permissions say; a link to one is only unlinked."""
    if directory.is_symlink() or directory.is_file():
        directory.unlink()
        return

    def retry(_function: object, path: str, _error: object) -> None:
        if not os.path.lexists(path):
            return  # somebody else removes the same tree, or a process on its way out its own files
        parent = Path(path).parent
        parent.chmod(0o700)
        if Path(path).is_dir() and not Path(path).is_symlink():
            Path(path).chmod(0o700)
            shutil.rmtree(path, ignore_errors=True)
            if Path(path).is_dir():
                Path(path).rmdir()  # says why it cannot
        else:
            Path(path).unlink(missing_ok=True)

    if directory.exists():
        shutil.rmtree(directory, onerror=retry)


class OutsideState:
    """State that the user's worker keeps outside its directory: saved once, put back before each cell and at the end.

    Args:
        paths: Files or directories.
        keep: Where the saved copies lie.
    """

    def __init__(self, paths: tuple[Path, ...], keep: Path) -> None:
        self._paths = paths
        self._keep = keep

    def save(self) -> None:
        """Save what is there now.

        Raises:
            HarnessFailed: A path cannot be read, or there is no room for its copy.
        """
        try:
            for number, path in enumerate(self._paths):
                saved = self._keep / str(number)
                saved.parent.mkdir(parents=True, exist_ok=True)
                if path.is_dir():
                    shutil.copytree(path, saved, symlinks=True)
                elif path.exists():
                    shutil.copy2(path, saved)
        except OSError as error:
            raise HarnessFailed(f"state outside the worker's directory could not be saved: {error}") from error

    def restore(self) -> None:
        """Put every path back to what it was."""
        for number, path in enumerate(self._paths):
            saved = self._keep / str(number)
            remove_tree(path)
            if saved.is_dir():
                shutil.copytree(saved, path, symlinks=True)
            elif saved.exists():
                shutil.copy2(saved, path)
