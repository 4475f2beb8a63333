"""What a person asks for: the question and the limits of its run."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from deer.models.budget import Budget
from deer.models.texts import Message

MAX_QUESTION_CHARS = 8_000
MAX_NAMES = 200
"""Domains of a list, or collections, that a request may name; it travels with every search."""
RUN_ID_PATTERN = r"^(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}|\.[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}|\.\.[A-Za-z0-9._-]{1,62})$"
"""Letters, digits and `._-`, 64 at most; not `.` and `..`, which mean places of a store."""
LOCALE_PATTERN = r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?$"


Domain = Annotated[
    str, Field(pattern=r"^\.?[A-Za-z0-9\u00a1-\uffff]([A-Za-z0-9\u00a1-\uffff.-]{0,251}[A-Za-z0-9\u00a1-\uffff])?$")
]
"""A host and all below it, without scheme, port or path."""


class ReportStyle(StrEnum):
    """How the report is written; `plain` joins the findings without a model call."""

    NEUTRAL = "neutral"
    ACADEMIC = "academic"
    POPULAR_SCIENCE = "popular_science"
    NEWS = "news"
    SOCIAL_MEDIA = "social_media"
    STRATEGIC_INVESTMENT = "strategic_investment"
    PLAIN = "plain"


class DeadlinePolicy(StrEnum):
    """What a review deadline does when it passes unanswered."""

    ACCEPT = "accept"
    CANCEL = "cancel"


class ReplanAfter(StrEnum):
    """When the judge is asked whether the findings are enough: once a plan is carried out, or after each step of it."""

    ROUND = "round"
    STEP = "step"


DEFAULT_CLARIFICATION_ROUNDS = 3
"""How often the coordinator may ask back in a run that lets it, unless the request says a number."""


class ResearchRequest(Message):
    """Input of the workflow `Research`. Only `question` is required; request values beat settings."""

    question: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARS)]
    after: Annotated[str, Field(pattern=RUN_ID_PATTERN)] | None = None
    """A run that this one follows up on: its report and the sources it cites are known from the beginning."""
    requested_by: Annotated[str, Field(max_length=200)] | None = None
    locale: Annotated[str, Field(pattern=LOCALE_PATTERN)] | None = None
    auto_accept: bool = False
    review_deadline: timedelta | None = None
    """How long a plan waits for an answer; seconds in JSON; None waits as long as it takes."""
    review_deadline_policy: DeadlinePolicy = DeadlinePolicy.CANCEL
    attention_deadline: timedelta | None = None
    """How long a call waits for a person to mend what it needs, before it counts as failed; None: as long as it takes.
    Seconds in JSON."""
    max_clarification_rounds: Annotated[int, Field(ge=0, le=10)] = 0
    """How often the coordinator may ask back before there is a plan. 0 or null: never; true: three times."""
    look_around: bool = True
    max_rounds: Annotated[int, Field(ge=1, le=10)] = 1
    """How many plans are carried out at most. 1: what was approved first is all that is done, and nobody judges it."""
    replan_after: ReplanAfter = ReplanAfter.ROUND
    """`step` needs more than one round; steps are then done one after another, and each may change what follows."""
    max_steps: Annotated[int, Field(ge=1, le=30)] = 5
    max_edits: Annotated[int, Field(ge=0, le=100)] = 20
    max_parallel_steps: Annotated[int, Field(ge=1, le=30)] = 4
    max_turns: Annotated[int, Field(ge=1, le=100)] = 20
    """Tool rounds of one step, before its closing summary."""
    continue_after_events: Annotated[int, Field(ge=50, le=40_000)] = 4_000
    """Length of its history, in events, at which a run goes on in a new one and a step sums up; Temporal itself would
    end both at some 51,200. Temporal's own suggestion, as by size, counts too."""
    max_search_results: Annotated[int, Field(ge=1, le=20)] = 5
    report_style: ReportStyle = ReportStyle.NEUTRAL
    deep_thinking: bool = False
    web_search: bool = True
    allowed_domains: Annotated[tuple[Domain, ...], Field(max_length=MAX_NAMES)] = ()
    denied_domains: Annotated[tuple[Domain, ...], Field(max_length=MAX_NAMES)] = ()
    budget: Budget = Budget()
    documents: Annotated[tuple[Annotated[str, Field(pattern=RUN_ID_PATTERN)], ...], Field(max_length=MAX_NAMES)] = ()
    """Names of document collections, never paths."""

    @property
    def can_search(self) -> bool:
        """Whether there is anything that the run may search."""
        return self.web_search or bool(self.documents)

    @field_validator("question")
    @classmethod
    def _has_words(cls, question: str) -> str:
        if not question.strip():
            raise ValueError("the question is empty")
        return question.strip()

    @field_validator("max_clarification_rounds", mode="before")
    @classmethod
    def _on_or_off(cls, rounds: object) -> object:
        if rounds is None or rounds is False:
            return 0
        return DEFAULT_CLARIFICATION_ROUNDS if rounds is True else rounds

    @model_validator(mode="after")
    def _can_replan(self) -> Self:
        if self.replan_after is ReplanAfter.STEP and self.max_rounds == 1:
            raise ValueError(
                "replan_after=step changes the plan, which max_rounds=1 forbids; give max_rounds 2 or more"
            )
        return self

    @field_validator("review_deadline", "attention_deadline")
    @classmethod
    def _is_ahead(cls, deadline: timedelta | None) -> timedelta | None:
        if deadline is not None and not timedelta(seconds=1) <= deadline <= timedelta(days=365):
            raise ValueError("must be between 1 second and 365 days")
        return deadline
