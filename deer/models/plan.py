"""The plan: what will be done, in which steps, and how far each has come."""

from enum import StrEnum

from deer.models.texts import Model

MAX_TITLE_CHARS = 300


class StepType(StrEnum):
    """What kind of work a step is, and so which role does it."""

    RESEARCH = "research"
    ANALYSIS = "analysis"
    PROCESSING = "processing"


class StepStatus(StrEnum):
    """How far a step has come."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class Step(Model):
    """One step of a plan. `depends_on` holds ids of steps whose findings it is given."""

    id: str
    title: str
    description: str
    step_type: StepType
    need_search: bool = False
    depends_on: tuple[str, ...] = ()


class Plan(Model):
    """A plan as it was proposed or approved. `revision` counts from 1 and never repeats in a run."""

    revision: int
    title: str
    thought: str = ""
    has_enough_context: bool = False
    steps: tuple[Step, ...] = ()


class DraftStep(Model):
    """A step as a model or a person wrote it, after validation and before code gave it an id.

    `id` names a step of the plan that the writer was shown; None is a new step.
    `depends_on`: an integer is a 1-based position in the draft, a string an id; None asks for the default.
    """

    id: str | None = None
    title: str
    description: str
    step_type: StepType
    need_search: bool = False
    depends_on: tuple[int | str, ...] | None = None


class ChangeKind(StrEnum):
    """What the reading of a plan changed in it; each word has its sentence in `deer.wording`."""

    STEPS_CUT = "steps_cut"
    STEP_REPEATED = "step_repeated"
    WAIT_DROPPED = "wait_dropped"
    CIRCLE_OPENED = "circle_opened"


class PlanChange(Model):
    """A change that the reader of the run is told. `values` are those of its sentence: `title`, or counts."""

    kind: ChangeKind
    values: dict[str, str | int]


class PlanDraft(Model):
    """A plan as a model or a person wrote it, after validation. `changes`: what the validation changed in it."""

    title: str
    thought: str = ""
    has_enough_context: bool = False
    steps: tuple[DraftStep, ...] = ()
    changes: tuple[PlanChange, ...] = ()


class PlanRules(Model):
    """What a draft is held to.

    `known_ids`: the steps that its writer was shown. `finished_ids`: those of them that stay even when left out.
    """

    max_steps: int
    min_steps: int = 1
    """As many as the question has topics, each of which gets a step of its own; no rule for plans of people."""
    known_ids: tuple[str, ...] = ()
    finished_ids: tuple[str, ...] = ()
    excess_is_cut: bool = False
    """Whether steps above `max_steps`, repetitions of a title and circles are cut and told instead of refused.

    Set when asking again is over.
    """
