"""Claims and their quotes, through whole runs: what is sent back, what is kept, what the report may say."""

from collections.abc import Callable

from deer.models import Check, Phase, StepStatus
from tests.running import Runs
from tests.scripted import Call, Json, ScriptedServices, Text, analysis_step, call_tool, plan_of, research_step
from tests.scripted.replies import Answer
from tests.scripted.roles import SHOWN_SOURCE, researcher, tool_text

TRUE_QUOTE = "the measured value of subject-a1"


def submitted(call: Call, *quotes: str, summary: str = "Looked up.") -> Answer:
    """A finding with one claim for each quote, all on the first source that the call shows."""
    source_id = SHOWN_SOURCE.findall(tool_text(call))[0]
    claims: list[Json] = [{"text": "There is a measured value.", "source_id": source_id, "quote": q} for q in quotes]
    return call_tool("submit_finding", summary=summary, claims=claims)


def hands_in(*findings: tuple[str, ...]) -> Callable[[Call], Answer]:
    """A researcher that searches and reads, then hands in these quotes, one finding after the other."""

    def script(call: Call) -> Answer:
        if call.rounds < 2:
            return researcher(call)
        at = min(call.rounds - 2, len(findings) - 1)
        return submitted(call, *findings[at], summary=f"Finding {at + 1}.")

    return script


async def test_a_failing_quote_is_sent_back_once_with_the_true_wording(runs: Runs, scripted: ScriptedServices) -> None:
    """The writer of a quote that its source does not hold reads what stands there, and its second quote counts."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    scripted.scripts["researcher"] = hands_in(("the measure value of the subject-a1",), (TRUE_QUOTE,))
    status = await runs.complete()
    assert status.report
    assert [claim.check for claim in status.report.claims] == [Check.VERIFIED]
    assert scripted.log.count("researcher") == 4
    told = scripted.log.calls("researcher")[-1].text
    assert "does not stand in" in told
    assert TRUE_QUOTE in told.rpartition("the nearest words there are")[2]


async def test_what_fails_twice_stays_unverified_and_no_finding_is_lost(runs: Runs, scripted: ScriptedServices) -> None:
    """A finding is sent back once; of two the one with more verified claims stands, and nothing at all loses none."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    scripted.scripts["researcher"] = hands_in((TRUE_QUOTE, "invented words of nobody"), ("other invented words",))
    status = await runs.complete()
    assert status.phase is Phase.COMPLETED
    assert status.report
    assert [claim.check for claim in status.report.claims] == [Check.VERIFIED, Check.UNVERIFIED]
    assert scripted.log.count("researcher") == 4

    scripted.reset()
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    submits = hands_in(("invented words",))
    scripted.scripts["researcher"] = lambda call: Text(None) if call.rounds > 2 else submits(call)
    status = await runs.complete()
    assert status.plan
    assert status.plan.steps[0].status is StepStatus.DONE
    assert status.plan.steps[0].finding == "Finding 1."


async def test_a_finding_outlives_what_is_handed_in_after_it(runs: Runs, scripted: ScriptedServices) -> None:
    """When a finding goes back and only faults follow, it stands as it was handed in first."""

    def script(call: Call) -> Answer:
        if call.rounds <= 2:
            return hands_in(("invented words",))(call)
        return call_tool("submit_finding", summary="Faulty.", claims=[{"text": ""}]) if call.tools else Text(None)

    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    scripted.scripts["researcher"] = script
    status = await runs.complete()
    assert status.plan
    assert (status.plan.steps[0].status, status.plan.steps[0].finding) == (StepStatus.DONE, "Finding 1.")
    assert status.phase is Phase.COMPLETED


async def test_figures_and_names_of_a_claim_must_be_in_its_quote(runs: Runs, scripted: ScriptedServices) -> None:
    """A true quote does not bear a claim with a figure that it does not have."""

    def script(call: Call) -> Answer:
        if call.rounds < 2:
            return researcher(call)
        source_id = SHOWN_SOURCE.findall(tool_text(call))[0]
        claim = {"text": "The measured value is 97 percent.", "source_id": source_id, "quote": TRUE_QUOTE}
        return call_tool("submit_finding", summary="Finding.", claims=[claim])

    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), analysis_step())
    scripted.scripts["researcher"] = script
    status = await runs.complete()
    assert status.report
    assert [claim.check for claim in status.report.claims] == [Check.UNVERIFIED]
    assert "does not have: 97" in scripted.log.calls("researcher")[-1].text
