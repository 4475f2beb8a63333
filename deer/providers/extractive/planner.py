"""The planner without a model: one research step for each facet of the question, then one that compares."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from deer.models import Plan, PlannerBrief, Step, StepType
from deer.providers.asking import asked
from deer.providers.extractive.facets import QUERY_SEPARATOR, Facet, Facets, facets_of
from deer.providers.extractive.phrases import Phrases, phrases_for

_TITLE_CHARS = 120
_DESCRIPTION_CHARS = 1_000
_REMOVAL = re.compile(
    r"(?:remove|drop|delete|skip|leave out|without)\s+(?:the\s+)?step\s+s?(?P<number>\d+)"
    r"|(?:删除|删掉|去掉|去除|不要)(?:第|步骤)?\s*s?(?P<zh>\d+|[一二三四五六七八九])\s*(?:个?步骤?)?",
    re.IGNORECASE,
)
_ZH_DIGITS = "一二三四五六七八九"

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
    if not brief.can_search:
        steps = [_analysis(facets, phrases)]
    elif brief.earlier_plan and brief.earlier_plan.steps and brief.feedback:
        steps = _revised(brief.earlier_plan, brief, phrases)
    else:
        steps = _first(facets, brief, phrases)
    steps = _with_own_titles(steps)
    return {
        "locale": brief.locale,
        "has_enough_context": False,
        "thought": phrases.thought.format(facets=_listed([s.title for s in steps], phrases)),
        "title": _short(" / ".join(brief.topics)),
        "steps": [_step_json(step, steps) for step in steps],
    }


def description_queries(description: str, locale: str) -> list[str]:
    """The queries that a description of this planner names; none for one that somebody else wrote."""
    find = phrases_for(locale).find
    if not description.startswith(find):
        return []
    return [query.strip() for query in description.removeprefix(find).split(QUERY_SEPARATOR) if query.strip()]


def _first(facets: Facets, brief: PlannerBrief, phrases: Phrases) -> list[_PlannedStep]:
    asked_for = [_requested(text, brief, phrases) for text in brief.feedback if asked(text).terms]
    slots = _research_slots(brief.max_steps, len(facets.found) + len(asked_for))
    own_slots = max(1, slots - len(asked_for))
    researched = [*_merged(facets.found, own_slots), *asked_for][:slots]
    steps = [_research(facet, phrases) for facet in researched]
    return [*steps, _analysis(facets, phrases)] if len(steps) < brief.max_steps else steps


def _research_slots(max_steps: int, wanted: int) -> int:
    """How many research steps there are: the last step compares, unless the plan is too short for that."""
    if max_steps <= 2:
        return max_steps if wanted > 1 else 1
    return min(wanted, max_steps - 1)


def _merged(found: tuple[Facet, ...], slots: int) -> list[Facet]:
    """As many facets as there are slots, the last one asking for all that remain."""
    kept, rest = list(found[:slots]), found[slots:]
    for facet in rest:
        last = kept[-1]
        kept[-1] = Facet(_short(f"{last.title} / {facet.title}"), f"{last.query}{QUERY_SEPARATOR}{facet.query}")
    return kept


def _revised(earlier: Plan, brief: PlannerBrief, phrases: Phrases) -> list[_PlannedStep]:
    """The earlier plan with what the newest feedback asks for: a step less, or a step more."""
    feedback = brief.feedback[-1]
    steps = [_PlannedStep(s.title, s.description, s.step_type, s.id) for s in earlier.steps]
    removed = {step.id for match in _REMOVAL.finditer(feedback) if (step := _named_step(match, earlier.steps))}
    if len(removed) < len(steps):
        steps = [step for step in steps if step.id not in removed]
    rest = _REMOVAL.sub(" ", feedback)
    if asked(rest).terms and (not removed or len(asked(rest).terms) > 1):
        added = _research(_requested(rest, brief, phrases), phrases)
        if len(steps) >= brief.max_steps:
            steps.remove(next((s for s in reversed(steps) if s.step_type is StepType.RESEARCH), steps[-1]))
        at = next((place for place, s in enumerate(steps) if s.step_type is not StepType.RESEARCH), len(steps))
        steps.insert(at, added)
    return steps[: brief.max_steps]


def _named_step(match: re.Match[str], steps: tuple[Step, ...]) -> Step | None:
    written = match["number"] or match["zh"]
    number = _ZH_DIGITS.index(written) + 1 if written in _ZH_DIGITS else int(written)
    by_id = next((step for step in steps if step.id == f"s{number}"), None)
    return by_id or (steps[number - 1] if 0 < number <= len(steps) else None)


def _requested(feedback: str, brief: PlannerBrief, phrases: Phrases) -> Facet:
    text = " ".join(feedback.split())
    about = asked(text)
    query = text if about.names or about.subject else f"{text} — {brief.topics[0]}"
    return Facet(_short(phrases.requested.format(feedback=text)), query)


def _with_own_titles(steps: list[_PlannedStep]) -> list[_PlannedStep]:
    """The steps with a number behind every title that an earlier one has: plans refuse a title twice."""
    seen: Counter[str] = Counter()
    renamed: list[_PlannedStep] = []
    for step in steps:
        key = step.title.casefold()
        seen[key] += 1
        renamed.append(replace(step, title=f"{step.title} ({seen[key]})") if seen[key] > 1 else step)
    return renamed


def _research(facet: Facet, phrases: Phrases) -> _PlannedStep:
    return _PlannedStep(facet.title, (phrases.find + facet.query)[:_DESCRIPTION_CHARS], StepType.RESEARCH)


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


def _listed(titles: list[str], phrases: Phrases) -> str:
    return ("、" if phrases.colon == "：" else ", ").join(titles)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _TITLE_CHARS else text[: _TITLE_CHARS - 1].rstrip() + "…"
