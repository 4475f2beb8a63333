"""Checking claims, finishing the report, and keeping the record of a run."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

from temporalio import activity

from activities.failures import translated
from activities.heartbeats import beating
from deer.errors import FailureKind, ServiceError
from deer.evidence import ClaimChecker, renumber
from deer.flow import RunState, recalled_from
from deer.models import (
    CheckClaimsReply,
    CheckClaimsRequest,
    EarlierReport,
    FinishedReport,
    FinishReportRequest,
    JoinedFindings,
    JoinRequest,
    Recalled,
    RecallRequest,
    RunStatus,
    SaveRunReply,
    SaveRunRequest,
    Source,
    TextRef,
    full,
)
from deer.ports import RECORDS, STATES, TextStore, offload, resolve
from deer.wording import word

MAX_EARLIER_CHARS = 20_000
"""Of the report that a run follows up on: more would crowd out what the new question needs."""

_NUMBER = re.compile(r"\[(\d{1,4})\](?!\()")


class ReportActivities:
    """What is done with findings and reports once they are written."""

    def __init__(self, store: TextStore) -> None:
        self._store = store

    @property
    def all(self) -> list[Callable[..., Any]]:
        """The activities, for registration with a worker."""
        return [self.check_claims, self.join_findings, self.finish_report, self.save_run, self.recall_run]

    @activity.defn
    async def check_claims(self, request: CheckClaimsRequest) -> CheckClaimsReply:
        """Look every claim's quote up in the stored text of the source it names."""
        async with beating():
            with translated():
                resolved = await resolve(self._store, request)
                return await asyncio.to_thread(_checked, resolved)

    @activity.defn
    async def join_findings(self, request: JoinRequest) -> JoinedFindings:
        """Put the findings under their step titles, each claim with its source: a report without a model."""
        async with beating():
            with translated():
                resolved = await resolve(self._store, request)
                return JoinedFindings(text=await offload(self._store, _joined(resolved)))

    @activity.defn
    async def finish_report(self, request: FinishReportRequest) -> FinishedReport:
        """Renumber the citations, take out what cites nothing known, and append the references."""
        async with beating():
            with translated():
                resolved = await resolve(self._store, request)
                finished = await asyncio.to_thread(_finished, resolved)
                return finished.model_copy(update={"text": await offload(self._store, full(finished.text))})

    @activity.defn
    async def save_run(self, request: SaveRunRequest) -> SaveRunReply:
        """Save the record of a run whole, with every text that the status object shows only the beginning of."""
        entry = RECORDS + request.status.id
        async with beating():
            with translated():
                texts = {path: await self._store.get(ref.sha256) for path, ref in request.texts.items()}
                record = _with_whole_texts(request.status, texts)
                await self._store.write_entry(entry, record.model_dump_json(by_alias=True))
                if request.state:
                    await self._store.write_entry(STATES + request.status.id, request.state)
        return SaveRunReply(entry=entry)

    @activity.defn
    async def recall_run(self, request: RecallRequest) -> Recalled:
        """Read the report of a run that another follows up on, its citations as ids of the sources beside it."""
        async with beating():
            with translated():
                saved = await self._store.read_entry(STATES + request.run_id)
                state = None if saved is None else RunState.model_validate_json(saved)
                if state is None or state.report is None:
                    what = "there is no record of run" if state is None else "there is no report of run"
                    raise ServiceError(f"{what} {request.run_id}", FailureKind.REJECTED)
                text = await self._store.get(state.report.sha256) if isinstance(state.report, TextRef) else state.report
                sources = recalled_from(state)
                told = _as_context(text, len(sources), state.locale)
                report = EarlierReport(
                    run_id=state.id, question=state.request.question, text=await offload(self._store, told)
                )
        return Recalled(report=report, sources=sources)


def _as_context(report: str, cited: int, locale: str) -> str:
    """A report without its references and appendix, `[3]` as `[b-3]`: its sources are the first that a run knows."""
    body = report.partition(f"\n## {word('references', locale)}\n")[0]
    by_id = _NUMBER.sub(lambda found: f"[b-{found[1]}]" if 0 < int(found[1]) <= cited else found[0], body)
    return by_id[:MAX_EARLIER_CHARS]


def _checked(request: CheckClaimsRequest) -> CheckClaimsReply:
    checker = ClaimChecker(request.sources)
    checked = [checker.check(claim) for claim in request.claims]
    return CheckClaimsReply(claims=tuple(claim for claim, _ in checked), doubts=tuple(doubt for _, doubt in checked))


def _joined(request: JoinRequest) -> str:
    sections = [f"# {request.title}"]
    for finding in request.findings:
        if finding.summary is None:
            continue  # why a step brought nothing is told in the notes of the report
        claims = "".join(f"\n- {claim.text} [{claim.source_id}]" for claim in finding.claims if claim.source_id)
        sections.append(f"[{finding.title}]: {full(finding.summary)}" + (f"\n{claims}" if claims else ""))
    return "\n\n".join(sections)


def _finished(request: FinishReportRequest) -> FinishedReport:
    cited = renumber(full(request.text), request.sources)
    text = cited.text if cited.text.startswith("# ") else f"# {request.title}\n\n{cited.text}"
    notes = "".join(f"\n\n> {note}" for note in request.notes)
    appendix = f"\n{request.appendix}" if request.appendix else ""
    return FinishedReport(
        text=f"{text}{notes}\n{_references(request, cited.numbers)}{appendix}",
        numbers=cited.numbers,
        removed_markers=cited.removed_markers,
        removed_links=cited.removed_links,
    )


def _references(request: FinishReportRequest, numbers: dict[str, int]) -> str:
    sources = {source.id: source for source in request.sources}
    if not numbers:
        return f"\n{word('no_evidence', request.locale)}\n"
    lines = [f"{number}. {_reference(sources[source_id])}" for source_id, number in numbers.items()]
    return "\n".join(["", f"## {word('references', request.locale)}", "", *lines, ""])


def _reference(source: Source) -> str:
    title = "".join(f"\\{char}" if char in "\\[]<>`*" else char for char in " ".join(source.title.split()))
    address = source.url.replace(" ", "%20").replace("(", "%28").replace(")", "%29").replace("<", "%3C")
    return f"[{title}]({address})"


def _with_whole_texts(status: RunStatus, texts: dict[str, str]) -> RunStatus:
    update: dict[str, object] = {}
    if status.report is not None and "report.markdown" in texts:
        update["report"] = status.report.model_copy(update={"markdown": texts["report.markdown"]})
    if status.plan is not None:
        steps = tuple(
            step.model_copy(update={"finding": texts.get(f"plan.steps.{step.id}.finding", step.finding)})
            for step in status.plan.steps
        )
        update["plan"] = status.plan.model_copy(update={"steps": steps})
    return status.model_copy(update=update)
