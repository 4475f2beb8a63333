"""Worker and command line with their store in S3, as processes, and the clean-up of a store."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

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


async def test_a_run_with_its_store_in_s3_is_read_when_it_is_over(
    programs: Programs, server: WorkflowEnvironment, scripted: ScriptedServices, buckets: BucketServer
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
    code, shown, _ = programs.run("starter.py", "show", "in-s3", "--json", settings=settings)
    assert (code, json.loads(shown)["phase"]) == (0, "completed")
    code, report, _ = programs.run("starter.py", "report", "in-s3", settings=settings)
    assert (code, report.strip()) == (0, markdown.strip())
    prune = ("prune", "--older-than", "1h", "--dry-run", "--json")
    code, told, _ = programs.run("starter.py", *prune, settings=settings)
    assert code == 0
    assert json.loads(told) == {
        "dry_run": True,
        "older_than_seconds": 3600,
        "records": 0,
        "answers": 0,
        "texts": 0,
        "size_bytes": 0,
        "living_runs": json.loads(told)["living_runs"],
    }
    assert KEY not in "".join([ready, said, out, shown, report, told, worker.stderr.read()])


@pytest.mark.parametrize(
    ("age", "settings", "code", "complaint"),
    [
        ("59m", {}, 2, "--older-than: must be an hour or more"),
        ("30d", {"TEMPORAL_ADDRESS": "127.0.0.1:9", "DEER_STORE": "store"}, 5, "no Temporal server answers"),
    ],
)
def test_what_cannot_be_pruned_is_said(
    programs: Programs, age: str, settings: dict[str, str], code: int, complaint: str
) -> None:
    """An age that is too short, and a server that cannot be asked for its open runs, end with one line each."""
    got, out, err = programs.run("starter.py", "prune", "--older-than", age, settings=settings)
    assert (got, out) == (code, "")
    assert complaint in err
    assert len(err.strip().splitlines()) == 1


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
