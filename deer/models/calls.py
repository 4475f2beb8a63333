"""One request and one result for every activity."""

from enum import StrEnum

from pydantic import Field

from deer.models.addresses import Address
from deer.models.briefs import (
    ClarifyingQuestion,
    CoordinatorBrief,
    EarlierReport,
    FindingBrief,
    JudgeBrief,
    PlannerBrief,
    ReporterBrief,
    StepBrief,
)
from deer.models.budget import Lease
from deer.models.evidence import CheckedClaim, Claim, Finding, FoundSource, PageView, Source
from deer.models.plan import PlanDraft, PlanRules, StepStatus
from deer.models.request import ResearchRequest
from deer.models.run import RunStatus, Usage
from deer.models.texts import Model, StoredText, TextRef


class ModelResult(Model):
    """What every call of a model brings beside its answer. `notices` are for the reader of the run."""

    usage: Usage
    notices: tuple[str, ...] = ()


class HandOffDecision(ModelResult):
    """What the coordinator decided: an answer of its own, a question to the person, or topics for the planner."""

    locale: str
    topics: tuple[str, ...] = ()
    answer: str | None = None
    question: ClarifyingQuestion | None = None


class CoordinateRequest(Model):
    """Input of `coordinate`."""

    brief: CoordinatorBrief


class PlanRequest(Model):
    """Input of `write_plan`."""

    brief: PlannerBrief
    rules: PlanRules


class PlanReply(ModelResult):
    """Result of `write_plan`: a valid draft, or the error and the reply that has it."""

    draft: PlanDraft | None
    error: str | None
    reply: StoredText


class JudgeRequest(Model):
    """Input of `judge_findings`."""

    brief: JudgeBrief
    rules: PlanRules


class Verdict(ModelResult):
    """Result of `judge_findings`. A draft means that the plan should be revised, for `reason`.

    `error` is set, with the reply, when the reply could not be used.
    """

    reason: str
    draft: PlanDraft | None = None
    error: str | None = None
    reply: StoredText = ""


class ReportRequest(Model):
    """Input of `write_report`."""

    brief: ReporterBrief


class ReportReply(ModelResult):
    """Result of `write_report`. `was_cut` tells that the output limit ended it."""

    text: StoredText
    was_cut: bool


class ToolName(StrEnum):
    """The tools that code offers to models."""

    WEB_SEARCH = "web_search"
    READ_PAGE = "read_page"
    SUBMIT_FINDING = "submit_finding"


class ToolCall(Model):
    """A tool call with arguments that were checked, or with the error to tell the model."""

    id: str
    name: str
    query: Address = ""
    max_results: int | None = None
    topic: str = "general"
    depth: str = "advanced"
    url: Address = ""
    error: str | None = None

    @property
    def wish(self) -> tuple[object, ...]:
        """What it asks for: calls that wish the same need be made once. One that cannot be made is like no other."""
        if self.error is not None:
            return (self.id, self.error)
        return (self.name, self.query, self.max_results, self.topic, self.depth, self.url)


class ToolReply(Model):
    """What a tool call brought, to be shown to the model under the call's id.

    Exactly one of `hits` (a search; may be an empty tuple), `page` and `error` is set. `view` says what of a page is
    shown.
    `is_repeat`: the step had made the same call before; this is what came of it then.
    """

    call_id: str
    is_repeat: bool = False
    hits: tuple[Source, ...] | None = None
    page: Source | None = None
    view: PageView = PageView()
    error: str | None = None


class AgentNote(StrEnum):
    """A word of code to an agent whose last move cannot stand."""

    MUST_SEARCH = "must_search"
    SAY_SOMETHING = "say_something"
    REFUSED_AGAIN = "refused_again"


class TurnRequest(Model):
    """Input of `take_turn`: one model call of a step.

    `transcript`: the conversation so far, None on the first turn. `brief.findings` and `brief.background` are
    set on the first turn only: later ones find them in the transcript.
    `is_last`: no tools are offered; the model sums up what it has.
    """

    brief: StepBrief
    turn: int
    transcript: TextRef | None = None
    replies: tuple[ToolReply, ...] = ()
    is_last: bool = False
    note: AgentNote | None = None


class TurnReply(ModelResult):
    """Result of `take_turn`: tool calls to make, or a finding; neither when the model said nothing.

    `unanswered`: ids of the calls of a turn that handed in a finding; they want a reply if the talk goes on.
    `refused`: what a finding is known by that was handed in and refused, with the reason among `calls`; else None.
    """

    transcript: TextRef
    unanswered: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    finding: Finding | None = None
    refused: str | None = None


