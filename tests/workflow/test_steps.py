"""The agent loop of a step: what it may do wrong, how often, and what comes of it."""

from pathlib import Path

import pytest

from deer.models import Check, Phase, RunStatus, StepStatus
from deer.providers.files import FileStore
from tests.eventually import eventually
from tests.running import Runs, children_in
from tests.scripted import Call, Gate, ScriptedServices, Text, ToolCall, ToolCalls, call_tool
from tests.scripted.replies import Answer, Failure
from tests.scripted.roles import SHOWN_SOURCE, asked_text, plan_of, research_step

SUBMIT = call_tool("submit_finding", summary="Found at last.", claims=[])
SEARCH = call_tool("web_search", query="facts on subject-a1")


def one_step(scripted: ScriptedServices, *answers: Answer, need_search: bool = False) -> None:
    """A plan of one research step, whose agent answers this."""
    scripted.scripts["planner"] = plan_of({**research_step("subject-a1"), "need_search": need_search})
    scripted.scripts["researcher"] = answers


def the_step(status: RunStatus) -> tuple[StepStatus, str | None, str | None]:
    """Status, finding and reason of the only step."""
    assert status.plan
    [step] = status.plan.steps
    return step.status, step.finding, step.reason


async def test_bad_tool_calls_are_told_and_the_step_goes_on(runs: Runs, scripted: ScriptedServices) -> None:
    """Of several calls in a turn each gets one reply under its id: a bad one its error, a good one its result."""
    several = ToolCalls(
        (
            ToolCall("web_search", {"query": "facts on subject-a1"}),
            ToolCall("web_search", '{"query": "a'),
            ToolCall("search_web", {"query": "x"}),
            ToolCall("read_page", {"url": "http://10.0.0.5/"}),
        )
    )
    one_step(scripted, several, SUBMIT)
    status = await runs.complete()
    assert the_step(status) == (StepStatus.DONE, "Found at last.", None)
    assert scripted.log.count("search") == 2  # the background search and the good call
    told = [m["content"] for m in scripted.log.calls("researcher")[1].messages if m["role"] == "tool"]
    assert len(told) == 4
    assert "subject-a1" in told[0]
    assert "not valid JSON" in told[1]
    assert "read_page, submit_finding, web_search" in told[2]
    assert "error" in told[3]


async def test_an_empty_answer_is_asked_for_once_more(runs: Runs, scripted: ScriptedServices) -> None:
    """A reply of nothing costs one more call; a second one fails the step, and the run goes on."""
    one_step(scripted, Text(None), SUBMIT)
    assert the_step(await runs.complete())[0] is StepStatus.DONE
    assert "Your last reply was empty" in scripted.log.calls("researcher")[1].text

    scripted.reset()
    one_step(scripted, Text(None), Text("  "), SUBMIT)
    status = await runs.complete("And what is the other value?")
    assert the_step(status) == (StepStatus.FAILED, None, "no result")
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.report
    assert "None" not in status.report.markdown


async def test_a_researcher_that_must_search_is_reminded_once(runs: Runs, scripted: ScriptedServices) -> None:
    """A finding without the search that was required is sent back once; then it stands, with a notice."""
    one_step(scripted, SUBMIT, SEARCH, SUBMIT, need_search=True)
    status = await runs.complete()
    assert the_step(status)[0] is StepStatus.DONE
    assert status.notices == ()
    assert scripted.log.count("researcher") == 3

    scripted.reset()
    one_step(scripted, SUBMIT, need_search=True)
    status = await runs.complete("And what is the other value?")
    assert the_step(status)[0] is StepStatus.DONE
    assert scripted.log.count("researcher") == 2
    assert any("had to search and did not" in notice for notice in status.notices)


