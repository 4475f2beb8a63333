"""What a run spent: of each role, of the run, and in the report."""

from pathlib import Path

from temporalio.testing import WorkflowEnvironment

from deer.models import Counts, Phase, Role, RunStatus
from deer.ports import PageReader
from tests.running import Runs, research_worker
from tests.scripted import (
    REFUSED_KEY,
    Failure,
    ScriptedServices,
    analysis_step,
    call_tool,
    plan_of,
    research_step,
)

CALL_TOKENS = (100, 20)
"""What the scripted endpoint counts for every call."""


def assert_adds_up(status: RunStatus, scripted: ScriptedServices) -> None:
    """Every role spent what the endpoint answered it, and the run what its roles spent."""
    roles = status.usage.roles
    assert {role.value: spent.model_calls for role, spent in roles.items()} == {
        role.value: len(scripted.log.answered(role)) for role in Role if scripted.log.answered(role)
    }
    for spent in roles.values():
        assert (spent.input_tokens, spent.output_tokens) == tuple(n * spent.model_calls for n in CALL_TOKENS)
        assert spent.models == ("scripted",)
    for name in ("model_calls", "input_tokens", "output_tokens", "cost_usd", "pages"):
        assert abs(sum(getattr(spent, name) for spent in roles.values()) - getattr(status.usage, name)) < 1e-9, name


async def test_each_role_is_told_what_it_spent(runs: Runs, scripted: ScriptedServices) -> None:
    """Calls, tokens, searches and pages are counted by role, also those of a plan that was asked for again."""
    scripted.scripts["planner"] = ["no plan", plan_of(research_step("subject-a1"), analysis_step())]
    scripted.scripts["judge"] = call_tool("respond", reason="enough")
    status = await runs.complete("What is the value?", max_rounds=2)
    assert status.phase is Phase.COMPLETED
    assert_adds_up(status, scripted)
    roles = status.usage.roles
    assert roles[Role.PLANNER].model_calls == 2
    assert roles[Role.JUDGE].model_calls == 1
    assert (roles[Role.RESEARCHER].searches, roles[Role.RESEARCHER].pages) == (1, 1)
    assert status.usage.searches == 2  # with the background search, which is nobody's
    assert set(status.usage.model_dump()) == {*Counts.model_fields, "roles"}


async def test_the_report_says_what_it_took(runs: Runs, scripted: ScriptedServices) -> None:
    """After the references stand the models with their roles, tokens and calls, and that no price is set."""
    status = await runs.complete("What is the value?")
    assert status.report
    references, appendix = status.report.markdown.split("\n## Appendix: models and cost\n")
    assert "## References" in references
    calls = scripted.log.count("model")
    assert appendix.strip().splitlines() == [
        "- Models: `scripted` (coordinator, planner, researcher, analyst, reporter)",
        f"- Tokens: {calls * 100:,} read and {calls * 20:,} written in {calls} calls",
        "- Cost: no price is set",
    ]


async def test_a_chinese_report_says_it_in_chinese(runs: Runs, scripted: ScriptedServices) -> None:
    """Heading, roles, tokens and cost are in the language of the report."""
    status = await runs.complete("热泵在寒冷地区效果如何？", locale="zh-CN")
    assert status.report
    _, appendix = status.report.markdown.split("\n## 附录：模型与费用\n")
    assert "- 模型：`scripted`（协调员、规划员、研究员、分析员、报告撰写员）" in appendix
    assert "- 费用：未设定价格" in appendix


async def test_prices_become_a_cost(
    server: WorkflowEnvironment,
    services: ScriptedServices,
    scripted: ScriptedServices,
    pages: PageReader,
    tmp_path: Path,
) -> None:
    """With prices every role has its cost in USD, the run their sum, and the report says it."""
    async with research_worker(
        server.client, services, pages, tmp_path, BASIC_MODEL__INPUT_PRICE="2.5", BASIC_MODEL__OUTPUT_PRICE="10"
    ) as runs:
        status = await runs.complete("What is the value?")
    assert status.report
    assert_adds_up(status, scripted)
    cost = scripted.log.count("model") * (100 * 2.5 + 20 * 10.0) / 1e6
    assert abs(status.usage.cost_usd - cost) < 1e-9
    assert f"- Cost: {cost:.4f} USD\n" in status.report.markdown
    assert all(spent.unpriced_calls == 0 for spent in status.usage.roles.values())


async def test_failures_cost_nothing_and_what_was_paid_stays(runs: Runs, scripted: ScriptedServices) -> None:
    """Calls that were refused are not counted; what a step spent before it failed and a question back cost are."""
    scripted.scripts["coordinator"] = [
        call_tool("ask_clarification", question="Which one?", options=[]),
        call_tool("handoff_to_planner", research_topic="t", locale="en-US"),
    ]
    scripted.fail("researcher", Failure(400, {"error": {"message": "scripted refusal"}}), first=2, times=99)
    scripted.fail("reporter", REFUSED_KEY)
    run = await runs.start("What is the value?", auto_accept=True, max_clarification_rounds=1)
    await run.reach(Phase.CLARIFYING)
    assert (await run.status()).usage.roles[Role.COORDINATOR].model_calls == 1
    await run.update("answer", "the first")
    await run.reach(Phase.NEEDS_ATTENTION)
    await run.update("control", {"action": "retry"})
    status = await run.end()
    assert status.phase is Phase.COMPLETED_WITH_GAPS
    assert_adds_up(status, scripted)
    assert status.usage.roles[Role.COORDINATOR].model_calls == 2
    assert await run.record() == status


async def test_what_the_endpoint_does_not_count_is_marked(runs: Runs, scripted: ScriptedServices) -> None:
    """Tokens that were estimated are in the sums of role and run, and the report says of how many calls they are."""
    message = {"role": "assistant", "content": "# Report\n\nThe values were measured.\n"}
    uncounted = {"model": "quiet", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    scripted.scripts["reporter"] = Failure(200, uncounted)
    status = await runs.complete("What is the value?")
    reporter = status.usage.roles[Role.REPORTER]
    assert (reporter.model_calls, reporter.estimated_calls, reporter.models) == (1, 1, ("quiet",))
    assert reporter.input_tokens > 100 > reporter.output_tokens > 0
    assert status.usage.roles[Role.PLANNER].estimated_calls == 0
    assert status.report
    assert "calls (estimated in 1 of them)\n" in status.report.markdown
    assert "`quiet` (reporter)" in status.report.markdown
