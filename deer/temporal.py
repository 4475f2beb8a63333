"""The connection to Temporal: where it is, how values travel, who polls, and the search attribute of a run's phase."""

import asyncio
import logging
import re
import time
from collections.abc import Sequence, Set
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType, TaskQueueType, WorkerStatus
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.worker.v1 import WorkerHeartbeat
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeTaskQueueRequest,
    ListWorkersRequest,
    UpdateNamespaceRequest,
)
from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.converter import DataConverter
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.service import GrpcCompression, RPCError, RPCStatusCode

from deer.config import Settings
from deer.errors import NoServer, SettingsError
from deer.payloads import data_converter
from deer.ports import TextStore

RESEARCH_QUEUE = "research"
"""The task queue of workflows and of all activities that reach services."""

RESEARCH_PHASE = SearchAttributeKey.for_keyword("ResearchPhase")
"""The phase of a run, one of the words of `deer.models.Phase`."""

TASK_TIMEOUT = timedelta(seconds=4)
"""How long a worker may take for one move of a workflow, of milliseconds as a rule, before another one is asked.

A worker that is killed takes the moves along that it was handed: with Temporal's ten seconds a run would wait for them
longer than a new worker takes to come up.
"""

_THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}
"""Where messages need not be packed: between two processes that costs each side more than it saves."""

_HEARTBEAT_EVERY = timedelta(seconds=1)
_CALL_LIMIT = timedelta(seconds=4)
_CONNECT_EVERY = timedelta(milliseconds=100)
# An idle worker asks for work anew when the server ends its wait, after a minute; nothing older can be alive.
_LONGEST_POLL = timedelta(seconds=65)
_JUST_POLLED = timedelta(seconds=4)
_NOT_OFFERED = {RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.PERMISSION_DENIED}
_LAST_WORD_OF_AN_ERROR = re.compile(r'message: "([^"]*)"(?!.*message: ")|error: "([^"]*)"', re.DOTALL)


@cache
def _runtime() -> Runtime:
    # One per process. The heartbeats tell a worker that was killed from one that is idle within seconds; by the
    # times of its polls alone that takes a minute. Left alone the SDK writes its log to standard output, among results.
    forwarding = LogForwardingConfig(logging.getLogger("temporalio"))
    log = LoggingConfig(TelemetryFilter(core_level="WARN", other_level="ERROR"), forwarding=forwarding)
    return Runtime(telemetry=TelemetryConfig(logging=log), worker_heartbeat_interval=_HEARTBEAT_EVERY)


async def connect(
    settings: Settings,
    address: str | None = None,
    *,
    store: TextStore | None = None,
    patience: timedelta = timedelta(),
) -> Client:
    """Connect to the server that the settings name, or to the embedded one at `address`.

    `store`: where values are that are too large for Temporal; without it runs cannot be started, worked on or read.
    `patience`: how long to go on trying; zero tries once. Raises NoServer when no server answers or it has not the
    namespace, SettingsError when profile, certificates or key cannot be used.
    """
    options = _options(settings, address)
    deadline = time.monotonic() + patience.total_seconds()
    while True:
        try:
            return await _connected(options, data_converter(store))
        except NoServer:
            if time.monotonic() >= deadline:
                raise
        await asyncio.sleep(_CONNECT_EVERY.total_seconds())


def _options(settings: Settings, address: str | None) -> ClientConnectConfig:
    if address is not None:
        return {"target_host": address, "namespace": "default"}
    try:
        options = ClientConfig.load_client_connect_config(
            profile=settings.temporal.profile, override_env_vars=settings.temporal.override_env_vars()
        )
    except (RuntimeError, OSError, ValueError) as error:
        raise SettingsError(
            f"the settings for Temporal cannot be used ({error}); mend TEMPORAL_* or the profile"
        ) from error
    options.setdefault("target_host", "localhost:7233")
    options.setdefault("namespace", settings.temporal.namespace)
    return options


async def _connected(options: ClientConnectConfig, converter: DataConverter) -> Client:
    where = options.get("target_host")
    namespace = str(options.get("namespace"))
    try:
        client = await Client.connect(**_arguments(options, converter))
        await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=namespace), timeout=_CALL_LIMIT
        )
    except RuntimeError as error:
        remedy = "start one with `uv run starter.py server`, or correct TEMPORAL_ADDRESS"
        raise NoServer(f"no Temporal server answers at {where} ({_reason(error)}); {remedy}") from error
    except RPCError as error:
        raise _refusal(error, str(where), namespace) from error
    return client


def _arguments(
    options: ClientConnectConfig, converter: DataConverter
) -> dict[str, Any]:  # Any: the keyword arguments of Client.connect
    near = _host_of(options.get("target_host", "")) in _THIS_MACHINE
    compression = GrpcCompression.NONE if near else GrpcCompression.GZIP
    return {**options, "data_converter": converter, "runtime": _runtime(), "grpc_compression": compression}


