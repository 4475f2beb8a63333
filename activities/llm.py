"""Every call of a model: one activity, one call, one typed result."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter
from temporalio import activity

from activities.failures import translated
from activities.heartbeats import beating
from deer import parsing
from deer.answers import UnkeptReplies
from deer.errors import FailureKind, InvalidInput, ServiceError
from deer.models import (
    MAX_TITLE_CHARS,
    AnyBrief,
    ChatMessage,
    ChatReply,
    ClarifyingQuestion,
    CoordinateRequest,
    Finding,
    HandOffDecision,
    JudgeRequest,
    Model,
    PlannerBrief,
    PlanReply,
    PlanRequest,
    RawToolCall,
    ReporterBrief,
    ReportReply,
    ReportRequest,
    Role,
    Speaker,
    TextRef,
    ToolCall,
    ToolName,
    TurnReply,
    TurnRequest,
    Verdict,
    full,
    without_credentials,
)
from deer.ports import ChatModel, ChatRequest, TextStore, offload, resolve, store_text
from deer.prompts import agent_note, closing_message, output_for, render, tool_message, tools_for

_TRANSCRIPT: TypeAdapter[tuple[ChatMessage, ...]] = TypeAdapter(tuple[ChatMessage, ...])
MAX_FINDING_CHARS = 200_000
MAX_TOPIC_CHARS = 1_000
MAX_ANSWER_CHARS = 4_000
MAX_TOPICS = 10
MAX_OPTIONS, MAX_OPTION_CHARS = 6, 200
MAX_EMPTY_REPORTS = 2
"""An empty report is paid for like a full one: after this many the findings are joined instead."""

_HANDOFF, _ANSWER, _ASK = "handoff_to_planner", "direct_response", "ask_clarification"
_REVISE, _RESPOND = "revise_plan", "respond"
_ENOUGH = "the findings are enough"


class ModelActivities:
    """The calls that the roles make of their models."""

    def __init__(self, model: ChatModel, store: TextStore) -> None:
        self._model = model
        self._store = store
        self._unkept = UnkeptReplies[ChatReply]()

    @property
    def all(self) -> list[Callable[..., Any]]:
        """The activities, for registration with a worker."""
        return [self.coordinate, self.write_plan, self.take_turn, self.judge_findings, self.write_report]

    @activity.defn
    async def coordinate(self, request: CoordinateRequest) -> HandOffDecision:
        """Ask the coordinator: an answer of its own, a question to the person, or topics for the planner."""
        async with beating():
            with translated():
                reply = await self._ask(Role.COORDINATOR, request.brief)
        return _decision(reply, request)

    @activity.defn
    async def write_plan(self, request: PlanRequest) -> PlanReply:
        """Ask the planner for a plan; a reply that breaks a rule comes back with the rule."""
        async with beating():
            with translated():
                brief = await resolve(self._store, request.brief)
                reply = await self._unkept.get(_call_of(request), lambda: self._ask(Role.PLANNER, brief))
                with self._unkept.unless_kept(_call_of(request), reply):
                    text = await offload(self._store, parsing.answer_of(_plan_text(reply)))
        try:
            if reply.was_cut:
                raise InvalidInput("the reply was cut off by the output limit; write a shorter plan")
            draft = parsing.parse_plan(parsing.plan_in(_plan_text(reply), _plan_title(request.brief)), request.rules)
        except InvalidInput as error:
            return PlanReply(draft=None, error=str(error), reply=text, usage=reply.usage, notices=reply.notices)
        return PlanReply(draft=draft, error=None, reply=text, usage=reply.usage, notices=reply.notices)

    @activity.defn
    async def take_turn(self, request: TurnRequest) -> TurnReply:
        """Ask a step's agent for its next move, and keep the conversation so far in the store."""
        async with beating():
            with translated():
                messages = await self._conversation(request)
                tools = () if request.is_last else tools_for(request.brief)
                brief = await resolve(self._store, request.brief)
                asked = ChatRequest(role=request.brief.role, brief=brief, messages=messages, tools=tools)
                reply = await self._unkept.get(_call_of(request), lambda: self._complete(asked))
                calls = _keepable(reply.calls if tools else (), request.turn)
                offered = frozenset(tool.name for tool in tools)
                submitted = next((call for call in calls if call.name == ToolName.SUBMIT_FINDING), None)
                with self._unkept.unless_kept(_call_of(request), reply):
                    transcript = await self._keep((*messages, _move(reply, calls)))
                    if submitted is not None:
                        return await self._submission(submitted, calls, offered, transcript, reply)
                    finding = None if calls else await self._plain_finding(reply.content)
        return TurnReply(
            transcript=transcript,
            calls=tuple(parsing.parse_tool_call(call, offered) for call in calls),
            finding=finding,
            usage=reply.usage,
            notices=reply.notices,
        )

    @activity.defn
    async def judge_findings(self, request: JudgeRequest) -> Verdict:
        """Ask whether the findings answer the question; a reply that breaks a rule comes back with the rule."""
        async with beating():
            with translated():
                brief = await resolve(self._store, request.brief)
                reply = await self._ask(Role.JUDGE, brief)
        try:
            return _verdict(reply, request)
        except InvalidInput as error:
            text = parsing.answer_of(reply.content) or "; ".join(call.arguments for call in reply.calls)
            return Verdict(
                reason="", error=str(error), reply=text[:MAX_ANSWER_CHARS], usage=reply.usage, notices=reply.notices
            )

    @activity.defn
    async def write_report(self, request: ReportRequest) -> ReportReply:
        """Ask the reporter for the report, or for the rest of one that was cut. An empty one is asked for again."""
        async with beating():
            with translated():
                brief = await resolve(self._store, request.brief)
                reply = await self._unkept.get(_call_of(request), lambda: self._ask(Role.REPORTER, brief))
                if reply.says_nothing and not request.brief.written:
                    raise ServiceError(
                        "the reporter wrote nothing",
                        FailureKind.MALFORMED,
                        retryable=True,
                        max_attempts=MAX_EMPTY_REPORTS,
                    )
                with self._unkept.unless_kept(_call_of(request), reply):
                    text = await offload(self._store, full(brief.written) + reply.content)
        return ReportReply(text=text, was_cut=reply.was_cut, usage=reply.usage, notices=reply.notices)

    async def _ask(self, role: Role, brief: AnyBrief) -> ChatReply:
        """One call without a conversation; a role that has tools answers by calling one."""
        tools = tools_for(brief)
        return await self._complete(
            ChatRequest(
                role=role,
                brief=brief,
                messages=render(brief),
                tools=tools,
                must_call_tool=bool(tools),
                output=output_for(brief),
                thinks_deeply=isinstance(brief, PlannerBrief) and brief.thinks_deeply,
                may_be_empty=isinstance(brief, ReporterBrief) and bool(brief.written),
            )
        )

    async def _complete(self, request: ChatRequest) -> ChatReply:
        await self._store.require_writable()  # before a reply is paid for that could not be kept
        info = activity.info()
        attempts = info.retry_policy.maximum_attempts if info.retry_policy else 0
        counted = {
            "call": f"{info.workflow_run_id}/{info.activity_id}",
            "attempt": info.attempt,
            "attempts": max(attempts, info.attempt),
        }
        return await self._model.complete(request.model_copy(update=counted))

    async def _conversation(self, request: TurnRequest) -> tuple[ChatMessage, ...]:
        if request.transcript is None:
            messages = render(await resolve(self._store, request.brief))
        else:
            messages = _TRANSCRIPT.validate_json(await self._store.get(request.transcript.sha256))
        for reply in request.replies:
            messages = (*messages, tool_message(await resolve(self._store, reply), request.brief.locale))
        if request.note is not None:
            messages = (*messages, agent_note(request.note, request.brief.locale))
        if request.is_last:
            messages = (*messages, closing_message(request.brief.locale))
        return messages

    async def _keep(self, messages: tuple[ChatMessage, ...]) -> TextRef:
        return await store_text(self._store, _TRANSCRIPT.dump_json(messages).decode())

    async def _submission(
        self,
        submitted: RawToolCall,
        calls: tuple[RawToolCall, ...],
        offered: frozenset[str],
        transcript: TextRef,
        reply: ChatReply,
    ) -> TurnReply:
        """The finding that was handed in; one that cannot be read is told to the model like any bad call."""
        try:
            finding = parsing.parse_finding(submitted)
        except InvalidInput as error:
            refused = ToolCall(id=submitted.id, name=submitted.name, error=str(error))
            others = (parsing.parse_tool_call(call, offered) for call in calls if call.id != submitted.id)
            return TurnReply(
                transcript=transcript,
                calls=(refused, *others),
                refused=hashlib.sha256(" ".join(submitted.arguments.split()).encode("utf-8", "replace")).hexdigest(),
                usage=reply.usage,
                notices=reply.notices,
            )
        kept = finding.model_copy(update={"summary": await offload(self._store, str(finding.summary))})
        return TurnReply(
            transcript=transcript,
            finding=kept,
            unanswered=tuple(call.id for call in calls),
            usage=reply.usage,
            notices=reply.notices,
        )

    async def _plain_finding(self, content: str) -> Finding | None:
        text = content.strip()[:MAX_FINDING_CHARS]
        return Finding(summary=await offload(self._store, text)) if text else None


