"""The extractive model: every role of the research flow without a language model."""

import json
from collections.abc import Sequence
from typing import Any, assert_never

from deer.models import (
    ChatReply,
    Claim,
    CoordinatorBrief,
    JudgeBrief,
    PlannerBrief,
    RawToolCall,
    ReporterBrief,
    Role,
    StepBrief,
    full,
)
from deer.ports import ChatRequest
from deer.providers.extractive.analyst import compare_findings, verified
from deer.providers.extractive.coordinator import coordinate
from deer.providers.extractive.phrases import phrases_for
from deer.providers.extractive.planner import plan
from deer.providers.extractive.reporter import write_report
from deer.providers.extractive.researcher import Reads, Searches, Submission, next_move
from deer.providers.extractive.transcript import read_transcript

MODEL_NAME = "extractive"


class ExtractiveModel:
    """Answers each role from its brief and from what its tools brought. Implements `ChatModel`.

    The same request gives the same reply. Every claim quotes a sentence that a tool or an earlier finding showed, to
    the letter. It calls no model, so the usage of its replies is empty.
    """

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The reply of the role whose brief the request carries. Raises nothing."""
        match request.brief:
            case CoordinatorBrief() as brief:
                return _coordinator_reply(brief, request)
            case PlannerBrief() as brief:
                return _text(json.dumps(plan(brief), ensure_ascii=False))
            case StepBrief() as brief:
                return _step_reply(brief, request)
            case JudgeBrief() as brief:
                return _judge_reply(brief, request)
            case ReporterBrief() as brief:
                return _reporter_reply(brief)
            case _ as never:
                assert_never(never)


def _coordinator_reply(brief: CoordinatorBrief, request: ChatRequest) -> ChatReply:
    decision = coordinate(brief)
    offered = _offered(request)
    if decision.answer is not None:
        if "direct_response" not in offered:
            return _text(decision.answer)
        return _calls(1, [("direct_response", {"message": decision.answer, "locale": decision.locale})])
    handoffs = [("handoff_to_planner", {"research_topic": t, "locale": decision.locale}) for t in decision.topics]
    return _calls(1, handoffs)


def _step_reply(brief: StepBrief, request: ChatRequest) -> ChatReply:
    seen = read_transcript(request.messages)
    offered = _offered(request)
    is_research = request.role is Role.RESEARCHER or bool({"web_search", "read_page"} & offered)
    move = next_move(brief, seen, offered) if is_research else compare_findings(brief)
    turn = seen.turns + 1
    match move:
        case Searches(queries):
            return _calls(turn, [("web_search", {"query": query}) for query in queries])
        case Reads(urls):
            return _calls(turn, [("read_page", {"url": url}) for url in urls])
        case Submission(summary, claims):
            if "submit_finding" not in offered:
                return _text(summary)
            return _calls(turn, [("submit_finding", {"summary": summary, "claims": [_json(c) for c in claims]})])


def _judge_reply(brief: JudgeBrief, request: ChatRequest) -> ChatReply:
    """Always enough: what the words of the question find was found in the first round."""
    phrases = phrases_for(brief.locale)
    done = sum(bool(verified(finding.claims)) for finding in brief.findings)
    reason = phrases.enough.format(done=done, all=len(brief.findings)) if done else phrases.not_enough
    return _calls(1, [("respond", {"reason": reason})]) if "respond" in _offered(request) else _text(reason)


def _reporter_reply(brief: ReporterBrief) -> ChatReply:
    report = write_report(brief)
    return _text(report.removeprefix(full(brief.written)))


def _offered(request: ChatRequest) -> set[str]:
    return {tool.name for tool in request.tools}


def _json(claim: Claim) -> dict[str, str]:
    return {"text": claim.text, "source_id": claim.source_id, "quote": claim.quote}


def _text(content: str) -> ChatReply:
    return ChatReply(content=content, model=MODEL_NAME)


def _calls(turn: int, calls: Sequence[tuple[str, dict[str, Any]]]) -> ChatReply:  # arguments are any JSON
    written = tuple(
        RawToolCall(id=f"call-{turn}-{place}", name=name, arguments=json.dumps(arguments, ensure_ascii=False))
        for place, (name, arguments) in enumerate(calls, start=1)
    )
    return ChatReply(content="", calls=written, model=MODEL_NAME)
