"""Join or start the server of a data directory, say that one works for it, and leave it."""

import asyncio
import os
import signal
import time
import uuid
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from deer.devserver.launch import (
    HOST,
    find_program,
    free_ports,
    is_listening,
    log_file,
    ports_beside,
    start_server,
)
from deer.devserver.processes import process
from deer.devserver.record import ServerClient, ServerRecord, locked, read_record, write_record
from deer.errors import NoServer, SettingsError

_START_ATTEMPTS = 3
_START_PATIENCE = timedelta(seconds=30)
_STOP_PATIENCE = timedelta(seconds=8)
_LOOK_EVERY = timedelta(milliseconds=20)


def recorded_server(data_dir: Path) -> ServerRecord | None:
    """The server that runs on this data directory and takes clients, or None."""
    record = read_record(data_dir)
    return record if record and record.is_alive and record.told_to_stop_at is None else None


async def hold_server(data_dir: Path, *, port: int | None = None) -> "ServerHold":
    """Become a client of the server of a data directory, which is started if none runs.

    `port`: where a new server must listen; None takes any free port. Returns once the server accepts connections.
    Raises NoServer when it does not start, SettingsError when the directory cannot be used, or when `port` is taken
    or a server runs on another one.
    """
    hold = ServerHold(data_dir, await find_program(data_dir))
    has_joined = False
    try:
        for _ in range(_START_ATTEMPTS):
            if has_joined := await hold.join(port):
                return hold
    except OSError as error:
        raise SettingsError(
            f"DEER_DATA_DIR={data_dir} cannot be used ({error.strerror}); name a directory that can be written"
        ) from error
    finally:
        if not has_joined:  # also when Ctrl-C ends the wait
            hold.release()
    raise NoServer(f"the embedded Temporal server ended while starting: {_last_words(data_dir)}")


class ServerHold:
    """One client's use of the embedded server; the server lives until the last hold is released.

    The calls read or replace a small file under a lock that nobody keeps for long.
    """

    def __init__(self, data_dir: Path, program: Path) -> None:
        self._data_dir = data_dir
        self._program = program
        self._me = ServerClient(**process(os.getpid()).model_dump(), session=uuid.uuid4().hex)
        self._record: ServerRecord | None = None

    @property
    def address(self) -> str:
        """`host:port` for Temporal clients."""
        return self._joined.address

    @property
    def ui(self) -> str:
        """The http address of the web interface."""
        return self._joined.ui

    async def join(self, port: int | None = None) -> bool:
        """Use the server, or start one where none runs. False when it ended before it accepted a connection."""
        record = self._try_to_join(port)
        while record is None:
            await asyncio.sleep(_LOOK_EVERY.total_seconds())
            record = self._try_to_join(port)
        self._record = record
        deadline = time.monotonic() + _START_PATIENCE.total_seconds()
        while record.is_alive and time.monotonic() < deadline:
            if is_listening(_port_of(record.address)):
                return True
            await asyncio.sleep(_LOOK_EVERY.total_seconds())
        return False

    async def revive(self) -> None:
        """Start the server again, where it listened before, if somebody killed it. Raises NoServer."""
        record = read_record(self._data_dir)
        # Without a record somebody has deleted the data directory, and does not want it back.
        was_killed = record is not None and not record.is_alive and record.told_to_stop_at is None
        if was_killed and not await self.join():
            raise NoServer(f"the embedded Temporal server ended and does not start: {_last_words(self._data_dir)}")

    def start_working(self) -> bool:
        """Record that this client runs a worker, unless another one does. Whether this client now is the one."""
        with locked(self._data_dir):
            record = read_record(self._data_dir)
            if record is None or record.has_worker:
                return False
            self._change(record, works=True)
            return True

    def stop_working(self) -> None:
        """Record that this client takes no more work, so that another client may."""
        with locked(self._data_dir):
            if record := read_record(self._data_dir):
                self._change(record, works=False)

    def carry_on(self, *, until_idle: bool) -> None:
        """Record whether this client stays for as long as an open run can go on without a person."""
        with locked(self._data_dir):
            if record := read_record(self._data_dir):
                self._change(record, carries_on=until_idle)

    def release(self) -> None:
        """Leave. The last client tells the server to end, and does not wait for it."""
        if not self._data_dir.is_dir():
            if self._record is not None and self._record.is_alive:
                _send(self._record, signal.SIGTERM)  # its database was deleted under it
            return
        with locked(self._data_dir):
            record = read_record(self._data_dir)
            if record is None:
                return
            record = record.without(self._me.session)
            if not record.clients and record.is_alive and record.told_to_stop_at is None:
                record = record.model_copy(update={"told_to_stop_at": time.time()})
                _send(record, signal.SIGTERM)
            write_record(self._data_dir, record)

    async def release_and_wait(self) -> bool:
        """Leave, and if the server ends with this client wait for that, at most 10 s. Whether it has ended."""
        self.release()
        record = read_record(self._data_dir)
        if record is not None and record.is_alive and record.told_to_stop_at is None:
            return False
        while record is not None and record.is_alive:
            _kill_if_late(record)
            await asyncio.sleep(_LOOK_EVERY.total_seconds())
        return True

    @property
    def _joined(self) -> ServerRecord:
        assert self._record is not None, "a hold is handed out after it has joined"
        return self._record

    def _change(self, record: ServerRecord, **changes: bool) -> None:
        self._me = self._me.model_copy(update=changes)
        write_record(self._data_dir, record.with_client(self._me))

    def _try_to_join(self, port: int | None) -> ServerRecord | None:
        """The record with this client in it; None while an earlier server is still ending."""
        self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds questions and what was found
        with locked(self._data_dir):
            record = read_record(self._data_dir)
            if record is not None and record.is_alive:
                if record.told_to_stop_at is not None:
                    _kill_if_late(record)
                    return None
                if port is not None and _port_of(record.address) != port:
                    raise SettingsError(
                        f"--port {port}: a server for {self._data_dir} already runs at {record.address}; "
                        "use that address, or stop it first"
                    )
                record = record.with_client(self._me)
            else:
                record = self._start(record, port)
            write_record(self._data_dir, record)
            return record

    def _start(self, ended: ServerRecord | None, port: int | None) -> ServerRecord:
        if port is not None:
            ports = ports_beside(port)
        else:
            ports = free_ports((_port_of(ended.address), _port_of(ended.ui)) if ended else None)
        server = start_server(self._program, self._data_dir, ports)
        record = ServerRecord(
            **server.model_dump(),
            address=f"{HOST}:{ports[0]}",
            ui=f"http://{HOST}:{ports[1]}",
            # The clients of a server that was killed wait for it to come back.
            clients=ended.live_clients if ended else (),
        )
        return record.with_client(self._me)


def _send(record: ServerRecord, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(record.pid, number)


def _kill_if_late(record: ServerRecord) -> None:
    if record.told_to_stop_at and time.time() - record.told_to_stop_at > _STOP_PATIENCE.total_seconds():
        _send(record, signal.SIGKILL)


def _port_of(address: str) -> int:
    port = urlsplit(address if "//" in address else f"//{address}").port
    assert port is not None, "addresses in the record are written with a port"
    return port


def _last_words(data_dir: Path) -> str:
    log = log_file(data_dir)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
    return f"{lines[-1][:300] if lines else 'it said nothing'} (log: {log})"
