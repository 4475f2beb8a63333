"""Histories of earlier runs, finished and not, which the workflows of today must be able to go on with."""

import asyncio
import socket
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from deer.payloads import data_converter
from tests.replay.record import HISTORIES, workflow_id_of
from tests.replay.scenarios import SCENARIOS
from tests.running.worker import WORKFLOWS
from tests.scripted import leaked_canaries

KEPT = sorted(HISTORIES.glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
async def test_a_kept_history_replays(path: Path) -> None:
    """The workflows make the same decisions as those that wrote the history."""
    text = await asyncio.to_thread(path.read_text, encoding="utf-8")
    history = WorkflowHistory.from_json(workflow_id_of(path), text)
    replayer = Replayer(workflows=WORKFLOWS, data_converter=data_converter())
    await replayer.replay_workflow(history)


def test_every_path_has_its_history() -> None:
    """Each scenario is kept, and those with steps have a step's history too."""
    names = {workflow_id_of(path) for path in KEPT}
    assert set(SCENARIOS) <= names
    assert {"approved/s1/1", "mid_step/s2/1", "needs_attention/s1/1", "step_failed/s1/1"} <= names
    assert {"paused/s1/1", "finished_early/s1/1", "tried_again/s1/2", "budgeted/s2/1"} <= names


def test_kept_histories_tell_neither_keys_nor_machines() -> None:
    """What is kept with the source has no key in it, in any encoding, and nothing of where it was made."""
    for path in KEPT:
        text = path.read_text(encoding="utf-8")
        assert not leaked_canaries(text), path.stem
        assert socket.gethostname() not in text, path.stem
        assert "site-packages" not in text, path.stem
