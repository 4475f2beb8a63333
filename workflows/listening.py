"""The messages of a run: signals and updates that people send, and queries by which they look into it."""

from collections.abc import Callable, Sequence
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from deer import flow, messages
    from deer.errors import DeerError, Refused
    from deer.models import (
        Phase,
        PlanStatus,
        ProgressPage,
        RunStatus,
        TextRef,
        shown,
    )
    from workflows.open_run import OpenRun


class ListeningRun(OpenRun):
    """A run that people can look into and speak to while it goes on."""

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
            self._heard |= {(said.step_id, said.heard)} if said.heard else set()
            flow.check_step_report(self._state, said)
            if said.held is not None and said.can_be_saved:
                await self._save_as(Phase.NEEDS_ATTENTION, said.held)
            flow.take_step_report(self._state, workflow.now(), said)
            await self._settle_leases()
        except Refused as error:  # the step ended while its report was on the way
            workflow.logger.info("a report came too late: %s", error)
        except DeerError as error:
            self._refuse_signal("report", error)
        self._show()

    # Queries

    @workflow.query(description="Phase, plan, steps, sources, spending and report")
    def status(self) -> RunStatus:
        """The status object; long texts appear as their beginnings."""
        return flow.status_of(self._state)

    @workflow.query(description="What happened after a cursor; the empty one asks from the beginning")
    def progress(self, since: Any = "") -> ProgressPage:
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
        orders = flow.take_control(self._state, workflow.now(), control)
        self._show()
        for step_id in orders.cancel:
            if (child := self._children.get(step_id)) is not None:
                child.cancel()
        await self._tell_and_be_heard(orders.tell)
        if control.action is messages.ControlAction.PAUSE and self._state.paused:
            await self._save_as(self._state.phase, self._state.reason)
        return orders.done

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
        self._state.refuse_message(workflow.now(), name, error)

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
