"""One step: the model says its next move, code makes it and shows what came of it, until the step has its finding."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception
from temporalio.workflow import ActivityConfig

with workflow.unsafe.imports_passed_through():
    from activities.llm import ModelActivities
    from activities.pages import PageActivities
    from activities.reports import ReportActivities
    from activities.search import SearchActivities
    from deer.errors import FailureKind, InvalidInput, ServiceError
    from deer.evidence import SourceRegister, shown_source
    from deer.flow import MAX_ENTRY_CHARS
    from deer.messages import Command, StepReport, parse_command, refuse_more
    from deer.models import (
        AgentNote,
        Check,
        CheckClaimsRequest,
        CheckedClaim,
        Claim,
        Finding,
        Phase,
        ProgressEntry,
        ProgressPage,
        ReadRequest,
        SearchRequest,
        StepOutcome,
        StepRequest,
        StepStatus,
        TextRef,
        ToolCall,
        ToolName,
        ToolReply,
        TurnReply,
        TurnRequest,
        Usage,
    )
    from deer.wording import word
    from workflows import policies
    from workflows.calling import Request, Result, call, call_locally


MAX_CALLS_PER_TURN = 12
"""Tool calls of one turn that are made; a model that asks for more is told so."""

MAX_SOURCES = 400
"""Sources that a step registers; its result has to stay well below the 2 MB of a payload."""


MAX_SOURCES_TOLD = 10
"""Sources named in the finding of a step that was told to end: more would be a list nobody reads."""


class _WoundDown(Exception):
    """No call is to be made any more."""


@workflow.defn(name="Step")
class Step:
    """An agent with its own context: it searches and reads, and ends with a finding or a reason why there is none."""

    @workflow.init
    def __init__(self, request: StepRequest) -> None:
        """State that message handlers need, which may run before `run`."""
        self._request = request
        self._sources = SourceRegister(prefix=request.brief.step.id, named_before=request.sources_named)
        self._usage = Usage()
        self._notices: list[str] = []
        self._entries: list[ProgressEntry] = []
        self._transcript: TextRef | None = None
        self._turn = 0
        self._searched = False
        self._known: dict[tuple[object, ...], ToolReply] = {}
        self._held: str | None = None
        self._paused = False
        self._winding_down = False
        self._reports = 0

    @workflow.run
    async def run(self, request: StepRequest) -> StepOutcome:
        """Work until there is a finding, the turns are spent, or a call fails for good."""
        try:
            return await self._work()
        except _WoundDown:
            return self._what_there_is()
        except ServiceError as error:
            return self._outcome(StepStatus.FAILED, reason=str(error))
        except (asyncio.CancelledError, FailureError) as error:
            if not is_cancelled_exception(error):
                raise
            # not raised on: what was spent and seen until now goes to the parent, which knows that it cancelled
            return self._outcome(StepStatus.SKIPPED, reason=word("step_cancelled", self._request.brief.locale))

    async def _work(self) -> StepOutcome:
        told: set[AgentNote] = set()
        rounds = 0
        reply = await self._take_turn()
        while True:
            if reply.calls:
                replies = await self._carry_out(reply.calls[:MAX_CALLS_PER_TURN])
                replies += [_not_made(asked) for asked in reply.calls[MAX_CALLS_PER_TURN:]]
                rounds += 1
                if rounds >= self._request.brief.max_turns:
                    return await self._sum_up(replies, "turns_spent", rounds)
                if self._history_is_long():
                    return await self._sum_up(replies, "history_spent", rounds)
                reply = await self._take_turn(replies)
            elif (note := self._objection(reply)) is not None and note not in told:
                told.add(note)
                reply = await self._take_turn(_unanswered(reply), note=note)
            else:
                return await self._end_with(reply.finding)

    async def _take_turn(
        self, replies: Sequence[ToolReply] = (), *, note: AgentNote | None = None, is_last: bool = False
    ) -> TurnReply:
        """One call of the model; the conversation so far travels as a reference."""
        self._turn += 1
        brief = self._request.brief
        if self._transcript is not None:
            brief = brief.model_copy(update={"findings": (), "background": ()})
        reply = await self._call(
            ModelActivities.take_turn,
            TurnRequest(
                brief=brief,
                turn=self._turn,
                transcript=self._transcript,
                replies=tuple(replies),
                is_last=is_last,
                note=note,
            ),
            policies.MODEL,
            f"{brief.role} {brief.step.id}, turn {self._turn}",
        )
        self._transcript = reply.transcript
        self._usage += reply.usage
        self._notices += [text for text in reply.notices if text not in self._notices]
        return reply

    def _history_is_long(self) -> bool:
        """Whether Temporal might end the step before its turns do."""
        info = workflow.info()
        is_long = info.get_current_history_length() >= self._request.request.continue_after_events
        return is_long or info.is_continue_as_new_suggested()

    async def _sum_up(self, replies: Sequence[ToolReply], notice: str, rounds: int) -> StepOutcome:
        """The turns are spent, or all that one history takes: one call without tools for what there is."""
        self._tell(notice, turns=rounds)
        reply = await self._take_turn(replies, is_last=True)
        return await self._end_with(reply.finding)

    def _objection(self, reply: TurnReply) -> AgentNote | None:
        """Why a move that makes no call cannot stand, if it cannot."""
        if reply.finding is None:
            return AgentNote.SAY_SOMETHING
        return AgentNote.MUST_SEARCH if self._has_not_searched() else None

    def _has_not_searched(self) -> bool:
        brief = self._request.brief
        return brief.step.need_search and brief.can_search and not self._searched

    async def _end_with(self, finding: Finding | None) -> StepOutcome:
        if finding is None:
            return self._outcome(StepStatus.FAILED, reason=word("no_result", self._request.brief.locale))
        if self._has_not_searched():
            self._tell("never_searched")
        claims = await self._check(finding.claims)
        return self._outcome(StepStatus.DONE, finding=finding.model_copy(update={"claims": ()}), claims=claims)

    async def _check(self, claims: Sequence[Claim]) -> tuple[CheckedClaim, ...]:
        """Look up the quotes of a finding; what could not be looked up counts as unverified."""
        if not claims:
            return ()
        known = SourceRegister(prefix="")
        known.merge(shown_source(brief) for brief in self._request.brief.background)
        known.merge(self._request.sources)
        known.merge(self._sources.all())
        request = CheckClaimsRequest(claims=tuple(claims), sources=known.named_in(claims))
        try:
            checked = await call_locally(
                ReportActivities.check_claims, request, policies.CHECK, "check the quotes", self._hold
            )
        except ServiceError as error:
            self._tell("claims_unchecked", reason=error)
            return tuple(CheckedClaim(**claim.model_dump(), check=Check.UNVERIFIED) for claim in claims)
        return checked.claims

    # Tool calls

    async def _carry_out(self, calls: Sequence[ToolCall]) -> list[ToolReply]:
        """Make the calls of a turn side by side; what was asked before is answered from what is known."""
        fresh: dict[tuple[object, ...], ToolCall] = {}
        for asked in calls:
            if asked.wish not in self._known:
                fresh.setdefault(asked.wish, asked)
        made = dict(zip(fresh, await asyncio.gather(*[self._make(asked) for asked in fresh.values()]), strict=True))
        replies = []
        for asked in calls:
            if fresh.get(asked.wish) is asked:
                replies.append(made[asked.wish])
                continue
            self._record(f"asked the same again: {asked.query or asked.url}")
            reply = made.get(asked.wish) or self._known[asked.wish]
            replies.append(reply.model_copy(update={"call_id": asked.id, "is_repeat": True}))
        self._known |= {wish: reply for wish, reply in made.items() if reply.error is None}
        return replies

    async def _make(self, asked: ToolCall) -> ToolReply:
        """Make one tool call. Whatever goes wrong is told to the model under the call's id."""
        if asked.error is not None:
            return ToolReply(call_id=asked.id, error=asked.error)
        try:
            return await (self._search(asked) if asked.name == ToolName.WEB_SEARCH else self._read(asked))
        except ServiceError as error:
            self._record(f"{asked.name} failed: {error}")
            return ToolReply(call_id=asked.id, error=str(error))
        except _WoundDown:  # told at the next turn, once the other calls of this one have ended
            return ToolReply(call_id=asked.id, error="not made: the step is being ended")

    async def _search(self, asked: ToolCall) -> ToolReply:
        self._searched = True
        request = self._request.request
        self._record(f"searches: {asked.query}")
        reply = await self._call(
            SearchActivities.search_web,
            SearchRequest(
                run_id=self._request.run_id,
                query=asked.query,
                max_results=min(asked.max_results or request.max_search_results, request.max_search_results),
                topic=asked.topic,
                depth=asked.depth,
                web=request.web_search,
                documents=request.documents,
                allowed_domains=request.allowed_domains,
                denied_domains=request.denied_domains,
            ),
            policies.SEARCH,
            f"search: {asked.query}",
        )
        self._usage += Usage(searches=int(reply.was_paid))
        self._notices.extend(reply.notices)
        room = MAX_SOURCES - len(self._sources.sources)
        if room < len(reply.sources):
            self._tell("sources_spent", count=MAX_SOURCES)
        hits = tuple(self._sources.add(found) for found in reply.sources[: max(0, room)])
        self._record(f"found {len(hits)} sources for: {asked.query}")
        return ToolReply(call_id=asked.id, hits=tuple(hit.model_copy(update={"texts": ()}) for hit in hits))

    async def _read(self, asked: ToolCall) -> ToolReply:
        request = self._request.request
        self._record(f"reads: {asked.url}")
        reply = await self._call(
            PageActivities.read_page,
            ReadRequest(
                run_id=self._request.run_id,
                url=asked.url,
                allowed_domains=request.allowed_domains,
                denied_domains=request.denied_domains,
            ),
            policies.PAGE,
            f"read: {asked.url}",
        )
        self._usage += Usage(pages=int(reply.was_paid))
        page = self._sources.add(reply.source)
        text = () if reply.source.text is None else (reply.source.text,)
        return ToolReply(call_id=asked.id, page=page.model_copy(update={"texts": text}))

    async def _call(
        self,
        activity: Callable[[Any, Request], Awaitable[Result]],
        request: Request,
        policy: ActivityConfig,
        summary: str,
    ) -> Result:
        """The result of an activity. Raises ServiceError when it failed for good, _WoundDown when none is to be made.

        A paused step makes no call until it is resumed.
        """
        if self._paused:
            await workflow.wait_condition(lambda: not self._paused or self._winding_down)
        if self._winding_down:
            raise _WoundDown
        return await call(activity, request, policy, summary, self._hold)

    def _what_there_is(self) -> StepOutcome:
        """The step was told to end: what its searches brought, put together without a model, or nothing."""
        locale = self._request.brief.locale
        found = self._sources.all()[:MAX_SOURCES_TOLD]
        if not found:
            return self._outcome(StepStatus.SKIPPED, reason=word("finished_early", locale))
        lines = [f"- {source.title}: {source.summary} [{source.id}]" for source in found]
        summary = "\n".join([word("cut_short_finding", locale), "", *lines])
        outcome = self._outcome(StepStatus.DONE, finding=Finding(summary=summary))
        return outcome.model_copy(update={"was_cut_short": True})

    # Telling others

    async def _hold(self, reason: str) -> None:
        """Wait for a person; the parent is told, and shows it. Raises ServiceError when nobody came in time."""
        self._held = reason
        self._record(f"needs attention: {reason}")
        await self._report(reason)
        deadline = self._request.request.attention_deadline
        try:
            await workflow.wait_condition(
                lambda: self._held is None or self._winding_down,
                timeout=deadline,
                timeout_summary="attention deadline",
            )
        except TimeoutError:
            raise ServiceError(f"{reason}; nobody mended it in {deadline}", FailureKind.REJECTED) from None
        finally:
            self._held = None
        await self._report(None)
        if self._winding_down:
            raise _WoundDown

    async def _report(self, held: str | None) -> None:
        parent = workflow.get_external_workflow_handle(self._request.run_id)
        self._reports += 1
        report = StepReport(step_id=self._request.brief.step.id, held=held, number=self._reports)
        await parent.signal("report", report)

    def _tell(self, notice: str, **values: object) -> None:
        brief = self._request.brief
        self._notices.append(word(notice, brief.locale, title=brief.step.title, **values))

    def _record(self, text: str) -> None:
        entry = ProgressEntry(at=workflow.now(), text=text[:MAX_ENTRY_CHARS], step_id=self._request.brief.step.id)
        self._entries.append(entry)

    def _outcome(
        self,
        status: StepStatus,
        *,
        finding: Finding | None = None,
        claims: tuple[CheckedClaim, ...] = (),
        reason: str | None = None,
    ) -> StepOutcome:
        return StepOutcome(
            status=status,
            finding=finding,
            claims=claims,
            reason=reason,
            sources=self._sources.all(),
            usage=self._usage,
            notices=tuple(self._notices),
        )

    # Messages

    @workflow.signal(description="A command of the run, such as retry")
    def command(self, value: Any = None, *more: Any) -> None:
        """Take a command of the parent; a malformed one changes nothing."""
        try:
            refuse_more("command", more)
            self._obey(parse_command(value))
        except InvalidInput as error:
            workflow.logger.warning("ignored a command: %s", error)

    def _obey(self, command: Command) -> None:
        if command is Command.RETRY:
            self._held = None
        elif command is Command.WIND_DOWN:
            self._winding_down = True
        else:
            self._paused = command is Command.PAUSE
        self._record(f"told to {command.replace('_', ' ')}")

    @workflow.query(description="What the step has done after a cursor")
    def progress(self, since: str = "") -> ProgressPage:
        """Live progress of this step; the empty cursor asks from the beginning."""
        seen = min(int(since), len(self._entries)) if since.isdigit() else 0
        resting = Phase.PAUSED if self._paused else Phase.RESEARCHING
        phase = resting if self._held is None else Phase.NEEDS_ATTENTION
        return ProgressPage(
            cursor=str(len(self._entries)), phase=phase, reason=self._held, entries=tuple(self._entries[seen:])
        )


def _not_made(asked: ToolCall) -> ToolReply:
    return ToolReply(call_id=asked.id, error=f"not made: at most {MAX_CALLS_PER_TURN} calls in one turn")


def _unanswered(reply: TurnReply) -> tuple[ToolReply, ...]:
    """Every tool call wants a reply, also those of a turn that handed in a finding which cannot stand."""
    return tuple(ToolReply(call_id=call_id, error="not taken: see the next message") for call_id in reply.unanswered)
