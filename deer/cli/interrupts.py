"""What Ctrl-C, SIGTERM and a closed terminal do to a command: the first lets work finish, the second does not wait."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NoReturn

INTERRUPTED = 130
"""The exit code of a command that was interrupted, as shells have it."""

DRAINING = "stopping once calls in flight have finished; press Ctrl-C again to leave at once"

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_cancel() -> Iterator[None]:
    """Let the first stop signal cancel the current task, so that it can tidy up; KeyboardInterrupt is raised then.

    A second one ends the process on the spot.
    """
    owner = _current_task()
    was_interrupted = False

    def interrupt() -> None:
        nonlocal was_interrupted
        if was_interrupted:
            end_process(INTERRUPTED)
        was_interrupted = True
        owner.cancel()

    with signals_call(interrupt):
        try:
            yield
        except asyncio.CancelledError:
            if not was_interrupted:
                raise
            owner.uncancel()
            raise KeyboardInterrupt from None


@contextmanager
def signals_leave(before_leaving: Callable[[], None]) -> Iterator[None]:
    """Let the stop signals end the process on the spot, after a last short call."""
    with signals_call(lambda: _leave(before_leaving)):
        yield


@contextmanager
def signals_call(handler: Callable[[], None]) -> Iterator[None]:
    """Call something on a stop signal while the block lasts. Signals that the process was told to ignore stay so."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may receive signals
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _STOPS}
    heeded = [number for number, previous in before.items() if previous is not signal.SIG_IGN]
    for number in heeded:
        # Not loop.add_signal_handler, which forgets what an outer block had set.
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(handler))
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])


@contextmanager
def signals_stop(stop: asyncio.Event, before_leaving: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Let the first stop signal set an event, and the second end the process on the spot, after a last short call."""

    def handler() -> None:
        if stop.is_set():
            _leave(before_leaving)
        stop.set()
        say(DRAINING)

    with signals_call(handler):
        yield


@asynccontextmanager
async def beside(job: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:  # coroutines take nothing
    """Run a job beside the block, and cancel what is left of it at the end.

    An error of the job ends the block and is raised in its stead.
    """
    owner = _current_task()
    task = asyncio.create_task(job)
    has_failed = False

    def end_block(ended: asyncio.Task[None]) -> None:
        nonlocal has_failed
        if not ended.cancelled() and ended.exception() is not None:
            has_failed = True
            owner.cancel()

    task.add_done_callback(end_block)
    try:
        yield task
    except asyncio.CancelledError:
        if not has_failed:
            raise
        owner.uncancel()
    finally:
        task.remove_done_callback(end_block)
        task.cancel()
        await asyncio.wait([task])
    if has_failed:
        task.result()


def say(line: str) -> None:
    """Tell the person at the terminal; standard output is for results."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def end_process(code: int) -> NoReturn:
    """End the process now, its output written.

    The native part of Temporal's SDK may crash while the interpreter is taken down, which would change the exit code.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _leave(before_leaving: Callable[[], None]) -> NoReturn:
    before_leaving()
    end_process(INTERRUPTED)


def _current_task() -> asyncio.Task[Any]:  # what the task returns is of no interest here
    task = asyncio.current_task()
    assert task is not None, "context managers are entered inside a task"
    return task
