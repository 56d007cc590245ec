"""JUnit XML: one test case a cell, as CI systems read it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from ackgap.model.matrix import CellResult
from ackgap.model.verdict import Colour
from ackgap.report.derived import Certainties, bounds_sentence, facts_of
from ackgap.report.headline import headline
from ackgap.report.plain import plain, replay_command
from ackgap.report.store import Run

__all__ = ["junit_xml"]


def junit_xml(run: Run) -> str:
    """Return the results as JUnit XML: red is a failure, a cell that proves nothing is an error, amber passes."""
    colours = [result.verdict.kind.colour for result in run.cells]
    counts = {
        "tests": str(len(run.cells)),
        "failures": str(colours.count(Colour.RED)),
        "errors": str(colours.count(Colour.GREY)),
        "time": f"{sum(result.duration_s for result in run.cells):.3f}",
    }
    root = ET.Element("testsuites", {"name": "ackgap", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": plain(run.info.scenario), **counts, "skipped": "0"})
    if run.info.started_at:
        suite.set("timestamp", plain(run.info.started_at))
    properties = ET.SubElement(suite, "properties")
    bounds = {"bounds": bounds_sentence(run.info.bounds)} if run.info.bounds is not None else {}
    for name, value in {"headline": headline(run), **bounds, **run.info.versions}.items():
        ET.SubElement(properties, "property", {"name": plain(name), "value": plain(value)})
    certainties = Certainties.of_run(run)
    for result in run.cells:
        _case(suite, run, result, list(facts_of(result, certainties)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, run: Run, result: CellResult, facts: list[str]) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        {
            "classname": plain(f"{run.info.scenario}.{result.variant}"),
            "name": plain(result.schedule.label),
            "time": f"{result.duration_s:.3f}",
        },
    )
    kind = result.verdict.kind
    text = "\n".join([*map(plain, facts), *_findings(run, result)])
    if kind.colour is Colour.RED:
        _tell(case, "failure", kind.value, result, text)
    elif kind.colour is Colour.GREY:
        _tell(case, "error", kind.value, result, text)
    elif kind.colour is Colour.AMBER or facts:
        ET.SubElement(case, "system-out").text = text


def _tell(case: ET.Element, tag: str, kind: str, result: CellResult, text: str) -> None:
    element = ET.SubElement(case, tag, {"type": kind, "message": plain(result.verdict.headline)})
    element.text = text


def _findings(run: Run, result: CellResult) -> list[str]:
    lines = []
    for finding in result.findings:
        lines.append(plain(f"{finding.code}: {finding.summary}"))
        if finding.attribution is not None:
            sides = {side: getattr(finding.attribution, side) for side in ("worker", "engine", "target", "fix")}
            lines += [plain(f"  {side}: {said}") for side, said in sides.items() if said]
    return [*lines, f"again: {replay_command(run.info.replay_prefix, result.cell)}"]
