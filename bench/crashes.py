"""Kills a worker at every boundary of every activity of a run, and compares with a run that was left alone.

The run has four research steps side by side and an analysis. Each kill is `kill -9` of a real worker process, at one
of up to three moments: a service has the call, its answer was handed over, Temporal has the result. Prints one JSON
object; exits 1 when a recorded call was made again, a call in flight was repeated more than once, or a report differs.
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

from tests.faults.crash_points import CrashPoint
from tests.faults.crashes import Crash, Lane, crash_lanes

LANES = 8
"""Runs that are killed side by side: most of a kill's time goes by waiting for a heartbeat that does not come."""


async def crash_everywhere(lanes: int, every: int) -> dict[str, Any]:  # the figures, as they are printed
    """Kill at each `every`-th point of the run, on so many lanes side by side."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        async with crash_lanes(Path(directory), lanes) as opened:
            points = (await asyncio.gather(*(lane.run_undisturbed() for lane in opened)))[0][::every]
            waiting = list(reversed(points))
            crashes = [
                crash for done in await asyncio.gather(*(_work(lane, waiting) for lane in opened)) for crash in done
            ]
    return {**_figures(crashes), "seconds": round(time.monotonic() - began, 1)}


async def _work(lane: Lane, waiting: list[CrashPoint]) -> list[Crash]:
    crashes = []
    while waiting:
        crash = await lane.crash_at(waiting.pop())
        sys.stderr.write(f"{crash.point}: {'; '.join(crash.breaches) or 'well'}\n")
        crashes.append(crash)
    return crashes


def _figures(crashes: Sequence[Crash]) -> dict[str, Any]:
    return {
        "kill_points": len(crashes),
        "moments": dict(Counter(str(crash.point.moment) for crash in crashes)),
        "calls_in_flight": sum(crash.in_flight for crash in crashes),
        "repeats": sum(crash.repeats for crash in crashes),
        "breaches": {str(crash.point): crash.breaches for crash in crashes if crash.breaches},
    }


def main() -> int:
    """Print the figures; the exit code says whether all went well."""
    parser = argparse.ArgumentParser(description="kill a worker at every boundary of every activity of a run")
    parser.add_argument("--lanes", type=int, default=LANES, help="runs that are killed side by side")
    parser.add_argument("--every", type=int, default=1, help="take each n-th kill point only")
    asked = parser.parse_args()
    figures = asyncio.run(crash_everywhere(asked.lanes, asked.every))
    print(json.dumps(figures, indent=2))
    return 1 if figures["breaches"] or not figures["kill_points"] else 0


if __name__ == "__main__":
    sys.exit(main())
