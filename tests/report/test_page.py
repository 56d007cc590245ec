"""The page in a real browser: Chromium, driven without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ackgap.model.boundary import CrashPoint
from ackgap.model.manner import Manner
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Fault, Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.report.write import write_reports

pytestmark = pytest.mark.slow
Shows = Callable[[Any, str], None]
CELL = "tickets.create#1:returned@durability=sync,key=payload,protection=key"


class Opened:
    """A page, and everything it complained about or asked the network for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def go(self, directory: Path, fragment: str = "") -> Any:
        self.page.goto((directory / "report.html").as_uri() + fragment)
        self.page.wait_for_selector("button.cell")
        return self.page


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = Opened(context.new_page())
    yield page
    context.close()
    assert page.complaints == []
    outside = [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))]
    assert outside == []


def button(page: Any, label: str) -> Any:
    return page.locator(f'button.cell[aria-label^="{label}"]').first


def test_a_click_on_a_cell_tells_its_story(opened: Opened, partner_review: Path) -> None:
    page = opened.go(partner_review)
    assert page.locator("button.cell").count() == 288
    button(page, "tickets.create#1:returned, sync, payload, key").click()
    page.wait_for_selector("svg.lives")
    sheet = page.locator("#sheet").inner_text()
    for part in (
        "Two tickets for partner 4471",
        "Life 1",
        "T-101",
        "SIGKILL at tickets.create#1:returned",
        "acknowledgment gap",
        "Life 2",
        "T-102 again",
        "could have",
        "Choose the key before the model speaks",
        f"ackgap replay reports/partner-review '{CELL}'",
        "unchanged between the kill and the death",
    ):
        assert part in sheet, part
    marked = page.locator("#sheet .diff mark").all_inner_texts()
    assert "medium-high" in " ".join(marked)
    assert "exposure" not in " ".join(marked)
    ledger = page.locator("#sheet tr.bad").all_inner_texts()
    assert sum("tickets.create" in row for row in ledger) == 2


def test_an_address_opens_its_cell_and_escape_closes_it(opened: Opened, partner_review: Path) -> None:
    page = opened.go(partner_review, f"#cell={CELL}".replace("#1", "%231"))
    page.wait_for_selector("svg.lives")
    assert page.locator("#sheet .where").inner_text() == CELL
    page.keyboard.press("Escape")
    assert page.locator("#sheet").is_hidden()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("tickets.create#1:returned")
    assert "#cell" not in page.url


def test_the_matrix_can_be_walked_and_opened_by_keyboard(opened: Opened, partner_review: Path) -> None:
    page = opened.go(partner_review)
    button(page, "undisturbed").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")  # skips points that this variant does not pass
    page.keyboard.press("ArrowRight")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label.startswith("search.query#2:returned, exit, none, key")
    page.keyboard.press("Enter")
    page.wait_for_selector("svg.lives")
    assert page.evaluate("document.activeElement.id") == "sheet-title"
    assert page.locator("button.cell[tabindex='0']").count() == 1


def test_a_chip_switches_a_verdict_off_and_on(opened: Opened, partner_review: Path) -> None:
    page = opened.go(partner_review)
    chip = page.locator("#chips button", has_text="duplicate")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    assert page.locator("#count").inner_text() == "227 of 288 cells"
    assert page.locator("button.cell.duplicate:not(.off)").count() == 0
    assert page.locator("button.cell.duplicate.off").count() == 25  # the others had a line of their own, which is gone
    assert page.url.endswith("#hide=duplicate")
    chip.click()
    assert page.locator("button.cell.off").count() == 0
    assert page.locator("button.cell.duplicate").count() == 61


def test_an_axis_folds_its_columns_and_a_cell_then_offers_its_variants(
    opened: Opened, partner_review: Path, shows: Shows
) -> None:
    page = opened.go(partner_review)
    for axis in ("Durability", "Idempotency key"):
        page.locator(".axes button", has_text=axis).click()
    cell = button(page, "tickets.create#1:applied, key")
    assert "mixed" in cell.get_attribute("class")
    cell.click()
    page.wait_for_selector("svg.lives")
    members = page.locator("#sheet .members button")
    assert members.count() == 6
    members.filter(has_text="exit, fixed").click()
    shows(page.locator("#sheet .where"), "key=fixed")
    assert "T-102" not in page.locator("#sheet").inner_text()


