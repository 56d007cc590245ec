"""What a change of a file means: a durable write by name, the commit of a SQLite database, or a part of one.

The preload and trace injectors see plain changes of files. For most of them that is all there is to it, and each is a
boundary: `file.<name>.write`, `.replace`, `.truncate`, `.remove`, `.link`. A SQLite database is made of many, and only
one of them makes a transaction durable:

- with a rollback journal, the journal's removal, its truncation, or the zeros over its head, whatever the mode does,
  once pages of the database have been written under it;
- with a write-ahead log, the frame whose head has the size of the database after the commit. It has landed when the
  page that goes with it has been written as well.

That one is `sqlite.<name>.commit`. Pages, other frames and checkpoints are none; nor is the roll-back of a transaction,
or of what a dead process left in a journal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["FileCall", "FileCalls", "Step", "boundary_part"]

_DONE = {"write": "write", "rename": "replace", "truncate": "truncate", "unlink": "remove", "link": "link"}
_UUID = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{8}(-?)(?:[0-9a-fA-F]{4}\1){3}[0-9a-fA-F]{12}(?![0-9a-fA-F])")
_DIGEST = re.compile(r"[0-9a-fA-F]{16,}")
_TEMPORARY = re.compile(r"tmp[a-z0-9_]{8}|^\.?te?mp(?:.*[-_.])?[A-Za-z0-9]{6}$")
"""What `tempfile` and `mkstemp` make of names that say what they are."""
_MANY_DIGITS = re.compile(r"\d{6,}")
_MADE_UP = re.compile(r"(?:(?<=\.)|(?<=-)|(?<=\.tmp))(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{6}$")
"""What `mkstemp` and the like put at the end of a name."""
_UNUSABLE = re.compile(r"[\s@,;#]+")
_LOG_HEAD = 32
_FRAME_HEAD = 24
_LEAST_PAGE = 512
_ZEROED = 28
"""How many bytes SQLite writes over the head of a journal that it keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCall:
    """A change of a file below the cell's directory.

    Attributes:
        verb: `write`, `rename` (onto the path), `truncate`, `unlink` or `link`.
        path: Absolute.
        offset: Of a write; negative where it is not known.
        size: Of a write; of what a truncation leaves.
        head: The first bytes of a write, 32 at most.
    """

    verb: str
    path: str
    offset: int = -1
    size: int = 0
    head: bytes = b""


@dataclass(frozen=True, slots=True)
class Step:
    """What a change is to its life.

    Attributes:
        begins: Name of the boundary that begins with it; empty where none does.
        lands: Number of the change that began the boundary which has landed once this one is done; 0 where none has.
    """

    begins: str = ""
    lands: int = 0


_NOTHING = Step()


@dataclass(slots=True)
class _Database:
    """What one process has done to a database since its last commit.

    Attributes:
        journal_written: Something was written into its rollback journal.
        pages_written: After that, a page into the database itself.
        frame: Number of the change that wrote the head of a commit's frame.
        page_at: Where the page that goes with it begins; negative while no commit is under way.
        last_page_at: The same of the commit before; a transaction that has outgrown SQLite's memory writes the head of
            its last frame once more at its end.
    """

    journal_written: bool = False
    pages_written: bool = False
    frame: int = 0
    page_at: int = -1
    last_page_at: int = -1


class FileCalls:
    """Understands the changes of files that one life makes.

    Args:
        exists: Whether there is a file.
    """

    def __init__(self, exists: Callable[[str], bool] = os.path.exists) -> None:
        self._exists = exists
        self._databases: dict[tuple[int, str], _Database] = {}
        self._lands: dict[tuple[int, int], int] = {}

    def before(self, pid: int, number: int, call: FileCall) -> Step:
        """Return what a change is that a process is about to make.

        Args:
            pid: Of the process.
            number: Of the change, in that process.
            call: What it is.
        """
        step = self._understood(pid, number, call)
        if step.lands:
            self._lands[pid, number] = step.lands
        return step

    def over(self, pid: int, number: int) -> int:
        """Take note that a change is done, or has failed; return which one's boundary that was, 0 if no one's."""
        return self._lands.pop((pid, number), 0)

    def _understood(self, pid: int, number: int, call: FileCall) -> Step:
        for suffix, understand in (("-wal", self._log), ("-journal", self._journal)):
            database = call.path.removesuffix(suffix)
            if database != call.path and self._exists(database):
                known = self._databases.setdefault((pid, database), _Database())
                return understand(known, number, call, f"sqlite.{boundary_part(database, pid)}.commit")
        if call.verb in ("write", "truncate") and (
            self._exists(f"{call.path}-journal") or self._exists(f"{call.path}-wal")
        ):
            known = self._databases.setdefault((pid, call.path), _Database())
            known.pages_written = known.journal_written
            return _NOTHING
        return Step(begins=f"file.{boundary_part(call.path, pid)}.{_DONE[call.verb]}", lands=number)

    @staticmethod
    def _log(known: _Database, number: int, call: FileCall, name: str) -> Step:
        if call.verb != "write" or call.offset < _LOG_HEAD:
            return _NOTHING
        if call.offset == known.page_at:
            known.last_page_at, known.page_at = known.page_at, -1
            return Step(lands=known.frame)
        whole = call.size - _FRAME_HEAD
        if whole and (whole < _LEAST_PAGE or whole & (whole - 1)):
            return _NOTHING
        if not any(call.head[4:8]) or (known.page_at >= 0 and not whole):
            return _NOTHING
        if whole or call.offset + _FRAME_HEAD == known.last_page_at:
            known.last_page_at = -1
            return Step(begins=name, lands=number)
        known.frame, known.page_at = number, call.offset + _FRAME_HEAD
        return Step(begins=name)

    @staticmethod
    def _journal(known: _Database, number: int, call: FileCall, name: str) -> Step:
        zeros = call.verb == "write" and call.offset == 0 and call.size == _ZEROED and not any(call.head)
        if call.verb == "write" and not zeros:
            known.journal_written = True
            return _NOTHING
        ends = zeros or call.verb == "unlink" or (call.verb == "truncate" and call.size == 0)
        commits = ends and known.journal_written and known.pages_written
        if ends:
            known.journal_written = known.pages_written = False
        return Step(begins=name, lands=number) if commits else _NOTHING


def boundary_part(path: str, pid: int) -> str:
    """Return the last part of a path as it reads in any other run, and as a boundary's name can have it.

    What is made up anew each time is `tmp`: a random part of a temporary name, the process's id, many digits. A UUID
    reads `uuid`, and a digest `hex`.
    """
    name = os.path.basename(path)  # noqa: PTH119 - this runs at every change of a file
    if _TEMPORARY.search(name) or re.search(rf"(?<!\d){pid}(?!\d)", name):
        return "tmp"
    name = _MADE_UP.sub("tmp", _MANY_DIGITS.sub("tmp", _DIGEST.sub("hex", _UUID.sub("uuid", name))))
    return _UNUSABLE.sub("_", name) or "_"
