"""The order of rows: one sequence that agrees with the order of points in every variant, as far as they agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["merged_order"]


def merged_order(sequences: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return every item once; what a sequence adds stands behind what it stands behind there."""
    merged: list[str] = []
    for sequence in sequences:
        place = 0
        for item in sequence:
            if item in merged:
                place = max(place, merged.index(item) + 1)
            else:
                merged.insert(place, item)
                place += 1
    return tuple(merged)
