"""What a worker or a service brings in does nothing in the page but be read, and gives no secret away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ackgap.model.codec import encode
from ackgap.model.verdict import Finding, Verdict, VerdictKind
from ackgap.report.write import write_reports

pytestmark = pytest.mark.slow
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)><b>bold</b> \x1b[31mred\x1b]0;t\x07 \u202etxt.exe"
SHOWN = EVIL.replace("\x1b", r"\x1b").replace("\x07", r"\x07").replace("\u202e", r"\u202e")
SECRETS = {"Authorization": "Bearer s3cr3tAbc0123456", "Cookie": "sid=s3cr3tcookie", "x-api-key": "s3cr3tkey"}
MEGABYTE = 2**20


@pytest.fixture(scope="module")
def hostile(builders: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = next(cell for cell in builders.results() if cell.verdict.kind is VerdictKind.DUPLICATE)
    history = [dict(event) for event in encode(result.history)]
    seen = 0
    for event in history:
        if event["kind"] == "attempt_received":
            event["headers"] = dict(SECRETS)
        if event["kind"] == "effect_applied":
            seen += 1
            event["content"] = {EVIL: EVIL, "long": f"{'a' * MEGABYTE} {seen}", "password": "s3cr3tpass", **SECRETS}
        if event["kind"] == "incarnation_ended":
            event["output_tail"] = f"{EVIL} token=ghp_s3cr3ts3cr3ts3cr3t01"
    evidence = tuple(event["seq"] for event in history if event["kind"] == "effect_applied")[-2:]
    finding = Finding(
        kind=VerdictKind.DUPLICATE,
        code="duplicate",
        summary=f"{EVIL} {'very long ' * 400}",
        evidence=evidence,
        operation=EVIL,
        attribution=result.findings[0].attribution,
    )
    cell = replace(result, history=tuple(history), verdict=Verdict.of([finding]))
    directory = Path(
        builders.write(tmp_path_factory.mktemp("hostile") / "run", cells=[cell], title=EVIL, notes=(EVIL,))
    )
    write_reports(directory)
    return directory


@pytest.fixture
def page(browser: Any, hostile: Path) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    requests: list[str] = []
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto((hostile / "report.html").as_uri())
    opened.locator("button.cell").click()
    opened.locator("svg.lives").wait_for()
    yield opened
    context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_markup_escapes_and_marks_of_direction_are_only_text(page: Any) -> None:
    for summary in page.locator("#sheet summary").all():
        summary.click()
    text = page.locator("body").inner_text()
    assert SHOWN in text
    for character in ("\x1b", "\x07", "\u202e"):
        assert character not in text
    assert page.locator("main img, #sheet img, main b b, script:not([type]) ~ script:not([type])").count() == 0
    assert page.title().startswith("</script>")


def test_secrets_are_nowhere_in_the_page(page: Any) -> None:
    for summary in page.locator("#sheet summary").all():
        summary.click()
    text = page.locator("body").inner_text()
    assert "s3cr3t" not in text.lower()
    assert text.count("[redacted]") >= len(SECRETS)


def test_a_megabyte_is_shown_in_part_and_opens_no_slower(page: Any) -> None:
    text = page.locator("#sheet").inner_text()
    assert len(text) < 60_000
    assert "1,048,578 characters in all" in page.locator("#sheet").text_content()
    headline = page.locator("#sheet-title").inner_text()
    assert len(headline) < 300
    page.locator("summary", has_text="The whole sentence").click()
    assert "very long very long" in page.locator(".whole p").inner_text()
    sheet = page.locator("#sheet")
    assert sheet.evaluate("sheet => sheet.scrollWidth <= sheet.clientWidth")


def test_the_file_itself_gives_no_secret_away(hostile: Path) -> None:
    text = (hostile / "report.html").read_text(encoding="utf-8")
    assert "s3cr3t" not in text
    assert len(text) < 600_000
