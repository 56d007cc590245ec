"""Fresh state for every cell: a copy of the worker's directory, and a way back for state that lies elsewhere."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ackgap.errors import HarnessFailed, ProbeFailed

__all__ = ["LINKED_DIRECTORIES", "OutsideState", "fresh_copy", "remove_tree"]

LINKED_DIRECTORIES = frozenset({".git", ".hg", ".tox", ".nox", ".venv", "venv", "node_modules"})
"""Directories that are large and hold no state of an agent: linked into the copy, not copied."""

_LEFT_OUT = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "reports"})


def fresh_copy(source: Path | None, destination: Path, *, limit_bytes: int) -> None:
    """Make `destination` a fresh copy of `source`, or an empty directory.

    Raises:
        ProbeFailed: The source is larger than the limit.
        HarnessFailed: The disk is full, or the copy is not permitted.
    """
    remove_tree(destination)
    try:
        destination.mkdir(parents=True)
        if source is not None:
            _copy(source, destination, [limit_bytes])
    except OSError as error:
        raise HarnessFailed(
            f"a cell's directory could not be prepared: {error.strerror or error}",
            where=str(destination),
            next_step="free some space there, or set TMPDIR to a directory with room",
        ) from error


def _copy(source: Path, destination: Path, budget: list[int]) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            name = entry.name
            copy = destination / name
            if entry.is_symlink():
                _copy_link(Path(entry.path), copy)
            elif entry.is_dir():
                if name in LINKED_DIRECTORIES:
                    copy.symlink_to(Path(entry.path).absolute())
                elif name not in _LEFT_OUT:
                    copy.mkdir()
                    _copy(Path(entry.path), copy, budget)
            elif entry.is_file():
                budget[0] -= entry.stat().st_size
                if budget[0] < 0:
                    raise ProbeFailed(
                        "the worker's directory is too large to be copied into every cell",
                        where=str(source),
                        next_step="start from a smaller directory (worker.directory), or raise limits.copy_bytes",
                    )
                shutil.copy2(entry.path, copy)


def _copy_link(link: Path, copy: Path) -> None:
    target = link.readlink()
    inside = not target.is_absolute() and ".." not in target.parts  # then the copy has its own
    copy.symlink_to(target if inside or target.is_absolute() else (link.parent / target).absolute())


def remove_tree(directory: Path) -> None:
    """Remove a directory whatever its permissions say; a link to one is only unlinked."""
    if directory.is_symlink() or directory.is_file():
        directory.unlink()
        return

    def retry(_function: object, path: str, _error: object) -> None:
        parent = Path(path).parent
        parent.chmod(0o700)
        if Path(path).is_dir() and not Path(path).is_symlink():
            Path(path).chmod(0o700)
            shutil.rmtree(path, ignore_errors=True)
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
