"""The HTML report: one self-contained file that loads nothing and trusts nothing that came out of a run.

Data is embedded as inert JSON. The overview is small, and the script stands right behind it: the matrix is drawn while
the rest of the file is still being read. What one cell needs lies in a block of its own, compressed, and is unpacked
when the cell is opened, so that a report of ten thousand cells opens as fast as one of ten.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from string import Template

from ackgap.model import money
from ackgap.model.codec import encode, result_to_json
from ackgap.model.event import Json
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.verdict import GLYPHS, MEANINGS, Colour, VerdictKind
from ackgap.report.costs import RepeatedWork, repeated_work
from ackgap.report.derived import Certainties, bounds_facts, certain_words, rate_text
from ackgap.report.gaps import DeclaredCell, declared_cells, gap_lines
from ackgap.report.guidance import guidance
from ackgap.report.headline import expected_sentence, headline, scope_sentence
from ackgap.report.info import AxisInfo, AxisValueInfo, RowInfo
from ackgap.report.overview import WORST_FIRST, FindingGroup, Overview, is_order_dependent, variant_gap
from ackgap.report.packing import Packer, inert_json
from ackgap.report.plain import plain, replay_command
from ackgap.report.store import Run
from ackgap.report.view import FAULT_AXIS

__all__ = ["page_html"]

_STYLES = ("base.css", "matrix.css", "sheet.css")
_SCRIPTS = tuple(
    f"{name}.js"
    for name in (
        "dom",
        "lines",
        "address",
        "filter",
        "matrix",
        "window",
        "story",
        "lanes",
        "sequence",
        "zoom",
        "diff",
        "facts",
        "detail",
        "keys",
        "start",
    )
)
_MOST_COLUMNS = 24
_SHOWN = 100
"""By how many cells it is shown at most from when on an end was certain; their number is in the words."""
_KINDS = tuple(VerdictKind)


def page_html(run: Run) -> Iterator[str]:
    """Yield the page in pieces, so that a large report is never in memory as a whole.

    Raises:
        ResultsInvalid: A history is damaged.
    """
    style = "".join(_asset(name) for name in _STYLES)
    script = _script()
    before, after = _asset("page.html").split("$cells")
    values = {
        "title": html.escape(f"{plain(run.info.title or run.info.scenario)} - ackgap"),
        "eyebrow": html.escape(_eyebrow(run)),
        "headline": html.escape(headline(run)),
        "expected": html.escape(expected_sentence(run)),
        "scope": html.escape(scope_sentence(run)),
        "style": style,
        "style_hash": _hash(style),
        "script": script,
        "script_hash": _hash(script),
    }
    packer = Packer(_history(run, _typical(run.cells)) if run.cells else ())
    values["overview"] = inert_json(_overview(run) | {"primer": packer.primer, "primerLength": packer.length})
    yield Template(before).substitute(values)
    certainties = Certainties.of_run(run)
    for number, result in enumerate(run.cells):
        packed = packer.packed(_history(run, result), _detail(run, result, certainties))
        yield f'<script type="text/plain" id="h{number}">{packed}</script>\n'
    yield Template(after).substitute(values)


def _asset(name: str) -> str:
    return (resources.files("ackgap.report") / "assets" / name).read_text(encoding="utf-8")


def _script() -> str:
    body = "\n".join(_asset(name) for name in _SCRIPTS)
    data = 'const D = JSON.parse(document.getElementById("overview").textContent);'
    return f'(() => {{\n"use strict";\n{data}\n{body}}})();'


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _typical(cells: Iterable[CellResult]) -> CellResult:
    """Return a cell whose history others resemble: there was a crash, if anywhere."""
    return max(cells, key=lambda result: (result.verdict.kind.colour is Colour.RED, bool(result.schedule.faults)))


def _history(run: Run, result: CellResult) -> list[Mapping[str, Json]]:
    return encode(result.history) if result.history else list(run.history_json(result.cell))


def _eyebrow(run: Run) -> str:
    versions = run.info.versions
    seen = [f"{name} {version}" for name, version in versions.items() if name not in {"ackgap", "platform", "python"}]
    return plain(" · ".join([f"ackgap {versions.get('ackgap', '')}".strip(), run.info.scenario, *seen[:3]]))


def _overview(run: Run) -> dict[str, Json]:
    info = run.info
    overview = Overview(run)
    variants = overview.variants
    real = [overview.views.real(variant) for variant in variants]
    axes = _axes(info.axes, variants)
    rows = {row.label: number for number, row in enumerate(overview.rows)}
    columns = {variant: number for number, variant in enumerate(variants)}
    headlines: dict[str, int] = {}
    cells: list[int] = []
    for result in run.cells:
        text = result.verdict.headline
        row, shown = overview.views.place[result.cell]
        cells += [
            rows[row],
            columns[shown],
            _KINDS.index(result.verdict.kind),
            headlines.setdefault(text, len(headlines)),
        ]
    expectations, expectation_of = _shared(_expectation(run, variant) for variant in real)
    gaps, gap_of = _shared(sorted(rows[label] for label in variant_gap(info, v) if label in rows) for v in real)
    order = {result.cell: number for number, result in enumerate(run.cells)}
    declared = {each.cell.cell: each for each in declared_cells(run)}
    return {
        "title": info.title or info.scenario,
        "about": info.about,
        "command": info.command,
        "started": info.started_at,
        "versions": encode(info.versions),
        "notes": [*info.notes, *gap_lines(run)],
        "notApplicable": info.not_applicable,
        "axes": [encode(axis) | {"title": axis.title or axis.name} for axis in axes],
        # Texts of the faults that the last axis tells apart; none where there is no such axis.
        "faults": [str(manner) for manner in overview.views.manners] if overview.views.several else [],
        "shown": list(overview.shown_axes(_MOST_COLUMNS)),
        "variants": [[_place(axis, variant[axis.name]) for axis in axes] for variant in variants],
        "rows": [_row(row, overview, rows) for row in overview.rows],
        "verdicts": [
            {"id": kind.value, "words": kind.words, "glyph": GLYPHS[kind], "meaning": MEANINGS[kind]} for kind in _KINDS
        ],
        "worst": [_KINDS.index(kind) for kind in WORST_FIRST],
        "cells": cells,
        "headlines": list(headlines),
        "touched": {str(n): names for n, result in enumerate(run.cells) if (names := _touched(result))},
        "special": {
            str(number): said for number, result in enumerate(run.cells) if (said := _special(result, declared))
        },
        "bounds": _bounds(run),
        "expectations": expectations,
        "expectationOf": expectation_of,
        "gaps": gaps,
        "gapOf": gap_of,
        "guide": {kind.value: {"means": words.means, **words.fix} for kind, words in guidance().items()},
        "work": [_work(work, order) for work in repeated_work(run.cells)],
        "groups": [
            _group(group, order, columns=len({overview.views.place[result.cell][1] for result in group.results}))
            for group in overview.groups(Colour.RED, Colour.GREY, Colour.AMBER, by_cause=True)
        ],
    }


def _axes(known: Iterable[AxisInfo], variants: tuple[Variant, ...]) -> list[AxisInfo]:
    """Return the axes of the variants, in their order; what nobody described is described by its name."""
    described = {axis.name: axis for axis in known}
    result = []
    for name, _ in variants[0].values if variants else ():
        axis = described.get(name, AxisInfo(name=name))
        values = {value.name: value for value in axis.values}
        if name == FAULT_AXIS:
            axis = AxisInfo(name=name, title="what is done", about="What is done at each point.")
        names = dict.fromkeys([*values, *(variant[name] for variant in variants)])
        kept = tuple(values.get(value, AxisValueInfo(name=value)) for value in names)
        result.append(AxisInfo(name=name, title=axis.title, about=axis.about, values=kept))
    return result


def _place(axis: AxisInfo, name: str) -> int:
    return next(number for number, value in enumerate(axis.values) if value.name == name)


def _row(row: RowInfo, overview: Overview, rows: dict[str, int]) -> Json:
    branch = overview.branches.get(row.label)
    return {
        "parent": None if branch is None else rows[branch.parent],
        "step": "" if branch is None else branch.step,
        "at": "" if branch is None else branch.at,
        "label": row.label,
        "name": row.name,
        "occurrence": row.occurrence,
        "phase": encode(row.phase),
        "kind": encode(row.boundary_kind),
        "plain": row.plain,
        "gap": row.label in overview.gap,
    }


def _special(result: CellResult, declared: Mapping[str, DeclaredCell]) -> Json:
    """Return what an overview shows of a cell besides its verdict; empty for most."""
    gap = declared.get(result.cell)
    said = {
        "schedule": "" if RowInfo.of(result.schedule).plain else result.schedule.label,
        "rate": rate_text(result),
        "equal": result.equal_to,
        "copied": result.copied,
        "order": is_order_dependent(result),
        "gap": gap and gap.words,
    }
    return {name: value for name, value in said.items() if value}


def _touched(result: CellResult) -> list[Json]:
    """Return the operations of a cell's findings, but the one at which the first fault strikes."""
    struck = result.schedule.faults[0].point.name if result.schedule.faults else ""
    return list(dict.fromkeys(item.operation for item in result.findings if item.operation not in ("", struck)))


