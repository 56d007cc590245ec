"""Two compared runs as JSON, for programs. Keys are added over time, and none changes its meaning."""

from __future__ import annotations

from collections.abc import Iterable

from ackgap.model.codec import encode
from ackgap.model.event import Json
from ackgap.model.matrix import CellResult
from ackgap.report.diff.cells import CellCompared, Change
from ackgap.report.diff.comparison import Comparison
from ackgap.report.diff.words import headline_of
from ackgap.report.plain import plain_json, replay_command
from ackgap.report.store import Run

__all__ = ["comparison_document"]

FORMAT = 1


def comparison_document(comparison: Comparison) -> Json:
    """Return everything that is known of two compared runs as a JSON object; cells that did not change are counted."""
    points = comparison.points
    prefix = comparison.new.info.replay_prefix
    changes = [change for change in Change if change is not Change.SAME]
    return plain_json(
        {
            "format": FORMAT,
            "old": _run(comparison.old),
            "new": _run(comparison.new),
            "headline": headline_of(comparison),
            "differs": list(comparison.parts),
            "versions": encode(comparison.versions),
            "points": {
                "appeared": list(points.appeared),
                "vanished": list(points.vanished),
                "renumbered": dict(points.renumbered),
                "shifted": dict(points.shifted),
                "reordered": list(points.reordered),
            },
            "common": len(comparison.common),
            "same": len(comparison.of(Change.SAME)),
            **{change.value: _cells(comparison.of(change), prefix) for change in changes},
            "moved": [{"cell": cell.cell, "from": cell.moved_from} for cell in comparison.moved],
            "only_in_new": _cells(comparison.appeared, prefix),
            "only_in_old": _cells(comparison.vanished, ""),
        }
    )


def _run(run: Run) -> Json:
    info = run.info
    return {
        "directory": str(run.directory),
        "scenario": info.scenario,
        "started_at": info.started_at,
        "cells": len(run.cells),
        "interrupted": info.interrupted,
    }


def _cells(cells: Iterable[CellCompared], prefix: str) -> list[Json]:
    return [_cell(cell, prefix) for cell in cells]


def _cell(cell: CellCompared, prefix: str) -> Json:
    document: dict[str, Json] = {"cell": cell.cell, "before": _result(cell.before), "after": _result(cell.after)}
    if cell.said:
        document["said"] = list(cell.said)
    if cell.absence is not None:
        document["lacked_because"] = cell.absence.value
    if cell.moved_from:
        document["moved_from"] = cell.moved_from
    if cell.after is not None and prefix:
        document["again"] = replay_command(prefix, cell.after.cell)
    return document


def _result(result: CellResult | None) -> Json:
    if result is None:
        return None
    return {
        "verdict": result.verdict.kind.value,
        "headline": result.verdict.headline,
        "findings": encode(result.findings),
        "rate": encode(result.rate),
    }
