"""The Temporal server as embedded mode starts it, with its database in a file, for tests and measurements."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from google.protobuf.duration_pb2 import Duration
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError

from deer.devserver.launch import HOST, find_program, free_ports, is_listening, start_server
from deer.devserver.processes import ProcessId
from tests.eventually import eventually

RETENTION = timedelta(days=1)


@dataclass
class FileServer:
    """A server, which may be killed and started again."""

    program: Path
    directory: Path
    ports: tuple[int, int]
    process: ProcessId

    @property
    def address(self) -> str:
        """Where it listens, before and after."""
        return f"{HOST}:{self.ports[0]}"

    async def client(self, namespace: str = "default") -> Client:
        """A client, which outlives the server."""
        return await Client.connect(self.address, namespace=namespace, data_converter=pydantic_data_converter)

    async def add_namespace(self, name: str) -> None:
        """Add a namespace, and wait until it takes requests."""
        client = await self.client(name)
        retention = Duration()
        retention.FromTimedelta(RETENTION)
        await client.workflow_service.register_namespace(
            RegisterNamespaceRequest(namespace=name, workflow_execution_retention_period=retention)
        )

        async def takes_requests() -> bool:
            try:
                async for _ in client.list_workflows():
                    pass
            except RPCError:
                return False
            return True

        await eventually(takes_requests, f"namespace {name}")

    async def kill(self) -> None:
        """`kill -9`."""
        os.kill(self.process.pid, signal.SIGKILL)
        await eventually(lambda: not self.process.is_alive, "the end of the server")

    async def start_again(self) -> None:
        """Start it on its database and its ports, and wait until it takes connections."""
        self.process = start_server(self.program, self.directory, self.ports)
        await self.until_listening()

    async def until_listening(self) -> None:
        """Wait until it takes connections."""
        await eventually(lambda: is_listening(self.ports[0]), "a server that listens")


@asynccontextmanager
async def file_server(directory: Path) -> AsyncIterator[FileServer]:
    """A server with its database under `directory`, killed at the end."""
    program, ports = await find_program(directory), free_ports()
    server = FileServer(program, directory, ports, start_server(program, directory, ports))
    try:
        await server.until_listening()
        yield server
    finally:
        await server.kill()
