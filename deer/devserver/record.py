"""`server.json` of a data directory: the embedded server, and the processes that use it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from deer.devserver.processes import ProcessId

_RECORD, _LOCK = "server.json", "server.lock"


class ServerClient(ProcessId):
    """One use of the server. `session` tells several uses by one process apart.

    `works`: it runs a worker. `carries_on`: it stays until no open run can go on without a person.
    """

    session: str
    works: bool = False
    carries_on: bool = False


class ServerRecord(ProcessId):
    """The server's process, where it listens, and who uses it.

    `address` is `host:port` for Temporal clients, `ui` the http address of the web interface.
    `told_to_stop_at`: seconds since 1970, when the last client left; a server told to stop takes no new client.
    """

    address: Annotated[str, Field(pattern=r"^[^/\s]+:\d{1,5}$")]
    ui: Annotated[str, Field(pattern=r"^http://[^/\s]+:\d{1,5}$")]
    told_to_stop_at: float | None = None
    clients: tuple[ServerClient, ...] = ()

    @property
    def live_clients(self) -> tuple[ServerClient, ...]:
        """The clients whose process still exists: one that was killed does not keep the server."""
        return tuple(client for client in self.clients if client.is_alive)

    @property
    def has_worker(self) -> bool:
        """Whether a process that can take work now runs a worker."""
        return any(client.works and client.is_at_work for client in self.clients)

    def without(self, session: str) -> "ServerRecord":
        """The record without that client and without dead ones."""
        return self._with_clients(client for client in self.live_clients if client.session != session)

    def with_client(self, changed: ServerClient) -> "ServerRecord":
        """The record in which this client replaces the one of the same session, without dead ones."""
        return self._with_clients((*self.without(changed.session).clients, changed))

    def _with_clients(self, clients: Iterator[ServerClient] | tuple[ServerClient, ...]) -> "ServerRecord":
        return self.model_copy(update={"clients": tuple(clients)})


def read_record(data_dir: Path) -> ServerRecord | None:
    """What is recorded, alive or not; None when nothing usable is."""
    try:
        return ServerRecord.model_validate_json((data_dir / _RECORD).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def write_record(data_dir: Path, record: ServerRecord) -> None:
    """Replace the record as a whole, so that readers need no lock. Only under `locked`."""
    draft = data_dir / f"{_RECORD}.new"
    draft.write_text(record.model_dump_json(indent=2), encoding="utf-8")
    draft.replace(data_dir / _RECORD)


@contextmanager
def locked(data_dir: Path) -> Iterator[None]:
    """Keep all other processes from changing the record. To be held for milliseconds, never while waiting."""
    descriptor = os.open(data_dir / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
