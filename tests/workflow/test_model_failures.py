"""What models and their endpoints do wrong on the wire, through whole runs."""

import re
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase, StepStatus
from deer.ports import PageReader
from tests.eventually import eventually
from tests.running import Run, Runs, research_worker
from tests.scripted import (
    REFUSED_KEY,
    Call,
    Failure,
    Json,
    ScriptedServices,
    Stream,
    Text,
    ToolCall,
    ToolCalls,
    call_tool,
)
from tests.scripted.canaries import MODEL_KEY
from tests.scripted.replies import Answer, Script, answer_to
from tests.scripted.roles import analysis_step, plan_of, research_step, researcher, subject_of

THOUGHT = "secret thought that nobody may read"
REPORT = "# Report\n\n" + "".join(f"Sentence {n} of the report. " for n in range(60))


@pytest.fixture
async def own_runs(
    server: WorkflowEnvironment, scripted: ScriptedServices, pages: PageReader, tmp_path: Path
) -> AsyncIterator[Runs]:
    """Runs on a worker that has learnt nothing of the endpoint yet, and takes what it learns with it."""
    async with research_worker(server.client, scripted, pages, tmp_path) as runs, runs.of_one_test() as started:
        yield started


async def everything_said(run: Run) -> str:
    """Status, progress and histories of a run with all that is packed in them, in one text."""
    histories = [history async for _, history in run.histories()]
    packed = [b64decode(data) for history in histories for data in re.findall(r'"data": ?"([^"]+)"', history)]
    seen = [*histories, *(data.decode("utf-8", "replace") for data in packed)]
    return "\n".join([*seen, (await run.status()).model_dump_json(), (await run.progress()).model_dump_json()])


async def test_a_reply_of_nothing_fails_one_step_at_most(runs: Runs, scripted: ScriptedServices) -> None:
    """Case L01: null content once costs one more call; always null fails its step, and the other steps go on."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), research_step("subject-b2"))

    def silent_on_a1(call: Call) -> Answer:
        return Text(None) if subject_of(call) == "subject-a1" else researcher(call)

    scripted.scripts["researcher"] = silent_on_a1
    status = await runs.complete()
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.plan
    assert status.report
    assert [step.status for step in status.plan.steps] == [StepStatus.FAILED, StepStatus.DONE]
    assert status.plan.steps[0].reason
    assert "None" not in status.report.markdown
    assert len(scripted.log.calls("researcher", lambda call: subject_of(call) == "subject-a1")) == 2


def piece(index: int | None, **function: str) -> Json:
    """A piece of a tool call; without an index as some endpoints send it."""
    place: Json = {} if index is None else {"index": index}
    return {"tool_calls": [{**place, "function": function}]}


SPREAD = Stream(
    (
        {"content": "Let me "},
        {"content": "look."},
        piece(None, name="web_search"),
        piece(None, arguments='{"que'),
        piece(None, arguments='ry": "facts on subject-a1"}'),
    ),
    "tool_calls",
)
INTERLEAVED = Stream(
    (
        piece(0, name="web_search", arguments=""),
        piece(1, name="web_search", arguments=""),
        piece(0, arguments='{"query": "facts '),
        piece(1, arguments='{"query": "news '),
        piece(0, arguments='on subject-a1"}'),
        piece(1, arguments='on subject-a1"}'),
    ),
    "tool_calls",
)


@pytest.mark.parametrize(
    ("turn", "queries"),
    [(SPREAD, {"facts on subject-a1"}), (INTERLEAVED, {"facts on subject-a1", "news on subject-a1"})],
)
async def test_calls_spread_over_a_stream_run_whole(
    runs: Runs, scripted: ScriptedServices, turn: Stream, queries: set[str]
) -> None:
    """Case L09: calls in pieces run with their whole arguments; the sentence before them is not the step's result."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    scripted.scripts["researcher"] = lambda call: turn if call.rounds == 0 else researcher(call)
    status = await runs.complete(look_around=False)
    assert status.phase is Phase.COMPLETED
    assert status.plan
    assert "was looked up" in (status.plan.steps[0].finding or "")
    assert {call.body["query"] for call in scripted.log.calls("search")} == queries


