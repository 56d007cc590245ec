"""Lines of a matrix in print: rows of the rail, and below them those that go on from there, in few lines."""

from __future__ import annotations

from dataclasses import dataclass

from ackgap.report.info import RowInfo
from ackgap.report.overview import Overview
from ackgap.report.view import Branch

__all__ = ["Line", "lines_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: a row, or all rows that hang below one and have a step in common.

    Attributes:
        rows: One row, or those that the line stands for.
        branch: How the first of them differs from the row above; None on the rail.
        heads: The rows follow, one a line.
        headed: It is one of these.
        depth: How far it is set in: 0 on the rail.
    """

    rows: tuple[RowInfo, ...]
    branch: Branch | None = None
    heads: bool = False
    headed: bool = False
    depth: int = 0

    @property
    def row(self) -> RowInfo:
        """The row, or the first of them."""
        return self.rows[0]

    @property
    def words(self) -> str:
        """What is said of a line below the rail: `then killed again at any of 12 points`; empty on the rail."""
        if self.branch is None:
            return ""
        if len(self.rows) > 1:
            then = self.branch.step.startswith("then")
            return f"{self.branch.step.rstrip(':')}{' at' if then else ','} any of {len(self.rows)}{' points' * then}"
        return self.branch.at if self.headed else self.branch.words


def lines_of(overview: Overview, *, most: int) -> tuple[Line, ...]:
    """Return a matrix line by line. Rows with a step in common are headed by a line that stands for all of them.

    Args:
        overview: Of a run.
        most: With more rows than that below others, only the heads are there.
    """
    listed = len(overview.branches) <= most
    groups: dict[tuple[str, int, str], list[RowInfo]] = {}
    keys: dict[str, tuple[str, int, str]] = {}
    for row in overview.rows:
        branch = overview.branches.get(row.label)
        if branch is not None:
            above = branch.parent if listed else _root(overview, branch)
            keys[row.label] = (above, branch.depth, branch.step)
            groups.setdefault(keys[row.label], []).append(row)
    lines: list[Line] = []
    depths: dict[str, int] = {}
    for row in overview.rows:
        branch = overview.branches.get(row.label)
        members = groups[keys[row.label]] if branch is not None else []
        headed = len(members) > 1
        depth = 0 if branch is None else depths.get(branch.parent, branch.depth - 1) + 1
        if headed and row is members[0]:
            lines.append(Line(rows=tuple(members), branch=branch, heads=listed, depth=depth))
        depths[row.label] = depth + (headed and listed)
        if listed or not headed:
            lines.append(Line(rows=(row,), branch=branch, headed=headed, depth=depth + headed))
    return tuple(lines)


def _root(overview: Overview, branch: Branch) -> str:
    """Return the label of the row of the rail below which a branch hangs."""
    while branch.parent in overview.branches:
        branch = overview.branches[branch.parent]
    return branch.parent
