"""A command as small as one can be: on an embedded server it starts a run, or finds it, and waits for its end.

`python -m tests.e2e.tiny_program DIRECTORY NAME`. The run makes two calls, one after the other; each writes to the file
`calls` that it was made, and ends when a file `open` exists. Then the command prints the result.
"""

import asyncio
import os
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from deer.cli.interrupts import beside
from deer.cli.session import open_session
from deer.config import Settings
from deer.temporal import RESEARCH_QUEUE


@activity.defn
async def call(directory: str, number: int) -> None:
    """Note that the call was made, wait for the file `open`, note that it has ended."""
    _note(Path(directory), f"{number} made by {os.getpid()}")
    async with beside(_beat()):
        await asyncio.to_thread(_wait_until_open, Path(directory))
    _note(Path(directory), f"{number} done by {os.getpid()}")


async def _beat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(0.3)


def _wait_until_open(directory: Path) -> None:
    while not directory.joinpath("open").exists():
        time.sleep(0.05)


@workflow.defn
class TinyRun:
    @workflow.run
    async def run(self, directory: str) -> str:
        for number in (1, 2):
            await workflow.execute_activity(
                call,
                args=[directory, number],
                start_to_close_timeout=timedelta(minutes=1),
                heartbeat_timeout=timedelta(seconds=2),
                retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=100)),
            )
        return "both calls made"


async def tiny_work(settings: Settings, client: Client, stop: asyncio.Event) -> None:
    """A worker for `TinyRun` in place of the product's."""
    async with Worker(
        client,
        task_queue=RESEARCH_QUEUE,
        workflows=[TinyRun],
        activities=[call],
        workflow_runner=UnsandboxedWorkflowRunner(),
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=1),
        graceful_shutdown_timeout=timedelta(seconds=30),
    ):
        _note(settings.data_dir.parent, f"worker {os.getpid()}")
        await stop.wait()


async def main(directory: Path, name: str) -> None:
    """Run the command."""
    async with open_session(Settings(data_dir=directory / "data"), runs_worker=True, work=tiny_work) as session:
        with suppress(WorkflowAlreadyStartedError):
            await session.client.start_workflow(TinyRun.run, str(directory), id=name, task_queue=RESEARCH_QUEUE)
        result: str = await session.client.get_workflow_handle(name, result_type=str).result()
        sys.stdout.write(result + "\n")


def _note(directory: Path, line: str) -> None:
    with directory.joinpath("calls").open("a") as calls:
        calls.write(line + "\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