async def test_a_rate_limit_is_waited_out(runs: Runs, scripted: ScriptedServices) -> None:
    """Case L11: two 429 with a wait are kept to, nothing finished is redone, and another run goes on meanwhile."""
    scripted.fail("researcher", Failure(429, {"error": {"message": "slow down"}}, {"Retry-After": "3"}), times=2)
    limited = await runs.start("What is the value?", auto_accept=True)
    await eventually(lambda: scripted.log.count("researcher") == 1, "the first refusal")
    other = await runs.start("What is the other value?")
    await other.reach(Phase.AWAITING_REVIEW)
    assert scripted.log.count("researcher") == 1, "the other run did not wait for the limit"
    status = await limited.end()
    assert status.phase is Phase.COMPLETED
    first, second, third = scripted.log.calls("researcher")[:3]
    assert second.started - first.started >= 3
    assert third.started - second.started >= 3
    assert first.key == second.key == third.key
    assert scripted.log.count("planner") == 2, "one plan for each run"


async def test_a_wrong_key_is_said_at_once(runs: Runs, scripted: ScriptedServices) -> None:
    """Case L15: 401 to everything holds the run within seconds, after one request, in words that name the key."""
    scripted.fail("model", REFUSED_KEY, times=99)
    run = await runs.start(auto_accept=True)
    held = await run.reach(Phase.NEEDS_ATTENTION, within_s=10)
    assert "refused the key" in (held.reason or "")
    assert "OPENAI_API_KEY" in (held.reason or "")
    assert scripted.log.count("model") == 1
    assert MODEL_KEY not in await everything_said(run)


