"""From a cell's result to what a test says of it: passes, fails in a few lines, or is a gap that is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from ackgap.model.matrix import CellResult
from ackgap.model.verdict import Colour, VerdictKind
from ackgap.pytesting.state import State
from ackgap.pytesting.wanted import CellName
from ackgap.report.failing import failing_kinds
from ackgap.report.failure import failure_lines
from ackgap.report.gaps import Standing, standing_of
from ackgap.report.write import HTML_FILE

__all__ = ["CellFailed", "assert_cell", "properties_of"]


class CellFailed(AssertionError):
    """A cell is not as it should be; its text is all that a person has to read."""


def assert_cell(state: State, name: CellName, result: CellResult, *, allow: Sequence[str] | None = None) -> None:
    """Fail unless a cell is as it should be; end as an expected failure where it is a known gap.

    Args:
        state: Of the test run.
        name: Of the cell.
        result: What it proved.
        allow: Verdicts that pass besides `ok`; None leaves that to `fail-on` of the project.

    Raises:
        CellFailed: Says what happened, at which point, who could have prevented it, and how to see it again.
        Exception: pytest's own, for an expected failure.
    """
    __tracebackhide__ = True
    kind = result.verdict.kind
    running = state.running(name.wanted)
    declared = standing_of(running.gaps, result)
    if declared is not None and declared.standing is Standing.KNOWN:
        pytest.xfail(f"known gap, {declared.owner_and_reason}")
    elif declared is not None and declared.standing is not Standing.UNPROVEN:
        raise CellFailed("\n".join([f"{name.cell}: {declared.words}", *_told(state, name, result)]))
    if kind in _failing(state, allow):
        raise CellFailed("\n".join(_told(state, name, result)))


def _told(state: State, name: CellName, result: CellResult) -> Iterator[str]:
    running = state.running(name.wanted)
    kind = result.verdict.kind
    if kind is not VerdictKind.OK:
        found = result.verdict.worst
        why = (running.prefix, kind, result.verdict.headline, found and found.attribution)
        first = state.told.setdefault(why, name.cell)
        yield from failure_lines(result, running.prefix, same_as=first if first != name.cell else "")
    yield f"  report     {_shown(state, str(running.directory / HTML_FILE))}"


def _failing(state: State, allow: Sequence[str] | None) -> frozenset[VerdictKind]:
    if allow is None:
        return failing_kinds(state.options.fail_on)
    return frozenset(VerdictKind) - {VerdictKind.OK, *map(VerdictKind, allow)}


def _shown(state: State, path: str) -> str:
    root = f"{state.config.invocation_params.dir}/"
    return path.removeprefix(root)


def properties_of(result: CellResult) -> list[tuple[str, object]]:
    """Return what a test report (`junit.xml`, `-o junit_family`) says of a cell beside its outcome."""
    told: list[tuple[str, object]] = [("ackgap_verdict", result.verdict.kind.value)]
    if result.verdict.kind.colour is not Colour.GREEN:
        told.append(("ackgap_headline", result.verdict.headline))
    return [*told, ("ackgap_cell_s", round(result.duration_s, 3))]
