"""The product's worker inside the test: its workflows, activities and providers, pointed at scripted services."""

import dataclasses
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client
from temporalio.service import GrpcCompression, ServiceClient
from temporalio.worker import UnsandboxedWorkflowRunner, Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from activities.llm import ModelActivities
from activities.pages import PageActivities
from activities.reports import ReportActivities
from activities.runs import RunActivities
from activities.search import SearchActivities
from deer.config import load_settings
from deer.payloads import data_converter
from deer.ports import PageReader, PrunableStore, TextStore
from deer.providers.documents import StoredDocuments
from deer.providers.files import FileStore
from deer.providers.pages import WebPages
from tests.running.runs import Runs
from tests.scripted import ScriptedServices
from worker import EAGER_ACTIVITIES, STICKY_TIMEOUT, open_models, open_search, services_of_worker
from workflows.policies import BUGS
from workflows.research import Research
from workflows.step import Step

WORKFLOWS: list[type] = [Research, Step]
SERVICE_TIMEOUT = timedelta(seconds=15)
MODEL_TIMEOUT = {"DEER_MODEL_TIMEOUT_SECONDS": "15"}


@asynccontextmanager
async def page_reader() -> AsyncIterator[PageReader]:
    """The product's reader of pages, which may reach this machine."""
    async with aclosing(WebPages(frozenset({"127.0.0.1"}), SERVICE_TIMEOUT)) as pages:
        await pages.warm()
        yield pages


@asynccontextmanager
async def research_worker(
    client: Client,
    services: ScriptedServices,
    pages: PageReader,
    directory: Path,
    *,
    store: PrunableStore | None = None,
    forgetful: bool = False,
    task_queue: str = "",
    **settings: str,
) -> AsyncIterator[Runs]:
    """A worker on a task queue of its own, or on that of one before it, with its store under `directory` unless given.

    `pages` is handed in because its processes take a second to start, and serve many workers.
    A `forgetful` one replays every workflow from its history at each task, within the SDK's sandbox. `settings` are
    those of models and searches, by the names of their variables, on top of the services' own.
    """
    store = store or FileStore(directory / "store")
    client = client_with(await _unpacked(client), store)
    documents = StoredDocuments(store)
    async with AsyncExitStack() as open_connections:
        loaded = load_settings({**services.environment(), **MODEL_TIMEOUT, **settings}, directory)
        model = open_models(loaded, open_connections)
        engine = open_search(loaded, services_of_worker(loaded), open_connections)
        activities = [
            *ModelActivities(model, store).all,
            *SearchActivities(engine, documents, store).all,
            *PageActivities(pages, documents, store).all,
            *ReportActivities(store).all,
            *RunActivities().all,
        ]
        made = worker_with(client, activities, forgetful=forgetful, task_queue=task_queue)
        async with made as worker:
            yield Runs(client, worker.task_queue, store)


async def _unpacked(client: Client) -> Client:
    """A client of the same server whose messages travel as the product's do on one machine: not compressed."""
    config = client.config()
    near = dataclasses.replace(client.service_client.config, grpc_compression=GrpcCompression.NONE)
    config["service_client"] = await ServiceClient.connect(near)
    return Client(**config)


def client_with(client: Client, store: TextStore) -> Client:
    """A client of the same server that keeps large values in a store, as the product's own does."""
    config = client.config()
    config["data_converter"] = data_converter(store)
    return Client(**config)


def worker_with(
    client: Client, activities: Sequence[Callable[..., Any]], *, forgetful: bool = False, task_queue: str = ""
) -> Worker:
    """A worker for the product's workflows, under its own rules, with these activities.

    A `forgetful` one keeps no workflow between two tasks, and runs them in the SDK's sandbox.
    """
    passed_on = SandboxRestrictions.default.with_passthrough_modules("deer", "activities")
    return Worker(
        client,
        task_queue=task_queue or f"test-{uuid.uuid4().hex[:8]}",
        workflows=WORKFLOWS,
        activities=activities,
        workflow_runner=SandboxedWorkflowRunner(restrictions=passed_on) if forgetful else UnsandboxedWorkflowRunner(),
        workflow_failure_exception_types=list(BUGS),
        sticky_queue_schedule_to_start_timeout=STICKY_TIMEOUT,
        max_eager_activity_reservations_per_workflow_task=EAGER_ACTIVITIES,
        max_cached_workflows=0 if forgetful else 100,
        build_id="tests",  # the SDK's own way compiles every module of the process, which takes seconds
    )
