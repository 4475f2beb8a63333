"""Several models for a role: one answers in the place of another, and the run says so."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase
from deer.ports import PageReader
from tests.running import Runs, research_worker
from tests.scripted import REFUSED_KEY, Call, Failure, ScriptedServices, Stream, ToolCalls
from tests.scripted.replies import Answer, Script, answer_to
from tests.scripted.roles import researcher

UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance."
)
BUSY = Failure(503, headers={"retry-after-ms": "10"})


@pytest.fixture
async def runs_on_two(
    server: WorkflowEnvironment, scripted: ScriptedServices, pages: PageReader, tmp_path: Path
) -> AsyncIterator[Runs]:
    """Runs on a worker with two models, big and small, at one endpoint; big is told to be merry."""
    models = '[{"model": "big", "temperature": 0.5, "extra_body": {"mood": "merry"}}, "small"]'
    async with (
        research_worker(server.client, scripted, pages, tmp_path, BASIC_MODEL=models) as started,
        started.of_one_test() as runs,
    ):
        yield runs


def answers_instead(scripted: ScriptedServices, role: str, **answers: Answer) -> None:
    """Let models answer a role with something else than the usual script."""
    usual: Script = scripted.scripts[role]

    def script(call: Call) -> Answer:
        return answers.get(str(call.body["model"])) or answer_to(call, usual, call.nth)

    scripted.scripts[role] = script


def asked(scripted: ScriptedServices, role: str) -> list[str]:
    """The models that were asked for a role, in order."""
    return [str(call.body["model"]) for call in scripted.log.calls(role)]


async def test_the_settings_of_a_model_reach_its_requests(runs_on_two: Runs, scripted: ScriptedServices) -> None:
    """Temperature and further fields are in the body of every request to their model."""
    await runs_on_two.complete()
    bodies = [call.body for call in scripted.log.calls("model")]
    assert {(body["model"], body["temperature"], body["mood"]) for body in bodies} == {("big", 0.5, "merry")}


async def test_a_model_that_stays_away_is_replaced_after_its_share(
    runs_on_two: Runs, scripted: ScriptedServices
) -> None:
    """Four of the eight attempts go to the first model, the next to the second, which answers; a notice tells."""
    answers_instead(scripted, "planner", big=BUSY)
    status = await runs_on_two.complete()
    assert status.phase is Phase.COMPLETED
    assert asked(scripted, "planner") == ["big"] * 4 + ["small"]
    [notice] = status.notices
    assert notice.startswith("The model small answered the planner in place of another one (big: ")


async def test_a_refused_key_is_passed_over_in_the_same_attempt(runs_on_two: Runs, scripted: ScriptedServices) -> None:
    """The agent of a step and the coordinator go on with the second model at once; each is told of once."""
    answers_instead(scripted, "researcher", big=REFUSED_KEY)
    answers_instead(scripted, "coordinator", big=REFUSED_KEY)
    status = await runs_on_two.complete()
    assert status.phase is Phase.COMPLETED
    assert asked(scripted, "coordinator") == ["big", "small"]
    assert asked(scripted, "researcher") == ["big", "small"] * 3
    assert [notice.split(" in place")[0] for notice in status.notices] == [
        "The model small answered the coordinator",
        "The model small answered the researcher",
    ]
    assert all("refused the key (HTTP 401)" in notice for notice in status.notices)


async def test_a_model_that_takes_over_within_a_step_has_no_signature_of_another(
    runs_on_two: Runs, scripted: ScriptedServices
) -> None:
    """What big sealed goes back to big alone; small wants a signature on every call, and is told that it has none."""
    signature = "signature of big"

    def script(call: Call) -> Answer:
        moves = [message for message in call.messages if message["role"] == "assistant"]
        signs = [made["tool_calls"][0].get("extra_content") for made in moves]
        usual = researcher(call)
        assert isinstance(usual, ToolCalls)
        if call.body["model"] == "big" and not moves:
            sealed = {"extra_content": {"google": {"thought_signature": signature}}}
            return Stream(({"tool_calls": [{"index": 0, **usual.calls[0].encoded(), **sealed}]},), "tool_calls")
        if call.body["model"] == "big":
            return REFUSED_KEY
        if not all(signs):
            return Failure(400, [{"error": {"code": 400, "message": UNSIGNED, "status": "INVALID_ARGUMENT"}}])
        return usual

    scripted.scripts["researcher"] = script
    status = await runs_on_two.complete()
    assert status.phase is Phase.COMPLETED
    assert asked(scripted, "researcher") == ["big", "big", "small", "small", "big", "small"]
    by_small = scripted.log.calls("researcher", lambda call: call.body["model"] == "small")
    assert not any(signature in json.dumps(call.body) for call in by_small)
    assert all("skip_thought_signature_validator" in json.dumps(call.body) for call in by_small[1:])


async def test_an_empty_report_is_written_by_the_next_model(runs_on_two: Runs, scripted: ScriptedServices) -> None:
    """A report without a body twice is the second model's to write; the findings are not joined instead."""
    answers_instead(scripted, "reporter", big="# Report")
    status = await runs_on_two.complete()
    assert status.phase is Phase.COMPLETED
    assert asked(scripted, "reporter") == ["big", "big", "small"]
    assert [notice.split(" in place")[0] for notice in status.notices] == ["The model small answered the reporter"]


async def test_only_when_all_models_refuse_a_person_is_needed(runs_on_two: Runs, scripted: ScriptedServices) -> None:
    """The run holds with both reasons in one line, and goes on when one of them is mended."""
    spent = Failure(429, {"error": {"message": "Quota exceeded.", "code": "insufficient_quota"}})
    usual = scripted.scripts["planner"]
    answers_instead(scripted, "planner", big=REFUSED_KEY, small=spent)
    run = await runs_on_two.start(auto_accept=True)
    held = await run.reach(Phase.NEEDS_ATTENTION)
    assert "none of 2 models answers: big: " in (held.reason or "")
    assert "refused the key" in (held.reason or "")
    assert "; small: the quota" in (held.reason or "")
    scripted.scripts["planner"] = usual
    await run.update("control", {"action": "retry"})
    assert (await run.end()).phase is Phase.COMPLETED
