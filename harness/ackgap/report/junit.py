"""JUnit XML: one test case a cell, as CI systems read it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from ackgap.model.matrix import CellResult
from ackgap.model.verdict import Colour
from ackgap.report.derived import Certainties, bounds_sentence, facts_of
from ackgap.report.gaps import DeclaredCell, Standing, declared_cells
from ackgap.report.headline import headline
from ackgap.report.plain import plain, replay_command
from ackgap.report.store import Run

__all__ = ["junit_xml"]


def junit_xml(run: Run) -> str:
    """Return the results as JUnit XML: red is a failure, a cell that proves nothing is an error, amber passes.

    A known gap that is as it was declared is skipped; one that is closed or has changed is a failure.
    """
    declared = {each.cell.cell: each for each in declared_cells(run)}
    tags = [_tag(result, declared.get(result.cell)) for result in run.cells]
    counts = {
        "tests": str(len(run.cells)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
        "time": f"{sum(result.duration_s for result in run.cells):.3f}",
    }
    root = ET.Element("testsuites", {"name": "ackgap", **counts})
    suite = ET.SubElement(
        root, "testsuite", {"name": plain(run.info.scenario), **counts, "skipped": str(tags.count("skipped"))}
    )
    if run.info.started_at:
        suite.set("timestamp", plain(run.info.started_at))
    properties = ET.SubElement(suite, "properties")
    bounds = {"bounds": bounds_sentence(run.info.bounds)} if run.info.bounds is not None else {}
    for name, value in {"headline": headline(run), **bounds, **run.info.versions}.items():
        ET.SubElement(properties, "property", {"name": plain(name), "value": plain(value)})
    certainties = Certainties.of_run(run)
    for result in run.cells:
        _case(suite, run, result, list(facts_of(result, certainties)), declared.get(result.cell))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _tag(result: CellResult, declared: DeclaredCell | None) -> str:
    """Return what a case has for its verdict; empty where it passes."""
    if declared is not None and declared.standing is Standing.KNOWN:
        return "skipped"  # what these files have for a failure that is expected
    if declared is not None and declared.standing is not Standing.UNPROVEN:
        return "failure"
    return {Colour.RED: "failure", Colour.GREY: "error"}.get(result.verdict.kind.colour, "")


def _case(suite: ET.Element, run: Run, result: CellResult, facts: list[str], declared: DeclaredCell | None) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        {
            "classname": plain(f"{run.info.scenario}.{result.variant}"),
            "name": plain(result.schedule.label),
            "time": f"{result.duration_s:.3f}",
        },
    )
    kind, tag = result.verdict.kind, _tag(result, declared)
    gap = [] if declared is None else [declared.words]
    text = "\n".join([*gap, *map(plain, facts), *_findings(run, result)])
    if tag == "skipped":
        ET.SubElement(case, tag, {"type": "known_gap", "message": gap[0]}).text = text
    elif tag:
        element = ET.SubElement(case, tag, {"type": kind.value, "message": plain(result.verdict.headline)})
        element.text = text
    elif kind.colour is Colour.AMBER or facts:
        ET.SubElement(case, "system-out").text = text


def _findings(run: Run, result: CellResult) -> list[str]:
    lines = []
    for finding in result.findings:
        lines.append(plain(f"{finding.code}: {finding.summary}"))
        if finding.attribution is not None:
            lines += [plain(f"  {side}: {said}") for side, said in finding.attribution.sides]
    return [*lines, f"again: {replay_command(run.info.replay_prefix, result.cell)}"]
