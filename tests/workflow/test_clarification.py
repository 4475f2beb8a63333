"""Questions back to a person before the plan is made: when they are asked, who may answer, and what is made of it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from deer.messages import MAX_ANSWER_CHARS
from deer.models import Phase, RunStatus
from deer.ports import PageReader
from tests.eventually import eventually
from tests.running import Run, Runs, research_worker
from tests.scripted import Call, Json, ScriptedServices, Text, ToolCall, ToolCalls, call_tool
from tests.scripted.replies import Answer
from tests.scripted.roles import asked_text

QUESTION = "Which phone is the best one?"
ASKED = "For whom is the phone wanted, in your own words?"
OPTIONS = ["people above seventy", "photographers"]
AFTER_THE_COORDINATOR = ("planner", "researcher", "analyst", "reporter")


def asks(*questions: str, options: list[str] | None = None) -> Callable[[Call], Answer]:
    """A coordinator that asks these one after the other, where it may, and then hands over in words of its own."""

    def answer(call: Call) -> Answer:
        if call.nth <= len(questions) and "ask_clarification" in call.tools:
            return call_tool("ask_clarification", question=questions[call.nth - 1], options=options or [])
        return call_tool("handoff_to_planner", research_topic="my-own-words", locale="en-US")

    return answer


async def asked(run: Run, words: str) -> RunStatus:
    """The status once the run asks this."""

    async def look() -> RunStatus | None:
        status = await run.status()
        assert not status.phase.is_end, f"ended as {status.phase} before it asked {words!r}"
        return status if status.phase is Phase.CLARIFYING and words in (status.reason or "") else None

    return await eventually(look, f"the question {words!r}")


async def noticed(run: Run, words: str) -> RunStatus:
    """The status once a notice says these words."""

    async def look() -> RunStatus | None:
        status = await run.status()
        return status if any(words in notice for notice in status.notices) else None

    return await eventually(look, f"a notice about {words!r}")


async def current_details(run: Run) -> str:
    """The picture of the run in Temporal's UI."""
    return str(await run.handle.query("__temporal_workflow_metadata"))


async def test_an_answer_becomes_part_of_the_question(runs: Runs, scripted: ScriptedServices) -> None:
    """The run waits with what was asked; afterwards every role works on question and answer, and on nothing else."""
    scripted.scripts["coordinator"] = asks(ASKED, options=OPTIONS)
    run = await runs.start(QUESTION, max_clarification_rounds=3)
    status = await asked(run, ASKED)
    assert all(option in (status.reason or "") for option in OPTIONS)
    assert await run.record() == status
    assert scripted.log.count("search") == scripted.log.count("planner") == 0

    assert "answer" in await run.update("answer", "for my grandmother in Lisbon")
    await run.approve()
    status = await run.end()

    assert status.phase is Phase.COMPLETED
    assert status.question == QUESTION
    calls = [call for role in AFTER_THE_COORDINATOR for call in scripted.log.calls(role)]
    assert {call.role for call in calls} == set(AFTER_THE_COORDINATOR)
    for call in calls:
        assert QUESTION in asked_text(call)
        assert "for my grandmother in Lisbon" in asked_text(call)
        assert "my-own-words" not in call.text
        assert ASKED not in call.text
    assert scripted.log.calls("search")[0].body["query"] == f"{QUESTION} for my grandmother in Lisbon"
    told = [(handoff.sender, handoff.to) for handoff in status.handoffs[:3]]
    assert told == [("coordinator", "person"), ("person", "coordinator"), ("coordinator", "planner")]