def _host_of(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")


def _refusal(error: RPCError, where: str, namespace: str) -> Exception:
    if error.status is RPCStatusCode.NOT_FOUND:
        return NoServer(
            f"the Temporal server at {where} has no namespace {namespace}; correct TEMPORAL_NAMESPACE, or create it "
            f"with: temporal operator namespace create --namespace {namespace}"
        )
    if error.status in {RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.PERMISSION_DENIED}:
        return SettingsError(
            f"the Temporal server at {where} refuses access to namespace {namespace}; correct TEMPORAL_API_KEY, "
            "TEMPORAL_NAMESPACE or the certificates"
        )
    return NoServer(f"the Temporal server at {where} does not answer properly ({error.message}); try again later")


def _reason(error: RuntimeError) -> str:
    found = _LAST_WORD_OF_AN_ERROR.search(str(error))
    return next(filter(None, found.groups()), "no reason given") if found else str(error)[:200]


async def keep_closed_runs(client: Client, retention: timedelta) -> None:
    """Make the namespace keep what has ended for at least this long; the dev server's own choice is one day."""
    described = await client.workflow_service.describe_namespace(
        DescribeNamespaceRequest(namespace=client.namespace), timeout=_CALL_LIMIT
    )
    if described.config.workflow_execution_retention_ttl.ToTimedelta() >= retention:
        return
    wanted = Duration()
    wanted.FromTimedelta(retention)
    await client.workflow_service.update_namespace(
        UpdateNamespaceRequest(
            namespace=client.namespace, config=NamespaceConfig(workflow_execution_retention_ttl=wanted)
        ),
        timeout=_CALL_LIMIT,
    )


async def register_search_attribute(client: Client) -> None:
    """Make `ResearchPhase` usable in the namespace; does nothing when it is. Raises NoServer with the exact command.

    Without it every workflow task that sets a phase would be retried for ever.
    """
    if await _knows_phases(client):
        return
    command = (
        f"temporal operator search-attribute create --namespace {client.namespace} "
        f"--name {RESEARCH_PHASE.name} --type Keyword"
    )
    try:
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                namespace=client.namespace,
                search_attributes={RESEARCH_PHASE.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD},
            ),
            timeout=_CALL_LIMIT,
        )
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise NoServer(
                f"the search attribute {RESEARCH_PHASE.name} is not registered and cannot be ({error.message}); "
                f"run: {command}"
            ) from error
    for _ in range(100):  # servers notice a new attribute with some delay, up to a minute on a cluster
        if await _knows_phases(client):
            return
        await asyncio.sleep(0.6)
    raise NoServer(f"the search attribute {RESEARCH_PHASE.name} cannot be used as a keyword; run: {command}")


async def _knows_phases(client: Client) -> bool:
    try:
        await client.count_workflows(f"{RESEARCH_PHASE.name} = 'planning'", rpc_timeout=_CALL_LIMIT)
    except RPCError as error:
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            return False
        raise NoServer(f"the runs of namespace {client.namespace} cannot be listed ({error.message})") from error
    return True


async def has_poller(client: Client) -> bool:
    """Whether a worker that is alive takes both workflow tasks and activities of the research queue. Within 5 s.

    A server that passes on workers' heartbeats is believed first. Without them the time of the last poll must do,
    by which a worker that was killed seems alive for another minute.
    """
    try:
        first, ended = await _heartbeats(client)
        if any(_is_fresh(beat) for beat in first):
            return True  # also one that has just come up and whose first poll is not listed yet
        if not await _was_polled(client, _LONGEST_POLL, not_by=ended):
            return False
        if not first:
            return True
        if await _was_polled(client, _JUST_POLLED, not_by=ended):
            return True
        # The clocks of the worker and of this machine may differ: what beats on is alive whatever it shows.
        await asyncio.sleep(2 * _HEARTBEAT_EVERY.total_seconds())
        known = {(beat.worker_instance_key, beat.heartbeat_time.ToNanoseconds()) for beat in first}
        second, _ = await _heartbeats(client)
        return any((beat.worker_instance_key, beat.heartbeat_time.ToNanoseconds()) not in known for beat in second)
    except RPCError as error:
        raise NoServer(f"the workers on queue {RESEARCH_QUEUE} cannot be listed ({error.message})") from error


async def _was_polled(client: Client, within: timedelta, not_by: Set[str]) -> bool:
    kinds = (TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
    oldest = datetime.now(UTC) - within
    for kind in kinds:
        described = await client.workflow_service.describe_task_queue(
            DescribeTaskQueueRequest(
                namespace=client.namespace, task_queue=TaskQueue(name=RESEARCH_QUEUE), task_queue_type=kind
            ),
            timeout=_CALL_LIMIT,
        )
        others = [poller for poller in described.pollers if poller.identity not in not_by]
        if not any(poller.last_access_time.ToDatetime(tzinfo=UTC) >= oldest for poller in others):
            return False
    return True


async def _heartbeats(client: Client) -> tuple[Sequence[WorkerHeartbeat], Set[str]]:
    """The last heartbeat of each worker that runs on the queue, and the identities of those that said goodbye.

    Both are empty where the server or the workers have no heartbeats.
    """
    try:
        listed = await client.workflow_service.list_workers(
            ListWorkersRequest(namespace=client.namespace, query=f"TaskQueue = '{RESEARCH_QUEUE}'"), timeout=_CALL_LIMIT
        )
    except RPCError as error:
        if error.status in _NOT_OFFERED:
            return (), set()
        raise
    beats = [worker.worker_heartbeat for worker in listed.workers_info]
    running = [beat for beat in beats if beat.status == WorkerStatus.WORKER_STATUS_RUNNING]
    return running, {beat.worker_identity for beat in beats} - {beat.worker_identity for beat in running}


def _is_fresh(beat: WorkerHeartbeat) -> bool:
    age = datetime.now(UTC) - beat.heartbeat_time.ToDatetime(tzinfo=UTC)
    # Workers of other programs may beat more slowly; a beat tells its own pace.
    return age < 2 * beat.elapsed_since_last_heartbeat.ToTimedelta() + 2 * _HEARTBEAT_EVERY
