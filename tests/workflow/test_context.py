"""What models are told stays within what they take, whatever searches and pages bring."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase, RunStatus, StepStatus
from deer.ports import PageReader
from tests.running import Runs, research_worker
from tests.scripted import Call, Failure, ScriptedServices, ToolCall, ToolCalls, call_tool, plan_of, research_step
from tests.scripted.replies import Answer
from tests.scripted.roles import tool_text

TOO_LONG = Failure(400, {"error": {"message": "too many tokens", "code": "context_length_exceeded"}})
PAGES_PER_TURN = 5
TURNS = 5
SMALL_LIMIT = 16_000


def long_page(name: str) -> str:
    """An article of some 14,000 characters, more than what is shown of it."""
    paragraphs = "".join(
        f"<p>In sample {at} of {name} the measured value of subject-a1 is {at} percent, as the laboratory wrote.</p>"
        for at in range(160)
    )
    return f"<html><head><title>Page {name}</title></head><body><article>{paragraphs}</article></body></html>"


def reads_much(scripted: ScriptedServices) -> None:
    """A researcher of one step reads five long pages in each of five turns: 300 kB in all."""
    names = [f"long-{turn}-{at}" for turn in range(TURNS) for at in range(PAGES_PER_TURN)]
    scripted.setup.pages = {name: long_page(name) for name in names}
    scripted.scripts["planner"] = plan_of({**research_step("subject-a1"), "need_search": False})

    def reads(call: Call) -> Answer:
        turn = len(scripted.log.calls("researcher", lambda made: made.was_answered))
        if turn >= TURNS:
            return call_tool("submit_finding", summary="Found: subject-a1 was measured.", claims=[])
        addresses = [f"{scripted.url}/page/long-{turn}-{at}" for at in range(PAGES_PER_TURN)]
        return ToolCalls(tuple(ToolCall("read_page", {"url": address}) for address in addresses))

    scripted.scripts["researcher"] = reads


def size_of(call: Call) -> int:
    """Bytes of a request's body."""
    return len(json.dumps(call.body, ensure_ascii=False).encode())


def the_step(status: RunStatus) -> tuple[StepStatus, str | None]:
    """Status and finding of the only step."""
    assert status.plan
    [step] = status.plan.steps
    return step.status, step.finding


async def test_a_step_outlives_an_endpoint_that_takes_less_than_was_thought(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """Case L13: requests above 60 kB are refused while 300 kB come in; each is asked again shorter, the step ends."""
    reads_much(scripted)
    answers = scripted.scripts["researcher"]
    assert callable(answers)
    scripted.scripts["researcher"] = lambda call: TOO_LONG if size_of(call) > 60_000 else answers(call)
    status = await runs.complete("What is the value?")
    assert the_step(status) == (StepStatus.DONE, "Found: subject-a1 was measured.")
    assert status.phase is Phase.COMPLETED
    refused = scripted.log.calls("researcher", lambda call: not call.was_answered)
    assert 0 < len(refused) <= 2
    assert len(scripted.log.answered("researcher")) == TURNS + 1
    last = scripted.log.calls("researcher")[-1]
    assert len(last.body["messages"]) == 2 + TURNS * (1 + PAGES_PER_TURN)
    assert "[shortened: " in tool_text(last)


async def test_a_request_that_is_too_long_in_any_words_fails_its_step_alone(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """A refusal of the shorter request too is not asked a third time; the run reports what else it knows."""
    reads_much(scripted)
    scripted.fail("researcher", TOO_LONG, times=9, first=2)
    status = await runs.complete("What is the value?")
    first, second, third = scripted.log.calls("researcher")
    assert first.was_answered
    assert size_of(third) < size_of(second) / 2
    assert the_step(status) == (StepStatus.FAILED, None)
    assert status.plan
    assert "longer than the model" in (status.plan.steps[0].reason or "")
    assert status.phase is Phase.COMPLETED_WITH_GAPS


@pytest.fixture
async def small_runs(
    server: WorkflowEnvironment, scripted: ScriptedServices, pages: PageReader, tmp_path: Path
) -> AsyncIterator[Runs]:
    """Runs on a worker whose model takes sixteen thousand tokens, as its table says."""
    async with (
        research_worker(server.client, scripted, pages, tmp_path, BASIC_MODEL__TOKEN_LIMIT=str(SMALL_LIMIT)) as started,
        started.of_one_test() as runs,
    ):
        yield runs


async def test_the_token_limit_of_a_model_is_kept_by_every_role(
    small_runs: Runs, scripted: ScriptedServices, tmp_path: Path
) -> None:
    """With `token_limit` no request is larger than it, and the stored conversation stays whole."""
    reads_much(scripted)
    status = await small_runs.complete("What is the value?")
    assert the_step(status) == (StepStatus.DONE, "Found: subject-a1 was measured.")
    calls = scripted.log.calls("model")
    assert all(call.was_answered for call in calls)
    assert max(map(size_of, calls)) < 4 * SMALL_LIMIT
    stored = [file.read_text() for file in (tmp_path / "store" / "texts").rglob("*") if file.is_file()]
    transcript = max((text for text in stored if '"speaker":"tool"' in text), key=len)
    assert all(f"In sample 100 of long-{turn}-0" in transcript for turn in range(TURNS))
    assert "[shortened: " not in transcript


async def test_a_step_on_a_small_model_still_names_its_first_sources(
    small_runs: Runs, scripted: ScriptedServices
) -> None:
    """The digest of a page of long ago keeps its id and address, so that a claim can rest on it."""
    reads_much(scripted)
    await small_runs.complete("What is the value?")
    told = tool_text(scripted.log.calls("researcher")[-1])
    assert all(f"/page/long-0-{at}" in told for at in range(PAGES_PER_TURN))
