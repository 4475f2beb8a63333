"""Many runs that wait for approval on the embedded server: what they cost the worker, and how soon one is answered.

Prints one JSON object; exits 1 when the worker grew by more than the bound, a review was answered later than the bound,
or a run did not come to wait.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.deployment import deployment
from deer.models import Phase
from tests.eventually import eventually
from tests.running import Run, Runs
from tests.scripted import ScriptedServices

RUNS, AT_ONCE, WARM_UP, REVIEWED = 1_000, 100, 20, 20
GROWTH_BOUND_MB, ANSWER_BOUND_S = 300, 1.0
WAITS_WITHIN_S = 120.0


async def let_wait(count: int) -> dict[str, Any]:  # the figures, as they are printed
    """Let so many runs come to wait for approval, then approve some from the oldest to the newest."""
    with tempfile.TemporaryDirectory() as directory, ScriptedServices() as services:
        async with deployment(Path(directory), services) as (runs, worker):
            await _waiting(runs, WARM_UP)
            before_mb = memory_mb(worker.pid)
            began = time.monotonic()
            waiting = await _waiting(runs, count)
            seconds = time.monotonic() - began
            growth_mb = memory_mb(worker.pid) - before_mb
            answers_s = [await _approve(run) for run in waiting[:: max(1, count // REVIEWED)]]
            after_mb = memory_mb(worker.pid)
    return {
        "waiting_runs": count,
        "worker_before_mb": round(before_mb),
        "worker_growth_mb": round(growth_mb),
        "worker_growth_bound_mb": GROWTH_BOUND_MB,
        "worker_growth_after_reviews_mb": round(after_mb - before_mb),
        "reviews": len(answers_s),
        "slowest_answer_s": round(max(answers_s), 3),
        "median_answer_s": round(sorted(answers_s)[len(answers_s) // 2], 3),
        "answer_bound_s": ANSWER_BOUND_S,
        "seconds_until_all_wait": round(seconds, 1),
    }


async def _waiting(runs: Runs, count: int) -> list[Run]:
    """Start so many runs, a hundred at a time, and wait until all wait for approval."""
    started: list[Run] = []
    before = await _count_waiting(runs)
    while len(started) < count:
        room = min(AT_ONCE, count - len(started))
        started += await asyncio.gather(*(runs.start(f"What is value {number}?") for number in range(room)))
        await _until_waiting(runs, before + len(started))
    return started


async def _until_waiting(runs: Runs, count: int) -> None:
    async def all_wait() -> bool:
        return await _count_waiting(runs) == count

    await eventually(all_wait, f"{count} runs that wait for approval", WAITS_WITHIN_S)


async def _count_waiting(runs: Runs) -> int:
    counted = await runs.client.count_workflows(f"ResearchPhase = '{Phase.AWAITING_REVIEW}'")
    return counted.count


async def _approve(run: Run) -> float:
    """Approve a plan and let the run end, so that the next one is measured alone; seconds until the answer."""
    began = time.monotonic()
    await run.update("review", {"revision": 1, "decision": "approve"})
    answered_s = time.monotonic() - began
    await run.end(WAITS_WITHIN_S)
    return answered_s


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(shown.stdout) / 1_024


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; the exit code says whether they hold."""
    parser = argparse.ArgumentParser(description="measure runs that wait for approval")
    parser.add_argument("--runs", type=int, default=RUNS)
    figures = asyncio.run(let_wait(parser.parse_args(arguments).runs))
    print(json.dumps(figures, indent=2))
    holds = figures["worker_growth_mb"] <= GROWTH_BOUND_MB and figures["slowest_answer_s"] <= ANSWER_BOUND_S
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
