"""The research flow in miniature: the extractive model and stored documents, one role after the other."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from deer.errors import NotFound, ServiceError
from deer.models import (
    SUMMARY_CHARS,
    AnyBrief,
    ChatMessage,
    ChatReply,
    Check,
    CheckedClaim,
    CoordinatorBrief,
    FindingBrief,
    Hit,
    Plan,
    PlannerBrief,
    ReporterBrief,
    ReportStyle,
    Role,
    SourceBrief,
    Speaker,
    Step,
    StepBrief,
    StepStatus,
    StepType,
    ToolSpec,
)
from deer.ports import ChatRequest, SearchQuery
from deer.providers.documents import StoredDocuments
from deer.providers.extractive import ExtractiveModel

TODAY = date(2026, 11, 30)
STEP_TOOLS = ("web_search", "read_page", "submit_finding")


class MemoryStore:
    """A TextStore that forgets everything at the end of a test."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.entries: dict[str, str] = {}
        self.writes = 0

    async def require_writable(self) -> None:
        pass

    async def put(self, text: str) -> str:
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        self.texts[sha256] = text
        return sha256

    async def get(self, sha256: str) -> str:
        if sha256 not in self.texts:
            raise NotFound(f"no text {sha256}")
        return self.texts[sha256]

    async def write_entry(self, name: str, text: str) -> None:
        self.writes += 1
        self.entries[name] = text

    async def read_entry(self, name: str) -> str | None:
        return self.entries.get(name)

    async def entry_names(self, prefix: str) -> Sequence[str]:
        return sorted(name for name in self.entries if name.startswith(prefix))


@dataclass
class Research:
    """What a question led to. `sources` holds every text that was seen of a source, by id."""

    answer: str | None = None
    plan: Plan | None = None
    findings: list[FindingBrief] = field(default_factory=list)
    sources: dict[str, list[str]] = field(default_factory=dict)
    report: str = ""
    turns: list[int] = field(default_factory=list)

    @property
    def claims(self) -> list[CheckedClaim]:
        return [claim for finding in self.findings for claim in finding.claims]


async def complete(
    brief: AnyBrief, role: Role, tools: Sequence[str] = (), said: Sequence[ChatMessage] = ()
) -> ChatReply:
    """One reply of the extractive model."""
    specs = tuple(ToolSpec(name=name, description=name, parameters={"type": "object"}) for name in tools)
    messages = (ChatMessage(speaker=Speaker.USER, content=brief.question), *said)
    return await ExtractiveModel().complete(ChatRequest(role=role, brief=brief, messages=messages, tools=specs))


def called(reply: ChatReply) -> list[tuple[str, dict[str, Any]]]:
    """The tool calls of a reply, their arguments parsed."""
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


