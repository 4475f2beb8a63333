"""What a run asks of Temporal itself."""

from collections.abc import Callable
from typing import Any

from temporalio import activity

from activities.heartbeats import beating


class RunActivities:
    """Requests to the Temporal server that workflow code cannot make."""

    @property
    def all(self) -> list[Callable[..., Any]]:
        """The activities, for registration with a worker."""
        return [self.request_cancellation]

    @activity.defn
    async def request_cancellation(self) -> None:
        """Request the cancellation of the run that asks.

        A workflow ends CANCELED only when somebody requested it, and the server refuses a workflow's request for
        itself ("external workflow not found").
        """
        async with beating():
            info = activity.info()
            handle = activity.client().get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
            await handle.cancel()
