"""The product as it is measured: the embedded server, and a worker process on scripted services."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deer.providers.files import FileStore
from deer.temporal import RESEARCH_QUEUE
from tests.faults.file_server import file_server
from tests.faults.worker_process import WorkerProcess, start_program
from tests.running import Runs
from tests.scripted import ScriptedServices


@asynccontextmanager
async def deployment(
    directory: Path, services: ScriptedServices, **settings: str
) -> AsyncIterator[tuple[Runs, WorkerProcess]]:
    """A worker that is ready, and runs on it; all that is kept goes to `directory`."""
    async with file_server(directory) as server:
        with WorkerProcess(server.address, services, directory, start_program, **settings) as worker:
            await worker.until_ready()
            yield Runs(await server.client(), RESEARCH_QUEUE, FileStore(worker.store)), worker
