"""The end of a run: its report written or joined, and its citations checked."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.llm import ModelActivities
    from activities.reports import ReportActivities
    from deer import flow
    from deer.errors import FailureKind, ServiceError
    from deer.models import (
        FinishReportRequest,
        JoinRequest,
        Phase,
        ReportRequest,
        ReportStyle,
        Role,
        StoredText,
    )
    from workflows import policies
    from workflows.listening import ListeningRun

MAX_CONTINUATIONS = 3
"""How often a report that the output limit cut is gone on with."""


class ReportingRun(ListeningRun):
    """A run that can report what it found, whether or not a model can be asked to."""

    _draft: StoredText = ""

    async def _report(self) -> None:
        """Have the report written; findings that were paid for are joined when no model can write it."""
        self._state.hand_to_reporter(workflow.now())
        self._enter(Phase.REPORTING)
        if self._request.report_style is ReportStyle.PLAIN:
            await self._join_findings()
            return
        try:
            await self._write_report()
        except ServiceError as error:
            self._state.has_gaps = True
            self._notice("joined_without_model", reason=error)
            await self._join_findings()

    async def _write_report(self) -> None:
        reason = f"{MAX_CONTINUATIONS} continuations did not end it"
        for _ in range(1 + MAX_CONTINUATIONS):
            if (spent := flow.why_no_report(self._state)) is not None:
                reason = spent
                break
            brief = flow.reporter_brief(self._state, workflow.now().date(), self._draft)
            reply = await self._call(
                ModelActivities.write_report, ReportRequest(brief=brief), policies.MODEL, "reporter"
            )
            self._state.spend(reply.usage, Role.REPORTER)
            self._draft = reply.text
            if not reply.was_cut:
                return
        if not self._draft:
            raise ServiceError(reason, FailureKind.REJECTED)
        self._state.has_gaps = True
        self._notice("report_incomplete", reason=reason)

    async def _join_findings(self) -> None:
        self._enter(Phase.CHECKING)
        request = JoinRequest(
            title=self._state.title(), findings=flow.finding_briefs(self._state), locale=self._state.locale
        )
        joined = await self._keep(ReportActivities.join_findings, request, "join the findings")
        self._draft = joined.text

    async def _check_citations(self) -> None:
        """Let only citations stand that resolve to sources of this run, and number them."""
        self._enter(Phase.CHECKING)
        request = FinishReportRequest(
            text=self._draft,
            sources=self._state.sources.without_texts(),
            locale=self._state.locale,
            title=self._state.title(),
            notes=flow.report_notes(self._state),
            appendix=flow.spending_section(self._state),
        )
        finished = await self._keep(ReportActivities.finish_report, request, "check the citations")
        self._state.take_report(workflow.now(), finished)
