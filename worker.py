"""The wiring: settings -> providers -> activities -> Worker. Nothing else wires.

Run as a program it works for the Temporal server that the settings name, or for the embedded one that runs already.
"""

import asyncio
import gc
import hashlib
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from temporalio.client import Client

from deer.config import ModelSettings, PageApi, SearchApi, Services, Settings, load_settings
from deer.errors import DeerError, ServiceError, SettingsError
from deer.models import Role
from deer.ports import ChatModel, PageReader, PrunableStore, SearchEngine
from deer.temporal import RESEARCH_QUEUE, connect, register_search_attribute

if TYPE_CHECKING:
    from temporalio.worker import Worker

    from deer.providers.documents import Registered
    from deer.providers.pages import WebPages

CONNECT_PATIENCE = timedelta(seconds=30)
STICKY_TIMEOUT = timedelta(seconds=2)
"""How long a workflow waits for the worker that has it in memory before any other one takes it."""

CACHED_WORKFLOWS = 200
EAGER_ACTIVITIES = 8
"""Activities that one workflow task may start here without a detour over the server; a turn rarely has more calls."""

_LOADED_AHEAD = (
    "temporalio.worker",
    "workflows.research",
    "activities.llm",
    "activities.pages",
    "activities.reports",
    "activities.runs",
    "activities.search",
    "deer.providers.documents",
    "deer.providers.engines.fallback",
    "deer.providers.engines.service",
    "deer.providers.pages",
)
_LOADED_FOR_MODEL = {
    "extractive": ("deer.providers.extractive",),
    "openai": ("deer.providers.openai_model", "openai.resources.chat", "openai.lib.streaming.chat"),
}
"""The SDK loads its parts when they are first used: without them the first call of a worker waits for that."""


class _Closable(Protocol):
    async def aclose(self) -> None: ...


C = TypeVar("C", bound=_Closable)
Activities = list[Callable[..., Any]]  # what a worker registers: activities of every signature


def open_store(settings: Settings) -> PrunableStore:
    """The store of the deployment.

    Raises SettingsError when none is named outside embedded mode, or what it needs is not installed.
    """
    location = settings.store_location(settings.temporal.embedded)
    if location.startswith("s3://"):
        from deer.providers.bucket import open_bucket

        return open_bucket(location, {name: value.get_secret_value() for name, value in settings.aws.items()})
    from deer.providers.files import FileStore

    return FileStore(Path(location))


async def require_writable_store(settings: Settings) -> None:
    """Raise SettingsError unless the store of the deployment can be written to: found out before a call is paid for."""
    try:
        await open_store(settings).require_writable()
    except ServiceError as error:
        raise SettingsError(str(error)) from None


async def register_documents(settings: Settings, folder: Path) -> "Registered":
    """Put a folder's documents into the store; returns their collection and what was left out. Raises InvalidInput."""
    from deer.providers.documents import register_folder

    return await register_folder(open_store(settings), folder)


def load_worker(settings: Settings) -> None:
    """Import what a worker of these settings needs: a second's work, which a thread can do while a server starts."""
    for module in (*_LOADED_AHEAD, *_LOADED_FOR_MODEL[services_of_worker(settings).model]):
        import_module(module)


async def run_worker(
    settings: Settings, client: Client, stop: asyncio.Event, announce: Callable[[str], None] | None = None
) -> None:
    """Take work until `stop` is set, then let calls in flight finish for as long as the settings allow.

    `announce` is given one line when the worker is ready. Raises SettingsError, and NoServer when the search
    attribute of the phase is missing and cannot be registered.
    """
    services = services_of_worker(settings)
    async with _activities(settings, services) as activities:
        await register_search_attribute(client)
        worker = _worker(settings, client, activities)
        # What was loaded stays for good: the collector need not walk it again in the middle of a run.
        gc.collect()
        gc.freeze()
        async with worker:
            if announce is not None:
                announce(_ready_line(settings, services, client))
            await stop.wait()


def _worker(settings: Settings, client: Client, activities: Activities) -> "Worker":
    # Commands that run no worker import this module too, and should not wait for what only a worker needs.
    from temporalio.worker import UnsandboxedWorkflowRunner, Worker

    from workflows.policies import BUGS
    from workflows.research import Research
    from workflows.step import Step

    return Worker(
        client,
        task_queue=RESEARCH_QUEUE,
        workflows=[Research, Step],
        activities=activities,
        workflow_runner=UnsandboxedWorkflowRunner(),
        workflow_failure_exception_types=list(BUGS),
        sticky_queue_schedule_to_start_timeout=STICKY_TIMEOUT,
        max_cached_workflows=CACHED_WORKFLOWS,
        max_concurrent_activities=settings.max_concurrent_activities,
        max_eager_activity_reservations_per_workflow_task=EAGER_ACTIVITIES,
        graceful_shutdown_timeout=timedelta(seconds=settings.shutdown_grace_seconds),
        **_version(settings),
    )


