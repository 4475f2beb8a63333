"""Which call of which run an activity is."""

from temporalio import activity


def this_call() -> str:
    """Names this activity, all its attempts together, apart from every other."""
    info = activity.info()
    return f"{info.workflow_id}/{info.workflow_run_id}/{info.activity_id}"
