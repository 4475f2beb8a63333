"""What each role is told: prompts are rendered from a brief, and a model that is no language model answers from it.

Texts may be references while a brief travels in history; activities resolve them before anybody reads it.
"""

from datetime import date

from deer.models.evidence import CheckedClaim
from deer.models.plan import Plan, Step, StepStatus
from deer.models.request import ReportStyle
from deer.models.roles import Role
from deer.models.texts import Model, StoredText


class SourceBrief(Model):
    """A source as a role is shown it: `text` is as much of it as the role needs."""

    id: str
    title: str
    url: str
    text: StoredText


class FindingBrief(Model):
    """What a step found, or why it found nothing (`summary` None)."""

    step_id: str
    title: str
    status: StepStatus
    summary: StoredText | None
    claims: tuple[CheckedClaim, ...] = ()
    reason: str | None = None
    notices: tuple[str, ...] = ()


class RejectedReply(Model):
    """An earlier reply that broke a rule, and which."""

    reply: StoredText
    error: str


class EarlierReport(Model):
    """The report of a run that another follows up on. Its markers are ids of sources that the new run knows."""

    run_id: str
    question: str
    text: StoredText


class Brief(Model):
    """What every role is told. `locale` is a BCP 47 tag such as `en-US` or `zh-CN`.

    `question`: what the person asked, and below it what they answered when the coordinator asked back. The
    coordinator itself has the answers apart from it. `earlier` is for coordinator, planner and reporter.
    """

    question: str
    locale: str
    today: date
    earlier: EarlierReport | None = None


class ClarifyingQuestion(Model):
    """What the coordinator asks back. `options`: answers that it offers, none when it offers none."""

    text: str
    options: tuple[str, ...] = ()

    @property
    def with_options(self) -> str:
        """The question, and below it each option on a line of its own."""
        return "\n".join([self.text, *(f"- {option}" for option in self.options)])


class Clarification(Model):
    """A question of the coordinator with what a person answered."""

    question: ClarifyingQuestion
    answer: str


class CoordinatorBrief(Brief):
    """For the coordinator. `locale` is a guess unless `locale_is_fixed`.

    `clarifications`: what it asked so far, oldest first. `questions_left`: how often it may ask again.
    """

    locale_is_fixed: bool
    clarifications: tuple[Clarification, ...] = ()
    questions_left: int = 0


class PlannerBrief(Brief):
    """For the planner.

    `topics`: what the coordinator made of the question, at least one.
    `earlier_plan` is set when a person asked for changes; `feedback` holds all that was asked so far, oldest first.
    """

    topics: tuple[str, ...]
    max_steps: int
    can_search: bool
    thinks_deeply: bool = False
    background: tuple[SourceBrief, ...] = ()
    findings: tuple[FindingBrief, ...] = ()
    earlier_plan: Plan | None = None
    feedback: tuple[str, ...] = ()
    rejected: tuple[RejectedReply, ...] = ()


class StepBrief(Brief):
    """For the agent of a step.

    `findings`: those of the steps it depends on, a failed one with its reason.
    `can_search`: whether it has search and reading as tools.
    """

    role: Role
    step: Step
    max_turns: int
    can_search: bool
    findings: tuple[FindingBrief, ...] = ()
    background: tuple[SourceBrief, ...] = ()


class JudgeBrief(Brief):
    """For the judge of whether the findings are enough."""

    plan: Plan
    findings: tuple[FindingBrief, ...]
    round: int
    max_rounds: int
    max_steps: int
    rejected: tuple[RejectedReply, ...] = ()


class ReporterBrief(Brief):
    """For the reporter. `sources` are all that may be cited; `written` is what it wrote before it was cut."""

    style: ReportStyle
    topics: tuple[str, ...] = ()
    plan: Plan | None
    findings: tuple[FindingBrief, ...]
    sources: tuple[SourceBrief, ...]
    written: StoredText = ""


AnyBrief = CoordinatorBrief | PlannerBrief | StepBrief | JudgeBrief | ReporterBrief