def _version(settings: Settings) -> dict[str, Any]:  # arguments of `Worker`, of which it takes one or the other
    """How the worker names its code: in histories only, or as a version of a deployment, on which its runs stay."""
    from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
    from temporalio.worker import WorkerDeploymentConfig

    build_id = settings.build_id or _build_id()
    if settings.deployment_name is None:
        return {"build_id": build_id}
    return {
        "deployment_config": WorkerDeploymentConfig(
            version=WorkerDeploymentVersion(settings.deployment_name, build_id),
            use_worker_versioning=True,
            default_versioning_behavior=VersioningBehavior.PINNED,
        )
    }


def _build_id() -> str:
    """Names the code that ran in Temporal's histories. The SDK's own way compiles every module of the process anew."""
    digest = hashlib.sha256()
    for package in ("workflows", "activities", "deer"):
        for source in sorted((Path(__file__).parent / package).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def services_of_worker(settings: Settings) -> Services:
    """Who answers for the runs of a worker. Raises SettingsError.

    A model without a search is enough here: runs may bring documents, and commands refuse to start others.
    """
    try:
        return settings.services()
    except SettingsError:
        return settings.services(documents=True)


@asynccontextmanager
async def _activities(settings: Settings, services: Services) -> AsyncIterator[Activities]:
    from activities.llm import ModelActivities
    from activities.pages import PageActivities
    from activities.reports import ReportActivities
    from activities.runs import RunActivities
    from activities.search import SearchActivities
    from deer.answers import InsistentStore
    from deer.providers.documents import EXAMPLE_COLLECTION, StoredDocuments, register_example
    from deer.providers.pages import WebPages

    store = open_store(settings)
    insistent = InsistentStore(store)
    documents = StoredDocuments(store)
    default_documents: tuple[str, ...] = ()
    if services.example_corpus:
        await register_example(store)
        default_documents = (EXAMPLE_COLLECTION,)
    async with AsyncExitStack() as opened:
        max_bytes = settings.page_max_mb * 2**20
        web = WebPages(settings.test_allow_hosts, page_timeout(settings), max_bytes, extra_ports=settings.page_ports)
        pages = _closed_by(opened, web)
        model = _model(settings, services, opened)
        engine = open_search(settings, services, opened)
        if services.model == "openai" or engine is not None:
            # Beside the first calls, which are the coordinator's: pages come later.
            warming = asyncio.create_task(pages.warm())
            opened.callback(warming.cancel)
        yield [
            *ModelActivities(model, insistent).all,
            *SearchActivities(engine, documents, insistent, default_documents=default_documents).all,
            *PageActivities(_page_reader(settings, pages, opened), documents, insistent).all,
            *ReportActivities(store).all,
            *RunActivities().all,
        ]


def _model(settings: Settings, services: Services, opened: AsyncExitStack) -> ChatModel:
    if services.model == "extractive":
        from deer.providers.extractive import ExtractiveModel

        return ExtractiveModel()
    return open_models(settings, opened)


def open_models(settings: Settings, opened: AsyncExitStack) -> ChatModel:
    """The language models of the settings as one that knows whom each role asks; connections close with `opened`."""
    from deer.providers.routing import FallbackModels, RoleModels

    clients: list[tuple[ModelSettings, ChatModel]] = []

    def client_of(chosen: ModelSettings) -> ChatModel:
        known = next((client for model, client in clients if model == chosen), None)
        if known is None:
            known = _endpoint(settings, chosen, opened)
            clients.append((chosen, known))
        return known

    def models_of(role: Role, *, deep: bool) -> ChatModel:
        chosen = settings.models_for(role, deep_thinking=deep)
        return FallbackModels([(model.model or "the only model listed", client_of(model)) for model in chosen])

    return RoleModels(
        {role: models_of(role, deep=False) for role in Role}, {role: models_of(role, deep=True) for role in Role}
    )


def _endpoint(settings: Settings, chosen: ModelSettings, opened: AsyncExitStack) -> ChatModel:
    from deer.context import known_token_limit
    from deer.providers.fitting import FittedModel
    from deer.providers.openai_model import OpenAIModel

    endpoint = OpenAIModel(
        chosen.model,
        chosen.base_url,
        chosen.api_key.get_secret_value() if chosen.api_key else None,
        timedelta(seconds=settings.model_timeout_seconds),
        stall_timeout=timedelta(seconds=settings.model_stall_seconds),
        input_price=chosen.input_price,
        output_price=chosen.output_price,
        extra=chosen.request_fields,
    )
    limit = chosen.token_limit or known_token_limit(chosen.model)
    return FittedModel(_closed_by(opened, endpoint), limit, chosen.answer_tokens)


def open_search(settings: Settings, services: Services, opened: AsyncExitStack) -> SearchEngine | None:
    """The engines of the settings as one, None for none; connections close with `opened`. Raises SettingsError."""
    from deer.providers.engines.fallback import ALONE_TIMEOUT, SHARED_TIMEOUT, WebSearch
    from deer.providers.engines.opening import open_engine
    from deer.providers.engines.results import SearchRules

    names = [name for name in services.search if name is not SearchApi.DOCUMENTS]
    timeout = ALONE_TIMEOUT if len(names) == 1 else SHARED_TIMEOUT
    options = settings.search_engine
    engines = [
        (
            name,
            _closed_by(
                opened,
                open_engine(name, *settings.search_access(name), timeout, raw_content=options.include_raw_content),
            ),
        )
        for name in names
    ]
    rules = SearchRules(
        allowed_domains=options.include_domains,
        denied_domains=options.exclude_domains,
        time_range=options.time_range or "",
        depth=options.search_depth or "",
        min_score=options.min_score_threshold,
        max_content_chars=options.max_content_length_per_page,
    )
    return WebSearch(engines, rules) if engines else None


def page_timeout(settings: Settings) -> timedelta:
    """How long one reader may take to fetch a page: less where several share an attempt."""
    from deer.providers.page_fallback import ALONE_TIMEOUT, SHARED_TIMEOUT

    return ALONE_TIMEOUT if len(settings.page_reader) == 1 else SHARED_TIMEOUT


def _page_reader(settings: Settings, pages: "WebPages", opened: AsyncExitStack) -> PageReader:
    """The readers that are set, in their order; `pages` reads from here."""
    if settings.page_reader == (PageApi.DIRECT,):
        return pages
    from deer.providers.jina import JinaReader
    from deer.providers.network import OpenWeb
    from deer.providers.page_fallback import LOOK_UP_TIMEOUT, FallbackReader

    key = settings.jina_api_key.get_secret_value() if settings.jina_api_key else None
    guard = _closed_by(opened, OpenWeb(settings.test_allow_hosts, LOOK_UP_TIMEOUT, extra_ports=settings.page_ports))
    max_bytes = settings.page_max_mb * 2**20
    jina = _closed_by(opened, JinaReader(key, settings.jina_base_url, guard, page_timeout(settings), max_bytes))
    return FallbackReader([pages if api is PageApi.DIRECT else jina for api in settings.page_reader], pages)


def _closed_by(opened: AsyncExitStack, provider: C) -> C:
    opened.push_async_callback(provider.aclose)
    return provider


def _ready_line(settings: Settings, services: Services, client: Client) -> str:
    used: Mapping[str, str] = {
        "server": client.service_client.config.target_host,
        "namespace": client.namespace,
        "queue": RESEARCH_QUEUE,
        **({"deployment": settings.deployment_name} if settings.deployment_name else {}),
        "model": _model_words(settings, services),
        "search": ", ".join(services.search) or "none",
        "store": settings.store_location(settings.temporal.embedded),
    }
    return "; ".join(["worker ready", *(f"{name} {value}" for name, value in used.items()), *services.notices])


def _model_words(settings: Settings, services: Services) -> str:
    from deer.providers.endpoints import shown_address

    basic = settings.models_for(Role.COORDINATOR)
    if services.model == "extractive" or not basic:
        return "none"
    places = [shown_address(model.base_url) if model.base_url else "the default address of openai" for model in basic]
    names = [model.model or "the only one listed" for model in basic]
    return ", else ".join(f"{name} at {place}" for name, place in zip(names, places, strict=True))


async def work_until_stopped(settings: Settings) -> None:
    """Work for the server that the settings name, or for the recorded embedded one, until a stop signal.

    Raises NoServer when there is none; a named one is given half a minute to come up.
    """
    from deer.cli.interrupts import say, signals_stop
    from deer.cli.logs import log_to_stderr
    from deer.cli.session import open_session

    log_to_stderr()
    settings.services()
    stop = asyncio.Event()
    work = partial(run_worker, announce=say)
    if not settings.temporal.embedded:
        await require_writable_store(settings)
        client = await connect(settings, store=open_store(settings), patience=CONNECT_PATIENCE)
        with signals_stop(stop):
            await work(settings, client, stop)
        return
    async with open_session(settings, runs_worker=True, starts_server=False, writes=True, work=work) as session:
        if session.other_worker:
            say("another process works for this server already; standing by in case it leaves")
        assert session.hold is not None, "without an address a session holds the embedded server"
        with signals_stop(stop, session.hold.release):
            await stop.wait()


def main() -> int:
    """Work until a stop signal; the exit code."""
    from deer.cli.exits import exit_of_error, one_line
    from deer.cli.interrupts import INTERRUPTED

    try:
        asyncio.run(work_until_stopped(load_settings()))
    except DeerError as error:
        sys.stderr.write(f"error: {one_line(str(error))}\n")
        return exit_of_error(error)
    except KeyboardInterrupt:
        return INTERRUPTED  # before there was any call in flight
    return 0


if __name__ == "__main__":
    from deer.cli.interrupts import end_process

    end_process(main())