async def test_the_coordinator_may_ask_again(runs: Runs, scripted: ScriptedServices) -> None:
    """It is shown what it asked and what was said, and a second answer joins the first in the order they came."""
    scripted.scripts["coordinator"] = asks(ASKED, "At what price?")
    run = await runs.start(QUESTION, max_clarification_rounds=2, auto_accept=True)
    await asked(run, ASKED)
    await run.update("answer", {"text": "for photographers"})
    await asked(run, "At what price?")
    await run.signal("answer", "below 400 euros")
    status = await run.end()

    assert status.phase is Phase.COMPLETED
    second, third = scripted.log.calls("coordinator")[1:]
    assert ASKED in second.text
    assert "for photographers" in second.text
    assert "below 400 euros" in third.text
    text = asked_text(scripted.log.calls("planner")[0])
    assert text.index(QUESTION) < text.index("for photographers") < text.index("below 400 euros")


async def test_at_the_limit_the_run_goes_on(runs: Runs, scripted: ScriptedServices) -> None:
    """After as many questions as are allowed the tool is not offered, and one that is asked all the same is passed."""

    def always(call: Call) -> Answer:
        return call_tool("ask_clarification", question=f"And what about {call.nth}?", options=[])

    scripted.scripts["coordinator"] = always
    run = await runs.start(QUESTION, max_clarification_rounds=2, auto_accept=True)
    for number in (1, 2):
        await asked(run, f"And what about {number}?")
        await run.update("answer", f"this is answer {number}")
    status = await run.end()

    assert status.phase is Phase.COMPLETED
    assert ["ask_clarification" in call.tools for call in scripted.log.calls("coordinator")] == [True, True, False]
    assert "this is answer 2" in asked_text(scripted.log.calls("planner")[0])
    assert "What about 3" not in scripted.log.text("planner")
    assert any("2" in entry.text and "asked" in entry.text for entry in (await run.progress()).entries)


@pytest.mark.parametrize("fields", [{}, {"max_clarification_rounds": 0}, {"max_clarification_rounds": None}])
async def test_without_the_wish_nobody_is_asked(runs: Runs, scripted: ScriptedServices, fields: Json) -> None:
    """Clarification is off unless a request switches it on: no tool, no wait, whatever the model tries."""
    scripted.scripts["coordinator"] = call_tool("ask_clarification", question=ASKED, options=[])
    run = await runs.start_raw({"question": QUESTION, **fields})
    await run.reach(Phase.AWAITING_REVIEW)
    assert scripted.log.calls("coordinator")[0].tools == ["handoff_to_planner", "direct_response"]
    assert QUESTION in asked_text(scripted.log.calls("planner")[0])


async def test_switched_on_without_a_number_means_three(runs: Runs, scripted: ScriptedServices) -> None:
    """A request that says `true` allows three questions."""
    scripted.scripts["coordinator"] = asks("First?", "Second?", "Third?", "Fourth?")
    run = await runs.start_raw({"question": QUESTION, "auto_accept": True, "max_clarification_rounds": True})
    for words in ("First?", "Second?", "Third?"):
        await asked(run, words)
        await run.update("answer", f"the answer to {words}")
    assert (await run.end()).phase is Phase.COMPLETED
    assert scripted.log.count("coordinator") == 4


async def test_a_specific_question_goes_straight_on(runs: Runs, scripted: ScriptedServices) -> None:
    """With clarification on, a coordinator that hands over waits for nobody and is asked once."""
    run = await runs.start(QUESTION, max_clarification_rounds=3, auto_accept=True)
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert scripted.log.count("coordinator") == 1
    assert "ask_clarification" in scripted.log.calls("coordinator")[0].tools


UNUSABLE = [
    call_tool("ask_clarification", question="  ", options=[]),
    call_tool("ask_clarification", options=["a"]),
    ToolCalls((ToolCall("ask_clarification", '{"question": "Wh'),)),
    ToolCalls(
        (
            ToolCall("ask_clarification", {"question": ASKED, "options": []}),
            ToolCall("handoff_to_planner", {"research_topic": "phones", "locale": "en-US"}),
        )
    ),
    Text("Which phone do you mean?"),
]


