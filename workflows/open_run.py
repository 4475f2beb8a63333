"""What a run needs at every moment: its state shown, saved and held, and open to messages."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception
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
        PlanStatus,
        ProgressPage,
        ResearchRequest,
        RunOutcome,
        RunStatus,
        SaveRunRequest,
        TextRef,
        shown,
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
    """A run that people can look into and speak to while it goes on. `workflows.research` tells its story."""

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
        begun = None if state is None else flow.RunState.model_validate(state)
        self._state = begun or flow.RunState.begin(run_id, self._request)
        self._children: dict[str, ChildWorkflowHandle[Step, Any]] = {}
        self._shown_phase: Phase | None = None
        self._saving = asyncio.Lock()

    # Calls

    async def _call(
        self,
        activity: Callable[[Any, Request], Awaitable[Result]],
        request: Request,
        policy: ActivityConfig,
        summary: str,
    ) -> Result:
        """The result of an activity, whose notices go to the reader; ServiceError when it failed for good.

        A paused run makes no call until it is resumed.
        """
        if self._state.paused:
            await workflow.wait_condition(lambda: not self._state.paused)
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
        """The result of work on stored texts without which the run cannot go on."""
        try:
            return await self._call(activity, request, policies.STORE, summary)
        except ServiceError as error:
            raise RunFailed(f"could not {summary}: {error}") from error

    async def _hold(self, reason: str) -> None:
        """Wait in `needs_attention` until somebody says `retry`; a run that is to finish gives the call up."""
        await self._save_as(Phase.NEEDS_ATTENTION, reason)
        flow.hold(self._state, workflow.now(), "", reason)
        self._show()
        asked = self._state.finish_requests
        try:
            await workflow.wait_condition(
                lambda: "" not in self._state.held or self._state.finish_requests > asked,
                timeout=self._request.attention_deadline,
                timeout_summary="attention deadline",
            )
        except TimeoutError:
            reason = f"{reason}; nobody mended it in {self._request.attention_deadline}"
        given_up = "" in self._state.held
        self._state.release("")
        self._show()
        if given_up:
            raise ServiceError(reason, FailureKind.REJECTED)

    # A long life

    def _history_is_long(self) -> bool:
        """Whether this history should end soon, by the measure of the request or Temporal's own."""
        info = workflow.info()
        is_long = info.get_current_history_length() >= self._request.continue_after_events
        return is_long or info.is_continue_as_new_suggested()

    async def _renew_long_history(self) -> None:
        """Continue as new where the history is long, with the state as it is; to be called while nothing is pending."""
        if self._history_is_long():
            await workflow.wait_condition(workflow.all_handlers_finished)
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
            status = flow.status_of(self._state).model_copy(update={"phase": phase, "reason": reason})
            request = SaveRunRequest(
                status=status,
                texts=flow.references_of(self._state),
                state=self._state.model_dump_json(exclude={"entries"}),
            )
            try:
                await call(ReportActivities.save_run, request, policies.STORE, "save the run", _no_hold)
            except ServiceError as error:
                workflow.logger.warning("the record of the run was not saved: %s", error)

    async def _end(self, phase: Phase, reason: str | None = None) -> RunOutcome:
        self._state.end(workflow.now(), phase, reason)
        self._show()
        saving = asyncio.ensure_future(self._save_as(phase, reason))
        try:
            await asyncio.shield(saving)
        except asyncio.CancelledError:
            await saving  # a run that has come to its end is not cancelled any more
        await workflow.wait_condition(workflow.all_handlers_finished)
        return flow.outcome_of(self._state)

    # Messages: signals become notices when they are refused, updates answer with the reason

    @workflow.signal(description="Approve the plan that waits. Input: none, or {revision, reviewer}.")
    def approve(self, value: Any = None, *more: Any) -> None:
        """Approve the waiting plan."""
        self._take_signal("approve", more, lambda: self._take_review(messages.parse_approval(value)))

    @workflow.signal(description='Ask for changes. Input: text, {"feedback": text} or {"plan": plan}.')
    def edit(self, value: Any = None, *more: Any) -> None:
        """Ask for changes of the waiting plan, or replace it."""
        self._take_signal("edit", more, lambda: self._take_review(messages.parse_edit(value)))

    @workflow.signal(description="Answer a question of the coordinator. Input: text or {text}.")
    def answer(self, value: Any = None, *more: Any) -> None:
        """Answer what the run asked."""
        self._take_signal("answer", more, lambda: self._take_answer(messages.parse_answer(value)))

    @workflow.signal(description="Control the run. Input: {action, step_id, step, budget}.")
    async def control(self, value: Any = None, *more: Any) -> None:
        """Do what a person asks of the run."""
        try:
            messages.refuse_more("control", more)
            await self._act(messages.parse_control(value))
        except DeerError as error:
            self._refuse_signal("control", error)

    @workflow.update(name="review", description="Review the plan: {revision, decision, feedback or plan, reviewer}.")
    def review(self, value: Any = None) -> str:
        """Review the waiting plan; answers at once with what it did."""
        return self._take_update(lambda: self._take_review(messages.parse_review(value)))

    @review.validator
    def _check_review(self, value: Any = None) -> None:
        self._check_update(lambda: flow.check_review(self._state, messages.parse_review(value)))

    @workflow.update(name="answer", description="Answer a question of the coordinator: text or {text}.")
    def answer_now(self, value: Any = None) -> str:
        """Answer what the run asked."""
        return self._take_update(lambda: self._take_answer(messages.parse_answer(value)))

    @answer_now.validator
    def _check_answer(self, value: Any = None) -> None:
        self._check_update(lambda: flow.check_answer(self._state))
        self._check_update(lambda: messages.parse_answer(value))

    @workflow.update(name="control", description="Control the run: {action, step_id, step, budget}.")
    async def control_now(self, value: Any = None) -> str:
        """Do what a person asks of the run; answers at once with what was done."""
        try:
            return await self._act(messages.parse_control(value))
        except DeerError as error:
            raise _refusal(error) from error

    @control_now.validator
    def _check_control(self, value: Any = None) -> None:
        self._check_update(lambda: flow.check_control(self._state, messages.parse_control(value)))

    @workflow.signal(description="A step says what it spent, and that it is held or goes on. Sent by steps only.")
    async def report(self, value: Any = None, *more: Any) -> None:
        """Take over what a step says of itself."""
        try:
            messages.refuse_more("report", more)
            said = messages.parse_step_report(value)
            flow.check_step_report(self._state, said)
            if said.held is not None:
                await self._save_as(Phase.NEEDS_ATTENTION, said.held)
            flow.take_step_report(self._state, workflow.now(), said)
            await self._settle_leases()
        except DeerError as error:
            self._refuse_signal("report", error)
        self._show()

    # Queries

    @workflow.query(description="Phase, plan, steps, sources, spending and report")
    def status(self) -> RunStatus:
        """The status object; long texts appear as their beginnings."""
        return flow.status_of(self._state)

    @workflow.query(description="What happened after a cursor; the empty one asks from the beginning")
    def progress(self, since: str = "") -> ProgressPage:
        """Live progress of the run; the steps at work answer for themselves."""
        return flow.progress_since(self._state, since, tuple(child.id for child in self._children.values()))

    @workflow.query(description="The plan with the state of its steps; null before there is one")
    def plan(self) -> PlanStatus | None:
        """The plan."""
        return flow.status_of(self._state).plan

    @workflow.query(name="report", description="The report as Markdown; null before there is one")
    def report_text(self) -> str | None:
        """The report, or its beginning when it is long."""
        return None if self._state.report is None else shown(self._state.report)

    @workflow.query(description="Where the whole of each text is that status shows only the beginning of")
    def references(self) -> dict[str, TextRef]:
        """References by path, such as `report.markdown`."""
        return flow.references_of(self._state)

    # Doing what messages ask

    async def _act(self, control: messages.Control) -> str:
        """Carry out a control; returns what was done. Raises as `check_control`."""
        flow.check_control(self._state, control)
        if control.action is messages.ControlAction.PAUSE:
            await self._save_as(Phase.PAUSED, flow.PAUSE_REASON)
        orders = flow.take_control(self._state, workflow.now(), control)
        self._show()
        for step_id in orders.cancel:
            if (child := self._children.get(step_id)) is not None:
                child.cancel()
        await self._tell_all(orders.tell)
        return orders.done

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

    async def _tell_all(self, orders: Mapping[str, messages.Command | Lease]) -> None:
        for step_id, command in orders.items():
            if (child := self._children.get(step_id)) is not None:
                await self._tell(child, command)

    async def _tell(self, child: ChildWorkflowHandle[Step, Any], command: messages.Command | Lease) -> None:
        try:
            await child.signal(Step.command, command)
        except FailureError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.info("step %s ended before it could be told: %s", child.id, error)

    def _take_review(self, review: messages.Review) -> str:
        return flow.take_review(self._state, workflow.now(), review)

    def _take_answer(self, answer: messages.Answer) -> str:
        return flow.take_answer(self._state, workflow.now(), answer)

    def _take_signal(self, name: str, more: Sequence[Any], act: Callable[[], object]) -> None:
        try:
            messages.refuse_more(name, more)
            act()
        except DeerError as error:
            self._refuse_signal(name, error)
        self._show()

    def _refuse_signal(self, name: str, error: DeerError) -> None:
        self._notice("message_refused", kind=name, reason=error)

    def _take_update(self, act: Callable[[], str]) -> str:
        try:
            done = act()
        except DeerError as error:  # somebody else was quicker since the validator looked
            raise _refusal(error) from error
        self._show()
        return done

    def _check_update(self, check: Callable[[], object]) -> None:
        try:
            check()
        except DeerError as error:
            raise _refusal(error) from error


def _refusal(error: DeerError) -> ApplicationError:
    return ApplicationError(str(error), type=type(error).__name__, non_retryable=True)


async def _no_hold(reason: str) -> None:
    """Nobody is waited for: the caller can go on without."""
    raise ServiceError(reason, FailureKind.STORE_UNWRITABLE)
