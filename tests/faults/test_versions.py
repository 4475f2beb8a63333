"""Worker Versioning: a deploy while runs are open leaves each on the version that it began on."""

from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import SetWorkerDeploymentCurrentVersionRequest
from temporalio.client import Client
from temporalio.service import RPCError

from deer.models import Phase
from deer.providers.files import FileStore
from deer.temporal import has_poller
from tests.eventually import eventually
from tests.faults.worker_process import WorkerProcess
from tests.running import Run, Runs, start_server
from tests.scripted import ScriptedServices

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

DEPLOYMENT = "research"


async def make_current(client: Client, build_id: str) -> None:
    """Have new runs begin on a version, once the server knows it."""
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace, deployment_name=DEPLOYMENT, build_id=build_id, ignore_missing_task_queues=True
    )

    async def try_it() -> bool:
        try:
            await client.workflow_service.set_worker_deployment_current_version(request)
        except RPCError:
            return False
        return True

    await eventually(try_it, f"version {build_id} as the current one", within_s=60)


async def version_of(run: Run) -> str:
    """The version that a run is on, as Temporal tells."""
    described = await run.handle.describe()
    return described.raw_description.workflow_execution_info.versioning_info.deployment_version.build_id


async def test_a_run_ends_on_the_version_it_began_on(temporal: str, scripted: ScriptedServices, tmp_path: Path) -> None:
    """Case T07: an old run that waits is approved after a deploy and stays on its version; a new one takes the new."""
    async with await start_server(temporal) as server:
        address = server.client.service_client.config.target_host
        runs = Runs(server.client, "research", FileStore(tmp_path / "store"))
        old, new = (
            WorkerProcess(address, scripted, tmp_path, DEER_DEPLOYMENT_NAME=DEPLOYMENT, DEER_BUILD_ID=build_id)
            for build_id in ("first", "second")
        )
        with old, new:
            await make_current(server.client, "first")
            assert await has_poller(server.client)
            waiting = await runs.start("What is the value?")
            await waiting.reach(Phase.AWAITING_REVIEW, within_s=60)
            await make_current(server.client, "second")
            later = await runs.start("What is the value?", auto_accept=True)
            assert (await later.end(within_s=60)).phase is Phase.COMPLETED
            await waiting.signal("approve")
            assert (await waiting.end(within_s=60)).phase is Phase.COMPLETED
            assert (await version_of(waiting), await version_of(later)) == ("first", "second")
