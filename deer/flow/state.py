"""The state of a run: what happened so far, and what may happen next. Every hand-off is decided and recorded here."""

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel, Field

from deer.evidence import SourceRegister
from deer.flow.ledger import Ledger
from deer.flow.plans import latest_within_room, plan_from_draft
from deer.flow.progress import MAX_ENTRY_CHARS, ProgressLog
from deer.models import (
    CheckedClaim,
    Clarification,
    ClarifyingQuestion,
    EarlierReport,
    Finding,
    FinishedReport,
    HandOff,
    Phase,
    Plan,
    PlanDraft,
    PlanRules,
    ResearchRequest,
    Role,
    SearchReply,
    Source,
    Step,
    StepStatus,
    StepType,
    StoredText,
    Usage,
)
from deer.wording import guessed_locale, word

PAUSE_REASON = "a person paused the run; resume lets it go on"
MAX_NOTICE_CHARS = 1_000
MAX_NOTICES = 200
MAX_REFUSALS = 20
"""Of the notices: whoever sends refused messages again and again must leave room for what else is to be told."""


class StepProgress(BaseModel):
    """How far a step has come. `attempt` counts its child workflows from 1.

    `skip_asked`: a person wants to do without it. `ended_by`: which limit it was told to end at.
    `was_cut_short`: its finding is what it had when it was told to end.
    `was_not_needed`: the judge found the findings enough before it was begun.
    """

    status: StepStatus = StepStatus.PENDING
    attempt: int = 0
    finding: Finding | None = None
    claims: tuple[CheckedClaim, ...] = ()
    reason: str | None = None
    skip_asked: bool = False
    ended_by: str | None = None
    was_cut_short: bool = False
    was_not_needed: bool = False


class ReviewState(StrEnum):
    """What became of the plan that was shown."""

    WAITING = "waiting"
    APPROVED = "approved"
    REPLANNING = "replanning"


