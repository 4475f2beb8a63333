"""The story of a run, from a question to a cited report. `run` reads like the picture in docs/architecture.md."""

import asyncio
from functools import partial
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError, ChildWorkflowError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.llm import ModelActivities
    from activities.reports import ReportActivities
    from activities.runs import RunActivities
    from activities.search import SearchActivities
    from deer import flow
    from deer.errors import ServiceError
    from deer.models import (
        CancelRunRequest,
        ClarifyingQuestion,
        CoordinateRequest,
        DeadlinePolicy,
        JudgeRequest,
        Kind,
        Phase,
        PlanRequest,
        RecallRequest,
        RejectedReply,
        Role,
        RunOutcome,
        SearchRequest,
        StepOutcome,
        StepRequest,
        StepStatus,
        StepType,
        Verdict,
        preview_of,
        shown,
    )
    from deer.models import Step as PlannedStep
    from workflows import policies
    from workflows.calling import MAX_SUMMARY_CHARS
    from workflows.open_run import RunFailed
    from workflows.reporting import ReportingRun
    from workflows.step import Step

MAX_REASKS = 2
"""How often a plan that breaks a rule is asked for again."""

MAX_BACKGROUND_QUERY_CHARS = 400


@workflow.defn(name="Research")
class Research(ReportingRun):
    """One run of deep research. Its id is the run's id; its history is all there is to know of it."""

    @workflow.init
    def __init__(
        self, request: Any = None, state: Any = None
    ) -> None:  # parsed by hand: a malformed request must end the run, not stall it
        """State that message handlers need, which may run before `run`."""
        super().__init__(request, state)
        self._team: list[asyncio.Task[None]] = []
        self._cancel_reason = "cancelled by a person"

    @workflow.run
    async def run(self, request: Any = None, state: Any = None) -> RunOutcome:
        """Take the question to an end; every ending saves the record of the run first.

        `state`: a run that has a plan goes on from it, after a long history or as a fork of another run.
        """
        if state is not None:
            # First of all, as the handler of a message would: a query in the pause before the first task of a new
            # history can make the SDK run this before the messages that came first, and find other commands later.
            self._show()
        try:
            return await self._end(await self._story())
        except RunFailed as failure:
            await self._end(Phase.FAILED, str(failure))
            raise ApplicationError(str(failure), type="ResearchFailed", non_retryable=True) from failure
        except policies.BUGS as bug:
            await self._end(Phase.FAILED, f"a fault of the program: {type(bug).__name__}: {bug}")
            raise
        except (asyncio.CancelledError, FailureError) as error:
            if is_cancelled_exception(error):
                await self._end(Phase.CANCELLED, self._cancel_reason)
            else:
                await self._end(Phase.FAILED, f"Temporal refused what the run asked of it: {error}")
            raise

    async def _story(self) -> Phase:
        if self._state.plan is None:
            await self._coordinate()
            if self._state.answer is not None:
                return Phase.ANSWERED
            await self._look_around()
            await self._plan()
        while not self._state.knows_enough():
            await self._review()
            if not await self._carry_out_plan():
                break
        await self._report()
        await self._check_citations()
        return flow.end_phase(self._state)

    # The stations of the story

    async def _coordinate(self) -> None:
        """Small talk gets an answer; a question goes to the planner, once it is clear where that is asked for."""
        if self._bad_request is not None:
            raise RunFailed(f"the request cannot be taken: {self._bad_request}")
        if self._request.after is not None:
            recall = RecallRequest(run_id=self._request.after)
            recalled = await self._keep(ReportActivities.recall_run, recall, f"recall run {recall.run_id}")
            flow.take_earlier(self._state, workflow.now(), recalled)
        while True:
            self._enter(Phase.COORDINATING)
            brief = flow.coordinator_brief(self._state, workflow.now().date())
            decision = await self._ask(ModelActivities.coordinate, CoordinateRequest(brief=brief), "coordinator")
            flow.take_decision(self._state, workflow.now(), decision)
            if decision.question is None:
                return
            await self._clarify(decision.question)

    async def _clarify(self, question: ClarifyingQuestion) -> None:
        """Wait, as long as it takes, until a person has answered the coordinator."""
        await self._save_as(Phase.CLARIFYING, question.with_options)
        flow.open_question(self._state, question)
        self._show()
        await workflow.wait_condition(lambda: self._state.asked is None)

    async def _look_around(self) -> None:
        """One search before the plan is made; without it the plan is made all the same."""
        request = self._request
        if not request.look_around or not flow.can_search(self._state):
            return
        if not flow.may_look_around(self._state):
            self._notice("background_failed", reason=flow.why_spent(self._state, Kind.SEARCHES))
            return
        self._enter(Phase.LOOKING_AROUND)
        query = " ".join("; ".join(self._state.topics).split())[:MAX_BACKGROUND_QUERY_CHARS]
        search = SearchRequest(
            run_id=self._state.id,
            query=query,
            max_results=request.max_search_results,
            web=request.web_search,
            documents=request.documents,
            allowed_domains=request.allowed_domains,
            denied_domains=request.denied_domains,
            locale=self._state.locale,
        )
        try:
            reply = await self._call(
                SearchActivities.search_web, search, policies.SEARCH, f"background search: {query}"
            )
        except ServiceError as error:
            self._notice("background_failed", reason=error)
            return
        self._state.take_background(workflow.now(), reply)

    async def _plan(self) -> None:
        """Have the planner write the plan, or a new one after a request for changes."""
        self._enter(Phase.PLANNING)
        rejected: tuple[RejectedReply, ...] = ()
        while len(rejected) <= MAX_REASKS:
            brief = flow.planner_brief(self._state, workflow.now().date(), rejected)
            rules = self._state.rules.model_copy(update={"excess_is_cut": len(rejected) == MAX_REASKS})
            request = PlanRequest(brief=brief, rules=rules)
            try:
                reply = await self._call(ModelActivities.write_plan, request, policies.MODEL, "planner")
            except ServiceError as error:
                self._lack_plan(f"the planner could not be asked: {error}")
                return
            self._state.spend(reply.usage, Role.PLANNER)
            if reply.draft is not None:
                self._state.propose(workflow.now(), reply.draft, "planner")
                return
            rejected = (*rejected, RejectedReply(reply=reply.reply, error=reply.error or ""))
            self._state.record(workflow.now(), f"the plan was not usable: {reply.error}")
        last = preview_of(shown(rejected[-1].reply)) or "nothing"
        self._state.notice(workflow.now(), f"the planner's last reply: {last}")
        self._lack_plan(f"the planner's {len(rejected)} replies gave no plan: {rejected[-1].error}")

    def _lack_plan(self, reason: str) -> None:
        """There is no new plan: a plan before it still waits for review, without one the run has failed."""
        if self._state.plan is None:
            raise RunFailed(reason)
        self._state.keep_plan()
        if self._state.finishing:
            return
        self._state.notice(workflow.now(), f"{reason}; the plan before it still waits")

    async def _review(self) -> None:
        """Wait until the plan is approved; whoever asks for changes is shown a new plan."""
        await self._renew_long_history()
        if self._request.auto_accept:
            self._state.hand_off(workflow.now(), "review", "research team", "accepted automatically, as asked")
            return
        while not self._state.is_approved() and not self._state.finishing:
            await self._renew_long_history()
            shown = self._state.revisions
            await self._save_as(Phase.AWAITING_REVIEW, None)
            self._state.open_review(workflow.now())
            if not self._state.is_answered():
                self._enter(Phase.AWAITING_REVIEW)
            await self._wait_for_review(shown)
            if self._state.wants_new_plan():
                await self._plan()

    async def _wait_for_review(self, shown: int) -> None:
        """Wait until the revision that was shown is answered, replaced, past its deadline, or no longer needed."""
        while not self._review_has_news(shown):
            try:
                await workflow.wait_condition(
                    partial(self._review_has_news, shown, self._state.paused),
                    timeout=self._state.review_time_left(workflow.now()),
                    timeout_summary="review deadline",
                )
            except TimeoutError:
                await self._pass_deadline()

    def _review_has_news(self, shown: int, was_paused: bool | None = None) -> bool:
        """Whether the wait for a review is over, or goes by another clock since a pause has begun or ended."""
        if was_paused is not None and was_paused is not self._state.paused:
            return True
        is_over = self._state.is_answered() or self._state.finishing
        return is_over or self._state.revisions != shown or self._history_is_long()

    async def _pass_deadline(self) -> None:
        """Nobody answered in time: follow the policy of the request."""
        if self._request.review_deadline_policy is DeadlinePolicy.ACCEPT:
            flow.accept_unanswered(self._state, workflow.now())
            return
        self._state.close_review()
        self._cancel_reason = "nobody reviewed the plan before its deadline"
        self._state.hand_off(workflow.now(), "review", "end", self._cancel_reason)
        request = CancelRunRequest(run_id=self._state.id)
        await self._keep(RunActivities.request_cancellation, request, "cancel the run at its deadline")
        await workflow.wait_condition(lambda: False)  # the cancellation ends this wait

    async def _carry_out_plan(self) -> bool:
        """Have the steps done, and their findings judged; whether there is a new plan to review."""
        flow.begin_round(self._state, workflow.now())
        while True:
            await self._research_team()
            asked_about = flow.waiting_steps(self._state)
            verdict = await self._judge()
            if flow.waiting_steps(self._state) != asked_about:
                continue  # a person has added to the plan meanwhile, or changed it: that is done first
            draft = verdict and verdict.draft
            if verdict and draft is None:
                flow.do_without_the_rest(self._state, workflow.now())
                self._state.hand_off(workflow.now(), "judge", "reporter", verdict.reason)
            elif draft and not flow.is_as_planned(self._state, draft):
                self._state.propose(workflow.now(), draft, "judge")
                return True
            if not flow.has_steps_to_do(self._state):
                return False

    async def _research_team(self) -> None:
        """Run the steps as their dependencies allow, several at once, each in its own workflow."""
        self._enter(Phase.RESEARCHING)
        try:
            while flow.has_steps_to_do(self._state):
                flow.leave_out_unpayable(self._state, workflow.now())
                self._team += [
                    asyncio.create_task(self._run_step(step)) for step in flow.start_ready_steps(self._state)
                ]
                if not self._team and not self._state.paused:
                    flow.settle_waiting_steps(self._state, workflow.now())
                    return
                self._show()
                await self._wait_in_time(partial(self._team_has_news, self._state.paused))
                for task in [task for task in self._team if task.done()]:
                    self._team.remove(task)
                    task.result()
                if not self._team and flow.stops_after_a_step(self._state):
                    return
        finally:
            for task in self._team:
                task.cancel()
            if self._team:
                await workflow.wait(self._team)

    def _team_has_news(self, was_paused: bool) -> bool:
        """Whether a step has ended, may begin, or is no longer waited for, or the run was paused or resumed."""
        has_ended = self._state.paused != was_paused or any(task.done() for task in self._team)
        return has_ended or bool(flow.steps_to_start(self._state)) or not flow.has_steps_to_do(self._state)

    async def _run_step(self, step: PlannedStep) -> None:
        if step.step_type is StepType.PROCESSING:
            self._notice("no_coder", title=step.title)
        brief = flow.step_brief(self._state, step, workflow.now().date())
        lease = self._state.ledger.lease_of(step.id)
        try:
            child = await workflow.start_child_workflow(
                Step.run,
                StepRequest(
                    run_id=self._state.id,
                    brief=brief,
                    request=self._request,
                    sources=self._state.sources_behind(step),
                    lease=lease,
                    sources_named=self._state.sources.named_with(step.id),
                ),
                id=f"{self._state.id}/{step.id}/{self._state.steps[step.id].attempt}",
                static_summary=f"{brief.role} {step.id}: {step.title}"[:MAX_SUMMARY_CHARS],
                execution_timeout=policies.STEP_EXECUTION_TIMEOUT,
                task_timeout=policies.STEP_TASK_TIMEOUT,
            )
            self._children[step.id] = child
            await self._catch_up(step.id, lease)
            self._save_meanwhile()
            outcome = await child
        except ChildWorkflowError as error:
            if workflow.cancellation_reason() is not None:
                raise
            if is_cancelled_exception(error):
                outcome = StepOutcome(status=StepStatus.SKIPPED, reason="its workflow was cancelled by a person")
            else:
                outcome = StepOutcome(status=StepStatus.FAILED, reason=f"the step broke off: {error.cause or error}")
            outcome = outcome.model_copy(update={"usage": self._state.ledger.leases[step.id].usage})
        finally:
            self._children.pop(step.id, None)
        self._state.spend(outcome.usage, brief.role)
        flow.end_step(self._state, workflow.now(), step.id, outcome)
        await self._settle_leases()

    async def _judge(self) -> Verdict | None:
        """Ask, with rounds left, whether the findings are enough, or else with which steps to go on.

        A judge that gives no answer of use changes nothing: what was approved is carried out, and then reported.
        """
        rejected: tuple[RejectedReply, ...] = ()
        if flow.budget_ends_rounds(self._state, workflow.now()):
            return None
        while flow.has_rounds_left(self._state) and len(rejected) <= MAX_REASKS:
            brief = flow.judge_brief(self._state, workflow.now().date(), rejected)
            rules = self._state.rules.model_copy(update={"excess_is_cut": len(rejected) == MAX_REASKS})
            request = JudgeRequest(brief=brief, rules=rules)
            try:
                verdict = await self._call(ModelActivities.judge_findings, request, policies.MODEL, "judge")
            except ServiceError as error:
                if not self._state.finishing:
                    self._state.has_gaps = True
                    self._notice("judge_failed", reason=error)
                return None
            self._state.spend(verdict.usage, Role.JUDGE)
            if verdict.error is None:
                return verdict
            rejected = (*rejected, RejectedReply(reply=verdict.reply, error=verdict.error))
        if rejected:
            self._state.has_gaps = True
            self._notice("replan_failed", reason=rejected[-1].error)
        return None