def _work(work: RepeatedWork, order: dict[str, int]) -> Json:
    return {
        "operation": work.operation,
        "calls": work.calls,
        "recorded": work.recorded,
        "cells": work.cells,
        "cost": money.in_words(work.cost, work.currency) if work.cost else "",
        "dearest": order[work.dearest.cell],
        "dearestCost": money.in_words(work.dearest_cost, work.currency) if work.dearest_cost else "",
    }


def _bounds(run: Run) -> Json:
    bounds = run.info.bounds
    if bounds is None:
        return None
    counts = {"ran": bounds.ran, "equal": bounds.equal, "impossible": bounds.impossible, "left": bounds.left}
    counts["unexplored"] = bounds.unexplored
    return {"facts": [[name, value] for name, value in bounds_facts(bounds) if value], "counts": counts}


def _expectation(run: Run, variant: Variant) -> Json:
    yardstick = run.info.expectations.get(str(variant))
    if yardstick is None:
        return {"operations": {}, "effects": [], "paid_counts": {}}
    document = encode(yardstick)
    return {name: document[name] for name in ("operations", "effects", "paid_counts")}


def _shared(values: Iterable[Json]) -> tuple[list[Json], list[int]]:
    """Return the different values, and for each one given which it is."""
    places: dict[str, int] = {}
    different: list[Json] = []
    which = []
    for value in values:
        key = json.dumps(value)
        if key not in places:
            places[key] = len(different)
            different.append(value)
        which.append(places[key])
    return different, which


