"""The page on verdicts names every verdict and finding, and its examples come out as it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from notation import judged

import ackgap.judge
from ackgap.model.expectation import ApprovalRule
from ackgap.model.verdict import GLYPHS, VerdictKind

PAGE = Path(__file__).parent.parent.parent / "docs" / "verdicts.md"
TEXT = PAGE.read_text(encoding="utf-8")
# These are put together from the reason for which a run was given up.
GIVEN_UP = {f"stuck_{reason}" for reason in ("crash_loop", "waiting", "client_failed")} | {
    f"stuck_engine_{state}" for state in ("failed", "unowned", "waiting")
}

SECTIONS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## )", TEXT, flags=re.DOTALL | re.MULTILINE))
EXAMPLES = [
    (verdict or section, example)
    for section, body in SECTIONS.items()
    for verdict, example in re.findall(r"^```history ?(\w*)\n(.*?)^```", body, flags=re.DOTALL | re.MULTILINE)
]
APPROVED = ApprovalRule(
    operation="tickets.create", field="body.text", approved_by="approvals.request", artifact="body.text"
)


def codes_in_the_judge() -> set[str]:
    """Return the code of every finding that the sources of the judge make."""
    found: set[str] = set()
    for path in Path(ackgap.judge.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                given = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
                if isinstance(node.func, ast.Name) and node.func.id == "_inconclusive":
                    given.append(node.args[0])
                found |= {value.value for value in given if isinstance(value, ast.Constant)}
            # A note of somebody else's that becomes a finding under its own code.
            if isinstance(node, ast.Compare) and ast.unparse(node.left) == "note.code":
                found |= codes_of_notes(node)
    return found


def codes_of_notes(comparison: ast.Compare) -> set[str]:
    return {value.value for value in ast.walk(comparison.comparators[0]) if isinstance(value, ast.Constant)}


def codes_in_tables() -> set[str]:
    """Return what the first column of a table of findings or remarks holds."""
    tables = re.findall(r"^\| (?:finding|remark) \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", TEXT, flags=re.MULTILINE)
    return set(re.findall(r"^\| `(\w+)` \|", "".join(tables), flags=re.MULTILINE))


def test_every_finding_is_documented_and_none_that_does_not_exist() -> None:
    assert len(codes_in_the_judge()) > 25
    assert codes_in_tables() == codes_in_the_judge() | GIVEN_UP


def test_every_note_that_the_judge_looks_for_is_written_by_somebody() -> None:
    judge = Path(ackgap.judge.__file__).parent
    elsewhere = "".join(path.read_text(encoding="utf-8") for path in judge.parent.rglob("*.py") if path.parent != judge)
    looked_for = {
        code
        for path in judge.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == "note.code"
        for code in codes_of_notes(node)
    }
    assert len(looked_for) >= 9
    assert {code for code in looked_for if f'"{code}"' not in elsewhere} == set()


def test_every_verdict_has_a_section_in_the_order_of_the_scale() -> None:
    assert list(SECTIONS) == [kind.value for kind in VerdictKind]


@pytest.mark.parametrize("kind", list(VerdictKind))
def test_every_verdict_is_in_the_overview_with_its_glyph_and_colour(kind: VerdictKind) -> None:
    assert f"| {GLYPHS[kind]} | [`{kind.value}`](#{kind.value}) | {kind.colour.value} |" in TEXT


@pytest.mark.parametrize("kind", list(VerdictKind))
def test_every_section_says_what_it_means_when_it_is_given_and_shows_one(kind: VerdictKind) -> None:
    body = SECTIONS[kind.value]
    assert "**What it means.**" in body
    assert "**When it is given.**" in body
    assert "what to do" in body.lower() or kind is VerdictKind.OK
    assert "```history\n" in body


@pytest.mark.parametrize(("verdict", "example"), EXAMPLES)
def test_an_example_comes_out_as_it_says(verdict: str, example: str) -> None:
    probe, *lives = example.splitlines()
    assert probe.startswith("undisturbed ")
    history = " ".join(re.sub(r"^life (\d+)", r"\1>", line) for line in lives)
    rules = (APPROVED,) if "approvals.request" in example else ()
    assert judged(history, probe.removeprefix("undisturbed"), approvals=rules).kind == verdict


@pytest.mark.parametrize("page", ["verdicts.md", "concepts.md"])
def test_links_within_the_documentation_lead_somewhere(page: str) -> None:
    text = (PAGE.parent / page).read_text(encoding="utf-8")
    for file, anchor in re.findall(r"\]\(([\w.-]*)(?:#([\w-]+))?\)", text):
        linked = PAGE.parent / (file or page)
        assert linked.is_file(), linked.name
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), flags=re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{linked.name}#{anchor}"
