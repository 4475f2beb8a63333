"""Twenty runs at once on one worker, against one run alone: how long they take, and that none sees another's words.

Each run has a token of its own in its question, in what its searches find and in its findings. Prints one JSON object;
exits 1 when a token of one run appears in a request, the report or the record of another, or a run does not complete.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.deployment import deployment
from tests.running import Runs
from tests.scripted import ScriptedServices
from tests.scripted.tokens import leaks_between, question_with_token, say_tokens

RUNS, STEPS = 20, 2
MODEL_S, SEARCH_S, PAGE_S = 0.5, 0.2, 0.1
ENDED_WITHIN_S = 300.0


async def run_side_by_side(count: int) -> dict[str, Any]:  # the figures, as they are printed
    """Let one run end alone, then so many at once."""
    with tempfile.TemporaryDirectory() as directory, ScriptedServices() as services:
        say_tokens(services, STEPS)
        setup = services.setup
        setup.model_latency_s, setup.search_latency_s, setup.page_latency_s = MODEL_S, SEARCH_S, PAGE_S
        async with deployment(Path(directory), services) as (runs, _):
            alone_s, _ = await _timed(runs, [0])
            together_s, records = await _timed(runs, range(1, count + 1))
        leaks = leaks_between(services, records)
    return {
        "runs": count,
        "one_alone_s": round(alone_s, 2),
        "all_at_once_s": round(together_s, 2),
        "ratio": round(together_s / alone_s, 2),
        "one_after_the_other_would_be": count,
        "calls": len(services.log),
        "ends": sorted({str(json.loads(record)["phase"]) for record in records.values()}),
        "leaks": leaks,
    }


async def _timed(runs: Runs, numbers: Sequence[int]) -> tuple[float, dict[int, str]]:
    """Seconds until all have ended, and the record of each."""
    began = time.monotonic()
    started = {number: await runs.start(question_with_token(number), auto_accept=True) for number in numbers}
    await asyncio.gather(*(run.end(ENDED_WITHIN_S) for run in started.values()))
    seconds = time.monotonic() - began
    records = {number: await run.record() for number, run in started.items()}
    return seconds, {number: record.model_dump_json() for number, record in records.items() if record is not None}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; the exit code says whether every run completed by itself."""
    parser = argparse.ArgumentParser(description="measure runs side by side on one worker")
    parser.add_argument("--runs", type=int, default=RUNS)
    figures = asyncio.run(run_side_by_side(parser.parse_args(arguments).runs))
    print(json.dumps(figures, indent=2))
    return 0 if figures["ends"] == ["completed"] and not figures["leaks"] else 1


if __name__ == "__main__":
    sys.exit(main())
