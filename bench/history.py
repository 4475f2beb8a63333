"""How much history long steps and large runs write: events and bytes, as the server counts them.

A step of forty turns that reads pages of 1, 7 and 10 KB, one size a run, and a run of thirty steps. Prints one JSON
object; exits 1 when a history is above its bound or a run does not complete.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.deployment import deployment
from deer.models import Phase
from tests.running import Run, Runs, children_in
from tests.scripted import Call, ScriptedServices, analysis_step, call_tool, plan_of, research_step
from tests.scripted.replies import Answer

TURNS, STEPS = 40, 30
PAGE_KB = (1, 7, 10)
BYTES_BOUND, STEP_EVENTS_BOUND, RUN_EVENTS_BOUND = 1_000_000, 1_000, 3_000
ENDED_WITHIN_S = 240.0
SENTENCE = "In this sample the measured value is {number} percent, as the laboratory wrote down on that day. "


async def measure() -> dict[str, Any]:  # the figures, as they are printed
    """Measure steps with short and long pages, then a run of many steps."""
    with tempfile.TemporaryDirectory() as directory, ScriptedServices() as services:
        async with deployment(Path(directory), services, MAX_PLAN_STEPS=str(STEPS)) as (runs, _):
            steps = {f"{size} KB": await _long_step(runs, services, size) for size in PAGE_KB}
            services.reset()
            services.scripts["planner"] = plan_of(
                *(research_step(f"subject-n{number}") for number in range(STEPS - 1)), analysis_step()
            )
            run = await _completed(runs, max_steps=STEPS, max_parallel_steps=8)
            return {
                f"step_of_{TURNS}_turns_with_pages_of": steps,
                "step_bounds": {"events": STEP_EVENTS_BOUND, "bytes": BYTES_BOUND},
                f"run_of_{STEPS}_steps": await _weight(run, run.id),
                "run_bounds": {"events": RUN_EVENTS_BOUND, "bytes": BYTES_BOUND},
            }


async def _long_step(runs: Runs, services: ScriptedServices, page_kb: int) -> dict[str, int]:
    """Weight of a step that reads a page of this size in each of its turns."""
    services.reset()
    names = [f"long-{page_kb}-{number}" for number in range(TURNS)]
    services.setup.pages = {name: _page(name, page_kb) for name in names}

    def reads(call: Call) -> Answer:
        if not call.tools:
            return "In short: the values were read."
        return call_tool("read_page", url=f"{services.url}/page/{names[call.rounds]}")

    services.scripts |= {"researcher": reads, "planner": plan_of(research_step("subject-a1", need_search=False))}
    run = await _completed(runs, max_turns=TURNS)
    assert services.log.count("page") == TURNS, f"{services.log.count('page')} pages were read, not {TURNS}"
    (child,) = children_in(await run.events())
    return await _weight(run, child)


def _page(name: str, kilobytes: int) -> str:
    sentences = [SENTENCE.format(number=number) for number in range(kilobytes * 1_000 // len(SENTENCE))]
    paragraphs = "".join(f"<p>{''.join(sentences[at : at + 5])}</p>" for at in range(0, len(sentences), 5))
    return f"<html><head><title>{name}</title></head><body><article><h1>{name}</h1>{paragraphs}</article></body></html>"


async def _completed(runs: Runs, **fields: int) -> Run:
    run = await runs.start_raw({"question": "What is the value?", "auto_accept": True, **fields})
    status = await run.end(ENDED_WITHIN_S)
    assert status.phase is Phase.COMPLETED, f"ended as {status.phase}: {status.reason}"
    return run


async def _weight(run: Run, workflow_id: str) -> dict[str, int]:
    described = await run.client.get_workflow_handle(workflow_id).describe()
    info = described.raw_description.workflow_execution_info
    return {"events": info.history_length, "bytes": info.history_size_bytes}


def main() -> int:
    """Print the figures; the exit code says whether they hold."""
    figures = asyncio.run(measure())
    print(json.dumps(figures, indent=2))
    steps = figures[f"step_of_{TURNS}_turns_with_pages_of"].values()
    run = figures[f"run_of_{STEPS}_steps"]
    holds = all(step["events"] < STEP_EVENTS_BOUND and step["bytes"] < BYTES_BOUND for step in steps)
    return 0 if holds and run["events"] < RUN_EVENTS_BOUND and run["bytes"] < BYTES_BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
