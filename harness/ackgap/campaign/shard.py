"""Shards: parts of one run for several machines, which need not talk to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ackgap.errors import UsageInvalid
from ackgap.model.schedule import Schedule

__all__ = ["WHOLE", "RowNumbers", "Shard"]

_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a run.

    Attributes:
        number: From 1.
        of: How many parts there are.
    """

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return "" if self == WHOLE else f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `2/8`; an empty text is all of it.

        Raises:
            UsageInvalid: It is not of that form, or there is no such part.
        """
        if not text:
            return WHOLE
        found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
        shard = cls(int(found[1]), int(found[2])) if found else None
        if shard is None or not 1 <= shard.number <= shard.of <= _LIMIT:
            raise UsageInvalid(
                f"{text!r} is no part of a run",
                where="--shard",
                next_step=f"write PART/PARTS, such as 2/8; at most {_LIMIT} parts",
            )
        return shard


WHOLE = Shard()


class RowNumbers:
    """Deals rows out to shards: one row is in the same shard in every variant, and so is all that goes on from it.

    Rows are numbered as they are first met, so variants have to be gone through in the same order on every machine.

    Args:
        shard: Whose rows are wanted.
    """

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._numbers: dict[str, int] = {}

    def own(self, schedules: Iterable[Schedule]) -> tuple[Schedule, ...]:
        """Return those of some schedules that are in the shard."""
        return tuple(schedule for schedule in schedules if self._is_own(schedule))

    def _is_own(self, schedule: Schedule) -> bool:
        number = self._numbers.setdefault(schedule.label, len(self._numbers))
        return number % self._shard.of == self._shard.number - 1
