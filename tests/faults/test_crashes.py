"""Two kill points of `make faults`, which takes them all."""

from pathlib import Path

import pytest

from tests.faults.crash_points import CrashPoint, Moment
from tests.faults.crashes import crash_lanes

pytestmark = [pytest.mark.process, pytest.mark.timeout(200)]

SAMPLE = (CrashPoint("write_plan 1", Moment.RECORDED), CrashPoint("s2 take_turn 2", Moment.ANSWERED))


async def test_a_run_whose_worker_was_killed_ends_as_if_it_had_not(temporal: str, tmp_path: Path) -> None:
    """Killed as a plan is recorded and as an answer is handed over: same report, no recorded call made again."""
    async with crash_lanes(tmp_path, 1) as (lane,):
        points = await lane.run_undisturbed()
        assert {str(point) for point in SAMPLE} < {str(point) for point in points}
        assert len({point.boundary for point in points}) == 26
        crashes = [await lane.crash_at(point) for point in SAMPLE]
    assert [crash.breaches for crash in crashes] == [(), ()]
    assert all(crash.repeats <= crash.in_flight for crash in crashes)
