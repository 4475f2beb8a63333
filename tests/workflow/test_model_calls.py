"""How often models are asked: once for each move of a run, and never again for what is known of an endpoint."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase
from deer.ports import PageReader
from tests.running import Runs, research_worker
from tests.scripted import Call, Failure, ScriptedServices
from tests.scripted.replies import Answer, Script, answer_to

MOVES = {"coordinator": 1, "planner": 1, "researcher": 3, "analyst": 1, "judge": 1, "reporter": 1}
"""The requests of a run with one research step (a search, a page, a finding), one analysis step and a judge."""

LACKING = {
    "stream_options": "Unrecognized request argument supplied: stream_options",
    "parallel_tool_calls": "Unknown parameter: parallel_tool_calls",
    '"tool_choice": "required"': "tool_choice: only auto is supported by this model",
    '"json_schema"': "This response_format type is unavailable now",
}
"""Features by how a request asks for them, and the words in which an endpoint refuses each."""


@pytest.fixture
async def own_runs(
    server: WorkflowEnvironment, scripted: ScriptedServices, pages: PageReader, tmp_path: Path
) -> AsyncIterator[Runs]:
    """Runs on a worker that has learnt nothing of the endpoint yet, and takes what it learns with it."""
    async with research_worker(server.client, scripted, pages, tmp_path) as runs, runs.of_one_test() as started:
        yield started


def asked(scripted: ScriptedServices, since: int = 0) -> Counter[str]:
    """How many requests each role made, those left out that came before."""
    return Counter(call.role for call in scripted.log.calls("model")[since:])


def refusals(scripted: ScriptedServices) -> list[str]:
    """The role of each request that was refused."""
    return [call.role for call in scripted.log.calls("model") if not call.was_answered]


async def test_each_move_is_one_request_in_the_fullest_dialect(own_runs: Runs, scripted: ScriptedServices) -> None:
    """Well-formed replies cost no request beside those of the moves, and each request asks for all that can be had."""
    status = await own_runs.complete(max_rounds=2)
    assert status.phase is Phase.COMPLETED
    assert asked(scripted) == MOVES
    assert status.usage.model_calls == sum(MOVES.values())
    bodies = {call.role: call.body for call in scripted.log.calls("model")}
    assert all(body["stream_options"] == {"include_usage": True} for body in bodies.values())
    assert {role for role, body in bodies.items() if body.get("tool_choice") == "required"} == {"coordinator", "judge"}
    assert bodies["planner"]["response_format"]["type"] == "json_schema"


async def test_what_was_learnt_of_an_endpoint_is_not_asked_again(own_runs: Runs, scripted: ScriptedServices) -> None:
    """Each feature that it lacks costs one refusal in the life of a worker, and the second run has none."""

    def plain(usual: Script) -> Script:
        def answer(call: Call) -> Answer:
            told = json.dumps({name: value for name, value in call.body.items() if name != "messages"})
            refused = next((message for feature, message in LACKING.items() if feature in told), None)
            return Failure(400, {"error": {"message": refused}}) if refused else answer_to(call, usual, 1)

        return answer

    scripted.scripts = {role: plain(script) for role, script in scripted.scripts.items()}
    assert (await own_runs.complete(max_rounds=2)).phase is Phase.COMPLETED
    assert refusals(scripted) == ["coordinator"] * 3 + ["planner"]
    before = scripted.log.count("model")
    assert before == sum(MOVES.values()) + 4
    assert (await own_runs.complete("And the other value?", max_rounds=2)).phase is Phase.COMPLETED
    assert asked(scripted, since=before) == MOVES
    assert len(refusals(scripted)) == 4


async def test_a_length_that_was_refused_is_not_asked_again(own_runs: Runs, scripted: ScriptedServices) -> None:
    """A refusal that names what is taken costs one request; the moves behind it, and the next run, cost no more."""
    too_long = "This model's maximum context length is 2800 tokens. However, you requested 2801 tokens"
    takes_little = Failure(400, {"error": {"message": too_long, "code": "context_length_exceeded"}})
    usual = scripted.scripts["researcher"]

    def short(call: Call) -> Answer:
        return takes_little if len(str(call.messages)) > 5_000 else answer_to(call, usual, 1)

    scripted.scripts["researcher"] = short
    assert (await own_runs.complete(max_rounds=2)).phase is Phase.COMPLETED
    assert refusals(scripted) == ["researcher"]
    before = scripted.log.count("model")
    assert (await own_runs.complete("And the other value?", max_rounds=2)).phase is Phase.COMPLETED
    assert asked(scripted, since=before) == MOVES
