"""What a run is like, whoever is left to say it."""

from dataclasses import replace

import pytest

from deer.cli.reading import LOST, read_status
from deer.errors import NoServer, NotFound, Refused
from deer.models import Phase, ReportStatus, TextRef
from deer.ports import store_text
from tests.unit.cli.scripted_run import QUESTION, MemoryStore, ScriptedRun, plan, standing, status, step

LONG = "word " * 3_000
SILENCE = NoServer("run r1: no worker answered in time")


async def test_previews_are_filled_from_the_store() -> None:
    """Texts that the run shows only in part appear whole, each at its place."""
    store = MemoryStore()
    reference = await store_text(store, LONG)
    run = ScriptedRun(
        account=status(
            plan=plan(step("s1", finding="preview"), step("s2", finding="short")),
            report=ReportStatus(markdown="preview", path=None, claims=()),
        ),
        texts={"report.markdown": reference, "plan.steps.s1.finding": reference, "elsewhere.new": reference},
    )
    read = await read_status(run, store)
    assert read.report is not None
    assert read.report.markdown == LONG
    assert read.plan is not None
    assert [written.finding for written in read.plan.steps] == [LONG, "short"]


async def test_a_lost_text_stays_a_preview_with_a_notice() -> None:
    """A text that the store no longer has does not keep the rest from being read."""
    lost = TextRef(sha256="0" * 64, chars=9, preview="pre")
    run = ScriptedRun(
        account=status(report=ReportStatus(markdown="pre", path=None, claims=())), texts={"report.markdown": lost}
    )
    read = await read_status(run, MemoryStore())
    assert read.report is not None
    assert read.report.markdown == "pre"
    assert "report.markdown" in read.notices[-1]


async def test_a_closed_run_without_a_record_says_where_to_look() -> None:
    """A store that the worker does not use has no record: the reader is told so, not shown an empty run."""
    run = ScriptedRun(now=standing(Phase.COMPLETED, is_open=False))
    read = await read_status(run, MemoryStore())
    assert read.phase is Phase.COMPLETED
    assert any("DEER_STORE" in notice for notice in read.notices)


async def test_a_closed_run_is_read_from_its_record() -> None:
    """A record of an end is all that is needed once Temporal has closed the run."""
    store = MemoryStore()
    await store.save_record(status(Phase.COMPLETED, answer="kept"))
    run = ScriptedRun(now=standing(Phase.COMPLETED, is_open=False), account=SILENCE)
    assert (await read_status(run, store)).answer == "kept"


async def test_a_run_beyond_retention_is_read_from_its_record() -> None:
    """A run that Temporal has forgotten is still known by its record; without one it is not found."""
    store = MemoryStore()
    run = ScriptedRun(now=NotFound("gone"))
    with pytest.raises(NotFound, match="no run named r1"):
        await read_status(run, store)
    await store.save_record(status(Phase.CANCELLED))
    assert (await read_status(run, store)).phase is Phase.CANCELLED
    await store.save_record(status(Phase.RESEARCHING))
    lost = await read_status(run, store)
    assert (lost.phase, lost.notices[-1]) == (Phase.RESEARCHING, LOST)


async def test_an_open_run_without_worker_is_read_from_its_last_record() -> None:
    """The record that was saved last serves, at a stop or at work, with Temporal's phase and a notice that says so."""
    store = MemoryStore()
    await store.save_record(status(Phase.AWAITING_REVIEW, reason="a plan waits"))
    read = await read_status(ScriptedRun(now=standing(Phase.RESEARCHING), account=SILENCE), store)
    assert (read.phase, read.reason) == (Phase.RESEARCHING, None)
    assert read.plan is not None
    assert read.notices[-1] == "Run r1: no worker answered in time. Shown as it was saved last."


async def test_a_waiting_run_keeps_its_reason_without_worker() -> None:
    """Where the record and Temporal agree, the reason of the stop stays."""
    store = MemoryStore()
    await store.save_record(status(Phase.AWAITING_REVIEW, reason="a plan waits"))
    read = await read_status(ScriptedRun(now=standing(Phase.AWAITING_REVIEW), account=SILENCE), store)
    assert (read.phase, read.reason) == (Phase.AWAITING_REVIEW, "a plan waits")


async def test_without_record_temporal_says_what_it_knows() -> None:
    """Question and phase are known without worker and record."""
    read = await read_status(ScriptedRun(now=standing(Phase.PLANNING), account=SILENCE), MemoryStore())
    assert (read.phase, read.question, read.plan) == (Phase.PLANNING, QUESTION, None)


async def test_nobody_is_asked_where_nobody_answers() -> None:
    """Where no worker is recorded, none is waited for."""
    run = ScriptedRun(account=status(answer="from the run itself"))
    read = await read_status(run, MemoryStore(), asks_worker=False)
    assert read.answer is None
    assert read.notices[-1].startswith("No worker is at work on this run.")


async def test_an_end_that_no_code_decided_is_named() -> None:
    """A run that was terminated in Temporal is failed, with that reason, whatever its record says."""
    store = MemoryStore()
    await store.save_record(status(Phase.AWAITING_REVIEW, reason="a plan waits"))
    now = standing(Phase.FAILED, is_open=False, ended_by="the run was terminated in Temporal")
    read = await read_status(ScriptedRun(now=now), store)
    assert (read.phase, read.reason) == (Phase.FAILED, "the run was terminated in Temporal")


async def test_a_stuck_run_is_shown_with_what_keeps_it() -> None:
    """A run whose code cannot go on says so in its notices, whether it or Temporal tells."""
    tells = ScriptedRun(account=Refused("run r1 is stuck and cannot answer: nondeterminism"))
    assert "stuck" in (await read_status(tells, MemoryStore())).notices[-1]
    silent = ScriptedRun(now=replace(standing(), attempts=4), account=SILENCE)
    assert "workers failed 3 times" in (await read_status(silent, MemoryStore())).notices[-1]
