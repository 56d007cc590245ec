"""The page for everybody: checked by axe-core, used by keyboard alone, on paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pytest

from ackgap.report.write import write_reports

pytestmark = pytest.mark.slow
CELL = "tickets.create#1:returned@durability=sync,key=payload,protection=key"
NEIGHBOURS = {
    "ArrowUp": CELL.replace("returned", "applied"),
    "ArrowRight": CELL.replace("returned", "applied").replace(
        "key=payload,protection=key", "key=fixed,protection=none"
    ),
    "ArrowDown": CELL.replace("key=payload,protection=key", "key=fixed,protection=none"),
    "ArrowLeft": CELL,
}
LABEL = "document.activeElement.getAttribute('aria-label')"
SIZES = [("light", 1400, 1000), ("dark", 390, 844)]


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
    page.locator("svg.lives" if cell else "button.cell").first.wait_for()
    return page


def violations(page: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {node['html'][:200]} {node['failureSummary']}" for each in found for node in each["nodes"]]


@pytest.mark.parametrize(("scheme", "width", "height"), SIZES)
def test_axe_finds_nothing_in_the_matrix_and_in_an_open_cell(
    browser: Any, partner_review: Path, deeper: Path, scheme: str, width: int, height: int
) -> None:
    # axe has to be brought into the page, which its policy refuses in front of every reader.
    viewport = {"width": width, "height": height}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")
    page = context.new_page()
    for directory, cell in ((partner_review, CELL), (deeper, "")):
        go(page, directory)
        page.locator("#more").click()
        assert violations(page) == []
        if cell:
            page.goto("about:blank")
            go(page, directory, cell)
            for summary in page.locator("#sheet summary").all():
                summary.click()
            assert violations(page) == []
            page.keyboard.press("?")
            assert violations(page) == []
    context.close()


def test_axe_would_find_what_is_wrong(browser: Any, partner_review: Path) -> None:
    context = browser.new_context(bypass_csp=True)
    page = go(context.new_page(), partner_review)
    page.evaluate("document.querySelector('button.cell').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('button.cell').textContent = ''")
    assert any(each.startswith("button-name") for each in violations(page))
    context.close()


def test_arrow_keys_lead_from_one_open_cell_to_its_neighbours_and_escape_back(
    page: Any, partner_review: Path, shows: Callable[..., None]
) -> None:
    go(page, partner_review, CELL)
    where = page.locator("#sheet .where")
    for key, cell in NEIGHBOURS.items():
        page.keyboard.press(key)
        shows(where, re.compile(f"^{re.escape(cell)}$"))
        assert page.evaluate("document.activeElement.id") == "sheet-title"
    page.keyboard.press("ArrowUp")
    shows(where, NEIGHBOURS["ArrowUp"])
    page.keyboard.press("Escape")
    label = page.evaluate(LABEL)
    assert label.startswith("tickets.create#1:applied, sync, payload, key")
    assert page.evaluate("document.activeElement.matches(':focus-visible')")


def test_a_button_that_leads_to_a_neighbour_keeps_the_focus(
    page: Any, partner_review: Path, shows: Callable[..., None]
) -> None:
    go(page, partner_review, CELL)
    up = page.locator("#sheet button[data-move=ArrowUp]")
    up.focus()
    page.keyboard.press("Enter")
    shows(page.locator("#sheet .where"), NEIGHBOURS["ArrowUp"])
    assert page.evaluate("document.activeElement.dataset.move") == "ArrowUp"


def test_slash_searches_enter_goes_to_the_first_and_escape_empties(page: Any, partner_review: Path) -> None:
    go(page, partner_review)
    page.keyboard.press("/")
    page.keyboard.type("notify.send#1:applied key=none")
    page.locator("#count", has_text=re.compile(r"^4 of 288")).wait_for()
    page.keyboard.press("Enter")
    assert page.evaluate(LABEL).startswith("notify.send#1:applied, exit, none")
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    page.locator("#count", has_text=re.compile("^$")).wait_for(state="attached")
    assert page.locator("button.cell").count() == 288


def test_a_question_mark_lists_the_keys_and_focus_comes_back(page: Any, partner_review: Path) -> None:
    go(page, partner_review)
    page.locator("button.cell").first.focus()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    assert "search cells" in page.locator("#help").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#help").is_hidden()
    assert page.evaluate("document.activeElement.className").startswith("cell")


def test_where_an_open_cell_covers_the_page_nothing_below_it_is_reached(page: Any, partner_review: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    go(page, partner_review, CELL)
    for _ in range(60):
        page.keyboard.press("Tab")
        assert page.evaluate("!document.activeElement.closest('#main')")
    page.locator("#sheet button", has_text="Close").click()
    assert page.evaluate("document.activeElement.className").startswith("cell")


def test_what_is_opened_and_filtered_is_announced(page: Any, partner_review: Path, shows: Callable[..., None]) -> None:
    go(page, partner_review)
    said = page.locator("#said")
    assert said.get_attribute("aria-live") == "polite"
    page.locator("#chips button", has_text="duplicate").click()
    shows(said, "227 of 288 cells")
    page.locator("button.cell").first.click()
    shows(said, "exactly once: ")


def test_the_theme_follows_the_system_until_it_is_chosen_and_is_remembered(page: Any, partner_review: Path) -> None:
    page.emulate_media(color_scheme="dark")
    go(page, partner_review)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    light = page.evaluate(ground)
    assert light != dark
    go(page, partner_review)
    assert page.evaluate(ground) == light
    page.locator("#theme").click()
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) == dark


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_paper_there_is_dark_ink_and_nothing_to_click(page: Any, partner_review: Path, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    go(page, partner_review, CELL)
    page.emulate_media(media="print", color_scheme=theme)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    ink = page.evaluate("getComputedStyle(document.querySelector('h1')).color")
    assert max(int(part) for part in re.findall(r"\d+", ink)) < 60
    for hidden in (".find", "#sheet .tools", "#hint", ".story-tools"):
        assert page.locator(hidden).first.is_hidden(), hidden
    for shown in ("#matrix", "#sheet-title", "svg.lives", "#reading"):
        assert page.locator(shown).is_visible(), shown
    pdf = page.pdf(format="A4", landscape=True)
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 3


def test_the_picture_of_the_lives_is_zoomed_fitted_and_moved(page: Any, partner_review: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    go(page, partner_review, CELL)
    frame, picture = page.locator(".frame"), page.locator("svg.lives")
    own = picture.bounding_box()["width"]
    frame.focus()
    page.keyboard.press("+")
    assert picture.bounding_box()["width"] == pytest.approx(own * 1.25, abs=2)
    before = frame.evaluate("frame => frame.scrollLeft")
    box = frame.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 150)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 150)
    page.mouse.up()
    assert frame.evaluate("frame => frame.scrollLeft") == pytest.approx(before + 80, abs=2)
    page.keyboard.press("0")
    fitted = picture.bounding_box()
    assert fitted["width"] <= box["width"] + 1
    assert fitted["width"] < own
    page.locator("#sheet button", has_text="1:1").click()
    assert picture.bounding_box()["width"] == pytest.approx(own, abs=2)


def test_the_picture_is_told_in_words_as_well(page: Any, partner_review: Path) -> None:
    go(page, partner_review, CELL)
    page.locator("summary", has_text="The same in words").click()
    told = page.locator(".in-words li").all_inner_texts()
    assert "Life 1: SIGKILL at tickets.create#1:returned" in told
    assert "Life 2: T-102 again" in told


def test_a_link_stays_right_in_another_run_and_a_lost_cell_is_named(
    page: Any, builders: ModuleType, partner_review: Path, tmp_path: Path
) -> None:
    link = go(page, partner_review, CELL).url.split("#")[1]
    kept = [cell for cell in reversed(builders.results()) if cell.cell != NEIGHBOURS["ArrowUp"]][::2]
    kept += [cell for cell in builders.results() if cell.cell == CELL and cell not in kept]
    other = builders.write(tmp_path / "other", cells=kept)
    write_reports(other)
    page.goto("about:blank")
    page.goto(f"{(other / 'report.html').as_uri()}#{link}")
    page.locator("svg.lives").wait_for()
    assert page.locator("#sheet .where").inner_text() == CELL
    page.goto(f"{(other / 'report.html').as_uri()}#cell={quote(NEIGHBOURS['ArrowUp'])}")
    page.locator("#notice", has_text=f"This report has no cell {NEIGHBOURS['ArrowUp']}").wait_for()


def test_filters_by_operation_fault_and_axis_are_kept_in_the_address(page: Any, partner_review: Path) -> None:
    go(page, partner_review)
    page.locator("#more").click()
    page.get_by_label("Operation").select_option("tickets.create")
    page.get_by_label("Durability").select_option("exit")
    rows = page.locator("#matrix tbody th").all_inner_texts()
    assert any("returned" in row for row in rows)
    assert any("notify.send" in row for row in rows)  # killed there, this variant files the ticket again
    assert not any("search.query" in row for row in rows)
    assert not any("sync" in text for text in page.locator("#matrix thead").all_inner_texts())
    count = page.locator("#count").inner_text()
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.locator("#count", has_text=count).wait_for()
    page.locator("#clear").click()
    assert page.locator("button.cell").count() == 288
    assert "#" not in page.url


def test_a_fault_can_be_filtered_for(page: Any, deeper: Path) -> None:
    go(page, deeper)
    page.locator("#more").click()
    page.get_by_label("Fault").select_option("then killed again")
    labels = page.locator("button.cell:not(.off)").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert labels
    assert all("then killed again" in label or ";2.kill@" in label for label in labels)