def _call_of(request: Model) -> str:
    """What a call is known by when it is made again after a person has mended something."""
    digest = hashlib.sha256(request.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()
    return f"{activity.info().workflow_run_id}/{digest}"


def _decision(reply: ChatReply, request: CoordinateRequest) -> HandOffDecision:
    """What the coordinator's calls mean. A question that it answered without a tool call goes to research."""
    locale = request.brief.locale
    topics: list[str] = []
    answer: str | None = None
    question: ClarifyingQuestion | None = None
    for call in reply.calls:
        try:
            given = parsing.arguments_of(call)
        except InvalidInput:
            continue  # without its arguments a hand-off still is one: the question itself is the topic
        if not request.brief.locale_is_fixed:
            locale = parsing.sane_locale(str(given.get("locale", ""))) or locale
        if call.name == _HANDOFF and (topic := str(given.get("research_topic") or "").strip()):
            topics.append(topic[:MAX_TOPIC_CHARS])
        elif call.name == _ANSWER and (message := str(given.get("message") or "").strip()):
            answer = message[:MAX_ANSWER_CHARS]
        elif call.name == _ASK and request.brief.questions_left:
            question = question or _question(given)
    if question is not None and not topics:
        return HandOffDecision(locale=locale, question=question, usage=reply.usage, notices=reply.notices)
    if answer is not None and not topics:
        return HandOffDecision(locale=locale, answer=answer, usage=reply.usage, notices=reply.notices)
    topics = list(dict.fromkeys(topics)) or [request.brief.question]
    return HandOffDecision(locale=locale, topics=tuple(topics[:MAX_TOPICS]), usage=reply.usage, notices=reply.notices)


def _question(given: Mapping[str, Any]) -> ClarifyingQuestion | None:  # arguments as the model wrote them
    """What the coordinator asks back; None when it has no words. Of its options, those that are short texts."""
    text = str(given.get("question") or "").strip()[:MAX_TOPIC_CHARS]
    listed = given.get("options")
    words = [str(option).strip() for option in (listed if isinstance(listed, list) else ()) if option is not None]
    options = tuple(dict.fromkeys(option[:MAX_OPTION_CHARS] for option in words if option))[:MAX_OPTIONS]
    return ClarifyingQuestion(text=text, options=options) if text else None


def _plan_text(reply: ChatReply) -> str:
    """All that may hold the plan: the text, and the arguments of tool calls by endpoints that prefer those."""
    return "\n".join(part for part in (reply.content, *(call.arguments for call in reply.calls)) if part)


def _plan_title(brief: PlannerBrief) -> str:
    """The title of a plan that comes without one."""
    if brief.earlier_plan is not None:
        return brief.earlier_plan.title
    return " ".join((brief.topics[0] if brief.topics else brief.question).split())[:MAX_TITLE_CHARS]


def _verdict(reply: ChatReply, request: JudgeRequest) -> Verdict:
    """What the judge decided. Without a call it revises the plan by a reply that is nothing but the new one."""
    for call in reply.calls:
        given = parsing.arguments_of(call)
        reason = str(given.get("reason") or "").strip()[:MAX_TOPIC_CHARS]
        if call.name == _RESPOND:
            return Verdict(reason=reason or _ENOUGH, usage=reply.usage, notices=reply.notices)
        if call.name == _REVISE:
            return _revision({"title": request.brief.plan.title, "thought": reason, **given}, reply, request)
    try:
        written = parsing.plan_that_is(reply.content, request.brief.plan.title)
    except InvalidInput:
        raise InvalidInput("the judge called neither respond nor revise_plan") from None
    return _revision(written, reply, request)


def _revision(written: dict[str, Any], reply: ChatReply, request: JudgeRequest) -> Verdict:
    draft = parsing.parse_plan(written, request.rules)
    if not draft.steps:
        return Verdict(reason=draft.thought[:MAX_TOPIC_CHARS] or _ENOUGH, usage=reply.usage, notices=reply.notices)
    if all(step.id in request.rules.finished_ids for step in draft.steps):
        raise InvalidInput("each of them has begun already; add the steps that are missing, or call respond", "steps")
    reason = draft.thought[:MAX_TOPIC_CHARS] or "the findings are not enough"
    return Verdict(reason=reason, draft=draft, usage=reply.usage, notices=reply.notices)


def _keepable(calls: tuple[RawToolCall, ...], turn: int) -> tuple[RawToolCall, ...]:
    """Tool calls as they are kept: their ids are there and differ, as replies are matched by id; addresses are bare."""
    seen: set[str] = set()
    named = []
    for at, call in enumerate(calls):
        if not call.id or call.id in seen:
            call = call.model_copy(update={"id": f"call_{turn}_{at}"})
        seen.add(call.id)
        if call.name in (ToolName.WEB_SEARCH, ToolName.READ_PAGE):
            call = call.model_copy(update={"arguments": without_credentials(call.arguments)})
        named.append(call)
    return tuple(named)


def _move(reply: ChatReply, calls: tuple[RawToolCall, ...]) -> ChatMessage:
    """An agent's move as the next request repeats it."""
    return ChatMessage(
        speaker=Speaker.ASSISTANT,
        content=reply.content,
        calls=calls,
        reasoning=reply.reasoning,
        sealed=reply.sealed if calls else None,
    )
