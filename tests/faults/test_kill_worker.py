"""`kill -9` of the worker at any moment: what is complete is not paid for again.

A call is complete when Temporal has recorded the result of its activity; until then it is in flight, and each kill
may repeat it once.
"""

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
    ScriptedServices,
    analysis_step,
    leaked_canaries,
    plan_of,
    research_step,
    subject_of,
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
    """A plan of its own for each run, told by the number in its question: with as many steps as it needs."""
    number = number_of(asked_text(call))
    held = [research_step(f"subject-{mark}") for mark in KILLED_IN if mark.startswith(number) and mark != number]
    plan = [research_step(f"subject-{number}x"), *held]
    return plan_of(*plan, *([analysis_step()] if number == WITH_ANALYSIS else []))


def number_of(text: str) -> str:
    """The run's number as its question has it."""
    return text.partition("question number ")[2][:2]


def belongs(number: str, call: Call) -> bool:
    """Whether a call is made for the run of this number."""
    query = str(call.body.get("query", ""))
    return f"question number {number}" in call.text + query or f"subject-{number}x" in query + call.path


def is_turn(mark: str, rounds: int, call: Call) -> bool:
    """Whether a call is this turn of the step on the subject of this mark."""
    return subject_of(call) == f"subject-{mark}" and call.rounds == rounds


WITH_ANALYSIS = "14"
KILLED_IN: dict[str, tuple[str, Callable[[Call], bool]]] = {
    "10": ("coordinator", lambda call: belongs("10", call)),
    "11": ("search", lambda call: belongs("11", call) and "number" in str(call.body["query"])),
    "12": ("planner", lambda call: belongs("12", call)),
    "13a": ("researcher", lambda call: is_turn("13a", 0, call)),
    "13b": ("search", lambda call: "subject-13b" in str(call.body["query"])),
    "13c": ("researcher", lambda call: is_turn("13c", 1, call)),
    "13d": ("page", lambda call: "subject-13d" in call.path),
    "13e": ("researcher", lambda call: is_turn("13e", 2, call)),
    "14": ("analyst", lambda call: belongs("14", call)),
    "15": ("reporter", lambda call: belongs("15", call)),
}
"""The calls in which the worker is killed, by the number of the run and, within one, the letter of the step."""


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
    """Case T01: runs and steps held in ten kinds of calls repeat these alone; a waiting plan repeats nothing."""
    scripted.scripts["planner"] = plan_by_number
    gates = [scripted.hold(of, where=where) for of, where in KILLED_IN.values()]
    waiting = await deployment.runs.start("question number 20")
    runs = [
        await deployment.runs.start(
            f"question number {number}", auto_accept=True, max_steps=len(KILLED_IN), max_parallel_steps=len(KILLED_IN)
        )
        for number in sorted({mark[:2] for mark in KILLED_IN})
    ]
    await waiting.reach(Phase.AWAITING_REVIEW, within_s=40)
    await eventually(lambda: all(gate.caught for gate in gates), "every run in its call", 40)
    await eventually(lambda: all_recorded([waiting, *runs], scripted), "all other calls recorded")
    assert len(scripted.log.open()) == len(KILLED_IN)

    deployment.worker.kill()
    for gate in gates:
        gate.open()
    held = {gate.caught[0].key for gate in gates}
    deployment.worker.start()
    await deployment.worker.until_ready()
    await waiting.signal("approve")
    await eventually(lambda: held <= _repeated(scripted), "every held call again", RESUMED_WITHIN_S)
    give_up_at = time.monotonic() + 40
    ends = [await run.end(within_s=give_up_at - time.monotonic()) for run in (waiting, *runs)]
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
    give_up_at = time.monotonic() + 40
    for run in runs:
        await run.reach(Phase.AWAITING_REVIEW, within_s=give_up_at - time.monotonic())
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
