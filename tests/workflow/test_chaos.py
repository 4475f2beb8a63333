"""Runs on services that fail at random; `make chaos` has more of them."""

import asyncio

from deer.models import Phase
from tests.running import Runs
from tests.scripted import ScriptedServices, plan_of, research_step
from tests.scripted.chaos import Chaos


async def test_runs_end_with_a_report_though_every_fifth_call_fails(runs: Runs, scripted: ScriptedServices) -> None:
    """Three runs with rate limits, server errors and stalls at random end completed, or with gaps that they name."""
    scripted.setup.failure = chaos = Chaos(seed=3, share=0.2, stall_s=0.5)
    scripted.scripts["planner"] = plan_of(research_step("subject-a"), research_step("subject-b"))
    started = [await runs.start(f"What is value {number}?", auto_accept=True) for number in range(3)]
    ends = await asyncio.gather(*(run.end(within_s=60) for run in started))
    assert {status.phase for status in ends} <= {Phase.COMPLETED, Phase.COMPLETED_WITH_GAPS}
    assert all(status.report is not None for status in ends)
    assert chaos.dealt.total() >= 5
