"""A run in Temporal's own Web UI: what a person sees of it there, and can do to it."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page

from deer.models import Phase
from tests.conftest import skip_or_fail
from tests.e2e.web_ui import Deployment, WebUi, browser_page, chromium_binary, deployment
from tests.eventually import eventually
from tests.running import Run
from tests.scripted import Call, Gate, ScriptedServices, analysis_step, call_tool, plan_of, research_step
from tests.scripted.roles import asked_text

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.timeout(180)]

QUESTION = "Is a heat pump cheaper to run than a gas boiler?"
PLAN = plan_of(
    research_step("subject-heatpump", title="Running costs of a heat pump"),
    research_step("subject-boiler", title="Running costs of a gas boiler"),
    analysis_step(title="Compare both"),
    title="Heat pump against gas boiler",
)


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    if (chromium := chromium_binary()) is None:
        skip_or_fail("chromium", "Chromium is not installed")
        raise AssertionError("skip_or_fail does not return")
    async with browser_page(chromium) as opened:
        yield opened


@pytest.fixture(scope="module")
async def deployed(
    temporal: str, page: Page, services: ScriptedServices, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Deployment]:
    """A deployment for all tests here. After `page`: without a browser nothing is started."""
    async with deployment(services, tmp_path_factory.mktemp("deployment")) as started:
        yield started


def last_turn_on_boilers(call: Call) -> bool:
    """Whether a call is the one in which the second step hands its finding in."""
    return call.rounds == 2 and "subject-boiler" in asked_text(call)


async def caught(gate: Gate) -> None:
    """Wait until a call is held."""
    assert await eventually(lambda: bool(gate.caught), "a held call")


async def at_revision(run: Run, revision: int) -> None:
    """Wait until this revision of the plan waits."""

    async def look() -> bool:
        status = await run.status()
        return status.phase is Phase.AWAITING_REVIEW and bool(status.plan and status.plan.revision == revision)

    assert await eventually(look, f"revision {revision}")


async def test_the_ui_shows_question_plan_steps_and_every_call(
    deployed: Deployment, page: Page, scripted: ScriptedServices
) -> None:
    """A run at work shows its question, phase, plan with steps, hand-offs, and what each call is about."""
    scripted.scripts["planner"] = PLAN
    gate = scripted.hold("researcher", where=last_turn_on_boilers)
    run = await deployed.start("heat-pump-or-boiler", QUESTION, auto_accept=True)
    await caught(gate)
    ui = WebUi(page, deployed.address)
    await ui.open(run.id)
    await ui.sees(
        "coordinate • coordinator",
        f"search_web • background search: {QUESTION}",
        "write_plan • planner",
        "researcher s1: Running costs of a heat pump",
        "researcher s2: Running costs of a gas boiler",
    )

    await ui.open_tab("User Metadata")
    await ui.metadata_shows("summary", f"Deep research: {QUESTION}")
    await ui.metadata_shows(
        "current-details",
        "researching",
        QUESTION,
        "Heat pump against gas boiler (revision 1)",
        "Running costs of a gas boiler (research)",
        "Compare both (analysis)",
        "coordinator → planner",
        "review → research team: accepted automatically",
        "s1 → research team",
    )
    await ui.open_tab("Search Attributes")
    await ui.sees("ResearchPhase", "researching")

    await ui.open_execution(deployed.client.get_workflow_handle(f"{run.id}/s2/1"), "timeline")
    await ui.sees("researcher s2, turn 3", "search_web • search: facts on subject-boiler", "read_page • read: http")
    gate.open()
    assert (await run.end()).phase is Phase.COMPLETED


async def test_a_plan_is_edited_and_approved_from_the_ui(
    deployed: Deployment, page: Page, scripted: ScriptedServices
) -> None:
    """From the dialog of the UI a plan is edited in words, the run paused, and the plan approved."""
    scripted.scripts["planner"] = PLAN
    run = await deployed.start("reviewed-in-the-ui", QUESTION)
    await at_revision(run, 1)
    ui = WebUi(page, deployed.address)
    await ui.open_execution(run.handle, "user-metadata")
    await ui.metadata_shows("current-details", "awaiting_review", "Plan revision 1 waits")

    await ui.send_signal("edit", '"compare the noise too"')
    await at_revision(run, 2)
    assert "compare the noise too" in scripted.log.calls("planner")[1].text

    await ui.open_execution(run.handle, "user-metadata")
    await ui.send_signal("control", '"pause"')
    await run.reach(Phase.PAUSED)
    await ui.open_execution(run.handle, "user-metadata")
    await ui.metadata_shows("current-details", "paused", "resume lets it go on")
    await run.update("control", {"action": "resume"})
    await ui.send_signal("approve")
    assert (await run.end()).phase is Phase.COMPLETED


async def test_a_question_back_is_answered_from_the_ui(
    deployed: Deployment, page: Page, scripted: ScriptedServices
) -> None:
    """The picture has the question with its options, and the dialog sends `answer` with a JSON string."""
    scripted.scripts["coordinator"] = [
        call_tool("ask_clarification", question="For which country?", options=["Norway", "Spain"]),
        call_tool("handoff_to_planner", research_topic="costs", locale="en-US"),
    ]
    run = await deployed.start("asked-in-the-ui", QUESTION, max_clarification_rounds=1)

    async def asks() -> bool:
        return (await run.status()).phase is Phase.CLARIFYING

    assert await eventually(asks, "the question")
    ui = WebUi(page, deployed.address)
    await ui.open_execution(run.handle, "user-metadata")
    await ui.metadata_shows("current-details", "clarifying", "For which country?", "Norway", "Spain")
    await ui.send_signal("answer", '"in Norway, for a small house"')
    await at_revision(run, 1)
    assert "in Norway, for a small house" in scripted.log.calls("planner")[0].text
