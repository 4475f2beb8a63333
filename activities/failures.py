"""The one place where errors of services become Temporal's ApplicationError."""

from collections.abc import Iterator
from contextlib import contextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from deer.errors import DeerError, FailureKind, InvalidInput, ServiceError

MAX_MESSAGE_CHARS = 2_000


@contextmanager
def translated() -> Iterator[None]:
    """Raise what a provider raised as an ApplicationError whose `type` is the failure's kind.

    A retryable failure is left to Temporal's retry policy, after the delay that the service asked for, until it has
    been tried as often as it is worth.
    """
    try:
        yield
    except ServiceError as error:
        raise _application_error(error) from None
    except InvalidInput as error:
        raise ApplicationError(str(error)[:MAX_MESSAGE_CHARS], type=FailureKind.MALFORMED, non_retryable=True) from None
    except DeerError as error:
        raise ApplicationError(str(error)[:MAX_MESSAGE_CHARS], type=type(error).__name__, non_retryable=True) from None


def _application_error(error: ServiceError) -> ApplicationError:
    may_retry = error.retryable and (error.max_attempts is None or activity.info().attempt < error.max_attempts)
    rate_limited = error.kind is FailureKind.RATE_LIMITED and may_retry
    return ApplicationError(
        str(error)[:MAX_MESSAGE_CHARS],
        type=error.kind,
        non_retryable=not may_retry,
        next_retry_delay=error.retry_after if may_retry else None,
        # a rate limit is the service's everyday answer: it must not fill the logs and failure metrics
        category=ApplicationErrorCategory.BENIGN if rate_limited else ApplicationErrorCategory.UNSPECIFIED,
    )
