"""Writes the kept histories again: `python -m tests.replay.record [NAME ...]`.

Until the first release they are written again in a commit that says so; afterwards they are only added to.
"""

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path

from deer.cli.interrupts import end_process
from tests.replay.scenarios import SCENARIOS, Scenario
from tests.running import Runs, page_reader, research_worker, start_server, temporal_binary
from tests.scripted import ScriptedServices

HISTORIES = Path(__file__).with_name("histories")
_OF_THIS_MACHINE = (
    (re.compile(r'"\d+@[^"]*"'), '"recorded"'),
    (re.compile(r'("stackTrace": )"(?:[^"\\]|\\.)*"'), r'\1""'),
)
"""Process identities and the paths in stack traces say where a history was made, which nothing replays."""


def path_of(workflow_id: str) -> Path:
    """Where the history of a workflow is kept."""
    return HISTORIES / f"{workflow_id.replace('/', '+')}.json"


def workflow_id_of(path: Path) -> str:
    """The workflow whose history a file keeps."""
    return path.stem.replace("+", "/")


async def record(names: list[str]) -> None:
    """Run these scenarios on a server of their own and keep the histories of runs and steps."""
    binary = temporal_binary()
    assert binary, "no temporal binary is installed"
    async with await start_server(binary) as server, page_reader() as pages:
        for name in names:
            for stale in HISTORIES.glob(f"{name}[.+]*json"):
                stale.unlink()
            with ScriptedServices() as services, tempfile.TemporaryDirectory() as directory:
                async with research_worker(server.client, services, pages, Path(directory)) as runs:
                    await _keep(SCENARIOS[name], runs, services)


async def _keep(scenario: Scenario, runs: Runs, services: ScriptedServices) -> None:
    run = await scenario(runs, services)
    async for workflow_id, history in run.histories():
        pretty = json.dumps(json.loads(history), indent=1, sort_keys=True)
        for found, instead in _OF_THIS_MACHINE:
            pretty = found.sub(instead, pretty)
        path_of(workflow_id).write_text(pretty + "\n", encoding="utf-8")
    if not (await run.status()).phase.is_end:
        await run.handle.terminate()


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1:] or list(SCENARIOS)))
    end_process(0)
