"""Timeouts and retries per kind of activity, each with its why.

Common to all: a heartbeat timeout, so that work of a killed worker is taken up within seconds (what runs within a
workflow task shares the task's own); a cap on attempts and on the whole time; and `PayloadsTooLarge` is never retried,
as the same result would be too large again.
"""

from datetime import timedelta

from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig, LocalActivityConfig

NO_WORKER_FOR = timedelta(days=30)
"""From scheduling to the end: this clock also runs while no worker is there, and absence must not fail a run.

How long a call is tried is bounded by its attempts.
"""

_NEVER_RETRIED = ["PayloadsTooLarge"]

MODEL = ActivityConfig(
    # above the longest answer that a client takes (9 min) and the half minute in which it may have passed on to another
    # model before that, so that the client's clear error comes first
    start_to_close_timeout=timedelta(minutes=10),
    schedule_to_close_timeout=NO_WORKER_FOR,
    heartbeat_timeout=timedelta(seconds=10),
    retry_policy=RetryPolicy(
        initial_interval=timedelta(seconds=1),
        maximum_interval=timedelta(seconds=60),
        maximum_attempts=8,
        non_retryable_error_types=_NEVER_RETRIED,
    ),
)

SEARCH = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=90),
    schedule_to_close_timeout=NO_WORKER_FOR,
    heartbeat_timeout=timedelta(seconds=10),
    # a search that fails four times is told to the agent, which can ask in other words
    retry_policy=RetryPolicy(
        initial_interval=timedelta(seconds=1),
        maximum_interval=timedelta(seconds=20),
        maximum_attempts=4,
        non_retryable_error_types=_NEVER_RETRIED,
    ),
)

PAGE = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=90),
    schedule_to_close_timeout=NO_WORKER_FOR,
    heartbeat_timeout=timedelta(seconds=10),
    # pages fail for good far more often than services do: one more try, then the agent picks another
    retry_policy=RetryPolicy(
        initial_interval=timedelta(seconds=1),
        maximum_attempts=2,
        non_retryable_error_types=_NEVER_RETRIED,
    ),
)

STORE = ActivityConfig(
    # reads and writes texts of megabytes at most
    start_to_close_timeout=timedelta(seconds=60),
    schedule_to_close_timeout=NO_WORKER_FOR,
    heartbeat_timeout=timedelta(seconds=5),
    retry_policy=RetryPolicy(
        initial_interval=timedelta(milliseconds=500),
        maximum_interval=timedelta(seconds=10),
        maximum_attempts=20,
        non_retryable_error_types=_NEVER_RETRIED,
    ),
)

CHECK = LocalActivityConfig(
    # reads texts that were stored before, on the way from a finding to the next step: a round trip less
    start_to_close_timeout=timedelta(seconds=60),
    schedule_to_close_timeout=NO_WORKER_FOR,
    retry_policy=STORE["retry_policy"],
)

STEP_EXECUTION_TIMEOUT = timedelta(days=30)
"""A step may be held until a person comes back; it does not wait for ever on nobody."""

STEP_TASK_TIMEOUT = timedelta(seconds=4)
"""As for runs (`TASK_TIMEOUT` in deer.temporal): a killed worker takes no move along for longer."""

BUGS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError, RuntimeError)
"""Errors of our own making, which end a run as failed.

Not `Exception`: that covers what replay raises after a deploy that changed a workflow, and would end every run that
waits. Such a run stays open until a fitting worker comes.
"""
