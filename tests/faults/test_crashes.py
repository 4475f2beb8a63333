"""One kill point of `make faults`, which takes them all."""

from pathlib import Path

import pytest

from tests.faults.crash_points import CrashPoint, Moment
from tests.faults.crashes import crash_lanes

pytestmark = [pytest.mark.process, pytest.mark.timeout(200)]

SAMPLE = CrashPoint("s2 take_turn 2", Moment.ANSWERED)


async def test_a_run_whose_worker_was_killed_ends_as_if_it_had_not(temporal: str, tmp_path: Path) -> None:
    """Killed as an answer is handed over: same report, no recorded call again, no call in flight more than twice."""
    async with crash_lanes(tmp_path, 1) as (lane,):
        points = await lane.run_undisturbed()
        assert SAMPLE in points
        assert len({point.boundary for point in points}) == 27
        crash = await lane.crash_at(SAMPLE)
    assert crash.breaches == ()
    assert 1 <= crash.in_flight <= 4
    assert crash.repeats <= crash.in_flight
