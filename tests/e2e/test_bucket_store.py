"""Worker and command line with their store in S3, as processes, and the clean-up of a store."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase
from tests.e2e.commands import CommandLine
from tests.e2e.programs import PATIENCE_S, Programs
from tests.running import BucketServer
from tests.running.buckets import KEY
from tests.scripted import ScriptedServices
from tests.source import ROOT

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    """Programs on a data directory of this test."""
    with Programs(tmp_path / "data") as started:
        yield started


def test_a_run_with_its_store_in_s3_is_read_when_it_is_over(
    programs: Programs,
    server: WorkflowEnvironment,
    scripted: ScriptedServices,
    buckets: BucketServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run comes to its report with DEER_STORE=s3://…; then show, report and prune read it without a worker."""
    settings = {
        **scripted.environment(),
        **buckets.environment(),
        "TEMPORAL_ADDRESS": server.client.service_client.config.target_host,
        "DEER_STORE": buckets.new_store(),
    }
    worker = programs.start("worker.py", settings=settings)
    assert worker.stderr is not None
    ready = worker.stderr.readline()
    assert f"store {settings['DEER_STORE']}" in ready
    question = ("research", "Compare heat pumps", "--id", "in-s3", "--auto-accept", "--json")
    code, out, said = programs.run("starter.py", *question, settings=settings)
    assert code == 0, said
    worker.terminate()
    assert worker.wait(timeout=PATIENCE_S) == 0

    markdown = json.loads(out.splitlines()[-1])["report"]["markdown"]
    command_line = CommandLine(monkeypatch, capsys, {**settings, "DEER_DATA_DIR": str(programs.data_dir)})
    shown = command_line.run("show", "in-s3", "--json")
    assert (shown.code, shown.status.phase) == (0, Phase.COMPLETED)
    report = command_line.run("report", "in-s3")
    assert (report.code, report.out.strip()) == (0, markdown.strip())
    pruned = command_line.run("prune", "--older-than", "1h", "--dry-run", "--json")
    assert pruned.code == 0
    told = json.loads(pruned.out)
    assert told == {
        "dry_run": True,
        "older_than_seconds": 3600,
        "records": 0,
        "answers": 0,
        "texts": 0,
        "size_bytes": 0,
        "living_runs": told["living_runs"],
    }
    assert KEY not in "".join(
        [ready, said, out, worker.stderr.read(), *(ran.out + ran.err for ran in (shown, report, pruned))]
    )


@pytest.mark.parametrize(
    ("age", "settings", "code", "complaint"),
    [
        ("59m", {}, 2, "--older-than: must be an hour or more"),
        ("30d", {"TEMPORAL_ADDRESS": "127.0.0.1:9", "DEER_STORE": "store"}, 5, "no Temporal server answers"),
    ],
)
def test_what_cannot_be_pruned_is_said(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    age: str,
    settings: dict[str, str],
    code: int,
    complaint: str,
) -> None:
    """An age that is too short, and a server that cannot be asked for its open runs, end with one line each."""
    command_line = CommandLine(monkeypatch, capsys, {**settings, "DEER_DATA_DIR": str(tmp_path / "data")})
    ran = command_line.run("prune", "--older-than", age)
    assert (ran.code, ran.out) == (code, "")
    assert complaint in ran.error
    assert len(ran.err.strip().splitlines()) == 1


WITHOUT_THE_EXTRA = """
import sys
sys.modules["obstore"] = None
sys.argv = ["starter.py", "list"]
from deer.cli.exits import run_and_report
sys.exit(run_and_report(["list"]))
"""


def test_a_missing_extra_is_said_with_the_remedy(tmp_path: Path) -> None:
    """Where the library for S3 is not installed, a store there ends a command with one line that says how to get it."""
    settings = {"DEER_STORE": "s3://a-bucket", "TEMPORAL_ADDRESS": "127.0.0.1:9", "DEER_DATA_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_EXTRA],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", **settings},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 2
    [line] = ran.stderr.strip().splitlines()
    assert "make setup EXTRAS=s3" in line