async def test_a_report_cut_in_the_middle_is_written_anew(runs: Runs, scripted: ScriptedServices) -> None:
    """Case L17: the connection closes after 40 % of the report; the report is the second attempt and nothing else."""
    half = Stream(tuple({"content": REPORT[at : at + 20]} for at in range(0, len(REPORT) * 4 // 10, 20)), None)
    whole = "# Report\n\nAll of it, in one go.\n"
    scripted.scripts["reporter"] = (half, whole)
    run = await runs.start(auto_accept=True)
    status = await run.end()
    assert status.report
    assert "All of it, in one go." in status.report.markdown
    assert "Sentence" not in status.report.markdown
    assert scripted.log.count("reporter") == 2
    assert "broke off" not in status.model_dump_json()


def thinking_researcher(call: Call) -> Answer:
    """Thinks aloud before each call, as the usual researcher makes it."""
    usual = researcher(call)
    assert isinstance(usual, ToolCalls)
    return ToolCalls(usual.calls, usual.content, reasoning=f"{THOUGHT} {call.rounds}")


def moves_without_thoughts(call: Call) -> list[Json]:
    """The assistant's messages of a request that lack what the model thought."""
    return [m for m in call.messages if m["role"] == "assistant" and THOUGHT not in m.get("reasoning_content", "")]


async def test_reasoning_is_sent_back_in_the_loop_and_shown_nowhere(runs: Runs, scripted: ScriptedServices) -> None:
    """Case L20: an endpoint that insists on its reasoning gets it with every call; it reaches no reader."""

    def insists(call: Call) -> Answer:
        if moves_without_thoughts(call):
            return Failure(400, {"error": {"message": "Missing reasoning_content in the assistant message"}})
        return thinking_researcher(call)

    scripted.scripts["researcher"] = insists
    run = await runs.start(auto_accept=True)
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert all(call.was_answered for call in scripted.log.calls("researcher"))
    assert scripted.log.calls("researcher")[-1].rounds == 2
    assert THOUGHT not in await everything_said(run)
    assert THOUGHT not in scripted.log.text("reporter") + scripted.log.text("analyst")


SIGNATURE = "EsignatureOf/thoughts+that=nobody reads"
SIGNED = {"extra_content": {"google": {"thought_signature": SIGNATURE}}}
DETAILS = [
    {"type": "reasoning.text", "text": f"{THOUGHT} at length", "index": 0, "signature": SIGNATURE},
    {"type": "reasoning.encrypted", "data": "c2VjcmV0", "index": 1, "id": "r1"},
]


def with_signed_calls(usual: Answer) -> Answer:
    """The usual calls as Gemini streams them: the first one carries a signature."""
    assert isinstance(usual, ToolCalls)
    pieces = [{"index": at, **call.encoded(), **(SIGNED if at == 0 else {})} for at, call in enumerate(usual.calls)]
    return Stream(tuple({"tool_calls": [piece]} for piece in pieces), "tool_calls")


def with_details(usual: Answer) -> Answer:
    """The usual calls as OpenRouter streams them: behind what the model thought, in pieces."""
    assert isinstance(usual, ToolCalls)
    begun, ended = {**DETAILS[0], "text": THOUGHT, "signature": None}, {**DETAILS[0], "text": " at length"}
    thoughts = tuple({"reasoning": "hm", "reasoning_details": [piece]} for piece in (begun, ended, DETAILS[1]))
    calls = ({"tool_calls": [{"index": at, **call.encoded()}]} for at, call in enumerate(usual.calls))
    return Stream((*thoughts, *calls), "tool_calls")


def is_signed(message: Json) -> bool:
    """Whether the first call of a message has its signature back."""
    return bool(message["tool_calls"][0].get("extra_content") == SIGNED["extra_content"])


@pytest.mark.parametrize(
    ("sealing", "is_sealed"),
    [(with_signed_calls, is_signed), (with_details, lambda message: message.get("reasoning_details") == DETAILS)],
)
async def test_sealed_thoughts_go_back_unchanged_and_are_shown_nowhere(
    runs: Runs, scripted: ScriptedServices, sealing: Callable[[Answer], Answer], is_sealed: Callable[[Json], bool]
) -> None:
    """Endpoints that refuse results without what they sealed (Gemini, OpenRouter) have it with every later turn."""

    def insists(call: Call) -> Answer:
        moves = [message for message in call.messages if message["role"] == "assistant"]
        if not all(map(is_sealed, moves)):
            return Failure(400, {"error": {"message": "The thoughts behind the calls are gone"}})
        return sealing(researcher(call))

    scripted.scripts["researcher"] = insists
    run = await runs.start(auto_accept=True)
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert all(call.was_answered for call in scripted.log.calls("researcher"))
    assert scripted.log.calls("researcher")[-1].rounds == 2
    said = await everything_said(run) + scripted.log.text("reporter") + scripted.log.text("analyst")
    assert THOUGHT not in said
    assert SIGNATURE not in said


async def test_an_endpoint_that_refuses_reasoning_is_asked_without_it(
    own_runs: Runs, scripted: ScriptedServices
) -> None:
    """An endpoint that does not know the field costs one refused request, for the whole life of the worker."""

    def refuses(call: Call) -> Answer:
        if any("reasoning_content" in message for message in call.messages):
            return Failure(400, {"error": {"message": "messages.2.reasoning_content: Extra inputs are not permitted"}})
        return thinking_researcher(call)

    scripted.scripts["researcher"] = refuses
    assert (await own_runs.complete()).phase is Phase.COMPLETED
    assert sum(not call.was_answered for call in scripted.log.calls("researcher")) == 1


async def test_thoughts_in_tags_reach_no_reader(runs: Runs, scripted: ScriptedServices) -> None:
    """Closed and unopened blocks of reasoning, with tags in pieces, are in no plan, finding or report."""
    closed = ({"content": "<th"}, {"content": f"ink>{THOUGHT}</thi"}, {"content": "nk>"})
    scripted.scripts["planner"] = Stream((*closed, {"content": plan_of(research_step("subject-a1"))}))
    scripted.scripts["researcher"] = Stream(({"content": f"{THOUGHT}\n</thi"}, {"content": "nk>\nIt is ten percent."}))
    scripted.scripts["reporter"] = Stream((*closed, {"content": "# Report\n\nTen percent.\n"}))
    run = await runs.start(auto_accept=True)
    status = await run.end()
    assert status.plan
    assert status.plan.steps[0].finding == "It is ten percent."
    assert status.report
    assert THOUGHT not in await everything_said(run)


@pytest.mark.parametrize("thoughts", [f"<think>{THOUGHT}", f"Well.\n<think>\n{THOUGHT} {{}}"])
async def test_thoughts_that_never_close_reach_no_reader(runs: Runs, scripted: ScriptedServices, thoughts: str) -> None:
    """A run that fails on them keeps of the planner's reply what is no thought; no other role's are told either."""
    scripted.scripts["planner"] = thoughts
    failed = await runs.start("What is the value?")
    status = await failed.end()
    assert status.phase is Phase.FAILED
    assert any(notice.startswith("the planner's last reply") for notice in status.notices)
    assert THOUGHT not in await everything_said(failed)
    assert THOUGHT not in scripted.log.text("planner")
    scripted.scripts["planner"] = [thoughts, plan_of(research_step("subject-a1"), analysis_step(), thought=thoughts)]
    scripted.scripts["analyst"] = [call_tool("submit_finding", summary=thoughts, claims=[]), "In short: they agree."]
    scripted.scripts["judge"] = scripted.scripts["reporter"] = scripted.scripts["researcher"] = thoughts
    run = await runs.start("And the other value?", auto_accept=True, max_rounds=2)
    assert (await run.end()).phase is Phase.COMPLETED_WITH_GAPS
    assert THOUGHT not in await everything_said(run)


async def test_a_plain_endpoint_carries_a_whole_run(own_runs: Runs, scripted: ScriptedServices) -> None:
    """An endpoint without streams, schemas and forced calls is learnt once; every step still ends with its finding."""
    unknown = {
        "stream": "Unrecognized request argument supplied: stream",
        "response_format": "response_format is not supported",
        "parallel_tool_calls": "Unknown parameter: parallel_tool_calls",
        "tool_choice": "tool_choice is not supported by this model",
    }

    def plain(usual: Script) -> Script:
        def answer(call: Call) -> Answer:
            refused = next((message for name, message in unknown.items() if name in call.body), None)
            if refused is not None:
                return Failure(400, {"error": {"message": refused}})
            return answer_to(call, usual, 1)

        return answer

    scripted.scripts = {role: plain(script) for role, script in scripted.scripts.items()}
    assert (await own_runs.complete()).phase is Phase.COMPLETED
    refused = [call for call in scripted.log.calls("model") if not call.was_answered]
    before = len(refused)
    assert before <= 6
    assert (await own_runs.complete("And the other value?")).phase is Phase.COMPLETED
    assert len([call for call in scripted.log.calls("model") if not call.was_answered]) == before


async def test_a_web_page_in_place_of_an_answer_is_asked_for_three_times(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """Answers of status 200 that are no JSON end the call after three attempts, in words that name the address."""
    scripted.fail("planner", Failure(200, "<html><body>Welcome</body></html>"), times=99)
    run = await runs.start(auto_accept=True)
    status = await run.end()
    assert status.phase is Phase.FAILED
    assert "web page" in (status.reason or "")
    assert "OPENAI_BASE_URL" in (status.reason or "")
    assert scripted.log.count("planner") == 3


async def test_several_calls_and_text_in_one_reply_all_count(runs: Runs, scripted: ScriptedServices) -> None:
    """Text beside calls is neither lost nor taken for the finding."""
    both = ToolCalls((ToolCall("web_search", {"query": "facts on subject-a1"}),), content="I will search.")
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    scripted.scripts["researcher"] = lambda call: both if call.rounds == 0 else researcher(call)
    status = await runs.complete()
    assert status.plan
    assert "was looked up" in (status.plan.steps[0].finding or "")
    assert "I will search." in scripted.log.calls("researcher")[1].text