def _group(group: FindingGroup, order: dict[str, int], *, columns: int) -> Json:
    costs: dict[str, float] = {}
    for result in group.results:
        for finding in result.findings:
            cost = finding.detail.get("cost")
            if finding.kind is group.kind and finding.operation == group.operation and isinstance(cost, int | float):
                currency = str(finding.detail.get("currency", ""))
                costs[currency] = costs.get(currency, 0.0) + cost
    return {
        "kind": _KINDS.index(group.kind),
        "operation": group.operation,
        "summary": group.finding.summary,
        "fix": group.finding.attribution.fix if group.finding.attribution else "",
        "count": len(group.results),
        "columns": columns,
        "example": order[group.example.cell],
        "cost": ", ".join(money.in_words(cost, currency) for currency, cost in costs.items() if cost),
    }


def _detail(run: Run, result: CellResult, certainties: Certainties) -> dict[str, Json]:
    document = result_to_json(result)
    kept = {name: document[name] for name in ("findings", "incarnations", "effects", "duration_s", "settling")}
    certainty, rate = certainties.of(result), result.rate
    return kept | {
        "certain": certainty and {"words": certain_words(certainty, result), "cells": list(certainty.cells[:_SHOWN])},
        "rate": rate and [[_KINDS.index(kind), rate.in_words(kind)] for kind in _KINDS if kind.value in rate.counts],
        "kept_directory": result.kept_directory,
        "replay": replay_command(run.info.replay_prefix, result.cell),
    }
