"""What a run asks of Temporal itself."""

from collections.abc import Callable
from typing import Any

from temporalio import activity

from activities.heartbeats import beating
from deer.models import CancelRunReply, CancelRunRequest


class RunActivities:
    """Requests to the Temporal server that workflow code cannot make."""

    @property
    def all(self) -> list[Callable[..., Any]]:
        """The activities, for registration with a worker."""
        return [self.request_cancellation]

    @activity.defn
    async def request_cancellation(self, request: CancelRunRequest) -> CancelRunReply:
        """Request the cancellation of the run that asks.

        A workflow ends CANCELED only when somebody requested it, and the server refuses a workflow's request for
        itself ("external workflow not found").
        """
        async with beating():
            handle = activity.client().get_workflow_handle(request.run_id, run_id=activity.info().workflow_run_id)
            await handle.cancel()
        return CancelRunReply()
