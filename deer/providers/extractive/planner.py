"""The planner without a model: one research step for each facet of the question, then one that compares."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from deer.models import Plan, PlannerBrief, StepType
from deer.providers.extractive.descriptions import description_of
from deer.providers.extractive.facets import QUERY_SEPARATOR, Facet, Facets, aspect_of_subject, facets_of
from deer.providers.extractive.feedback import changes_asked, wanted_words
from deer.providers.extractive.phrases import Phrases, phrases_for

_TITLE_CHARS = 120

PlanJson = dict[str, Any]  # the JSON of a reply


@dataclass(frozen=True)
class _PlannedStep:
    title: str
    description: str
    step_type: StepType
    id: str | None = None


def plan(brief: PlannerBrief) -> PlanJson:
    """The plan as the JSON object that planners reply with; `depends_on` are 1-based positions."""
    phrases = phrases_for(brief.locale)
    facets = Facets(()) if brief.rejected else facets_of(brief.topics, brief.background, phrases)
    if not facets.found:
        facets = Facets((Facet(phrases.direct_answer, brief.question),))
    told: list[str] = []
    if not brief.can_search:
        steps = [_analysis(facets, phrases)]
    elif brief.earlier_plan and brief.earlier_plan.steps and brief.feedback:
        steps, told = _revised(brief.earlier_plan, brief, phrases)
    else:
        steps = _first(facets, brief, phrases)
    steps = _with_own_titles(steps)
    thought = phrases.thought.format(facets=phrases.comma.join(step.title for step in steps))
    return {
        "locale": brief.locale,
        "has_enough_context": False,
        "thought": phrases.gap.join((thought, *told, phrases.what_feedback_does)),
        "title": _short(" / ".join(brief.topics)),
        "steps": [_step_json(step, steps) for step in steps],
    }


def _first(facets: Facets, brief: PlannerBrief, phrases: Phrases) -> list[_PlannedStep]:
    asked_for = [
        _requested(clause, brief, phrases) for text in brief.feedback for clause in changes_asked(text, ()).added
    ]
    slots = _research_slots(brief.max_steps, len(facets.found) + len(asked_for))
    own_slots = max(1, slots - len(asked_for))
    researched = [*_merged(facets.found, own_slots), *asked_for][:slots]
    steps = [_research(facet, brief, phrases) for facet in researched]
    return [*steps, _analysis(facets, phrases)] if len(steps) < brief.max_steps else steps


def _research_slots(max_steps: int, wanted: int) -> int:
    """How many research steps there are: the last step compares, unless the plan is too short for that."""
    if max_steps <= 2:
        return max_steps if wanted > 1 else 1
    return min(wanted, max_steps - 1)


def _merged(found: Sequence[Facet], slots: int) -> list[Facet]:
    """As many facets as there are slots, the last one asking for all that remain.

    An article that has no slot is left out: the step before it looks through all sources.
    """
    kept, rest = list(found[:slots]), [facet for facet in found[slots:] if not facet.is_article]
    for facet in rest:
        last = kept[-1]
        kept[-1] = Facet(_short(f"{last.title} / {facet.title}"), f"{last.query}{QUERY_SEPARATOR}{facet.query}")
    return kept


def _revised(earlier: Plan, brief: PlannerBrief, phrases: Phrases) -> tuple[list[_PlannedStep], list[str]]:
    """The earlier plan with the steps less and more that the newest feedback asks for, and what is to be told of it."""
    changes = changes_asked(brief.feedback[-1], earlier.steps)
    unmatched = list(changes.unmatched)
    steps = [_PlannedStep(s.title, s.description, s.step_type, s.id) for s in earlier.steps]
    kept = [step for step in steps if step.id not in changes.removed]
    if not kept and not changes.added:
        kept, unmatched = steps, [" ".join(brief.feedback[-1].split())]
    told = [phrases.nothing_removed.format(clause=clause) for clause in unmatched]
    if changes.added:
        if len(kept) >= brief.max_steps:
            room = next((step for step in reversed(kept) if step.step_type is StepType.RESEARCH), kept[-1])
            kept.remove(room)
            told.append(phrases.made_room.format(title=room.title))
        requested = _merged([_requested(c, brief, phrases) for c in changes.added], brief.max_steps - len(kept))
        at = next((place for place, s in enumerate(kept) if s.step_type is not StepType.RESEARCH), len(kept))
        kept[at:at] = [_research(facet, brief, phrases) for facet in requested]
    return kept[: brief.max_steps], told


def _requested(clause: str, brief: PlannerBrief, phrases: Phrases) -> Facet:
    """A request as a facet: its own words are what is asked, of the subject of the question."""
    query = aspect_of_subject(wanted_words(clause), brief.topics[0])
    return Facet(_short(phrases.requested.format(feedback=clause)), query)


def _with_own_titles(steps: list[_PlannedStep]) -> list[_PlannedStep]:
    """The steps with a number behind every title that an earlier one has: plans refuse a title twice."""
    seen: Counter[str] = Counter()
    renamed: list[_PlannedStep] = []
    for step in steps:
        key = step.title.casefold()
        seen[key] += 1
        renamed.append(replace(step, title=f"{step.title} ({seen[key]})") if seen[key] > 1 else step)
    return renamed


def _research(facet: Facet, brief: PlannerBrief, phrases: Phrases) -> _PlannedStep:
    return _PlannedStep(facet.title, description_of(facet, brief.question, phrases), StepType.RESEARCH)


def _analysis(facets: Facets, phrases: Phrases) -> _PlannedStep:
    title, description = (
        (phrases.comparison, phrases.compare_findings)
        if facets.are_sides
        else (phrases.conclusion, phrases.join_findings)
    )
    return _PlannedStep(title, description, StepType.ANALYSIS)


def _step_json(step: _PlannedStep, steps: list[_PlannedStep]) -> PlanJson:
    is_research = step.step_type is StepType.RESEARCH
    earlier = steps[: steps.index(step)]
    depends_on = [
        place
        for place, other in enumerate(earlier, start=1)
        if not is_research and other.step_type is StepType.RESEARCH
    ]
    written: PlanJson = {
        "need_search": is_research,
        "title": step.title,
        "description": step.description,
        "step_type": step.step_type.value,
        "depends_on": depends_on,
    }
    return {"id": step.id, **written} if step.id else written


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TITLE_CHARS else text[: _TITLE_CHARS - 1].rstrip() + "…"
