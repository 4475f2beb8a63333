"""Real Temporal servers for tests: one as it is, one whose workflows may skip time."""

import os
import shutil
import sysconfig
from pathlib import Path

from temporalio.common import SearchAttributeKey
from temporalio.testing import WorkflowEnvironment

from deer.devserver.launch import QUEUE_SETTINGS, RUNTIME_SETTINGS
from deer.payloads import data_converter

PHASE = SearchAttributeKey.for_keyword("ResearchPhase")


def temporal_binary() -> str | None:
    """The `temporal` of the environment, else of the PATH; None when there is none."""
    scripts = Path(sysconfig.get_path("scripts"))
    return shutil.which("temporal", path=str(scripts)) or shutil.which("temporal")


async def start_server(binary: str) -> WorkflowEnvironment:
    """A dev server in memory that knows the search attribute."""
    _set_runtime()
    return await WorkflowEnvironment.start_local(
        data_converter=data_converter(),
        search_attributes=[PHASE],
        dev_server_existing_path=binary,
        dev_server_log_level="never",
        dev_server_extra_args=QUEUE_SETTINGS,
    )


async def start_skipping_server(binary: str) -> WorkflowEnvironment:
    """The same server with a clock of its own for each workflow, which jumps when only timers are left."""
    _set_runtime()
    return await WorkflowEnvironment.start_time_skipping_v2(
        data_converter=data_converter(),
        search_attributes=[PHASE],
        dev_server_existing_path=binary,
        dev_server_log_level="never",
        dev_server_extra_args=[
            *QUEUE_SETTINGS,
            "--dynamic-config-value",
            "frontend.WorkflowTimeSkippingEnabled=true",
        ],
    )


def _set_runtime() -> None:
    """Servers inherit the environment; one processor each, since several of them share what the machine has."""
    os.environ.update(RUNTIME_SETTINGS, GOMAXPROCS="1")
