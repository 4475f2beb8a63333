"""One step: the model says its next move, code makes it and shows what came of it, until the step has its finding."""

import asyncio
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.llm import ModelActivities
    from activities.pages import PageActivities
    from activities.search import SearchActivities
    from deer.errors import DeerError, ServiceError
    from deer.evidence import SourceRegister
    from deer.messages import Command, StepReport, parse_command
    from deer.models import (
        AgentNote,
        Finding,
        FoundSource,
        Phase,
        ProgressEntry,
        ProgressPage,
        ReadRequest,
        SearchRequest,
        Source,
        StepOutcome,
        StepRequest,
        StepStatus,
        TextRef,
        ToolCall,
        ToolName,
        ToolReply,
        TurnReply,
        TurnRequest,
        Usage,
        shown,
    )
    from deer.wording import word
    from workflows import policies
    from workflows.calling import call


@workflow.defn(name="Step")
class Step:
    """An agent with its own context: it searches and reads, and ends with a finding or a reason why there is none."""

    @workflow.init
    def __init__(self, request: StepRequest) -> None:
        """State that message handlers need, which may run before `run`."""
        self._request = request
        self._sources = SourceRegister(prefix=request.brief.step.id)
        self._usage = Usage()
        self._notices: list[str] = []
        self._entries: list[ProgressEntry] = []
        self._transcript: TextRef | None = None
        self._turn = 0
        self._held: str | None = None

    @workflow.run
    async def run(self, request: StepRequest) -> StepOutcome:
        """Work until there is a finding, the turns are spent, or a call fails for good."""
        try:
            return await self._work()
        except ServiceError as error:
            return self._outcome(StepStatus.FAILED, reason=str(error))

    async def _work(self) -> StepOutcome:
        told: set[AgentNote] = set()
        reply = await self._take_turn()
        for _ in range(self._request.brief.max_turns):
            note, replies = None, ()
            if reply.calls:
                replies = await self._make_calls(reply.calls)
            elif (note := self._objection(reply)) is None or note in told:
                return self._end_with(reply.finding)
            else:
                told.add(note)
                replies = _answered(reply.submitted, note)
            reply = await self._take_turn(replies, note if not replies else None)
        if reply.calls:
            self._tell("turns_spent", turns=self._request.brief.max_turns)
            replies = await self._make_calls(reply.calls)
            reply = await self._take_turn(replies, is_last=True)
        return self._end_with(reply.finding)
