"""`kill -9` of the worker at any moment: what is complete is not paid for again.

A call is complete when Temporal has recorded the result of its activity; until then it is in flight, and each kill
may repeat it once.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
from temporalio.api.enums.v1 import PendingWorkflowTaskState
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase
from deer.providers.files import FileStore
from deer.temporal import RESEARCH_QUEUE
from tests.eventually import Shortfall, eventually
from tests.faults.worker_process import WorkerProcess
from tests.running import Run, Runs, children_in, completed_activities
from tests.scripted import (
    Call,
    Gate,
    ScriptedServices,
    analysis_step,
    leaked_canaries,
    plan_of,
    research_step,
)
from tests.scripted.roles import asked_text

pytestmark = [pytest.mark.process, pytest.mark.timeout(200)]

PAID = {
    "coordinate": "model",
    "write_plan": "model",
    "take_turn": "model",
    "judge_findings": "model",
    "write_report": "model",
    "search_web": "search",
    "read_page": "page",
}
RESUMED_WITHIN_S = 15
"""From the moment when the next worker is ready: the heartbeat timeout of ten seconds, and a retry."""


@dataclass(frozen=True)
class Deployment:
    """A worker process, and the runs on it."""

    worker: WorkerProcess
    runs: Runs


@pytest.fixture(scope="module")
async def process(
    server: WorkflowEnvironment, services: ScriptedServices, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[WorkerProcess]:
    """A worker of its own process, on the product's own task queue."""
    address = server.client.service_client.config.target_host
    with WorkerProcess(address, services, tmp_path_factory.mktemp("killed")) as worker:
        await worker.until_ready()
        yield worker
    assert leaked_canaries(worker.log) == []


@pytest.fixture
async def deployment(server: WorkflowEnvironment, process: WorkerProcess) -> AsyncIterator[Deployment]:
    """The worker, and runs that end with the test."""
    async with Runs(server.client, RESEARCH_QUEUE, FileStore(process.store)).of_one_test() as runs:
        yield Deployment(process, runs)


def plan_by_number(call: Call) -> str:
    """A plan of its own for each run, told by the number in its question."""
    number = number_of(asked_text(call))
    return plan_of(
        research_step(f"subject-{number}x"), research_step(f"subject-{number}y"), analysis_step(depends_on=[1, 2])
    )


def number_of(text: str) -> str:
    """The run's number as its question has it."""
    return text.partition("question number ")[2][:2]


def belongs(number: str, call: Call) -> bool:
    """Whether a call is made for the run of this number."""
    query, subject = str(call.body.get("query", "")), f"subject-{number}x"
    return f"question number {number}" in call.text + query or subject in query or subject in call.path


KILLED_IN: dict[str, tuple[str, Callable[[Call], bool]]] = {
    "10": ("coordinator", lambda call: True),
    "11": ("search", lambda call: "number" in str(call.body["query"])),
    "12": ("planner", lambda call: True),
    "13": ("researcher", lambda call: "13x" in asked_text(call) and call.rounds == 0),
    "14": ("search", lambda call: "14x" in str(call.body["query"])),
    "15": ("researcher", lambda call: "15x" in asked_text(call) and call.rounds == 1),
    "16": ("page", lambda call: True),
    "17": ("researcher", lambda call: "17x" in asked_text(call) and call.rounds == 2),
    "18": ("analyst", lambda call: True),
    "19": ("reporter", lambda call: True),
}


def gate_for(scripted: ScriptedServices, number: str) -> Gate:
    """Holds the call in which the run of this number is to be killed."""
    of, where = KILLED_IN[number]
    return scripted.hold(of, where=lambda call: belongs(number, call) and where(call))


async def completed_calls(runs: list[Run]) -> Counter[str]:
    """How many model calls, searches and pages Temporal has the results of."""
    counted: Counter[str] = Counter()
    for run in runs:
        events = await run.events()
        names = completed_activities(events)
        for child in children_in(events):
            child_events = list((await run.client.get_workflow_handle(child).fetch_history()).events)
            names += completed_activities(child_events)
        counted.update(PAID[name] for name in names if name in PAID)
    return counted


