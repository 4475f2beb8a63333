"""Runs on services of which every fifth call fails: each has to end with a report.

Calls to model, search and pages fail at random, by a seed: rate limits, server errors, and stalls beyond the patience
of the client. Prints one JSON object; exits 1 when a run ends as anything but `completed` or `completed_with_gaps`, or
does not end.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.deployment import deployment
from deer.models import Phase, RunStatus
from tests.running import Runs
from tests.scripted import ScriptedServices, analysis_step, plan_of, research_step
from tests.scripted.chaos import Chaos

RUNS, AT_ONCE, SEED, SHARE = 30, 10, 1, 0.2
STALL_S = 2.0
ENDED_WITHIN_S = 300.0
GOOD_ENDS = (Phase.COMPLETED, Phase.COMPLETED_WITH_GAPS)


async def run_in_chaos(runs: int, seed: int) -> dict[str, Any]:  # the figures, as they are printed
    """Let so many runs end, some of them side by side, on services that fail as the seed says."""
    chaos = Chaos(seed, SHARE, STALL_S)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory, ScriptedServices() as services:
        services.setup.failure = chaos
        services.scripts["planner"] = plan_of(research_step("subject-a"), research_step("subject-b"), analysis_step())
        async with deployment(Path(directory), services, DEER_MODEL_STALL_SECONDS="1") as (started, _):
            turns = asyncio.Semaphore(AT_ONCE)
            ends = await asyncio.gather(*(_end_of(started, turns, number) for number in range(runs)))
        calls, complaints = len(services.log), services.complaints
    return {
        "runs": runs,
        "seed": seed,
        "ends": dict(Counter(_word(end) for end in ends)),
        "calls": calls,
        "failed_calls": dict(chaos.dealt),
        "share_failed": round(chaos.dealt.total() / calls, 3),
        "breaches": [
            *(f"run {number}: {_why(end)}" for number, end in enumerate(ends) if not _is_good(end)),
            *complaints,
        ],
        "seconds": round(time.monotonic() - began, 1),
    }


async def _end_of(runs: Runs, turns: asyncio.Semaphore, number: int) -> RunStatus | AssertionError:
    async with turns:
        run = await runs.start(f"What is value {number}?", auto_accept=True)
        try:
            return await run.end(ENDED_WITHIN_S)
        except AssertionError as error:
            return error


def _is_good(end: RunStatus | AssertionError) -> bool:
    return isinstance(end, RunStatus) and end.phase in GOOD_ENDS


def _word(end: RunStatus | AssertionError) -> str:
    return str(end.phase) if isinstance(end, RunStatus) else "did not end"


def _why(end: RunStatus | AssertionError) -> str:
    return f"{end.phase}: {end.reason}" if isinstance(end, RunStatus) else str(end)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; the exit code says whether every run ended well."""
    parser = argparse.ArgumentParser(description="run on services of which every fifth call fails")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args(arguments)
    figures = asyncio.run(run_in_chaos(asked.runs, asked.seed))
    print(json.dumps(figures, indent=2))
    return 1 if figures["breaches"] else 0


if __name__ == "__main__":
    sys.exit(main())
