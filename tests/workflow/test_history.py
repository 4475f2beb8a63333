"""What a run writes into Temporal's history stays small, whatever its pages and findings weigh."""

from deer.models import Phase
from tests.eventually import eventually
from tests.running import Run, Runs, children_in
from tests.scripted import Call, Json, ScriptedServices, analysis_step, call_tool, plan_of, research_step
from tests.scripted.roles import finding

KILOBYTE = 1_000


async def weight(run: Run, workflow_id: str) -> tuple[int, int]:
    """Events and bytes of a workflow's history, as the server counts them."""
    described = await run.client.get_workflow_handle(workflow_id).describe()
    info = described.raw_description.workflow_execution_info
    return info.history_length, info.history_size_bytes


async def test_forty_turns_with_long_results_stay_small(runs: Runs, scripted: ScriptedServices) -> None:
    """A step of 40 searches with results of 1, 7 or 10 KB stays under 1 MB and 1,000 events."""

    def results(query: str) -> list[Json]:
        size = (1, 7, 10)[len(query) % 3] * KILOBYTE
        return [{"title": "P", "url": f"{scripted.url}/page/{hash(query) % 10**9}", "content": "word " * (size // 5)}]

    def searches(call: Call) -> object:
        return call_tool("web_search", query=f"{'x' * call.nth} {call.nth}") if call.tools else "In short: done."

    scripted.setup.results = results
    scripted.scripts["researcher"] = searches  # type: ignore[assignment]  # the union of replies
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    run = await runs.start("What is the value?", auto_accept=True, max_turns=40)
    assert (await run.end(within_s=60)).phase is Phase.COMPLETED
    assert scripted.log.count("search") == 41
    (child,) = children_in(await run.events())
    events, size = await weight(run, child)
    assert events < 1_000
    assert size < 1_000_000


async def test_thirty_steps_keep_their_parent_small(runs: Runs, scripted: ScriptedServices) -> None:
    """A run of 29 searches with long Chinese results and an analysis of all stays under 1 MB and 3,000 events."""

    def results(query: str) -> list[Json]:
        address = f"{scripted.url}/page/{hash(query) % 10**9}"
        return [{"title": "结果", "url": f"{address}-{place}", "content": "测量值。" * 125} for place in range(5)]

    scripted.setup.results = results
    steps = [research_step(f"subject-n{number}") for number in range(29)]
    scripted.scripts["planner"] = plan_of(*steps, analysis_step())
    scripted.scripts["researcher"] = lambda call: (
        finding(call) if call.rounds else call_tool("web_search", query=f"facts {call.messages[1]['content'][-200:]}")
    )
    run = await runs.start("What is the value?", auto_accept=True, max_steps=30, max_parallel_steps=8)
    status = await run.end(within_s=60)
    assert status.phase is Phase.COMPLETED
    events, size = await weight(run, run.id)
    assert events < 3_000
    assert size < 1_000_000


async def test_long_texts_travel_by_reference(runs: Runs, scripted: ScriptedServices) -> None:
    """A report of 300 KB and a finding of 50 KB are whole in the record and mere previews in history and queries."""
    long_report = "# Report\n\n" + "A sentence of the report. " * 12_000
    scripted.scripts["reporter"] = long_report
    scripted.scripts["analyst"] = call_tool("submit_finding", summary="A long finding. " * 3_200, claims=[])
    run = await runs.start("What is the value?", auto_accept=True)
    status = await run.end()
    record = await run.record()
    assert record
    assert record.report
    assert record.plan
    assert len(record.report.markdown) >= 300_000
    assert len(record.plan.steps[1].finding or "") > 50_000
    assert len(status.model_dump_json()) < 20_000
    _, size = await weight(run, run.id)
    assert size < 200_000


async def histories_of(run: Run) -> int:
    """How many histories a run has gone through, the open one included."""
    query = f"WorkflowId = '{run.id}'"
    return len([execution async for execution in run.client.list_workflows(query)])


async def test_a_long_history_goes_on_in_a_new_one(runs: Runs, scripted: ScriptedServices) -> None:
    """Case T05: edits, messages and a second round go beyond the limit; nobody sees where one history ends."""
    scripted.scripts["judge"] = call_tool("revise_plan", steps=[research_step("subject-r2")], reason="more")
    run = await runs.start("What is the value?", max_rounds=2, continue_after_events=60)
    for revision in (1, 2, 3):
        await run.reach_revision(revision)
        for _ in range(4):
            await run.signal("approve", {"revision": 99})
        step = {"title": f"Look at subject-e{revision}", "step_type": "research", "need_search": True}
        await run.update("review", {"decision": "edit", "plan": {"title": "Edited", "steps": [step]}})
    plan = await run.reach_revision(4)
    assert [(step.id, step.title) for step in plan.steps] == [("s5", "Look at subject-e3")]
    await run.update("review", {"revision": 4, "decision": "approve"})
    await run.reach_revision(5)
    await run.update("review", {"revision": 5, "decision": "approve"})
    status = await run.end()
    assert status.phase is Phase.COMPLETED
    assert status.plan
    assert [step.id for step in status.plan.steps] == ["s5", "s6"]
    assert all(step.finding for step in status.plan.steps)
    assert status.report
    assert [source.number for source in status.sources if source.cited]
    assert any("revision 99 is not the waiting one" in notice for notice in status.notices)
    assert status.handoffs[0].sender == "coordinator"
    assert scripted.log.count("planner") == 1
    await eventually_several(run)


async def eventually_several(run: Run) -> None:
    """Wait until Temporal's list, which lags behind, has more than one history of the run."""

    async def look() -> bool:
        return await histories_of(run) > 1

    await eventually(look, "a second history")


async def test_a_step_sums_up_before_its_history_is_full(runs: Runs, scripted: ScriptedServices) -> None:
    """A step cannot go on in another history: it makes its closing call, and the reader is told why."""
    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    scripted.scripts["researcher"] = lambda call: (
        call_tool("web_search", query=f"number {call.nth}") if call.tools else "In short: little was found."
    )
    status = await runs.complete("What is the value?", max_turns=40, continue_after_events=50)
    assert status.phase is Phase.COMPLETED
    assert scripted.log.count("researcher") < 12
    assert any("filled its history" in notice for notice in status.notices)
