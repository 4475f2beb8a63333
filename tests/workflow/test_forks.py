"""Runs that begin with what another run had: forks from a step, and questions after a report."""

from datetime import UTC, datetime

import pytest

from deer import flow
from deer.errors import Refused
from deer.models import Phase, RunStatus, StepStatus
from tests.running import Run, Runs
from tests.scripted import ScriptedServices, analysis_step, plan_of, research_step


async def finished(runs: Runs, scripted: ScriptedServices) -> tuple[Run, RunStatus]:
    """A run of two research steps and an analysis that has come to its report."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"), research_step("subject-b2"), analysis_step())
    run = await runs.start("What is the value?", auto_accept=True)
    return run, await run.end()


async def test_a_fork_pays_for_nothing_it_keeps(runs: Runs, scripted: ScriptedServices) -> None:
    """A fork from s2 keeps s1 with its finding and sources, waits for review, and does s2 and s3 once more."""
    run, before = await finished(runs, scripted)
    scripted.log.clear()
    fork_id = f"{run.id}-fork"
    request = (await run.state()).request.model_copy(update={"auto_accept": False})
    fork = await runs.go_on(flow.forked(await run.state(), "s2", fork_id, request, datetime.now(UTC)))
    waiting = await fork.reach(Phase.AWAITING_REVIEW)
    assert waiting.plan
    assert before.plan
    assert waiting.plan.steps[0] == before.plan.steps[0]
    assert [step.status for step in waiting.plan.steps[1:]] == [StepStatus.PENDING] * 2
    assert waiting.usage.model_calls == 0
    await fork.signal("approve")
    status = await fork.end()
    assert status.phase is Phase.COMPLETED
    assert {call.role for call in scripted.log.calls("model")} == {"researcher", "analyst", "reporter"}
    assert all("subject-a1" not in call.text for call in scripted.log.calls("researcher"))
    assert "was looked up" in scripted.log.text("analyst")
    assert status.handoffs[0].sender == f"run {run.id}"
    assert any(run.id in notice for notice in status.notices)
    ids = [source.id for source in status.sources]
    assert len(ids) == len(set(ids))
    assert status.report
    assert {claim.check.value for claim in status.report.claims} == {"verified"}


async def test_a_fork_needs_a_step_of_the_plan(runs: Runs, scripted: ScriptedServices) -> None:
    """A step that the run has not is refused with those it has."""
    run, _ = await finished(runs, scripted)
    state = await run.state()
    with pytest.raises(Refused, match="the steps are: s1, s2, s3"):
        flow.forked(state, "s9", "fork", state.request, datetime.now(UTC))


async def test_a_question_after_a_report_has_it_as_context_only(runs: Runs, scripted: ScriptedServices) -> None:
    """Case M03: a new plan and a new approval; the report before is told, and its sources can be cited."""
    run, before = await finished(runs, scripted)
    assert before.report
    scripted.log.clear()
    scripted.scripts["planner"] = plan_of(research_step("subject-z9"))
    after = await runs.start("And what of subject-z9?", after=run.id)
    waiting = await after.reach(Phase.AWAITING_REVIEW)
    assert waiting.plan
    assert [step.title for step in waiting.plan.steps] == ["Look at subject-z9"]
    cited = [source.url for source in sorted(before.sources, key=lambda source: source.number or 0) if source.cited]
    assert [source.url for source in waiting.sources][: len(cited)] == cited
    for role in ("coordinator", "planner"):
        assert "<earlier_report" in scripted.log.text(role)
        assert "[b-1]" in scripted.log.text(role)
    await after.signal("approve")
    status = await after.end()
    assert status.phase is Phase.COMPLETED
    assert "<earlier_report" in scripted.log.text("reporter")
    assert "<earlier_report" not in scripted.log.text("researcher")
    assert "Compare" not in [step.title for step in (status.plan.steps if status.plan else ())]


async def test_a_question_after_a_run_that_nobody_knows_fails_with_the_reason(
    runs: Runs, scripted: ScriptedServices
) -> None:
    """Where a program asks after a run without a report, the run ends at once and says so; nothing is paid for."""
    status = await runs.complete("And then?", after="r-nobody")
    assert status.phase is Phase.FAILED
    assert "there is no record of run r-nobody" in (status.reason or "")
    assert len(scripted.log) == 0
