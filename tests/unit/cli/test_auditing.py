"""The evidence of a run, written from what its store has."""

import asyncio
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deer.cli.exits import ExitCode, run_and_report
from deer.flow import RunState
from deer.models import DraftStep, PlanDraft, ResearchRequest, StepType
from deer.ports import STATES
from deer.providers.files import FileStore

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


async def save_state(store: Path, kept: int) -> None:
    """Save the state of a run r1 with a third revision of its plan, and so many of those before it."""
    state = RunState.begin("r1", ResearchRequest(question="Are heat pumps cheap?"))
    for title in ("A", "B", "C"):
        step = DraftStep(title=title, description="Look.", step_type=StepType.RESEARCH)
        state.propose(NOON, PlanDraft(title="T", steps=(step,)), "planner")
    state.earlier_plans = state.earlier_plans[2 - kept :]
    await FileStore(store).write_entry(f"{STATES}r1", state.model_dump_json())


@pytest.mark.parametrize(("kept", "revisions", "is_told"), [(2, [1, 2, 3], False), (1, [2, 3], True)])
def test_revisions_that_are_missing_are_told(
    kept: int,
    revisions: list[int],
    is_told: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where a run's record has not every revision of its plan, `audit` says so beside the file that it writes."""
    asyncio.run(save_state(tmp_path / "store", kept))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEER_STORE", str(tmp_path / "store"))
    file = tmp_path / "bundle.json"
    assert run_and_report(["audit", "r1", "--output", str(file)]) == ExitCode.DONE
    assert [plan["revision"] for plan in json.loads(file.read_text(encoding="utf-8"))["plans"]] == revisions
    assert ("revisions of the plan before 2 are not in the run's record" in capsys.readouterr().err) is is_told


def test_what_never_ends_is_no_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe that nobody writes to, a device and a directory are refused in a line each, at once."""
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero", str(tmp_path), str(tmp_path / "none")):
        assert run_and_report(["audit", "--verify", path]) == ExitCode.REFUSED
        assert capsys.readouterr().err.startswith(f"error: --verify {path}: ")
