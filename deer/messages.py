"""What people send to a run, as Temporal delivers it, into models.

Handlers take `Any`, since a typed parameter would make the SDK drop a malformed signal before anybody sees it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from deer.errors import InvalidInput
from deer.models import Kind, Lease, Message, Model, Usage
from deer.parsing import first_error

MAX_FEEDBACK_CHARS = 8_000
MAX_ANSWER_CHARS = 2_000
"""Answers become part of the question, which goes along with every call."""

T = TypeVar("T")


class Decision(StrEnum):
    """What a reviewer decided about a plan."""

    APPROVE = "approve"
    EDIT = "edit"


class Review(Message):
    """A review of a plan. `revision` None means the plan that is waiting.

    An edit has either `feedback` (the planner writes a new plan) or `plan` (replaces the plan once validated).
    """

    decision: Decision
    revision: Annotated[int, Field(ge=1)] | None = None
    feedback: Annotated[str, Field(max_length=MAX_FEEDBACK_CHARS)] | None = None
    plan: dict[str, Any] | None = None  # validated by deer.parsing against the run's own limits
    reviewer: Annotated[str, Field(max_length=200)] | None = None


class Answer(Message):
    """An answer to what the coordinator asked."""

    text: Annotated[str, Field(max_length=MAX_ANSWER_CHARS)]


class ControlAction(StrEnum):
    """What a person can tell a run to do."""

    PAUSE = "pause"
    RESUME = "resume"
    SKIP = "skip"
    RETRY = "retry"
    ADD_STEP = "add_step"
    EDIT_STEP = "edit_step"
    FINISH = "finish"
    BUDGET = "budget"


class Control(Message):
    """A command to a run; which of the other fields it needs depends on the action."""

    action: ControlAction
    step_id: str | None = None
    step: dict[str, Any] | None = None  # validated by deer.parsing
    budget: dict[str, Any] | None = None  # merged into the budget of the run, and validated with it


class Command(StrEnum):
    """What the parent tells a step. `wind_down`: end with what there is, without another call."""

    RETRY = "retry"
    PAUSE = "pause"
    RESUME = "resume"
    WIND_DOWN = "wind_down"

    @property
    def stops(self) -> bool:
        """Whether nothing new begins in a step that has heard it."""
        return self in (Command.PAUSE, Command.WIND_DOWN)


class StepReport(Model):
    """What a step tells its parent: why it is held, or, with `held` None, that it goes on. `number` counts up.

    `usage`: what it has spent so far, calls in flight counted; None says nothing of it. `wants`: the kinds of which its
    lease is spent, each with the total that it knows. `can_be_saved`: nothing that is held is the store itself.
    `heard`: the command by which it begins nothing new, which the parent waits to know of.
    """

    step_id: str
    held: str | None
    can_be_saved: bool = True
    heard: Command | None = None
    number: int = 0
    usage: Usage | None = None
    wants: dict[Kind, float] = Field(default_factory=dict)


def refuse_more(name: str, more: Sequence[Any]) -> None:
    """A message has one input at most; Temporal's tools can send several. Raises InvalidInput."""
    if more:
        raise InvalidInput(f"{name} takes one input, {1 + len(more)} were sent")


def parse_approval(value: Any) -> Review:
    """The signal `approve`: nothing, or `{revision?, reviewer?}`. Raises InvalidInput."""
    given = _object(value if value not in (None, "") else {}, "approve takes nothing or {revision, reviewer}")
    return _review({"decision": Decision.APPROVE, **given})


def parse_edit(value: Any) -> Review:
    """The signal `edit`: feedback as a string, or `{feedback}` or `{plan}`, each with revision and reviewer."""
    if isinstance(value, str):
        value = {"feedback": value}
    return _review({"decision": Decision.EDIT, **_object(value, "edit takes text, {feedback} or {plan}")})


def parse_review(value: Any) -> Review:
    """The update `review`: `{revision, decision: approve|edit, feedback?, plan?, reviewer?}`."""
    return _review(_object(value, "review takes {revision, decision, feedback or plan, reviewer}"))


def parse_answer(value: Any) -> Answer:
    """The signal and update `answer`: the answer as a string, or `{text}`. Raises InvalidInput."""
    if isinstance(value, str):
        value = {"text": value}
    answer = _validated(TypeAdapter(Answer), _object(value, "answer takes text or {text}"))
    if not (text := answer.text.strip()):
        raise InvalidInput("the answer is empty", "text")
    return answer.model_copy(update={"text": text})


def parse_control(value: Any) -> Control:
    """The signal and update `control`: `{action, step_id?, step?, budget?}`."""
    if isinstance(value, str):
        value = {"action": value}
    return _validated(TypeAdapter(Control), _object(value, "control takes {action, step_id, step, budget}"))


def parse_command(value: Any) -> Command | Lease:
    """The signal `command` that a parent sends to a step: a word, or `{granted, denied}` as its lease from now on."""
    if isinstance(value, Mapping):
        return _validated(TypeAdapter(Lease), value)
    return _validated(TypeAdapter(Command), value)


def parse_step_report(value: Any) -> StepReport:
    """The signal `report` that a step sends to its parent."""
    return _validated(TypeAdapter(StepReport), value)


def _review(given: Mapping[str, Any]) -> Review:
    review = _validated(TypeAdapter(Review), given)
    if review.decision is Decision.APPROVE:
        if review.feedback is not None or review.plan is not None:
            raise InvalidInput("an approval carries neither feedback nor a plan; send an edit", "decision")
        return review
    if (review.feedback is None) == (review.plan is None):
        raise InvalidInput("an edit needs either feedback or a plan", "feedback")
    if review.feedback is not None and not review.feedback.strip():
        raise InvalidInput("the feedback is empty", "feedback")
    return review


def _object(value: Any, shape: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(shape)
    return value


def _validated(adapter: TypeAdapter[T], value: Any) -> T:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise first_error(error) from None
