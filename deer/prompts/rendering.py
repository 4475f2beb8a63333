"""From a brief to the messages that a model is sent."""

import json
from collections.abc import Iterable, Iterator
from typing import assert_never

from deer.models import (
    AnyBrief,
    ChatMessage,
    Clarification,
    CoordinatorBrief,
    FindingBrief,
    JudgeBrief,
    Plan,
    PlannerBrief,
    RejectedReply,
    ReporterBrief,
    ReportStyle,
    Role,
    SourceBrief,
    Speaker,
    StepBrief,
    full,
)
from deer.prompts.fences import Tag, fenced, grouped
from deer.prompts.languages import language_name, prompt_language
from deer.prompts.templates import filled, phrase, system_prompt


def render(brief: AnyBrief) -> tuple[ChatMessage, ...]:
    """The system message with the role's rules, and the user message with the question and all the brief holds.

    Texts of the brief must be resolved: TypeError otherwise.
    """
    language = prompt_language(brief.locale)
    role, limits, rules = _particulars(brief)
    values = {
        "today": brief.today.isoformat(),
        "locale": brief.locale,
        "language": language_name(brief.locale),
        **{name: str(number) for name, number in limits.items()},
    }
    values |= {placeholder: filled(phrase(name, language), values) for placeholder, name in rules.items()}
    return (
        ChatMessage(speaker=Speaker.SYSTEM, content=filled(system_prompt(role, language), values)),
        ChatMessage(speaker=Speaker.USER, content="\n\n".join(_blocks(brief))),
    )


def _particulars(brief: AnyBrief) -> tuple[Role, dict[str, int], dict[str, str]]:
    """The role, the numbers that its prompt states, and the phrase to put at each placeholder for a rule."""
    match brief:
        case CoordinatorBrief():
            locale_rule = "locale_fixed" if brief.locale_is_fixed else "locale_guessed"
            ask_rule = "ask_back" if brief.questions_left else "ask_nothing"
            limits = {"questions_left": brief.questions_left}
            return Role.COORDINATOR, limits, {"locale_rule": locale_rule, "ask_rule": ask_rule}
        case PlannerBrief():
            search_rule = "plan_with_search" if brief.can_search else "plan_without_search"
            return Role.PLANNER, {"max_steps": brief.max_steps}, {"search_rule": search_rule}
        case StepBrief():
            return brief.role, {"max_turns": brief.max_turns}, {"search_rule": _search_rule(brief)}
        case JudgeBrief():
            limits = {"round": brief.round, "max_rounds": brief.max_rounds, "max_steps": brief.max_steps}
            return Role.JUDGE, limits, {}
        case ReporterBrief():
            # A plain report asks no model; one that is asked all the same writes in the neutral style.
            style = ReportStyle.NEUTRAL if brief.style is ReportStyle.PLAIN else brief.style
            evidence_rule = "evidence_given" if brief.sources else "evidence_missing"
            return Role.REPORTER, {}, {"style_rule": f"style_{style}", "evidence_rule": evidence_rule}
    assert_never(brief)


def _search_rule(brief: StepBrief) -> str:
    if not brief.can_search:
        return "step_cannot_search"
    return "step_must_search" if brief.step.need_search else "step_may_search"


def _blocks(brief: AnyBrief) -> Iterator[str]:
    """The parts of the user message: the question first, what is to be done about it last."""
    if brief.earlier is not None:
        yield fenced(Tag.EARLIER_REPORT, full(brief.earlier.text), question=brief.earlier.question)
    yield fenced(Tag.QUESTION, brief.question)
    match brief:
        case CoordinatorBrief():
            yield from map(_clarification, brief.clarifications)
        case PlannerBrief():
            yield from _planner_blocks(brief)
        case StepBrief():
            yield from _background(brief.background)
            yield from map(_finding, brief.findings)
            step = brief.step
            yield fenced(Tag.STEP, step.description, id=step.id, title=step.title, step_type=step.step_type)
        case JudgeBrief():
            yield fenced(Tag.PLAN, _plan_json(brief.plan))
            yield from map(_finding, brief.findings)
            yield from map(_rejected, brief.rejected)
        case ReporterBrief():
            yield from _reporter_blocks(brief)
        case _:
            assert_never(brief)


def _clarification(said: Clarification) -> str:
    return grouped(Tag.CLARIFICATION, (fenced(Tag.ASKED, said.question.with_options), fenced(Tag.ANSWER, said.answer)))


def _planner_blocks(brief: PlannerBrief) -> Iterator[str]:
    yield from (fenced(Tag.TOPIC, topic) for topic in brief.topics)
    yield from _background(brief.background)
    yield from map(_finding, brief.findings)
    if brief.earlier_plan is not None:
        yield fenced(Tag.EARLIER_PLAN, _plan_json(brief.earlier_plan))
    yield from (fenced(Tag.FEEDBACK, words) for words in brief.feedback)
    yield from map(_rejected, brief.rejected)


def _reporter_blocks(brief: ReporterBrief) -> Iterator[str]:
    yield from (fenced(Tag.TOPIC, topic) for topic in brief.topics)
    if brief.plan is not None:
        yield fenced(Tag.PLAN, _plan_json(brief.plan))
    yield from map(_finding, brief.findings)
    yield grouped(Tag.SOURCES, map(_source, brief.sources))
    written = full(brief.written)
    if written:
        yield fenced(Tag.WRITTEN, written)
        yield phrase("go_on", prompt_language(brief.locale))


def _background(sources: Iterable[SourceBrief]) -> Iterator[str]:
    blocks = [_source(source) for source in sources]
    if blocks:
        yield grouped(Tag.BACKGROUND, blocks)


def _source(source: SourceBrief) -> str:
    return fenced(Tag.SOURCE, full(source.text), id=source.id, title=source.title, url=source.url)


def _rejected(rejected: RejectedReply) -> str:
    reply = fenced(Tag.REPLY, full(rejected.reply))
    return grouped(Tag.REJECTED_REPLY, (reply, fenced(Tag.ERROR, rejected.error)))


def _finding(finding: FindingBrief) -> str:
    blocks = []
    if finding.reason is not None:
        blocks.append(fenced(Tag.REASON, finding.reason))
    if finding.summary is not None:
        blocks.append(fenced(Tag.SUMMARY, full(finding.summary)))
    for claim in finding.claims:
        quote = f"\n{fenced(Tag.QUOTE, claim.quote)}" if claim.quote else ""
        text = fenced(Tag.CLAIM, claim.text, source_id=claim.source_id, check=claim.check)
        blocks.append(text + quote)
    blocks += [fenced(Tag.NOTICE, notice) for notice in finding.notices]
    return grouped(Tag.FINDING, blocks, step=finding.step_id, title=finding.title, status=finding.status)


def _plan_json(plan: Plan) -> str:
    """A plan in the shape in which models write plans."""
    shown = plan.model_dump(mode="json", include={"title", "thought", "steps"})
    return json.dumps(shown, ensure_ascii=False, indent=1)