class SearchRequest(Model):
    """Input of `search_web`. `documents`: names of collections to search beside the engines.

    `locale`: the language of notices, and of engines that have one for each.
    """

    run_id: str
    query: Address
    max_results: int
    topic: str = "general"
    depth: str = "advanced"
    web: bool = True
    documents: tuple[str, ...] = ()
    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    locale: str = ""


class SearchReply(Model):
    """Result of `search_web`. `was_paid` is False when the run had asked the same before."""

    sources: tuple[FoundSource, ...]
    was_paid: bool
    notices: tuple[str, ...] = ()


class ReadRequest(Model):
    """Input of `read_page`. `wanted`: what the step looks for, which decides on what is shown of a long page."""

    run_id: str
    url: Address
    wanted: str = ""
    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()


class ReadReply(Model):
    """Result of `read_page`. `was_paid` is False when the run had read the address before."""

    source: FoundSource
    was_paid: bool
    view: PageView = PageView()


class CancelRunRequest(Model):
    """Input of `request_cancellation`. `run_id` is the workflow id of the run that asks."""

    run_id: str


class CancelRunReply(Model):
    """Result of `request_cancellation`: the server has taken the request."""


class CheckClaimsRequest(Model):
    """Input of `check_claims`: the claims of a finding, and the sources that they name."""

    claims: tuple[Claim, ...]
    sources: tuple[Source, ...]


class CheckClaimsReply(Model):
    """Result of `check_claims`, in the order given. `doubts`: what there is to mend of each claim, "" for nothing."""

    claims: tuple[CheckedClaim, ...]
    doubts: tuple[str, ...]


class JoinRequest(Model):
    """Input of `join_findings`: findings to be put under their step titles without a model."""

    title: str
    findings: tuple[FindingBrief, ...]
    locale: str


class JoinedFindings(Model):
    """Result of `join_findings`: Markdown with markers of source ids."""

    text: StoredText


class FinishReportRequest(Model):
    """Input of `finish_report`: the reporter's text, to be cleaned, renumbered and given its list of references."""

    text: StoredText
    sources: tuple[Source, ...]
    locale: str
    title: str
    notes: tuple[str, ...] = ()
    """Sentences that the reader must find in the report, such as which steps failed."""
    appendix: str = ""
    """Markdown of code's own making, put after the references as it is; empty for none."""


class FinishedReport(Model):
    """Result of `finish_report`. `numbers`: source id to place in the report. Counts tell what was taken out."""

    text: StoredText
    numbers: dict[str, int]
    removed_markers: int
    removed_links: int


class SaveRunRequest(Model):
    """Input of `save_run`: the record of a run, texts over 8 KB as previews, and the references of those texts.

    `texts` maps a path such as `report.markdown` or `plan.steps.s1.finding` to where the whole text is.
    `state`: all that the run knows, as JSON, from which forks and follow-ups begin.
    """

    status: RunStatus
    texts: dict[str, TextRef] = Field(default_factory=dict)
    state: str = ""


class SaveRunReply(Model):
    """Result of `save_run`: the name under which the TextStore has the record."""

    entry: str


class RecallRequest(Model):
    """Input of `recall_run`: the id of a run that has a report."""

    run_id: str


class Recalled(Model):
    """Result of `recall_run`: a report and the sources that it cites, in the order of their numbers."""

    report: EarlierReport
    sources: tuple[FoundSource, ...]


class StepRequest(Model):
    """Input of the workflow `Step`. `run_id` is the workflow id of the run, which is told when the step is held.

    `sources` are those that the findings in the brief may name, as far as the look-up of a quote needs them.
    `lease`: what the step may spend until it asks for more; None without any limit.
    `sources_named`: how many ids the step's name was given to by an earlier try of it.
    """

    run_id: str
    brief: StepBrief
    request: ResearchRequest
    sources: tuple[Source, ...] = ()
    lease: Lease | None = None
    sources_named: int = 0


class StepOutcome(Model):
    """Result of the workflow `Step`: a finding, or the reason why there is none. Sources and usage count either way.

    `claims` are those of the finding, each with what its check gave; the finding itself carries them no more.
    `was_cut_short`: the step was told to end, and the finding is what it had by then, put together without a model.
    """

    status: StepStatus
    finding: Finding | None = None
    claims: tuple[CheckedClaim, ...] = ()
    reason: str | None = None
    sources: tuple[Source, ...] = ()
    usage: Usage = Usage()
    notices: tuple[str, ...] = ()
    was_cut_short: bool = False