class MiniatureFlow:
    """Coordinator, background search, planner, steps one after the other, reporter."""

    def __init__(self, documents: StoredDocuments, collections: Sequence[str], max_steps: int = 5) -> None:
        self._documents = documents
        self._collections = collections
        self._max_steps = max_steps
        self._ids: dict[str, str] = {}
        self._titles: dict[str, tuple[str, str]] = {}

    async def run(self, question: str, locale: str | None = None, feedback: str = "") -> Research:
        """From question to report; `feedback` is what a reviewer of the first plan asks for."""
        done = Research()
        topics = await self._coordinate(question, locale, done)
        if done.answer is not None:
            return done
        locale = topics[0]["locale"]
        background = await self._background(topics[0]["research_topic"], done)
        brief = PlannerBrief(
            question=question,
            locale=locale,
            today=TODAY,
            topics=tuple(topic["research_topic"] for topic in topics),
            max_steps=self._max_steps,
            can_search=True,
            background=tuple(background),
        )
        done.plan = plan_of(json.loads((await complete(brief, Role.PLANNER)).content))
        if feedback:
            brief = brief.model_copy(update={"earlier_plan": done.plan, "feedback": (feedback,)})
            done.plan = plan_of(json.loads((await complete(brief, Role.PLANNER)).content))
        for step in done.plan.steps:
            done.findings.append(await self._step(step, question, locale, done))
        sources = tuple(
            SourceBrief(id=sid, title=self._titles[sid][0], url=self._titles[sid][1], text="\n".join(texts))
            for sid, texts in done.sources.items()
        )
        report = ReporterBrief(
            question=question,
            locale=locale,
            today=TODAY,
            style=ReportStyle.NEUTRAL,
            plan=done.plan,
            findings=tuple(done.findings),
            sources=sources,
        )
        done.report = (await complete(report, Role.REPORTER)).content
        return done

    async def _coordinate(self, question: str, locale: str | None, done: Research) -> list[dict[str, Any]]:
        brief = CoordinatorBrief(
            question=question, locale=locale or "en-US", today=TODAY, locale_is_fixed=locale is not None
        )
        calls = called(await complete(brief, Role.COORDINATOR, ("handoff_to_planner", "direct_response")))
        if calls[0][0] == "direct_response":
            done.answer = calls[0][1]["message"]
        return [arguments for _, arguments in calls]

    async def _background(self, topic: str, done: Research) -> list[SourceBrief]:
        hits = await self._search(topic)
        return [
            SourceBrief(id=self._register(hit, "b", done), title=hit.title, url=hit.url, text=hit.content)
            for hit in hits
        ]

    async def _search(self, text: str) -> Sequence[Hit]:
        return await self._documents.search(self._collections, SearchQuery(text=text, max_results=5))

    def _register(self, hit: Hit, step_id: str, done: Research) -> str:
        source_id = self._ids.setdefault(hit.url, f"{step_id}-{len(self._ids) + 1}")
        self._titles[source_id] = (hit.title, hit.url)
        done.sources.setdefault(source_id, []).append(hit.content)
        return source_id

    async def _step(self, step: Step, question: str, locale: str, done: Research) -> FindingBrief:
        needed = tuple(finding for finding in done.findings if finding.step_id in step.depends_on)
        role = Role.RESEARCHER if step.step_type is StepType.RESEARCH else Role.ANALYST
        brief = StepBrief(
            question=question,
            locale=locale,
            today=TODAY,
            role=role,
            step=step,
            max_turns=20,
            can_search=role is Role.RESEARCHER,
            findings=needed,
        )
        tools = STEP_TOOLS if role is Role.RESEARCHER else ("submit_finding",)
        said: list[ChatMessage] = []
        for turn in range(1, 6):
            reply = await complete(brief, role, tools, said)
            said.append(ChatMessage(speaker=Speaker.ASSISTANT, content=reply.content, calls=reply.calls))
            for call, (name, arguments) in zip(reply.calls, called(reply), strict=True):
                if name == "submit_finding":
                    done.turns.append(turn)
                    return self._finding(step, arguments, done)
                content = json.dumps(await self._tool(step, name, arguments, done), ensure_ascii=False)
                said.append(ChatMessage(speaker=Speaker.TOOL, content=content, call_id=call.id))
        raise AssertionError(f"step {step.id} did not end")

    async def _tool(self, step: Step, name: str, arguments: dict[str, Any], done: Research) -> dict[str, Any]:
        if name == "web_search":
            hits = await self._search(arguments["query"])
            return {"results": [self._shown(hit, self._register(hit, step.id, done)) for hit in hits]}
        try:
            page = await self._documents.read(arguments["url"])
        except ServiceError as error:
            return {"error": str(error)}
        source_id = self._register(Hit(url=page.url, title=page.title, content=page.text), step.id, done)
        return {"source_id": source_id, "title": page.title, "url": page.url, "text": page.text, "cut": page.cut}

    def _shown(self, hit: Hit, source_id: str) -> dict[str, Any]:
        summary = hit.content[:SUMMARY_CHARS]
        return {"id": source_id, "title": hit.title, "summary": summary, "url": hit.url, "score": hit.score}

    def _finding(self, step: Step, arguments: dict[str, Any], done: Research) -> FindingBrief:
        claims = tuple(
            CheckedClaim(**claim, check=Check.VERIFIED if self._stands(claim, done) else Check.CONTRADICTED)
            for claim in arguments["claims"]
        )
        return FindingBrief(
            step_id=step.id, title=step.title, status=StepStatus.DONE, summary=arguments["summary"], claims=claims
        )

    def _stands(self, claim: dict[str, str], done: Research) -> bool:
        return any(claim["quote"] in text for text in done.sources.get(claim["source_id"], []))


def plan_of(written: dict[str, Any]) -> Plan:
    """A planner's JSON as a plan whose steps are called s1, s2 and so on."""
    steps = tuple(
        Step(
            id=f"s{place}",
            title=step["title"],
            description=step["description"],
            step_type=StepType(step["step_type"]),
            need_search=step["need_search"],
            depends_on=tuple(f"s{position}" for position in step["depends_on"]),
        )
        for place, step in enumerate(written["steps"], start=1)
    )
    return Plan(revision=1, title=written["title"], thought=written["thought"], steps=steps)
