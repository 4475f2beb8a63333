"""The connection to Temporal: what is refused, in which words, and what a server is made ready with."""

import socket
from datetime import timedelta
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from deer.config import Settings, load_settings
from deer.errors import NoServer, SettingsError
from deer.temporal import connect, has_poller, keep_closed_runs, register_search_attribute


def settings_of(directory: Path, **variables: str) -> Settings:
    """Settings as read from these variables alone."""
    return load_settings(env={**variables, "DEER_DATA_DIR": str(directory)}, directory=directory)


def address_of(server: WorkflowEnvironment) -> str:
    """`host:port` of a server."""
    return server.client.service_client.config.target_host


async def bare_namespace(server: WorkflowEnvironment, name: str) -> None:
    """Create a namespace without search attributes that keeps what has ended for a day."""
    day = Duration()
    day.FromTimedelta(timedelta(days=1))
    await server.client.workflow_service.register_namespace(
        RegisterNamespaceRequest(namespace=name, workflow_execution_retention_period=day)
    )


async def ready(settings: Settings) -> Client:
    """A client; a new namespace takes the server a moment."""
    return await connect(settings, patience=timedelta(seconds=20))


async def test_address_without_server_is_named_with_the_way_out(tmp_path: Path) -> None:
    """No server at TEMPORAL_ADDRESS: one line with the address, the reason and what to do."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(NoServer) as refusal:
        await connect(settings_of(tmp_path, TEMPORAL_ADDRESS=address))
    assert str(refusal.value) == (
        f"no Temporal server answers at {address} (Connection refused); "
        "start one with `uv run starter.py server`, or correct TEMPORAL_ADDRESS"
    )


async def test_missing_namespace_is_named(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A namespace that the server has not is refused with the command that creates it."""
    settings = settings_of(tmp_path, TEMPORAL_ADDRESS=address_of(server), TEMPORAL_NAMESPACE="nowhere")
    with pytest.raises(NoServer, match=r"--namespace nowhere$"):
        await connect(settings)


async def test_profile_gives_address_and_namespace(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """TEMPORAL_PROFILE takes the connection from the profile file; an unknown profile is a mistake in the settings."""
    profiles = tmp_path / "temporal.toml"
    profiles.write_text(f'[profile.mine]\naddress = "{address_of(server)}"\nnamespace = "default"\n')
    variables = {"TEMPORAL_CONFIG_FILE": str(profiles)}
    client = await connect(settings_of(tmp_path, TEMPORAL_PROFILE="mine", **variables))
    assert client.namespace == "default"
    with pytest.raises(SettingsError, match="other"):
        await connect(settings_of(tmp_path, TEMPORAL_PROFILE="other", **variables))


def test_profile_file_alone_never_redirects(tmp_path: Path) -> None:
    """A file with a default profile leaves the embedded mode on: only TEMPORAL_ADDRESS or TEMPORAL_PROFILE end it."""
    profiles = tmp_path / "temporal.toml"
    profiles.write_text('[profile.default]\naddress = "elsewhere.example:7233"\n')
    assert settings_of(tmp_path, TEMPORAL_CONFIG_FILE=str(profiles)).temporal.embedded


async def test_search_attribute_is_registered_once(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A namespace without `ResearchPhase` gets it, and a second worker finds it there."""
    await bare_namespace(server, "bare")
    settings = settings_of(tmp_path, TEMPORAL_ADDRESS=address_of(server), TEMPORAL_NAMESPACE="bare")
    client = await ready(settings)
    await register_search_attribute(client)
    await register_search_attribute(client)
    assert (await client.count_workflows("ResearchPhase = 'planning'")).count == 0


async def test_closed_runs_are_kept_for_as_long_as_asked(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A shorter retention is raised, a longer one is left alone."""
    await bare_namespace(server, "short")
    settings = settings_of(tmp_path, TEMPORAL_ADDRESS=address_of(server), TEMPORAL_NAMESPACE="short")
    client = await ready(settings)
    await keep_closed_runs(client, timedelta(days=30))
    await keep_closed_runs(client, timedelta(days=2))
    described = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace="short"))
    assert described.config.workflow_execution_retention_ttl.ToTimedelta() == timedelta(days=30)


async def test_queue_that_nobody_ever_polled_has_no_poller(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Without any worker `has_poller` says so at once."""
    await bare_namespace(server, "idle")
    settings = settings_of(tmp_path, TEMPORAL_ADDRESS=address_of(server), TEMPORAL_NAMESPACE="idle")
    assert not await has_poller(await ready(settings))