@pytest.mark.parametrize("reply", UNUSABLE)
async def test_what_asks_nothing_is_a_hand_over(runs: Runs, scripted: ScriptedServices, reply: Answer) -> None:
    """A question without words, one beside a hand-over, and one that is no tool call hold nobody up."""
    scripted.scripts["coordinator"] = reply
    run = await runs.start(QUESTION, max_clarification_rounds=3)
    await run.reach(Phase.AWAITING_REVIEW)
    assert scripted.log.count("coordinator") == 1


async def test_options_of_any_shape_are_taken_as_far_as_they_go(runs: Runs, scripted: ScriptedServices) -> None:
    """Options that are no list, or hold no texts, are left out; the question stands."""
    scripted.scripts["coordinator"] = call_tool("ask_clarification", question=ASKED, options="one or two")
    run = await runs.start(QUESTION, max_clarification_rounds=1)
    assert (await asked(run, ASKED)).reason == ASKED
    scripted.scripts["coordinator"] = call_tool("ask_clarification", question=ASKED, options=[None, 7, "", "seven"])
    other = await runs.start(QUESTION, max_clarification_rounds=1)
    assert (await asked(other, ASKED)).reason == f"{ASKED}\n- 7\n- seven"


async def test_an_answer_before_anything_was_asked_is_refused_and_not_kept(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """Answering while the coordinator is at work is refused; the question that then comes waits as any other."""
    scripted.scripts["coordinator"] = asks(ASKED)
    gate = scripted.hold("coordinator")
    run = await runs.start(QUESTION, max_clarification_rounds=3)
    await eventually(lambda: bool(gate.caught), "the coordinator's call")
    assert "asks nothing" in await run.refusal("answer", "for everybody")
    await run.signal("answer", "for everybody")
    await noticed(run, "asks nothing")
    gate.open()
    await asked(run, ASKED)
    await run.refusal("answer", "")  # by its answer the workflow has come to rest
    assert (await run.status()).phase is Phase.CLARIFYING
    assert "for everybody" not in scripted.log.text("coordinator")


NO_ANSWERS: list[object] = [
    *(None, "", "  \n ", {}, {"text": ""}, {"text": None}, {"words": "x"}, 7, ["x"], "x" * (MAX_ANSWER_CHARS + 1)),
]


async def test_an_answer_that_says_nothing_is_refused(runs: Runs, scripted: ScriptedServices) -> None:
    """Empty, malformed and too long answers are refused as update, without a trace, and become notices as signal."""
    scripted.scripts["coordinator"] = asks(ASKED)
    run = await runs.start(QUESTION, max_clarification_rounds=3, auto_accept=True)
    await asked(run, ASKED)
    before = len(await run.events())
    for answer in NO_ANSWERS:
        assert await run.refusal("answer", answer)
    assert len(await run.events()) == before
    for answer in NO_ANSWERS:
        await run.signal("answer", answer)
        status = await run.status()  # a query sees what was signalled before it
        assert status.phase is Phase.CLARIFYING, answer
        assert any("answer" in notice for notice in status.notices), answer
    await run.signal("answer", "for everybody")
    assert (await run.end()).phase is Phase.COMPLETED


async def test_only_the_first_answer_counts(runs: Runs, scripted: ScriptedServices) -> None:
    """Once a question is answered, another answer is refused until the run asks again."""
    scripted.scripts["coordinator"] = asks(ASKED)
    run = await runs.start(QUESTION, max_clarification_rounds=3)
    await asked(run, ASKED)
    await run.update("answer", "for the first")
    assert "asks nothing" in await run.refusal("answer", "for the second")
    await run.reach(Phase.AWAITING_REVIEW)
    assert "asks nothing" in await run.refusal("answer", "for the third")
    assert "for the second" not in scripted.log.text("planner")


async def test_an_answer_after_the_end_changes_nothing(runs: Runs, scripted: ScriptedServices) -> None:
    """A run that was cancelled while it asked is over: its record says so, and Temporal takes no answer for it."""
    scripted.scripts["coordinator"] = asks(ASKED)
    run = await runs.start(QUESTION, max_clarification_rounds=3)
    await asked(run, ASKED)
    await run.handle.cancel()
    assert await run.closed() == WorkflowExecutionStatus.CANCELED
    status = await run.status()
    assert (status.phase, status.reason) == (Phase.CANCELLED, "cancelled by a person")
    assert await run.record() == status
    with pytest.raises(RPCError):
        await run.handle.execute_update("answer", "too late")
    assert scripted.log.count("planner") == 0


async def test_a_chinese_question_is_asked_about_in_chinese(runs: Runs, scripted: ScriptedServices) -> None:
    """The coordinator has the Chinese rules, and the run works on a Chinese question with its Chinese answer."""
    question, words, answer = "哪款手机最好？", "给谁用？", "给七十岁的老人用"

    def script(call: Call) -> Answer:
        if call.nth == 1:
            return call_tool("ask_clarification", question=words, options=["老人", "摄影师"])
        return call_tool("handoff_to_planner", research_topic="另一个说法", locale="zh-CN")

    scripted.scripts["coordinator"] = script
    run = await runs.start(question, max_clarification_rounds=3, auto_accept=True)
    assert (await asked(run, words)).reason == f"{words}\n- 老人\n- 摄影师"
    await run.update("answer", answer)
    status = await run.end()
    assert (status.phase, status.locale) == (Phase.COMPLETED, "zh-CN")
    assert "反问" in scripted.log.calls("coordinator")[0].text
    text = asked_text(scripted.log.calls("planner")[0])
    assert question in text
    assert answer in text
    assert "另一个说法" not in text


async def test_temporal_s_ui_shows_the_question_and_how_to_answer(runs: Runs, scripted: ScriptedServices) -> None:
    """The picture has question and options, free of what Markdown would act on, and names the signal."""
    scripted.scripts["coordinator"] = asks("Which *one* of <b>these</b>?", options=["the `first`", "the second"])
    run = await runs.start(QUESTION, max_clarification_rounds=1)
    await asked(run, "Which *one*")
    details = await current_details(run)
    for shown in (
        "clarifying",
        r"Which \\*one\\* of \\<b\\>these",
        r"the \\`first\\`",
        "the second",
        "signal `answer`",
    ):
        assert shown in details, details


async def test_small_talk_after_an_answer_ends_the_run(runs: Runs, scripted: ScriptedServices) -> None:
    """A coordinator that answers directly, once it knows what is meant, needs no research."""
    scripted.scripts["coordinator"] = [
        call_tool("ask_clarification", question=ASKED, options=[]),
        call_tool("direct_response", message="Then ask me another time.", locale="en-US"),
    ]
    run = await runs.start(QUESTION, max_clarification_rounds=1)
    await asked(run, ASKED)
    await run.update("answer", "never mind")
    status = await run.end()
    assert (status.phase, status.answer) == (Phase.ANSWERED, "Then ask me another time.")


async def test_a_question_outlives_its_worker(
    server: WorkflowEnvironment,
    services: ScriptedServices,
    scripted: ScriptedServices,
    pages: PageReader,
    tmp_path: Path,
) -> None:
    """Waiting costs no worker: one that comes later, and replays the run, takes the answer and asks nothing twice."""
    scripted.scripts["coordinator"] = asks(ASKED)
    async with research_worker(server.client, services, pages, tmp_path) as runs:
        run = await runs.start(QUESTION, max_clarification_rounds=3, auto_accept=True)
        await asked(run, ASKED)
    async with research_worker(server.client, services, pages, tmp_path, forgetful=True, task_queue=runs.task_queue):
        await run.update("answer", "for my grandmother")
        status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert scripted.log.count("coordinator") == 2