async def test_every_call_of_a_turn_is_answered_when_its_finding_cannot_stand(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """A search and a finding in one turn, sent back: the next request has a reply for each of the two calls."""
    both = ToolCalls((*SEARCH.calls, *SUBMIT.calls))
    one_step(scripted, both, SEARCH, SUBMIT, need_search=True)
    assert the_step(await runs.complete())[0] is StepStatus.DONE
    told = [message for message in scripted.log.calls("researcher")[1].messages if message["role"] == "tool"]
    assert len(told) == 2


async def test_calls_beyond_the_limit_of_a_turn_are_told_so(runs: Runs, scripted: ScriptedServices) -> None:
    """A model that asks for dozens of pages at once gets twelve, and a reply to each of the others."""
    many = ToolCalls(tuple(ToolCall("read_page", {"url": f"http://10.0.0.{n}/"}) for n in range(30)))
    one_step(scripted, many, SUBMIT)
    assert the_step(await runs.complete())[0] is StepStatus.DONE
    told = [m["content"] for m in scripted.log.calls("researcher")[1].messages if m["role"] == "tool"]
    assert len(told) == 30
    assert sum("at most 12 calls in one turn" in content for content in told) == 18


async def test_a_finding_that_cannot_be_read_is_told_to_the_model(runs: Runs, scripted: ScriptedServices) -> None:
    """`submit_finding` with a broken argument gets its error like any tool call."""
    one_step(scripted, call_tool("submit_finding", summary="", claims=[]), SUBMIT)
    assert the_step(await runs.complete()) == (StepStatus.DONE, "Found at last.", None)
    assert "summary" in scripted.log.calls("researcher")[1].messages[-1]["content"]


async def test_a_finding_refused_twice_is_asked_for_in_words(runs: Runs, scripted: ScriptedServices) -> None:
    """The same faulty `submit_finding` again is not asked for a third time: one call without tools, and a notice."""
    faulty = call_tool("submit_finding", summary="A faulty summary.", claims=[{"text": ""}])
    one_step(scripted, SEARCH, faulty, faulty, Text("The value was measured [s1-1]."))
    status = await runs.complete()
    assert the_step(status) == (StepStatus.DONE, "The value was measured [s1-1].", None)
    calls = scripted.log.calls("researcher")
    assert [bool(call.tools) for call in calls] == [True, True, True, False]
    assert "exactly this finding before" in calls[-1].text
    assert [notice for notice in status.notices if "same faulty finding twice" in notice]


async def test_a_refused_finding_is_never_the_finding(runs: Runs, scripted: ScriptedServices) -> None:
    """Of a model that hands in the same faulty finding for ever, what it searched is told, else the step has failed."""
    faulty = call_tool("submit_finding", summary="A faulty summary.", claims=[{"text": ""}])
    one_step(scripted, SEARCH, faulty)
    status = await runs.complete()
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    step, finding, reason = the_step(status)
    assert (step, reason) == (StepStatus.DONE, "it handed in no finding that could be taken")
    assert finding
    assert "[s1-1]" in finding
    assert scripted.log.count("researcher") == 4

    scripted.reset()
    one_step(scripted, faulty)
    status = await runs.complete("And what is the other value?")
    assert the_step(status) == (StepStatus.FAILED, None, "no result")
    assert "faulty summary" not in status.model_dump_json()


async def test_a_call_made_before_is_answered_from_what_is_known(runs: Runs, scripted: ScriptedServices) -> None:
    """The same call again, in one turn or a later one, costs nothing, has the same result, and the model is told."""
    twice = ToolCalls((*SEARCH.calls, *SEARCH.calls))
    one_step(scripted, twice, SEARCH, SUBMIT)
    status = await runs.complete()
    assert the_step(status)[0] is StepStatus.DONE
    assert scripted.log.count("search") == 2  # the background search and the first of three
    last = scripted.log.calls("researcher")[-1]
    told = [m["content"] for m in last.messages if m["role"] == "tool"]
    assert ["exactly this call before" in content for content in told] == [False, True, True]
    assert all("s1-1" in content for content in told)
    assert status.usage.searches == 2


async def test_a_call_that_failed_may_be_made_again(runs: Runs, scripted: ScriptedServices) -> None:
    """Only what is known is not asked for twice: a page that was out of order is tried again."""
    page = call_tool("read_page", url=f"{scripted.url}/page/subject-a1-1")
    scripted.fail("page", Failure(500), times=2)
    one_step(scripted, SEARCH, page, page, SUBMIT)
    assert the_step(await runs.complete())[0] is StepStatus.DONE
    told = [m["content"] for m in scripted.log.calls("researcher")[-1].messages if m["role"] == "tool"]
    assert "error" in told[1]
    assert "measured value" in told[2]


async def test_the_turn_limit_is_that_many_tool_rounds(runs: Runs, scripted: ScriptedServices) -> None:
    """After `max_turns` rounds of tools one call without tools sums up, and the reader is told."""
    one_step(scripted, SEARCH, SEARCH, SEARCH, Text("In short: little was found."))
    status = await runs.complete(max_turns=3)
    calls = scripted.log.calls("researcher")
    assert [bool(call.tools) for call in calls] == [True, True, True, False]
    assert the_step(status) == (StepStatus.DONE, "In short: little was found.", None)
    assert any("all of its 3 turns" in notice for notice in status.notices)


async def test_the_same_search_is_paid_for_once(runs: Runs, scripted: ScriptedServices) -> None:
    """What the run has asked before is answered from its store, in any step."""
    one_step(scripted, SEARCH, SEARCH, SUBMIT)
    status = await runs.complete(look_around=False)
    assert scripted.log.count("search") == status.usage.searches == 1


async def test_a_failing_search_is_told_to_the_agent(runs: Runs, scripted: ScriptedServices) -> None:
    """A search that fails for good is an error that the agent reads, never an empty success."""
    scripted.fail("search", Failure(400, {"detail": {"error": "scripted refusal"}}), times=9)
    one_step(scripted, SEARCH, Text("Nothing could be searched."))
    status = await runs.complete(look_around=False)
    assert the_step(status)[0] is StepStatus.DONE
    assert "error" in scripted.log.calls("researcher")[1].messages[-1]["content"]
    assert status.sources == ()


@pytest.mark.parametrize("kind", ["cancel", "terminate"])
async def test_a_step_stopped_from_outside_costs_only_itself(runs: Runs, scripted: ScriptedServices, kind: str) -> None:
    """Cancelling or terminating a step's workflow in Temporal's UI skips or fails that step; the run goes on."""
    gate = scripted.hold("researcher")
    run = await runs.start("What is the value?", auto_accept=True)
    await eventually(lambda: bool(gate.caught), "a researcher's call")
    [child] = children_in(await run.events())
    handle = runs.client.get_workflow_handle(child)
    await (handle.cancel() if kind == "cancel" else handle.terminate())
    status = await run.end()
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert status.plan
    first = status.plan.steps[0]
    assert first.status is (StepStatus.SKIPPED if kind == "cancel" else StepStatus.FAILED)
    assert first.reason
    assert status.plan.steps[1].status is StepStatus.DONE


async def test_a_step_may_quote_what_the_steps_before_it_read(runs: Runs, scripted: ScriptedServices) -> None:
    """A quote is looked up in the sources that a step was told of; an invented one, or one of no source, has none."""

    def quotes(call: Call) -> Answer:
        source_id = SHOWN_SOURCE.findall(asked_text(call))[-1]
        verbatim = {"text": "It was measured.", "source_id": source_id, "quote": "the measured value of subject-a1"}
        claims = [verbatim, {**verbatim, "quote": "a value that nobody wrote"}, {**verbatim, "source_id": "s9-9"}]
        return call_tool("submit_finding", summary="Compared.", claims=claims)

    scripted.scripts["analyst"] = quotes
    status = await runs.complete()
    assert status.report
    checks = [claim.check for claim in status.report.claims[1:]]
    assert checks == [Check.VERIFIED, Check.UNVERIFIED, Check.UNVERIFIED]


async def test_a_step_may_quote_a_source_that_only_a_summary_names(runs: Runs, scripted: ScriptedServices) -> None:
    """A step that ends in plain text claims nothing; the next step may quote what it saw all the same."""
    searched = call_tool("web_search", query="facts on subject-a1")
    scripted.scripts["researcher"] = (searched, Text("The value was measured [s1-1]."))
    quote = "the measured value of subject-a1"
    claim = {"text": "It was measured.", "source_id": "s1-1", "quote": quote}
    scripted.scripts["analyst"] = call_tool("submit_finding", summary="Compared.", claims=[claim])
    scripted.setup.results = lambda query: [
        {
            "title": query,
            "url": f"{scripted.url}/page/{query.split()[-1]}",
            "content": f"It gives {quote}.",
            "score": 1.0,
        }
    ]
    status = await runs.complete()
    assert status.report
    [checked] = status.report.claims
    assert (checked.check, checked.source_id) == (Check.VERIFIED, "s1-1")


async def test_two_steps_that_read_one_page_name_one_source(runs: Runs, scripted: ScriptedServices) -> None:
    """The claims of parallel steps name a page that both read by one id, which is among the sources."""
    scripted.scripts["planner"] = plan_of(
        {**research_step("subject-a1"), "title": "First"}, {**research_step("subject-a1"), "title": "Second"}
    )
    status = await runs.complete()
    assert status.report
    [first, second] = status.report.claims
    assert (first.check, second.check) == (Check.VERIFIED, Check.VERIFIED)
    assert first.source_id == second.source_id
    assert first.source_id in {source.id for source in status.sources if source.read}


@pytest.fixture
def last_turn(scripted: ScriptedServices) -> Gate:
    """Holds a step in the turn that hands in its finding, whose quote stands in the page that it has read."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    return scripted.hold("researcher", where=lambda call: call.rounds == 2)


def text_of_the_page(runs: Runs) -> Path:
    """The file of the store that holds the page which the step has read."""
    assert isinstance(runs.store, FileStore)
    [page] = [path for path in runs.store.root.glob("texts/*/*") if path.read_text().startswith("# Page subject-a1")]
    return page


async def test_a_text_that_is_lost_leaves_its_claims_unverified(
    runs: Runs, scripted: ScriptedServices, last_turn: Gate
) -> None:
    """The check of a finding's quotes fails for good: the finding counts, its claims do not, and that is told."""
    run = await runs.start(auto_accept=True)
    await eventually(lambda: last_turn.caught, "the last turn")
    text_of_the_page(runs).unlink()
    last_turn.open()
    status = await run.end()
    assert the_step(status)[0] is StepStatus.DONE
    assert status.report
    assert [claim.check for claim in status.report.claims] == [Check.UNVERIFIED]
    assert any("could not be checked" in notice for notice in status.notices)


async def test_a_store_that_cannot_be_read_holds_the_step_until_it_can(runs: Runs, last_turn: Gate) -> None:
    """What only a person can mend holds the check of quotes like any call; nothing is lost, nothing paid again."""
    run = await runs.start(auto_accept=True)
    await eventually(lambda: last_turn.caught, "the last turn")
    page = text_of_the_page(runs)
    aside = page.rename(page.with_suffix(".aside"))
    page.mkdir()
    last_turn.open()
    held = await run.reach(Phase.NEEDS_ATTENTION)
    assert "store" in (held.reason or "")
    page.rmdir()
    aside.rename(page)
    await run.update("control", {"action": "retry"})
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert status.report
    assert [claim.check for claim in status.report.claims] == [Check.VERIFIED]
