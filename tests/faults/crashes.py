"""Crash injection: a run whose worker is killed at one boundary, against the same run left alone."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client

from deer.models import Phase
from deer.providers.files import FileStore
from deer.temporal import RESEARCH_QUEUE
from tests.eventually import eventually
from tests.faults.crash_points import (
    FOUR_STEPS_AND_A_COMPARISON,
    CrashPoint,
    Moment,
    boundary_of,
    recorded_boundaries,
    until_recorded,
)
from tests.faults.file_server import file_server
from tests.faults.preloaded import PreloadedProduct
from tests.faults.worker_process import WorkerProcess
from tests.running import Run, Runs
from tests.scripted import Call, Gate, ScriptedServices

LATENCY_S = 0.03
"""Of each call: enough for steps side by side to be in different calls when the worker dies."""
REACHED_WITHIN_S = 60.0
ENDED_WITHIN_S = 90.0


@dataclass(frozen=True)
class Crash:
    """What came of one kill.

    `in_flight`: calls that had arrived and were not recorded. `repeats`: how many of those were made again.
    `breaches`: what must not be, in words; empty when all is well.
    """

    point: CrashPoint
    in_flight: int
    repeats: int
    breaches: tuple[str, ...]


class Lane:
    """A worker with services, namespace and store of its own, on which one run after the other is killed."""

    def __init__(self, client: Client, services: ScriptedServices, worker: WorkerProcess) -> None:
        self._client = client
        self._services = services
        self._worker = worker
        self._undisturbed = ""

    async def run_undisturbed(self) -> list[CrashPoint]:
        """Let a run end by itself, as the measure for the others; the points at which they can be killed."""
        self._begin()
        await self._worker.until_ready()
        async with self._one_run() as run:
            await self._require_end(run)
            self._undisturbed = await _report_of(run)
            called = {boundary_of(call) for call in self._services.log.calls()}
            assert len(called) == len(self._services.log), "a run left alone makes each call once"
            return [
                CrashPoint(boundary, moment)
                for boundary in await recorded_boundaries(run)
                for moment in (Moment if boundary in called else (Moment.RECORDED,))
                if boundary != "save_run 2"  # the run is over with it: there is no worker to be missed
            ]

    async def crash_at(self, point: CrashPoint) -> Crash:
        """Kill the worker of a run at a point, start another and let the run end."""
        try:
            if not self._worker.is_alive:
                self._worker.start()
                await self._worker.until_ready()
            return await self._crash_at(point)
        except AssertionError as error:  # something did not come about: told like any other breach, and the next tried
            return Crash(point, 0, 0, (str(error),))

    async def _crash_at(self, point: CrashPoint) -> Crash:
        self._begin()
        gate = self._gate(point) if point.moment is Moment.ARRIVED else None
        if point.moment is Moment.ANSWERED:
            self._services.after_answer = lambda call: self._strike_after(call, point.boundary)
        async with self._one_run() as run:
            await self._until_dead(run, point, gate)
            arrived = Counter(boundary_of(call) for call in self._services.log.calls())
            recorded = set(await recorded_boundaries(run))
            restarted_at = time.monotonic()
            self._worker.start()
            await self._worker.until_ready()
            await self._require_end(run)
            again = Counter(boundary_of(call) for call in self._services.log.calls() if call.started > restarted_at)
            breaches = [f"{name} was recorded and made again" for name in again if name in recorded]
            breaches += [f"{name} was made {times} times afterwards" for name, times in again.items() if times > 1]
            breaches += [f"{name} was made {times} times before" for name, times in arrived.items() if times > 1]
            if await _report_of(run) != self._undisturbed:
                breaches.append("another report than the run left alone")
            return Crash(
                point,
                in_flight=len(arrived.keys() - recorded),
                repeats=sum(again[name] for name in arrived),
                breaches=tuple(breaches),
            )

    def _begin(self) -> None:
        self._services.reset()
        setup = self._services.setup
        setup.model_latency_s = setup.search_latency_s = setup.page_latency_s = LATENCY_S
        self._services.scripts["planner"] = FOUR_STEPS_AND_A_COMPARISON

    @asynccontextmanager
    async def _one_run(self) -> AsyncIterator[Run]:
        runs = Runs(self._client, RESEARCH_QUEUE, FileStore(self._worker.store))
        async with runs.of_one_test() as started:
            yield await started.start("Compare the four subjects", auto_accept=True)

    def _strike_after(self, call: Call, boundary: str) -> None:
        if boundary_of(call) == boundary:
            self._services.after_answer = None  # the same call, made again, does not kill the next worker
            self._worker.strike()

    def _gate(self, point: CrashPoint) -> Gate:
        return self._services.hold(point.service, where=lambda call: boundary_of(call) == point.boundary)

    async def _until_dead(self, run: Run, point: CrashPoint, gate: Gate | None) -> None:
        if gate is not None:
            await eventually(lambda: bool(gate.caught), str(point), REACHED_WITHIN_S)
        elif point.moment is Moment.RECORDED:
            recorded = asyncio.ensure_future(until_recorded(self._client, run.id, point.boundary))
            done, _ = await asyncio.wait([recorded], timeout=REACHED_WITHIN_S)
            recorded.cancel()
            assert done, f"{point} did not come about within {REACHED_WITHIN_S:g} s"
            await recorded
        else:
            await eventually(lambda: self._services.after_answer is None, str(point), REACHED_WITHIN_S)
        self._worker.kill()
        if gate is not None:
            gate.open()
        await eventually(lambda: not self._services.log.open(), "the end of what the dead worker had asked")

    async def _require_end(self, run: Run) -> None:
        status = await run.end(ENDED_WITHIN_S)
        assert status.phase is Phase.COMPLETED, f"ended as {status.phase}: {status.reason}"


async def _report_of(run: Run) -> str:
    record = await run.record()
    assert record is not None, "a run that ended has a record"
    assert record.report is not None, "a run that completed has a report"
    return record.report.markdown


@asynccontextmanager
async def crash_lanes(directory: Path, count: int) -> AsyncIterator[list[Lane]]:
    """So many lanes on a Temporal server of their own, each with a namespace; what they write goes to `directory`."""
    async with AsyncExitStack() as opened:
        server = await opened.enter_async_context(file_server(directory))
        product = opened.enter_context(PreloadedProduct())
        lanes = []
        for name in (f"lane-{number}" for number in range(1, count + 1)):
            await server.add_namespace(name)
            services = opened.enter_context(ScriptedServices())
            (directory / name).mkdir()
            worker = WorkerProcess(
                server.address, services, directory / name, product.start_worker, TEMPORAL_NAMESPACE=name
            )
            opened.enter_context(worker)
            lanes.append(Lane(await server.client(name), services, worker))
        yield lanes
