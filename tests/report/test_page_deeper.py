"""The page of a run beyond one kill, in a real browser: branches, races, equal states, bounds, lives that overlap."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pytest

from ackgap.model.gap import KnownGap
from ackgap.model.verdict import VerdictKind
from ackgap.report.write import write_reports

pytestmark = pytest.mark.slow
Shows = Callable[[Any, str | re.Pattern[str]], None]
VARIANT = "durability=sync,key=payload,protection=key"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


def go(page: Any, directory: Path, cell: str = "") -> Any:
    page.goto((directory / "report.html").as_uri() + (f"#cell={quote(cell)}" if cell else ""))
    page.wait_for_selector("svg.lives" if cell else "button.cell")
    return page


def test_second_crashes_fold_and_open_below_their_first_point(page: Any, deeper: Path) -> None:
    go(page, deeper)
    folds = page.locator("button.fold")
    assert folds.count() == 2
    before = page.locator("tr.branch").count()
    assert folds.first.get_attribute("aria-expanded") == "true"
    folds.first.click()
    assert page.locator("tr.branch").count() == before - 4
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
    assert "any of 4 points" in page.evaluate("document.activeElement.textContent")
    folds.first.click()
    assert page.locator("tr.branch").count() == before


def test_a_folded_line_opens_its_worst_cell_and_names_the_others(page: Any, deeper: Path, shows: Shows) -> None:
    go(page, deeper)
    page.locator("button.fold").first.click()
    page.locator('button.cell[aria-label^="langgraph.put.step3#1:committed, then killed again"]').first.click()
    page.wait_for_selector("svg.lives")
    members = page.locator("#sheet .members button")
    assert members.count() == 4
    members.filter(has_text="tickets.create#1:received").click()
    shows(page.locator("#sheet .where"), "2.kill@tickets.create#1:received")
    assert page.locator('button.cell[aria-current="true"]').count() == 1


def test_a_second_crash_is_opened_by_its_address_and_told_in_words(page: Any, deeper: Path, shows: Shows) -> None:
    cell = f"kill@tickets.create#1:applied;2.kill@tickets.create#1:returned@{VARIANT}"
    go(page, deeper, cell)
    sheet = page.locator("#sheet")
    text = sheet.inner_text()
    assert sheet.locator(".where").inner_text() == cell
    assert "then killed again at tickets.create#1:returned." in text
    assert "Certain since tickets.create#1:applied of life 1: 4 cells end in the same way" in text
    sheet.locator("summary", has_text="Shown by 4 cells").click()
    sheet.locator(".cells button").last.click()
    shows(sheet.locator(".where"), re.compile(r"^tickets\.create#1:applied@"))


def test_a_known_gap_is_marked_in_the_matrix_and_told_with_its_owner(
    page: Any, builders: ModuleType, tmp_path: Path
) -> None:
    gap = KnownGap(
        verdict=VerdictKind.DUPLICATE, reason="no keys yet", owner="payments", points=("tickets.create#1:applied",)
    )
    directory = builders.write(tmp_path / "gaps", known_gaps=(gap,))
    write_reports(directory)
    go(page, directory)
    marked = page.locator("button.cell.declared")
    kinds = {marked.nth(number).get_attribute("class").split()[1] for number in range(marked.count())}
    assert kinds == {"duplicate", "ok"}, "also a gap that is closed"
    assert "known gap" in page.locator("#hint").inner_text()
    assert "payments: no keys yet" in page.locator("#about").inner_text()
    page.locator("button.cell.declared.duplicate").first.click()
    page.wait_for_selector("svg.lives")
    facts = page.locator("#sheet .fact")
    assert "A known gap (duplicate). payments: no keys yet" in facts.first.inner_text()


def test_a_race_shows_its_rate_in_the_matrix_and_the_interval_in_the_sheet(page: Any, deeper: Path) -> None:
    go(page, deeper)
    raced = page.locator("button.cell.raced")
    assert [raced.nth(number).inner_text().split() for number in range(2)] == [["×2", "3/20"], ["✓", "20/20"]]
    raced.first.click()
    page.wait_for_selector("svg.lives")
    assert "3 of 20 (15 %, 95 % interval 5 % to 36 %)" in page.locator("#sheet").inner_text()


def test_an_equal_state_leads_to_the_cell_that_was_run_and_back(page: Any, deeper: Path) -> None:
    go(page, deeper)
    page.locator("button.cell.equal").first.click()
    page.wait_for_selector("#sheet .fact button")
    assert "Not run: its crash state is the same" in page.locator("#sheet").inner_text()
    page.locator("#sheet .fact button").first.click()
    page.wait_for_selector("svg.lives")
    assert page.locator("#sheet .where").inner_text() == f"tickets.create#1:returned@{VARIANT}"
    assert "The same state as at 1 other point, not run again" in page.locator("#sheet").inner_text()


def test_an_order_that_decides_is_marked(page: Any, deeper: Path) -> None:
    go(page, deeper)
    (label,) = page.locator("button.cell.order").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert label.endswith("the order of two writes decides")


def test_bounds_say_what_was_covered(page: Any, deeper: Path) -> None:
    text = go(page, deeper).locator("#bounds").inner_text()
    for part in ("71 ran", "2 equal to one that ran", "4 cannot happen", "1 not reached", "a crash, and another one"):
        assert part in text, part


def test_a_run_without_bounds_has_no_block_for_them(page: Any, partner_review: Path) -> None:
    assert go(page, partner_review).locator("#bounds").inner_html() == ""


def drawn(page: Any, builders: ModuleType, directory: Path, schedule: str, script: str) -> Any:
    result = builders.overlapping(schedule, script)
    write_reports(builders.write(directory, cells=[result]))
    return go(page, directory, result.cell)


def lanes_of(page: Any, name: str) -> list[tuple[float, float, float]]:
    """Return x, top and bottom of each stretch of a life that is drawn so, from top to bottom."""
    found = page.locator(f"svg.lives line.{name}").evaluate_all(
        "all => all.map(one => ['x1', 'y1', 'y2'].map(each => Number(one.getAttribute(each))))"
    )
    return sorted((tuple(each) for each in found), key=lambda each: each[1])


def test_a_paused_life_is_drawn_as_stopped_until_it_wakes_beside_the_one_that_took_over(
    page: Any, builders: ModuleType, tmp_path: Path
) -> None:
    script = "1> POST STOP 2> POST APPLY ANSWER WRITE EXIT 1> WAKE APPLY ANSWER EXIT"
    drawn(page, builders, tmp_path / "run", "pause@tickets.create#1:received", script)
    ((x, top, bottom),) = lanes_of(page, "stopped")
    first, second, third = lanes_of(page, "alive")
    assert first[0] == third[0] == x
    assert second[0] != x
    assert (first[2], third[1]) == (top, bottom)
    assert top < second[1] < second[2] < bottom
    text = page.locator("svg.lives").text_content()
    for part in ("worker A", "worker B", "stopped at tickets.create#1:received", "starts beside life 1", "wakes up"):
        assert part in text, part


def test_two_lives_at_once_stand_side_by_side_in_the_order_of_time(
    page: Any, builders: ModuleType, tmp_path: Path
) -> None:
    script = "1> POST KILL 2> 3> 2> POST 3> POST 2> APPLY 3> APPLY 2> ANSWER 3> ANSWER EXIT 2> EXIT"
    drawn(page, builders, tmp_path / "run", "kill@tickets.create#1:received,heirs=2", script)
    first, second, third = lanes_of(page, "alive")
    assert first[0] == second[0] != third[0]
    assert first[2] < second[1] < third[1] < third[2] < second[2]
    names = page.locator("svg.lives .life-name").all_text_contents()
    assert names == ["Life 1", "Life 2", "Life 3"]
    assert lanes_of(page, "stopped") == []
