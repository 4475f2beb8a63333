"""What a run needs at every moment: its calls made, its state shown, saved and held, its steps told."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import FailureError, is_cancelled_exception
from temporalio.workflow import ActivityConfig, ChildWorkflowHandle

with workflow.unsafe.imports_passed_through():
    from activities.reports import ReportActivities
    from deer import flow, messages
    from deer.errors import DeerError, FailureKind, InvalidInput, ServiceError
    from deer.models import (
        RESEARCH_PHASE,
        Lease,
        ModelResult,
        Phase,
        ResearchRequest,
        RunOutcome,
        SaveRunRequest,
        StepStatus,
    )
    from deer.parsing import first_error
    from deer.wording import word
    from workflows import policies
    from workflows.calling import Request, Result, call
    from workflows.step import Step

_PHASE = SearchAttributeKey.for_keyword(RESEARCH_PHASE)


class RunFailed(DeerError):
    """The run cannot go on, for the reason given."""


class OpenRun:
    """A run that goes on. `workflows.listening` has what people may ask of it, `workflows.research` its story."""

    def __init__(self, request: object, state: object) -> None:
        """Begin with a request as Temporal delivered it; one that breaks a rule is kept for `run` to fail on.

        `state`: where an earlier history of the run stopped, None for a run that has none.
        """
        self._bad_request: InvalidInput | None = None
        try:
            self._request = ResearchRequest.model_validate(request)
        except ValidationError as error:
            self._bad_request = first_error(error)
            self._request = ResearchRequest(question="-")
        run_id = workflow.info().workflow_id
        if {".", ".."} & set(run_id.split("/")):
            self._bad_request = InvalidInput(f"a run cannot be named {run_id!r}: its record is kept under that name")
        begun = None
        try:
            begun = None if state is None else flow.RunState.model_validate(state)
        except ValidationError as error:
            self._bad_request = first_error(error)
        self._state = begun or flow.RunState.begin(run_id, self._request)
        self._children: dict[str, ChildWorkflowHandle[Step, Any]] = {}
        self._heard: set[tuple[str, messages.Command]] = set()
        """Which steps have said that they begin nothing new, and by which command."""
        self._shown_phase: Phase | None = None
        self._saving = asyncio.Lock()
        self._round_saved = 0
        self._saved_meanwhile: asyncio.Task[None] | None = None

    # Calls

    async def _call(
        self,
        activity: Callable[[Any, Request], Awaitable[Result]],
        request: Request,
        policy: ActivityConfig,
        summary: str,
    ) -> Result:
        """The result of an activity, whose notices go to the reader; ServiceError when it failed for good.

        A paused run makes no call until it is resumed, a run that is to finish none but those of its report.
        """
        await self._wait_out_pause()
        if flow.is_past_calls(self._state):
            raise ServiceError("it is not asked any more: the run is finishing", FailureKind.REJECTED)
        result = await call(activity, request, policy, summary, self._hold)
        flow.tell_time(self._state, workflow.now())
        if isinstance(result, ModelResult):
            unpriced = flow.unpriced_notice(result.usage, self._state.locale) if self._state.ledger.budget.usd else None
            for text in (*result.notices, *([unpriced] if unpriced else [])):
                self._state.notice(workflow.now(), text)
        return result

    async def _ask(self, activity: Callable[[Any, Request], Awaitable[Result]], request: Request, role: str) -> Result:
        """The result of a model call without which the run cannot go on."""
        try:
            return await self._call(activity, request, policies.MODEL, role)
        except ServiceError as error:
            raise RunFailed(f"the {role} could not be asked: {error}") from error

    async def _keep(
        self, activity: Callable[[Any, Request], Awaitable[Result]], request: Request, summary: str
    ) -> Result:
        """The result of work on stored texts without which the run cannot go on; a hold of it is never given up."""
        await self._wait_out_pause()
        try:
            return await call(activity, request, policies.STORE, summary, self._hold_for_good)
        except ServiceError as error:
            raise RunFailed(f"could not {summary}: {error}") from error

    async def _wait_out_pause(self) -> None:
        if self._state.paused:
            await workflow.wait_condition(lambda: not self._state.paused)

    async def _hold(self, failure: ServiceError) -> None:
        """Wait in `needs_attention` until somebody says `retry`.

        Raises ServiceError when nobody came in time, and when the run is to finish without the call.
        """
        asked, deadline = self._state.finish_requests, self._request.attention_deadline

        def is_given_up() -> bool:
            return self._state.finish_requests > asked or flow.is_past_calls(self._state)

        if not await self._released(failure, is_given_up, deadline):
            late = "" if is_given_up() else f"; nobody mended it in {deadline}"
            raise ServiceError(f"{failure}{late}", FailureKind.REJECTED)

    async def _hold_for_good(self, failure: ServiceError) -> None:
        """Wait in `needs_attention`, however long it takes: what is held is the way to an end that keeps the work."""
        await self._released(failure, lambda: False, None)

    async def _released(
        self, failure: ServiceError, is_given_up: Callable[[], bool], deadline: timedelta | None
    ) -> bool:
        """Hold the run; whether somebody said `retry`, and not that it was given up or the deadline passed."""
        if failure.kind is not FailureKind.STORE_UNWRITABLE:  # a record that cannot be kept would hold it all the more
            await self._save_as(Phase.NEEDS_ATTENTION, str(failure))
        flow.hold(self._state, workflow.now(), "", str(failure))
        self._show()
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: "" not in self._state.held or is_given_up(),
                timeout=deadline,
                timeout_summary="attention deadline",
            )
        was_released = "" not in self._state.held
        self._state.release("")
        self._show()
        await self._wait_out_pause()
        return was_released

    # A long life

    def _history_is_long(self) -> bool:
        """Whether this history should end soon, by the measure of the request or Temporal's own."""
        info = workflow.info()
        is_long = info.get_current_history_length() >= self._request.continue_after_events
        return is_long or info.is_continue_as_new_suggested()

    async def _renew_long_history(self) -> None:
        """Continue as new where the history is long, with the state as it is; to be called while nothing is pending."""
        if self._history_is_long():
            await workflow.wait_condition(lambda: workflow.all_handlers_finished() and not self._saving.locked())
            workflow.continue_as_new(args=[self._request, self._state])

    # Showing and saving

    def _enter(self, phase: Phase) -> None:
        self._state.enter(phase)
        self._show()

    def _notice(self, key: str, **values: object) -> None:
        self._state.notice(workflow.now(), word(key, self._state.locale, **values))

    def _show(self) -> None:
        """Put the state where Temporal's UI finds it; the search attribute costs an event, so on change only."""
        flow.tell_time(self._state, workflow.now())
        if self._shown_phase is not self._state.phase:
            self._shown_phase = self._state.phase
            workflow.upsert_search_attributes([_PHASE.value_set(self._state.phase)])
        workflow.set_current_details(flow.picture(self._state))

    async def _save_as(self, phase: Phase, reason: str | None) -> None:
        """Save the record of the run as it will be in a phase that it is about to enter.

        One at a time, so that the last one saved is the latest. A store that cannot be written costs the record,
        never the run: its history has all of it.
        """
        async with self._saving:
            if self._state.phase.is_end and phase is not self._state.phase:
                return  # the run ended while this save waited for its turn
            if self._state.paused and not phase.is_end:
                phase, reason = Phase.PAUSED, reason or flow.PAUSE_REASON
            await self._save(phase, reason)

    def _save_meanwhile(self) -> None:
        """Once a round, when its first step is at work: save the record as it is, while nobody waits for that."""
        if self._round_saved != self._state.round:
            self._round_saved = self._state.round
            self._saved_meanwhile = asyncio.create_task(self._save_as_it_is())

    async def _save_as_it_is(self) -> None:
        async with self._saving:
            if not self._state.phase.is_end:
                await self._save(self._state.phase, self._state.reason)

    async def _save(self, phase: Phase, reason: str | None) -> None:
        status = flow.status_of(self._state).model_copy(update={"phase": phase, "reason": reason})
        request = SaveRunRequest(
            status=status,
            texts=flow.references_of(self._state),
            state=self._state.model_dump_json(exclude={"progress"}),
        )
        try:
            await call(ReportActivities.save_run, request, policies.STORE, "save the run", _no_hold)
        except ServiceError as error:
            workflow.logger.warning("the record of the run was not saved: %s", error)

    async def _end(self, phase: Phase, reason: str | None = None) -> RunOutcome:
        self._state.end(workflow.now(), phase, reason)
        self._show()
        ending = asyncio.ensure_future(self._close(phase, reason))
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await ending  # a run that has come to its end is not cancelled any more
        return flow.outcome_of(self._state)

    async def _close(self, phase: Phase, reason: str | None) -> None:
        await self._save_as(phase, reason)
        await workflow.wait_condition(workflow.all_handlers_finished)

    # The steps at work

    async def _catch_up(self, step_id: str, lease: Lease | None) -> None:
        """Tell a step that has just started, with this lease, what was decided before there was anybody to tell."""
        child = self._children[step_id]
        if self._state.steps[step_id].skip_asked:
            child.cancel()
        elif self._state.finishing or self._state.steps[step_id].ended_by is not None:
            await self._tell(child, messages.Command.WIND_DOWN)
        elif self._state.paused:
            await self._tell(child, messages.Command.PAUSE)
        if (changed := self._state.ledger.lease_of(step_id)) != lease:
            await self._tell(child, changed or Lease())

    async def _settle_leases(self) -> None:
        """Answer the steps that wait for more of the budget, as far as there is an answer."""
        await self._tell_all(flow.settle_leases(self._state, workflow.now()))

    async def _wait_in_time(self, has_news: Callable[[], bool]) -> None:
        """Wait for news; the time that the budget leaves for research may end before, and with it the steps at work."""
        watched = flow.time_watched(self._state)
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: has_news() or flow.time_watched(self._state) != watched,
                timeout=flow.time_left(self._state),
                timeout_summary="minutes of the budget",
            )
        flow.tell_time(self._state, workflow.now())
        await self._tell_all(flow.end_overdue_steps(self._state))

    async def _tell_and_be_heard(self, orders: Mapping[str, messages.Command | Lease]) -> None:
        """Tell the steps at work, and wait until those that are to begin nothing new have heard it.

        Before, a step could make a call without knowing that it was not to: one whose start is on its way as well. Of
        two pauses at once the second may be answered by what was heard of the first.
        """
        stopping = {
            (step_id, order) for step_id, order in orders.items() if isinstance(order, messages.Command) and order.stops
        }
        self._heard -= stopping
        await self._tell_all(orders)
        await workflow.wait_condition(lambda: all(self._begins_nothing(*each) for each in stopping))

    def _begins_nothing(self, step_id: str, told: messages.Command) -> bool:
        """Whether a step has heard that it is to begin nothing new, has ended, or may go on again."""
        is_over = self._state.steps[step_id].status is not StepStatus.RUNNING
        may_go_on = told is messages.Command.PAUSE and not self._state.paused
        return is_over or may_go_on or (step_id, told) in self._heard

    async def _tell_all(self, orders: Mapping[str, messages.Command | Lease]) -> None:
        at_work = [step_id for step_id in orders if step_id in self._children]
        await asyncio.gather(*[self._tell(self._children[step_id], orders[step_id]) for step_id in at_work])

    async def _tell(self, child: ChildWorkflowHandle[Step, Any], command: messages.Command | Lease) -> None:
        try:
            await child.signal(Step.command, command)
        except FailureError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.info("step %s ended before it could be told: %s", child.id, error)


async def _no_hold(failure: ServiceError) -> None:
    """Nobody is waited for: the caller can go on without."""
    raise failure