def test_with_several_faults_a_column_is_a_variant_and_a_fault(
    opened: Opened, builders: ModuleType, tmp_path: Path
) -> None:
    killed = next(cell for cell in builders.results() if cell.cell == CELL.replace("returned", "applied"))
    assert killed.verdict.kind is VerdictKind.DUPLICATE
    point = killed.schedule.faults[0].point
    lost = replace(killed, schedule=Schedule(faults=(Fault(point=point, manner=Manner.parse("lose")),)))
    directory = builders.write(tmp_path / "run", cells=[killed, lost])
    write_reports(directory)
    page = opened.go(directory)
    finding = page.locator(".finding").first.inner_text()
    assert "2 cells in 2 columns" in finding
    reading = page.locator("#reading").inner_text()
    assert "the fault of its column happened" in reading
    assert "one variant of the set-up with one fault" in reading


def test_with_kills_alone_a_column_is_a_variant(opened: Opened, partner_review: Path) -> None:
    page = opened.go(partner_review)
    assert "variants" in page.locator(".finding").first.inner_text()
    reading = page.locator("#reading").inner_text()
    assert "the worker was killed at exactly that moment" in reading
    assert "one fault" not in reading


def test_hostile_content_is_shown_and_does_nothing(opened: Opened, builders: ModuleType, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)><b>bold</b>"
    result = builders.with_finding(builders.results()[1], VerdictKind.DUPLICATE, evil, evil)
    directory = builders.write(tmp_path / "run", cells=[result], title=evil, notes=(evil,))
    write_reports(directory)
    page = opened.go(directory)
    page.locator("button.cell").click()
    page.wait_for_selector("svg.lives")
    assert evil in page.locator("#sheet-title").inner_text()
    assert page.locator("main img, main b b, #sheet img, #sheet h2 b").count() == 0


def test_downtime_and_every_step_are_shown(opened: Opened, builders: ModuleType, tmp_path: Path) -> None:
    variant = Variant(values=(("durability", "sync"), ("key", "none"), ("protection", "none")))
    schedule = Schedule.kill(CrashPoint.parse("langgraph.put_writes.file_ticket#1:committing"), down_s=72 * 3600)
    directory = builders.write(tmp_path / "run", cells=[builders.cell(variant, schedule)])
    write_reports(directory)
    page = opened.go(directory)
    page.locator("button.cell").click()
    page.wait_for_selector("svg.lives")
    text = page.locator("svg.lives").text_content()
    assert "3 days pass on the services' clock" in text
    assert "about to record langgraph.put_writes.file_ticket" in text
    assert "search.query#1" not in text
    page.locator("#sheet button", has_text="Every step").click()
    assert "search.query#1" in page.locator("svg.lives").text_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(opened: Opened, partner_review: Path, scheme: str) -> None:
    opened.page.emulate_media(color_scheme=scheme)
    page = opened.go(partner_review, f"#cell={CELL}".replace("#1", "%231"))
    page.wait_for_selector("svg.lives")
    too_faint = page.evaluate(_CONTRAST)
    assert too_faint == []


# Every element with text of its own against the first opaque background behind it, by the WCAG formula.
_CONTRAST = """() => {
  const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const linear = (value) => value <= 0.03928 * 255 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (node) => {
    for (let back = node; back; back = back.parentElement) {
      const found = parse(getComputedStyle(back).backgroundColor);
      if (found[3] === 1) return found;
    }
    return [255, 255, 255, 1];
  };
  const faint = [];
  for (const node of document.querySelectorAll("main *, #sheet *")) {
    if (!node.checkVisibility() || node.closest("svg, .absent, .again, .hidden")) continue;
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue;
    const a = light(parse(getComputedStyle(node).color)), b = light(ground(node));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push(`${node.className || node.tagName} ${node.textContent.slice(0, 20)} ${ratio}`);
  }
  return [...new Set(faint)];
}"""
