"""How workflows call activities: what a failure means, and waiting for a person where only one can mend it."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, is_cancelled_exception
from temporalio.exceptions import TimeoutError as ActivityTimeout
from temporalio.workflow import ActivityConfig, LocalActivityConfig

from deer.errors import NEEDS_A_PERSON, FailureKind, ServiceError

MAX_SUMMARY_CHARS = 200

Request = TypeVar("Request", bound=BaseModel)
Result = TypeVar("Result", bound=BaseModel)
Hold = Callable[[ServiceError], Awaitable[None]]


async def call(
    activity: Callable[[Any, Request], Awaitable[Result]],
    request: Request,
    policy: ActivityConfig,
    summary: str,
    hold: Hold,
) -> Result:
    """Run an activity to its result.

    What only a person can mend is held until somebody says `retry`, then the call is made again. Any other failure,
    after Temporal's retries, raises ServiceError with its reason. Cancellation passes through.
    """
    config = policy.copy()
    config["summary"] = summary[:MAX_SUMMARY_CHARS]
    return await _held(lambda: workflow.execute_activity_method(activity, args=[request], **config), hold)


async def call_locally(
    activity: Callable[[Any, Request], Awaitable[Result]],
    request: Request,
    policy: LocalActivityConfig,
    summary: str,
    hold: Hold,
) -> Result:
    """Like `call`, within the workflow task: for what costs milliseconds and nothing when it is repeated."""
    config = policy.copy()
    config["summary"] = summary[:MAX_SUMMARY_CHARS]
    return await _held(lambda: workflow.execute_local_activity_method(activity, args=[request], **config), hold)


async def _held(make: Callable[[], Awaitable[Result]], hold: Hold) -> Result:
    while True:
        try:
            return await make()
        except (ActivityError, ApplicationError, ActivityTimeout) as error:  # a local activity's comes unwrapped
            if is_cancelled_exception(error):
                raise
            failure = failure_of(error)
            if failure.kind not in NEEDS_A_PERSON:
                raise failure from error
            await hold(failure)


def failure_of(error: FailureError) -> ServiceError:
    """What went wrong in an activity, as the error that its provider raised."""
    cause = error.cause if isinstance(error, ActivityError) else error
    if isinstance(cause, ApplicationError):
        kind = FailureKind(cause.type) if cause.type in set(FailureKind) else FailureKind.REJECTED
        return ServiceError(cause.message, kind)
    if isinstance(cause, ActivityTimeout):
        return ServiceError("it took longer than allowed", FailureKind.UNAVAILABLE)
    return ServiceError(str(cause or error), FailureKind.UNAVAILABLE)