class RunState(BaseModel):
    """One run. Mutable, and serialisable whole, so that a run can continue as new with it."""

    id: str
    request: ResearchRequest
    phase: Phase = Phase.COORDINATING
    reason: str | None = None
    locale: str = "en-US"
    topics: tuple[str, ...] = ()
    asked: ClarifyingQuestion | None = None
    """What the coordinator asks and nobody has answered yet."""
    clarifications: tuple[Clarification, ...] = ()
    earlier: EarlierReport | None = None
    """What the run that this one follows up on reported."""
    answer: str | None = None
    round: int = 0
    plan: Plan | None = None
    earlier_plans: tuple[Plan, ...] = ()
    """The revisions before it, oldest first; of very large ones the latest."""
    steps: dict[str, StepProgress] = {}
    steps_named: int = 0
    """How many step ids were given so far; ids are never reused."""
    revisions: int = 0
    review: ReviewState = ReviewState.WAITING
    reviewable: bool = False
    review_shown: tuple[int, datetime] | None = None
    """Revision of the plan that was shown last, and since when."""
    feedback: tuple[str, ...] = ()
    edits: int = 0
    sources: SourceRegister = Field(default_factory=lambda: SourceRegister(prefix="b"))
    report: StoredText | None = None
    has_gaps: bool = False
    """Whether something other than a step is missing: a later plan failed, or no model wrote the report."""
    held: dict[str, str] = {}
    """Why the run is held, by step id; the empty id is the run itself."""
    paused_since: datetime | None = None
    """When a person asked that nothing new begins; None while the run is not paused."""
    finish_requests: int = 0
    """How often a person asked for the report on what is known by then."""
    phase_beneath: Phase | None = None
    """While the run is paused or held: the phase that comes back, or is entered, when that ends."""
    reason_beneath: str | None = None
    reports_seen: dict[str, int] = {}
    """Number of the latest report of each step; one that arrives after a later one is void."""
    handoffs: tuple[HandOff, ...] = ()
    notices: tuple[str, ...] = ()
    usage: Usage = Usage()
    spent_by: dict[Role, Usage] = {}
    """What each role spent of it, in the order in which they first spent something."""
    ledger: Ledger = Field(default_factory=Ledger)
    limits_met: tuple[str, ...] = ()
    """What limits of the budget left out, besides steps: sentences for the report."""
    worked: timedelta = timedelta()
    """Time at work until it was last told, waits for people left out."""
    working_since: datetime | None = None
    """When the time was last told; None while the clock stands."""
    progress: ProgressLog = Field(default_factory=ProgressLog)
    refusals: int = 0
    """How many messages were refused, each sentence counted once."""

    @classmethod
    def begin(cls, run_id: str, request: ResearchRequest) -> "RunState":
        """The state of a run that has done nothing yet."""
        ledger = Ledger(budget=request.budget)
        return cls(id=run_id, request=request, ledger=ledger, locale=request.locale or guessed_locale(request.question))

    # What happened

    def record(self, at: datetime, text: str, step_id: str | None = None) -> None:
        """Add a line of live progress."""
        self.progress.add(at, text, step_id)

    def hand_off(self, at: datetime, sender: str, to: str, reason: str) -> None:
        """Record who handed over to whom, and why."""
        self.handoffs = (*self.handoffs, HandOff(at=at, sender=sender, to=to, reason=reason))
        self.record(at, f"{sender} → {to}: {reason}")

    def notice(self, at: datetime, text: str) -> None:
        """Tell the reader something; the same sentence is told once, and no more than a reader would read."""
        text = text[:MAX_NOTICE_CHARS]
        if text not in self.notices and len(self.notices) < MAX_NOTICES:
            self.notices = (*self.notices, text)
            self.record(at, text)

    def refuse_message(self, at: datetime, name: str, reason: object) -> None:
        """A message was not taken. Of many, the first are told; the others stand in the progress only."""
        text = word("message_refused", self.locale, kind=name, reason=reason)[:MAX_NOTICE_CHARS]
        if text in self.notices:
            return
        self.refusals += 1
        if self.refusals <= MAX_REFUSALS:
            self.notice(at, text)
        else:
            self.record(at, text)
            self.notice(at, word("messages_refused", self.locale, count=MAX_REFUSALS))

    def spend(self, usage: Usage, role: Role | None = None) -> None:
        """Count what a call cost; without `role` it is the run's own."""
        self.usage = self.usage + usage
        if role is not None and usage != Usage():
            self.spent_by[role] = self.spent_by.get(role, Usage()) + usage

    def enter(self, phase: Phase, reason: str | None = None) -> None:
        """Go into a phase; while the run is paused or held, it is the phase that comes after that."""
        if self.phase_beneath is None:
            self.phase, self.reason = phase, reason
        else:
            self.phase_beneath, self.reason_beneath = phase, reason

    @property
    def finishing(self) -> bool:
        """Whether nothing is done any more but the report on what is known."""
        return self.finish_requests > 0

    @property
    def paused(self) -> bool:
        """Whether a person asked that nothing new begins."""
        return self.paused_since is not None

    def pause(self, at: datetime) -> None:
        """From now on nothing new begins."""
        self.paused_since = at
        self.surface()

    def resume(self, at: datetime) -> None:
        """A pause is over, and counts for no deadline; without one nothing changes."""
        if self.paused_since is not None and self.review_shown is not None:
            revision, since = self.review_shown
            self.review_shown = (revision, since + (at - max(since, self.paused_since)))
        self.paused_since = None
        self.surface()

    @property
    def station(self) -> Phase:
        """Where the run is in its story, whether or not it is paused or held there."""
        return self.phase_beneath or self.phase

    def surface(self) -> None:
        """Show what the run waits for above its station: a person's pause, a call's hold, or nothing any more."""
        if not self.paused and not self.held:
            if self.phase_beneath is not None:
                self.phase, self.reason = self.phase_beneath, self.reason_beneath
                self.phase_beneath = self.reason_beneath = None
            return
        if self.phase_beneath is None:
            self.phase_beneath, self.reason_beneath = self.phase, self.reason
        self.phase = Phase.PAUSED if self.paused else Phase.NEEDS_ATTENTION
        reasons = [*([PAUSE_REASON] if self.paused else []), *self.held.values()]
        self.reason = "; ".join(dict.fromkeys(reasons))

    def take_background(self, at: datetime, reply: SearchReply) -> None:
        """Register what the background search brought."""
        self.spend(Usage(searches=int(reply.was_paid)))
        for found in reply.sources:
            self.sources.add(found)
        for text in reply.notices:
            self.notice(at, text)
        self.record(at, f"background search: {len(reply.sources)} sources")

    def title(self) -> str:
        """What the run is about, in a line."""
        return self.plan.title if self.plan else self.request.question.splitlines()[0][:MAX_ENTRY_CHARS]

    # Plans and reviews

    @property
    def rules(self) -> PlanRules:
        """What the next draft is held to."""
        known = self.plan.steps if self.plan else ()
        return PlanRules(
            max_steps=self.request.max_steps,
            min_steps=1 if self.revisions else min(len(self.topics), self.request.max_steps),
            known_ids=tuple(step.id for step in known),
            finished_ids=tuple(step.id for step in known if self.steps[step.id].status is not StepStatus.PENDING),
        )

    def propose(self, at: datetime, draft: PlanDraft, author: str) -> Plan:
        """Make the draft the plan that waits for review, as the next revision."""
        earlier = self.plan.steps if self.plan else ()
        begun = [step for step in earlier if self.steps[step.id].status is not StepStatus.PENDING]
        plan = plan_from_draft(draft, self.revisions + 1, begun, earlier, self.steps_named + 1)
        self.revisions = plan.revision
        self.review = ReviewState.WAITING
        numbers = [int(step.id[1:]) for step in plan.steps]
        self.steps_named = max([self.steps_named, *numbers])
        self.steps = {step.id: self.steps.get(step.id, StepProgress()) for step in plan.steps}
        if self.plan is not None:
            self.earlier_plans = latest_within_room((*self.earlier_plans, self.plan))
        self.plan = plan
        for change in draft.changes:
            self.notice(at, word(change.kind, self.locale, **change.values))
        self._tell_ignored_wishes(at, draft)
        self.hand_off(at, author, "review", f"plan revision {plan.revision}: {plan.title}")
        return plan

    def _tell_ignored_wishes(self, at: datetime, draft: PlanDraft) -> None:
        for step in draft.steps:
            if step.need_search and step.step_type is not StepType.RESEARCH:
                self.notice(at, word("search_ignored", self.locale, title=step.title))

    def open_review(self, at: datetime) -> None:
        """From now on the plan can be reviewed. What was answered meanwhile stays answered."""
        self.reviewable = True
        if self.review_shown is None or self.review_shown[0] != self.revisions:
            self.review_shown = (self.revisions, at)

    def review_time_left(self, at: datetime) -> timedelta | None:
        """Until the deadline of the plan that is shown, nothing when it has passed; None without one and in a pause."""
        if self.paused:
            return None
        if self.request.review_deadline is None or self.review_shown is None:
            return self.request.review_deadline
        return max(timedelta(), self.request.review_deadline - (at - self.review_shown[1]))

    def keep_plan(self) -> None:
        """No new plan came of a request for changes: the one before it waits again."""
        self.review = ReviewState.WAITING

    def close_review(self) -> None:
        """From now on a review is refused."""
        self.reviewable = False

    def is_answered(self) -> bool:
        """Whether the waiting plan was approved or sent back."""
        return self.review is not ReviewState.WAITING

    def is_approved(self) -> bool:
        """Whether the latest plan may be carried out."""
        return self.review is ReviewState.APPROVED

    def wants_new_plan(self) -> bool:
        """Whether the plan was sent back to the planner."""
        return self.review is ReviewState.REPLANNING

    # Holds

    def release(self, step_id: str) -> None:
        """A hold is over; with the last one the phase before comes back. The empty id is the run itself."""
        self.held.pop(step_id, None)
        self.surface()

    # Evidence and report

    def hand_to_reporter(self, at: datetime) -> None:
        """The findings go to the reporter, unless the judge has said so already."""
        if self.handoffs and self.handoffs[-1].to == "reporter":
            return
        if self.round == 0:
            self.hand_off(at, "planner", "reporter", "enough is known without further steps")
        else:
            self.hand_off(at, "research team", "reporter", "all steps have ended")

    def knows_enough(self) -> bool:
        """Whether the plan goes straight to the report: the planner says so, and has evidence or nothing to look up."""
        if self.plan is None or not self.plan.has_enough_context or self.round > 0:
            return False
        return bool(self.sources.sources) or not self.plan.steps

    def background(self) -> tuple[Source, ...]:
        """What the background search found."""
        return tuple(source for source in self.sources.all() if source.id.startswith("b-"))

    def sources_behind(self, step: Step) -> tuple[Source, ...]:
        """What the findings that a step builds on may name: what those steps saw, and what their claims rest on."""
        claims = [claim for step_id in step.depends_on for claim in self.steps[step_id].claims]
        seen = tuple(f"{step_id}-" for step_id in step.depends_on)
        sources = [
            *(source for source in self.sources.all() if any(known.startswith(seen) for known in source.known_ids)),
            *self.sources.named_in(claims),
        ]
        return tuple({source.id: source.for_checking() for source in sources}.values())

    def take_report(self, at: datetime, finished: FinishedReport) -> None:
        """Take over the finished report, and give the sources that it cites their numbers."""
        self.report = finished.text
        for source_id, source in self.sources.sources.items():
            number = finished.numbers.get(source_id)
            self.sources.sources[source_id] = source.model_copy(update={"number": number})
        if finished.removed_markers:
            self.notice(at, word("markers_removed", self.locale, count=finished.removed_markers))
        if finished.removed_links:
            self.notice(at, word("links_removed", self.locale, count=finished.removed_links))

    # The end

    def end(self, at: datetime, phase: Phase, reason: str | None) -> None:
        """The run is over. Steps at work when it was cancelled or failed brought nothing, and say so."""
        self.phase, self.reason, self.held, self.paused_since = phase, reason, {}, None
        self.phase_beneath = self.reason_beneath = None
        self.close_review()
        if phase is Phase.CANCELLED and (not self.handoffs or self.handoffs[-1].to != "end"):
            self.hand_off(at, "person", "end", reason or "cancelled")
        if phase in (Phase.CANCELLED, Phase.FAILED):
            for progress in self.steps.values():
                if progress.status is StepStatus.RUNNING:
                    progress.status, progress.reason = StepStatus.SKIPPED, reason or str(phase)
        self.record(at, f"{phase}: {reason}" if reason else str(phase))
