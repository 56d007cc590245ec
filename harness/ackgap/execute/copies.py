"""Copies: what one undisturbed run has left at each of its points, so that a recovery can begin from there.

While the worker stands parked at a point and stopped, its files and what its targets know are copied. A cell whose
first life is to be killed there then begins with the copy, at the same paths and addresses, and only its recovery is
run. Nothing was killed, so its history says `copied`; a sample of such cells is run again with real kills.

A copy is made only where it is all that a death would have left. Where something is under way that it would not have,
the point is left out, and its cell is run with a real kill.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ackgap.execute import workspace
from ackgap.execute.life import Life
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.settling import settle
from ackgap.execute.store import DurableStore
from ackgap.execute.turnstile import Write
from ackgap.model.boundary import CrashPoint
from ackgap.model.event import Event, Settling
from ackgap.model.history import History
from ackgap.model.manner import FaultKind
from ackgap.model.schedule import Schedule
from ackgap.scenario.scenario import Limits
from ackgap.target.clock import VirtualClock
from ackgap.target.parked import NotToBeCopied, ParkedTarget
from ackgap.target.service import TargetService

__all__ = ["LIVED", "Beginning", "Copier", "Copies", "ParkedCopy", "passed_in_order", "point_of_copy"]

_WORK, _SCRATCH = "work", "tmp"
_ROUNDS = 5
"""Rounds of the loop in which everything that a stopped worker has said by then is read and understood."""
_MOST_BYTES = 512 * 1024**2
"""That the copies of one run may take; each slot keeps those of two."""
_LEFT_FREE_BYTES = 512 * 1024**2
"""What is left to everybody else where they go."""
_HOLE_BYTES = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedCopy:
    """Everything that a cell needs to begin where another stood parked.

    Attributes:
        directory: With the worker's directory and its temporary one.
        events: What had happened by then.
        targets: By name, pickled: each cell needs its own.
        settling: How sure it was that no durable write was in flight.
        settle_s: Real seconds that this took.
        parked: Other points at which the life stood parked.
        store_digest: Of the durable store.
        output: What the worker had printed.
        told: What had been said once and is not to be said again.
        clock_offset_s: Of the targets' clock.
        made_s: When, in seconds since the epoch.
    """

    directory: Path
    events: tuple[Event, ...]
    targets: bytes
    settling: Settling
    settle_s: float
    parked: tuple[str, ...]
    store_digest: str
    output: str
    told: frozenset[str]
    clock_offset_s: float
    made_s: float

    def clock(self) -> VirtualClock:
        """Return the targets' clock as it stood here: since then no time has passed for them."""
        lay_s = time.time() - self.made_s
        return VirtualClock(self.clock_offset_s, real=lambda: time.time() - lay_s)

    def parked_targets(self) -> dict[str, ParkedTarget]:
        """Return what each target knew, made anew for whoever goes on from it."""
        found: dict[str, ParkedTarget] = pickle.loads(self.targets)  # noqa: S301 - our own, of this very process
        return found

    def lay_out(self, work: Path, scratch: Path) -> None:
        """Put the files where the worker had them, in the place of whatever is there.

        Raises:
            OSError: There is no room.
        """
        for name, place in ((_WORK, work), (_SCRATCH, scratch)):
            workspace.remove_tree(place)
            shutil.copytree(self.directory / name, place, symlinks=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """How a cell begins that may begin with a copy.

    Attributes:
        own_words: Of the run that was copied.
        copy: Where to begin; None where the first life has to be lived.
        why_none: Why there is no copy.
    """

    own_words: str = ""
    copy: ParkedCopy | None = None
    why_none: str = ""


LIVED = Beginning()
"""The first life is lived, and nobody had thought of anything else."""


@dataclass(slots=True, kw_only=True)
class Copies:
    """The copies of one undisturbed run.

    Attributes:
        own_words: What that run had in its requests and no other has.
        by_point: Copies, by the text of their points.
        left_out: Why there is none, likewise; under the empty text if there is none at all.
    """

    own_words: str
    by_point: dict[str, ParkedCopy] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def why_none(self, point: str) -> str:
        """Return why there is no copy of a point."""
        return self.left_out.get("") or self.left_out.get(point) or f"the run that is copied did not come to {point}"


class Copier:
    """Makes the copies, in the run that is copied.

    Args:
        directory: Where they go; made anew.
        own_words: Of the run.
        work: The worker's directory.
        scratch: Its temporary directory.
        recorder: Keeps the history.
        store: The durable store.
        limits: How long to wait for writes in flight.
        targets: By name.
        clock: Theirs.
    """

    def __init__(
        self,
        directory: Path,
        *,
        own_words: str,
        work: Path,
        scratch: Path,
        recorder: HistoryRecorder,
        store: DurableStore,
        limits: Limits,
        targets: Mapping[str, TargetService],
        clock: VirtualClock,
    ) -> None:
        self._directory = directory
        self._places = {_WORK: work, _SCRATCH: scratch}
        self._recorder = recorder
        self._store = store
        self._limits = limits
        self._targets = targets
        self._clock = clock
        self._budget_bytes = _MOST_BYTES
        self._count = 0
        self._began_ns = time.time_ns() - 2 * 10**9  # file systems round
        self._copied_before: dict[str, tuple[tuple[int, int, int, int], str]] = {}
        self.copies = Copies(own_words=own_words)
        workspace.remove_tree(directory)
        directory.mkdir(parents=True)

    async def copy(self, life: Life, point: CrashPoint, *, write: Write | None, told: set[str]) -> None:
        """Copy everything while the life stands at a point, as a kill there would leave it.

        Args:
            life: That stands there.
            point: Where.
            write: The durable write that is about to begin there, if one is.
            told: What has been said once by now.
        """
        if life.frozen_at is not None:  # a write that lands before another point is copied
            self.copies.left_out[str(point)] = "another point was being copied"
            return
        life.freeze(point.boundary.kind)
        try:
            began_s = asyncio.get_running_loop().time()
            settling = await settle(life, self._store, self._limits, but=write)
            settle_s = asyncio.get_running_loop().time() - began_s
            stands = life.process.stand_still()
            for _ in range(_ROUNDS):
                await asyncio.sleep(0)
            if life.incarnation != 1 or life.process.exited.is_set() or not stands:
                raise NotToBeCopied("only the first life is copied, and only while it lives and stands still")
            if settling is not Settling.SETTLED:
                raise NotToBeCopied("durable writes were still in flight, or could not be seen")
            if any(map(_shares_memory, life.process.pids())):
                raise NotToBeCopied("it has memory in use that outlives it and is not copied (/dev/shm)")
            targets = pickle.dumps({name: service.parked() for name, service in self._targets.items()})
            self.copies.by_point[str(point)] = ParkedCopy(
                directory=self._copied(len(targets)),
                events=self._recorder.history().events,
                targets=targets,
                settling=settling,
                settle_s=settle_s,
                parked=tuple(life.parked),
                store_digest=self._store.digest(),
                output=life.process.output_tail,
                told=frozenset(told),
                clock_offset_s=self._clock.offset_s,
                made_s=time.time(),
            )
        except NotToBeCopied as reason:
            self.copies.left_out[str(point)] = str(reason)
        except Exception as error:  # it must not fail the request that stands here
            self.copies.left_out[str(point)] = f"it could not be copied: {error!r}"
        finally:
            life.process.wake()
            life.parked.clear()
            life.thaw()

    def _copied(self, more_bytes: int) -> Path:
        """Copy the worker's directories.

        Args:
            more_bytes: What the copy takes besides.

        Raises:
            NotToBeCopied: Something in them is no copy of itself, or there is no room.
        """
        self._count += 1
        copy = self._directory / str(self._count)
        budget_bytes, before = self._budget_bytes, dict(self._copied_before)
        try:
            if shutil.disk_usage(self._directory).free < _LEFT_FREE_BYTES:
                raise NotToBeCopied("there is little room left where the copies go")
            self._spend(more_bytes)
            copy.mkdir()
            for name, place in self._places.items():
                self._copy_tree(str(place), str(copy / name))
        except (OSError, NotToBeCopied) as error:
            self._budget_bytes, self._copied_before = budget_bytes, before
            workspace.remove_tree(copy)
            if isinstance(error, NotToBeCopied):
                raise
            raise NotToBeCopied(f"its files could not be copied: {error.strerror or error}") from error
        return copy

    def _spend(self, count: int) -> None:
        self._budget_bytes -= count
        if self._budget_bytes < 0:
            raise NotToBeCopied("the copies would take too much room")

    def _copy_tree(self, source: str, copy: str) -> None:
        os.mkdir(copy)  # noqa: PTH102 - a hot path, as all of this
        with os.scandir(source) as entries:
            for entry in entries:
                place = f"{copy}/{entry.name}"
                if entry.is_symlink():
                    os.symlink(os.readlink(entry.path), place)  # noqa: PTH115, PTH211
                elif entry.is_dir():
                    self._copy_tree(entry.path, place)
                else:
                    self._copy_file(entry.path, entry.stat(), place)
        shutil.copystat(source, copy)

    def _copy_file(self, path: str, status: os.stat_result, place: str) -> None:
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise NotToBeCopied(f"{os.path.basename(path)} is no plain file, or has several names")  # noqa: PTH119
        if status.st_size > status.st_blocks * 512 + _HOLE_BYTES:
            raise NotToBeCopied(f"{os.path.basename(path)} has holes, which a copy would fill")  # noqa: PTH119
        mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        # What a memory map writes changes no time stamp after the first; before that it is as old as the project.
        untouched = status.st_mtime_ns < self._began_ns
        if untouched and (known := self._copied_before.get(path)) is not None and known[0] == mark:
            os.link(known[1], place)
            return
        self._spend(status.st_size)
        shutil.copy2(path, place)
        if untouched:
            self._copied_before[path] = mark, place


def _shares_memory(pid: int) -> bool:
    """Whether a process has a named piece of shared memory, or a named semaphore, mapped (Linux)."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return False
    return any(b" /dev/shm/" in line and not line.endswith(b"(deleted)") for line in maps.splitlines())


def point_of_copy(schedule: Schedule) -> str:
    """Return the point from whose copy a schedule can begin; empty where its first life has to be lived.

    That is one which is killed, with nothing before it, and not in a race with its own writes.
    """
    faults = schedule.faults_in(1)
    if len(faults) != 1 or faults[0].kind is not FaultKind.KILL or faults[0].manner.unsettled:
        return ""
    return str(faults[0].point)


def passed_in_order(history: History) -> tuple[str, ...]:
    """Return the points that the first life of a run came to, in their order."""
    return tuple(event.point_text for event in history.passages if event.incarnation == 1)
