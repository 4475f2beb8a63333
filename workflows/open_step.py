"""What a step needs at every moment: calls within its lease, what it tells its run, and what it is told."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from temporalio import workflow
from temporalio.workflow import ActivityConfig

with workflow.unsafe.imports_passed_through():
    from deer.errors import FailureKind, InvalidInput, ServiceError
    from deer.evidence import SourceRegister
    from deer.flow import Allowance, ProgressLog
    from deer.messages import Command, StepReport, parse_command, refuse_more
    from deer.models import (
        CheckedClaim,
        Finding,
        Kind,
        Lease,
        Phase,
        ProgressPage,
        StepOutcome,
        StepRequest,
        StepStatus,
        Usage,
    )
    from deer.wording import word
    from workflows.calling import Request, Result, call


class WoundDown(Exception):
    """No call is to be made any more. Its text names the limit that ends the step, and is empty when a person does."""


class OpenStep:
    """A step that its run can speak to while it works. `workflows.step` has what it does."""

    def __init__(self, request: StepRequest) -> None:
        """Nothing is done yet."""
        self._request = request
        self._sources = SourceRegister(prefix=request.brief.step.id, named_before=request.sources_named)
        self._usage = Usage()
        self._allowance = Allowance(request.lease)
        self._notices: list[str] = []
        self._progress = ProgressLog()
        self._holds: dict[int, ServiceError] = {}
        """Calls that wait for a person, by number."""
        self._holds_named = 0
        self._paused = False
        self._winding_down = False
        self._reports = 0

    # Calls

    async def _call(
        self,
        activity: Callable[[Any, Request], Awaitable[Result]],
        request: Request,
        policy: ActivityConfig,
        summary: str,
        *kinds: Kind,
    ) -> Result:
        """The result of an activity, which spends of these kinds.

        Raises ServiceError when it failed for good or may not be made, WoundDown when none is to be made any more.
        """
        await self._clear(kinds)
        self._allowance.begin(kinds)
        try:
            return await call(activity, request, policy, summary, self._hold)
        finally:
            self._allowance.end(kinds)

    async def _clear(self, kinds: Sequence[Kind]) -> None:
        """Wait until a call may be made: a paused step makes none, and one without a lease asks for more first."""
        while True:
            await self._wait_out_pause()
            if self._winding_down:
                raise WoundDown
            if not (lacking := self._allowance.lacking(self._usage, kinds)):
                return
            if (why := self._allowance.refusal(lacking)) is not None:
                if Kind.TOKENS in kinds:
                    raise WoundDown(why)
                raise ServiceError(f"not made: {why}; go on with what there is", FailureKind.REJECTED)
            if self._allowance.ask(lacking):
                await self._report()
            await workflow.wait_condition(partial(self._is_answered, lacking))

    def _is_answered(self, kinds: Sequence[Kind]) -> bool:
        return self._winding_down or not self._allowance.wants.keys() & set(kinds)

    # Telling others

    async def _hold(self, failure: ServiceError) -> None:
        """Wait for a person; the parent is told, and shows it. Raises ServiceError when nobody came in time."""
        self._holds_named += 1
        number = self._holds_named
        self._holds[number] = failure
        self._record(f"needs attention: {failure}")
        await self._report()
        deadline = self._request.request.attention_deadline
        try:
            await workflow.wait_condition(
                lambda: number not in self._holds or self._winding_down,
                timeout=deadline,
                timeout_summary="attention deadline",
            )
        except TimeoutError:
            raise ServiceError(f"{failure}; nobody mended it in {deadline}", FailureKind.REJECTED) from None
        finally:
            self._holds.pop(number, None)
            if workflow.cancellation_reason() is None:
                await self._report()
        await self._wait_out_pause()
        if self._winding_down:
            raise WoundDown(str(failure))

    async def _wait_out_pause(self) -> None:
        if self._paused:
            await workflow.wait_condition(lambda: not self._paused or self._winding_down)

    @property
    def _held(self) -> str | None:
        """What the step waits for a person to mend."""
        return "; ".join(dict.fromkeys(map(str, self._holds.values()))) or None

    async def _report(self, heard: Command | None = None) -> None:
        parent = workflow.get_external_workflow_handle(self._request.run_id)
        self._reports += 1
        report = StepReport(
            step_id=self._request.brief.step.id,
            held=self._held,
            can_be_saved=all(failure.kind is not FailureKind.STORE_UNWRITABLE for failure in self._holds.values()),
            heard=heard,
            number=self._reports,
            usage=self._allowance.spent(self._usage),
            wants=self._allowance.wants,
        )
        await parent.signal("report", report)

    def _tell(self, notice: str, **values: object) -> None:
        brief = self._request.brief
        self._notices.append(word(notice, brief.locale, title=brief.step.title, **values))

    def _record(self, text: str) -> None:
        self._progress.add(workflow.now(), text, self._request.brief.step.id)

    def _outcome(
        self,
        status: StepStatus,
        *,
        finding: Finding | None = None,
        claims: tuple[CheckedClaim, ...] = (),
        reason: str | None = None,
    ) -> StepOutcome:
        return StepOutcome(
            status=status,
            finding=finding,
            claims=claims,
            reason=reason,
            sources=self._sources.all(),
            usage=self._usage,
            notices=tuple(self._notices),
        )

    # Messages

    @workflow.signal(description="A command of the run, such as retry")
    async def command(self, value: Any = None, *more: Any) -> None:
        """Take a command of the parent; a malformed one changes nothing."""
        try:
            refuse_more("command", more)
            given = parse_command(value)
            if self._obey(given):
                await self._report(heard=None if isinstance(given, Lease) else given)
        except InvalidInput as error:
            workflow.logger.warning("ignored a command: %s", error)

    def _obey(self, command: Command | Lease) -> bool:
        """Do as told; whether the run waits to hear of it."""
        if isinstance(command, Lease):
            return self._allowance.take(command)
        if command is Command.RETRY:
            self._holds.clear()
        elif command is Command.WIND_DOWN:
            self._winding_down = True
        else:
            self._paused = command is Command.PAUSE
        self._record(f"told to {command.replace('_', ' ')}")
        return command.stops

    @workflow.query(description="What the step has done after a cursor")
    def progress(self, since: Any = "") -> ProgressPage:
        """Live progress of this step; the empty cursor asks from the beginning."""
        resting = Phase.PAUSED if self._paused else Phase.RESEARCHING
        phase = resting if self._held is None else Phase.NEEDS_ATTENTION
        return ProgressPage(
            cursor=self._progress.cursor, phase=phase, reason=self._held, entries=self._progress.since(since)
        )
