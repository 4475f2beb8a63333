"""A report in a real browser, as whoever was sent the file opens it."""

from pathlib import Path

import pytest
from playwright.async_api import Dialog, Request

from deer.exports.web_page import web_page
from tests.conftest import skip_or_fail
from tests.e2e.web_ui import browser_page, chromium_binary
from tests.unit.exports.samples import EVERYTHING, HOSTILE, QUOTE, content

pytestmark = [pytest.mark.browser, pytest.mark.process]


async def test_a_hostile_report_does_nothing_in_a_browser(tmp_path: Path) -> None:
    """No script runs and nothing is loaded; the style sheet holds, and a citation shows its quote under the pointer."""
    if (chromium := chromium_binary()) is None:
        skip_or_fail("chromium", "Chromium is not installed")
        raise AssertionError("skip_or_fail does not return")
    file = tmp_path / "report.html"
    file.write_text(web_page(content(EVERYTHING + HOSTILE)))
    requests: list[Request] = []
    dialogs: list[Dialog] = []
    complaints: list[str] = []
    async with browser_page(chromium) as page:
        # as functions: playwright puts attributes on its handlers
        page.on("request", lambda request: requests.append(request))
        page.on("dialog", lambda dialog: dialogs.append(dialog))
        page.on("console", lambda message: complaints.append(message.text))
        await page.goto(file.as_uri())
        card = page.locator(".card").first
        assert not await card.is_visible()
        await page.locator(".cite").first.hover()
        assert await card.is_visible()
        assert QUOTE in await card.inner_text()
        box = await card.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        picture = page.locator("img")
        assert await picture.evaluate("image => image.naturalWidth") == 8
        await page.emulate_media(media="print")
        assert not await card.is_visible()
        assert not await page.locator(".back").first.is_visible()
    assert [request.url for request in requests if not request.url.startswith("data:")] == [file.as_uri()]
    assert (dialogs, complaints) == ([], [])
