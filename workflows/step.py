"""One step: the model says its next move, code makes it and shows what came of it, until the step has its finding."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.llm import ModelActivities
    from activities.pages import PageActivities
    from activities.reports import ReportActivities
    from activities.search import SearchActivities
    from deer.errors import ServiceError
    from deer.evidence import SourceRegister, shown_source
    from deer.flow import unpriced_notice
    from deer.models import (
        AgentNote,
        Check,
        CheckClaimsReply,
        CheckClaimsRequest,
        CheckedClaim,
        Claim,
        Finding,
        Kind,
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
    from workflows.calling import call_locally
    from workflows.open_step import OpenStep, WoundDown


MAX_CALLS_PER_TURN = 12
"""Tool calls of one turn that are made; a model that asks for more is told so."""

MAX_SOURCES = 400
"""Sources that a step registers; its result has to stay well below the 2 MB of a payload."""


MAX_SOURCES_TOLD = 10
"""Sources named in the finding of a step that was told to end: more would be a list nobody reads."""


class _HandedIn(NamedTuple):
    """A finding with its claims as they were checked."""

    finding: Finding
    claims: tuple[CheckedClaim, ...]

    @property
    def verified(self) -> int:
        """How many of its claims are borne by their quotes."""
        return sum(claim.check is Check.VERIFIED for claim in self.claims)


@workflow.defn(name="Step")
class Step(OpenStep):
    """An agent with its own context: it searches and reads, and ends with a finding or a reason why there is none."""

    @workflow.init
    def __init__(self, request: StepRequest) -> None:
        """State that message handlers need, which may run before `run`."""
        super().__init__(request)
        self._transcript: TextRef | None = None
        self._turn = 0
        self._searched = False
        self._known: dict[tuple[object, ...], ToolReply] = {}
        self._refused: set[str] = set()
        self._handed_in: _HandedIn | None = None

    @workflow.run
    async def run(self, request: StepRequest) -> StepOutcome:
        """Work until there is a finding, the turns are spent, or a call fails for good."""
        outcome = await self._end()
        with suppress(asyncio.CancelledError):  # it came after the end: what there is goes to the run
            await workflow.wait_condition(workflow.all_handlers_finished)
        return outcome

    async def _end(self) -> StepOutcome:
        try:
            return await self._work()
        except WoundDown as ending:
            return self._what_there_is(str(ending)) if self._handed_in is None else self._done(self._handed_in)
        except ServiceError as error:
            failed = self._outcome(StepStatus.FAILED, reason=str(error))
            return failed if self._handed_in is None else self._done(self._handed_in)
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
                if reply.refused is not None and reply.refused in self._refused:
                    return await self._do_without_tools(replies)
                self._refused |= {reply.refused} if reply.refused else set()
                if rounds >= self._request.brief.max_turns:
                    return await self._sum_up(replies, "turns_spent", rounds)
                if self._history_is_long():
                    return await self._sum_up(replies, "history_spent", rounds)
                reply = await self._take_turn(replies)
            elif (note := self._objection(reply)) is not None and note not in told:
                told.add(note)
                reply = await self._take_turn(_unanswered(reply), note=note)
            elif reply.finding is not None and (doubts := await self._hand_in(reply.finding)):
                reply = await self._take_turn(_sent_back(reply, doubts))
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
            Kind.TOKENS,
            Kind.USD,
        )
        self._transcript = reply.transcript
        self._usage += reply.usage
        unpriced = unpriced_notice(reply.usage, brief.locale) if self._allowance.counts_usd else None
        told = (*reply.notices, *([unpriced] if unpriced else []))
        self._notices += [text for text in told if text not in self._notices]
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

    async def _do_without_tools(self, replies: Sequence[ToolReply]) -> StepOutcome:
        """A finding was refused and handed in again as it was: one call for it in words, else what there is."""
        self._tell("refused_again")
        reply = await self._take_turn(replies, note=AgentNote.REFUSED_AGAIN, is_last=True)
        if reply.finding is None and self._handed_in is None and self._sources.sources:
            return self._what_there_is(word("no_valid_finding", self._request.brief.locale))
        return await self._end_with(reply.finding)

    def _objection(self, reply: TurnReply) -> AgentNote | None:
        """Why a move that makes no call cannot stand, if it cannot."""
        if reply.finding is None:
            return AgentNote.SAY_SOMETHING
        return AgentNote.MUST_SEARCH if self._has_not_searched() else None

    def _has_not_searched(self) -> bool:
        brief = self._request.brief
        return brief.step.need_search and brief.can_search and not self._searched

    async def _hand_in(self, finding: Finding) -> list[str]:
        """Keep the first finding that is handed in, checked; what its writer, who is asked once, may mend of it.

        Whatever becomes of that, there is a finding from now on.
        """
        if self._handed_in is not None:
            return []
        checked = await self._check(finding.claims)
        self._handed_in = _HandedIn(finding, checked.claims)
        return [f"claim {at}: {doubt}" for at, doubt in enumerate(checked.doubts, 1) if doubt]

    async def _end_with(self, finding: Finding | None) -> StepOutcome:
        """End with a finding, or with the one handed in before where more of that is verified."""
        first = self._handed_in
        if finding is None and first is None:
            return self._outcome(StepStatus.FAILED, reason=word("no_result", self._request.brief.locale))
        if self._has_not_searched():
            self._tell("never_searched")
        if first is not None and (finding is None or finding is first.finding):
            return self._done(first)
        assert finding is not None
        last = _HandedIn(finding, (await self._check(finding.claims)).claims)
        return self._done(first if first is not None and first.verified > last.verified else last)

    def _done(self, handed_in: _HandedIn) -> StepOutcome:
        finding = handed_in.finding.model_copy(update={"claims": ()})
        return self._outcome(StepStatus.DONE, finding=finding, claims=handed_in.claims)

    async def _check(self, claims: Sequence[Claim]) -> CheckClaimsReply:
        """Look up the quotes of a finding; what could not be looked up counts as unverified."""
        if not claims:
            return CheckClaimsReply(claims=(), doubts=())
        known = SourceRegister(prefix="")
        known.merge(shown_source(brief) for brief in self._request.brief.background)
        known.merge(self._request.sources)
        known.merge(self._sources.all())
        request = CheckClaimsRequest(claims=tuple(claims), sources=known.named_in(claims))
        try:
            return await call_locally(
                ReportActivities.check_claims, request, policies.CHECK, "check the quotes", self._hold
            )
        except (ServiceError, WoundDown) as error:
            self._tell("claims_unchecked", reason=str(error) or "the step was told to end")
            unchecked = (CheckedClaim(**claim.model_dump(), check=Check.UNVERIFIED) for claim in claims)
            return CheckClaimsReply(claims=tuple(unchecked), doubts=())

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
        except WoundDown:  # told at the next turn, once the other calls of this one have ended
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
                locale=self._request.brief.locale,
            ),
            policies.SEARCH,
            f"search: {asked.query}",
            Kind.SEARCHES,
        )
        self._usage += Usage(searches=int(reply.was_paid))
        self._notices += [text for text in reply.notices if text not in self._notices]
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
                wanted=f"{self._request.brief.step.title}\n{self._request.brief.step.description}",
                allowed_domains=request.allowed_domains,
                denied_domains=request.denied_domains,
            ),
            policies.PAGE,
            f"read: {asked.url}",
            Kind.PAGES,
        )
        self._usage += Usage(pages=int(reply.was_paid))
        page = self._sources.add(reply.source)
        text = () if reply.source.text is None else (reply.source.text,)
        return ToolReply(call_id=asked.id, page=page.model_copy(update={"texts": text}), view=reply.view)

    def _what_there_is(self, why: str) -> StepOutcome:
        """The step was told to end: what its searches brought, put together without a model, or nothing."""
        locale = self._request.brief.locale
        found = self._sources.all()[:MAX_SOURCES_TOLD]
        if not found:
            return self._outcome(StepStatus.SKIPPED, reason=why or word("ended_empty", locale))
        lines = [f"- {source.title}: {source.summary} [{source.id}]" for source in found]
        summary = "\n".join([word("cut_short_finding", locale), "", *lines])
        outcome = self._outcome(StepStatus.DONE, finding=Finding(summary=summary), reason=why or None)
        return outcome.model_copy(update={"was_cut_short": True})


def _not_made(asked: ToolCall) -> ToolReply:
    return ToolReply(call_id=asked.id, error=f"not made: at most {MAX_CALLS_PER_TURN} calls in one turn")


def _unanswered(reply: TurnReply) -> tuple[ToolReply, ...]:
    """Every tool call wants a reply, also those of a turn that handed in a finding which cannot stand."""
    return tuple(ToolReply(call_id=call_id, error="not taken: see the next message") for call_id in reply.unanswered)


def _sent_back(reply: TurnReply, doubts: Sequence[str]) -> tuple[ToolReply, ...]:
    error = (
        "not taken yet: call submit_finding once more with the whole finding, mended where you can and without the "
        f"claims that no source bears; copy quotes letter by letter. {'; '.join(doubts)}"
    )
    return tuple(ToolReply(call_id=call_id, error=error) for call_id in reply.unanswered)
