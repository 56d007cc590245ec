"""Reading a durable store at a boundary: what it says, and the digest of that with everything masked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackgap.execute.state.canonical import BESIDE_SQLITE, Content, Records, Sheet, UnreadableError, sheets_of
from ackgap.execute.state.marks import Mark, mark_of
from ackgap.execute.state.masks import Learned, Masker

if TYPE_CHECKING:
    from ackgap.execute.order import Order, Surroundings

__all__ = ["NOTHING_READ", "Reading", "StateReader", "reader_for"]

_Marks = tuple[Mark | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the store said at the boundaries of an undisturbed run, in their order.

    Attributes:
        contents: One for each boundary; None where it could not be read.
        problems: Why not.
    """

    contents: tuple[Content | None, ...] = ()
    problems: tuple[str, ...] = ()


NOTHING_READ = Reading()


class StateReader:
    """Reads a store again and again; what has not changed since is known.

    Args:
        declared: Expressions of the scenario: what to mask.
        learned: What undisturbed runs say about the store.
        literals: What is another in each slot, such as addresses and directories, and what to read in its place.
        keep: Keep what was read.
        now_s: Seconds since the epoch.
    """

    def __init__(
        self,
        *,
        declared: Sequence[str] = (),
        learned: Learned | None = None,
        literals: Mapping[str, str] | None = None,
        keep: bool = False,
        now_s: float,
    ) -> None:
        self._masker = Masker(declared=declared, learned=learned, now_s=now_s)
        self._literals = sorted((literals or {}).items(), key=lambda item: -len(item[0]))
        self._keep = keep
        self._records = Records(self._renamed)
        self._known: dict[str, tuple[_Marks, Content]] = {}
        self._last: tuple[tuple[tuple[str, _Marks], ...], Content | None, str] | None = None
        self._contents: list[Content | None] = []
        self._problems: dict[str, None] = {}

    @property
    def reading(self) -> Reading:
        """What was kept."""
        return Reading(contents=tuple(self._contents), problems=tuple(self._problems))

    def digest(self, files: Iterable[tuple[str, str]]) -> str:
        """Return a digest of what files say, masked; empty where they could not be read.

        Args:
            files: Their names in the store, and their paths.
        """
        present = dict(files)
        marks = tuple((name, self._marks(path)) for name, path in present.items())
        if self._last is None or self._last[0] != marks:
            content = self._content(present)
            self._last = marks, content, "" if content is None else digest_of(content, self._masker)
        if self._keep:
            self._contents.append(self._last[1])
        return self._last[2]

    def _content(self, files: dict[str, str]) -> Content | None:
        sheets: list[Sheet] = []
        for name, path in files.items():
            if any(name.endswith(suffix) and name.removesuffix(suffix) in files for suffix in BESIDE_SQLITE):
                continue
            marks = self._marks(path)
            if marks[0] is None:
                continue
            known = self._known.get(path)
            if known is None or known[0] != marks:
                try:
                    known = marks, sheets_of(name, path, self._records)
                except (UnreadableError, OSError) as error:
                    self._problems[str(error)] = None
                    return None
                self._known[path] = known
            sheets += known[1]
        return tuple(sheets)

    def _marks(self, path: str) -> _Marks:
        return tuple(_mark(f"{path}{suffix}") for suffix in ("", *BESIDE_SQLITE))

    def _renamed(self, text: str) -> str:
        """Return text with what is another in each slot written as the same."""
        for literal, name in self._literals:
            text = text.replace(literal, f"<{name}>")
        return text


def digest_of(content: Content, masker: Masker) -> str:
    """Return the digest of what a store says, masked."""
    return hashlib.blake2b(masker.text(content).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def reader_for(order: Order, surroundings: Surroundings, *, own_words: str, now_s: float) -> StateReader | None:
    """Return the reader of a cell's store; None where nobody asked for its states, or much of it is in services."""
    if not order.states or order.scenario.services:
        return None
    literals = {address: f"address of {name}" for address, name in surroundings.by_address().items()}
    return StateReader(
        declared=order.scenario.worker.mask,
        learned=order.masks,
        literals={**literals, str(surroundings.directory): "slot", own_words: "cell"},
        keep=order.probe,
        now_s=now_s,
    )


def _mark(path: str) -> Mark | None:
    try:
        return mark_of(os.stat(path))  # noqa: PTH116 - this runs at every boundary
    except OSError:
        return None
