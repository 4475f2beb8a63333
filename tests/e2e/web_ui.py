"""Temporal's Web UI in a real browser, as a person looks into a run with it and speaks to the run from there."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from playwright.async_api import Page, async_playwright, expect
from temporalio.client import Client, WorkflowHandle

from deer.cli.starting import start_or_attach
from deer.config import load_settings
from deer.devserver import hold_server
from deer.models import ResearchRequest
from deer.ports import TextStore
from deer.temporal import connect
from tests.eventually import SLOW_MACHINE_S
from tests.running import Run
from tests.scripted import ScriptedServices
from worker import open_store, run_worker

Handle = WorkflowHandle[Any, Any]  # a handle by name knows no types

# Chromium refuses its own sandbox to root, and a container's /dev/shm is too small for it. Without a graphics card it
# would compute what one does: painting by the processor's own means costs half of that.
_BROWSER_OPTIONS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-gpu-compositing",
    "--disable-software-rasterizer",
]
# Each picture of a moving part is computed and seen by nobody.
_STANDING_STILL = "*, ::before, ::after { animation: none !important; transition: none !important; }"
_FOLLOW_LINK = """href => {
    const link = document.createElement("a");
    link.href = href;
    document.querySelector("main").append(link);
    link.click();
    link.remove();
}"""
_PATIENCE_MS = SLOW_MACHINE_S * 1000


def chromium_binary() -> str | None:
    """Chromium of the system; None when there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@dataclass(frozen=True)
class Deployment:
    """The embedded server with its Web UI at `address`, and a worker that asks scripted services."""

    client: Client
    store: TextStore
    address: str

    async def start(
        self, run_id: str, question: str, *, auto_accept: bool = False, max_clarification_rounds: int = 0
    ) -> Run:
        """Start a run as the command `research` does."""
        request = ResearchRequest(
            question=question, auto_accept=auto_accept, max_clarification_rounds=max_clarification_rounds
        )
        await start_or_attach(self.client, self.store, run_id, request)
        return Run(self.client, self.client.get_workflow_handle(run_id), self.store)


@asynccontextmanager
async def deployment(services: ScriptedServices, directory: Path) -> AsyncIterator[Deployment]:
    """What `serve` runs, inside the test: the server of a data directory and the product's worker."""
    settings = load_settings({**services.environment(), "DEER_DATA_DIR": "data"}, directory)
    hold = await hold_server(settings.data_dir)
    try:
        client = await connect(settings, hold.address, patience=timedelta(seconds=SLOW_MACHINE_S))
        stop = asyncio.Event()
        working = asyncio.create_task(run_worker(settings, client, stop))
        try:
            yield Deployment(client, open_store(settings), hold.ui)
        finally:
            stop.set()
            await working
    finally:
        await hold.release_and_wait()


@asynccontextmanager
async def browser_page(chromium: str) -> AsyncIterator[Page]:
    """A page of a headless Chromium, wide enough for the UI to show everything in its place."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=_BROWSER_OPTIONS)
        page = await browser.new_page(viewport={"width": 1360, "height": 960}, timezone_id="UTC", locale="en-GB")
        page.set_default_timeout(_PATIENCE_MS)
        expect.set_options(timeout=_PATIENCE_MS)
        yield page
        await browser.close()


class WebUi:
    """The pages of one workflow."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self._address = f"{address}/namespaces/default/workflows"

    async def open(self, workflow_id: str) -> None:
        """Open a workflow by its id alone, as `show` prints the address: the UI looks for its latest execution."""
        await self.page.goto(f"{self._address}/{workflow_id}")
        await self.page.wait_for_url(re.compile(r"/timeline$"))
        await self.page.add_style_tag(content=_STANDING_STILL)

    async def open_execution(self, handle: Handle, tab: str) -> None:
        """Open a tab of a workflow at once, by a link when the UI is open: loading all of it takes four times as long.

        The link goes by the list of workflows, so that what is shown is asked for anew and no dialog stays open.
        """
        execution_id = (await handle.describe()).run_id
        address = f"{self._address}/{handle.id.replace('/', '%2F')}/{execution_id}/{tab}"
        if not self.page.url.startswith(self._address):
            await self.page.goto(address)
            await self.page.add_style_tag(content=_STANDING_STILL)
            return
        for linked in (self._address, address):
            await self.page.evaluate(_FOLLOW_LINK, linked)
            await self.page.wait_for_url(re.compile(rf"^{re.escape(linked)}(\?.*)?$"))

    async def open_tab(self, name: str) -> None:
        """Go to another tab of the workflow that is open."""
        await self.page.get_by_role("tab", name=name).click()

    async def sees(self, *texts: str) -> None:
        """Wait until the page shows each text; AssertionError naming the one that it does not."""
        for text in texts:
            await expect(self.page.get_by_text(text).first).to_be_visible()

    async def metadata_shows(self, part: str, *texts: str) -> None:
        """The same for a part of the tab User Metadata: `summary`, `details` or `current-details`."""
        rendered = self.page.frame_locator(f"#user-metadata-{part}")
        for text in texts:
            await expect(rendered.get_by_text(text).first).to_be_visible()

    async def send_signal(self, name: str, data: str = "") -> None:
        """Send a signal through the UI's own dialog; `data` is JSON, empty for none."""
        await self.page.get_by_role("button", name="More Actions").click()
        await self.page.get_by_role("menuitem", name="Send a Signal").click()
        dialog = self.page.get_by_role("dialog").filter(has_text="Send a Signal")
        await dialog.get_by_test_id("signal-select-button").click()
        await dialog.get_by_role("option", name=re.compile(f"^{name}\\b")).click()
        if data:
            await dialog.get_by_role("textbox", name="Data").click()
            await self.page.keyboard.insert_text(data)
        # Not until the dialog closes: while the run changes beneath it, the UI may keep it open for good.
        async with self.page.expect_response(re.compile(f"/signal/{name}")) as answered:
            await dialog.get_by_test_id("confirm-modal-button").click()
        assert (await answered.value).ok
