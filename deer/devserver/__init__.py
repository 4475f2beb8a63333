"""The embedded Temporal server of a data directory.

One server per data directory, started by whoever needs it first, used by all, stopped by the last one to leave.
"""

from deer.devserver.hold import ServerHold, hold_server, recorded_server
from deer.devserver.launch import log_file
from deer.devserver.processes import spawn_in_own_session
from deer.devserver.record import ServerClient, ServerRecord

__all__ = [
    "ServerClient",
    "ServerHold",
    "ServerRecord",
    "hold_server",
    "log_file",
    "recorded_server",
    "spawn_in_own_session",
]
