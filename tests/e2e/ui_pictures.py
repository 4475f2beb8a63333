"""Takes the pictures of Temporal's Web UI that the documentation shows: `python -m tests.e2e.ui_pictures`."""

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import Page

from tests.e2e.web_ui import Deployment, WebUi, browser_page, chromium_binary, deployment
from tests.eventually import eventually
from tests.scripted import Call, ScriptedServices, Setup, Text, analysis_step, plan_of, research_step
from tests.scripted.replies import Answer
from tests.scripted.roles import asked_text
from tests.source import ROOT

IMAGES = ROOT / "docs" / "images"
QUESTION = "Is a heat pump cheaper to run than a gas boiler in an old house?"
PLAN = plan_of(
    research_step("subject-heatpump", title="Yearly electricity of a heat pump in an old house"),
    research_step("subject-boiler", title="Yearly gas of a condensing boiler"),
    research_step("subject-prices", title="Prices of electricity and gas since 2022"),
    analysis_step(title="Compare the yearly costs"),
    title="Running costs of heat pumps and gas boilers",
)


def reporter(call: Call) -> Answer:
    """A short report that cites the first source of each step."""
    return Text(
        "# Running costs of heat pumps and gas boilers\n\n## Key points\n\n"
        "- The heat pump needs a third of the energy that the boiler needs. [s1-1] [s2-1]\n"
        "- Electricity costs less than three times as much as gas. [s3-1]\n"
    )


async def take(services: ScriptedServices, deployed: Deployment, page: Page) -> None:
    """Save one picture of a run at work, and one of a finished run."""
    services.setup = Setup(model_latency_s=1.5, search_latency_s=0.8, page_latency_s=0.5)
    services.scripts |= {"planner": PLAN, "reporter": reporter}
    await page.set_viewport_size({"width": 1480, "height": 1240})
    ui = WebUi(page, deployed.address)
    gate = services.hold("researcher", where=lambda call: call.rounds == 2 and "subject-prices" in asked_text(call))
    run = await deployed.start("heat-pump-or-boiler", QUESTION, auto_accept=True)
    await eventually(lambda: bool(gate.caught) and services.log.count("researcher") == 9, "the last turns")
    await ui.open(run.id)
    await ui.open_tab("User Metadata")
    await ui.metadata_shows("current-details", "s2 → research team")
    await page.screenshot(path=IMAGES / "temporal-ui.png")
    gate.open()
    await run.end()

    run = await deployed.start("heat-pump-or-boiler-again", QUESTION, auto_accept=True)
    await run.end()
    await ui.open(run.id)
    await ui.sees("COMPLETED", "finish_report • check the citations", "coordinate • coordinator")
    await page.screenshot(path=IMAGES / "temporal-ui-timeline.png")


async def main() -> int:
    """Take the pictures; the exit code."""
    chromium = chromium_binary()
    if chromium is None:
        sys.stderr.write("Chromium is not installed\n")
        return 1
    with ScriptedServices() as services, tempfile.TemporaryDirectory() as directory:
        async with browser_page(chromium) as page, deployment(services, Path(directory)) as deployed:
            await take(services, deployed, page)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