async def all_recorded(runs: list[Run], scripted: ScriptedServices) -> bool | Shortfall:
    """Whether every answered call is recorded, so that only the held ones are in flight."""
    recorded = await completed_calls(runs)
    answered = Counter({kind: len(scripted.log.answered(kind)) for kind in ("model", "search", "page")})
    return recorded == answered or Shortfall(f"recorded {dict(recorded)}, answered {dict(answered)}")


async def test_killed_in_every_kind_of_call_only_that_call_is_repeated(
    deployment: Deployment, scripted: ScriptedServices
) -> None:
    """Case T01: ten runs, each held in another kind of call, repeat that call alone; a waiting plan repeats nothing."""
    scripted.scripts["planner"] = plan_by_number
    gates = {number: gate_for(scripted, number) for number in KILLED_IN}
    waiting = await deployment.runs.start("question number 20")
    runs = [await deployment.runs.start(f"question number {number}", auto_accept=True) for number in KILLED_IN]
    await waiting.reach(Phase.AWAITING_REVIEW, within_s=40)
    await eventually(lambda: all(gate.caught for gate in gates.values()), "every run in its call", 40)
    await eventually(lambda: all_recorded([waiting, *runs], scripted), "all other calls recorded")
    assert len(scripted.log.open()) == len(KILLED_IN)

    deployment.worker.kill()
    for gate in gates.values():
        gate.open()
    held = {gate.caught[0].key for gate in gates.values()}
    deployment.worker.start()
    await deployment.worker.until_ready()
    await waiting.signal("approve")
    await eventually(lambda: held <= _repeated(scripted), "every held call again", RESUMED_WITHIN_S)
    ends = await asyncio.gather(*(run.end(within_s=40) for run in (waiting, *runs)))
    assert {status.phase for status in ends} == {Phase.COMPLETED}
    assert _repeated(scripted) == held
    assert max(_times_asked(scripted).values()) == 2
    assert scripted.log.count("reporter") == len(ends) + 1


async def test_what_was_approved_without_a_worker_is_taken_up_when_one_comes(
    deployment: Deployment, scripted: ScriptedServices
) -> None:
    """Approvals that died with the worker, and those sent while there is none, move their runs as the next is ready."""
    scripted.scripts["planner"] = plan_by_number
    numbers = ["40", "41", "42", "43"]
    runs = [await deployment.runs.start(f"question number {number}") for number in numbers]
    await asyncio.gather(*(run.reach(Phase.AWAITING_REVIEW, within_s=40) for run in runs))
    deployment.worker.freeze()
    for run in runs[:2]:
        await run.signal("approve")
        await eventually(lambda: is_handed_over(run), "the approval in the worker's hands")  # noqa: B023 - awaited here
    deployment.worker.kill()
    killed_at = time.monotonic()
    for run in runs[2:]:
        await run.signal("approve")
    deployment.worker.start()
    ready_at = await deployment.worker.until_ready()

    def steps_of(number: str) -> list[Call]:
        return scripted.log.calls("researcher", lambda call: belongs(number, call))

    await eventually(lambda: all(map(steps_of, numbers)), "a step of every run")
    # Three seconds, and as much again as this machine needed to start the worker.
    assert max(steps_of(number)[0].started for number in numbers) - ready_at < 3 + (ready_at - killed_at)


async def is_handed_over(run: Run) -> bool:
    """Whether a worker has been given what a run is to do next."""
    described = await run.handle.describe()
    return (
        described.raw_description.pending_workflow_task.state
        == PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_STARTED
    )


def _repeated(scripted: ScriptedServices) -> set[str]:
    return {key for key, times in _times_asked(scripted).items() if times > 1}


def _times_asked(scripted: ScriptedServices) -> Counter[str]:
    return Counter(call.key for call in scripted.log.calls())
