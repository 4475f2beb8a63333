"""Measures the main job as a user runs it: one question to a cited report, against its critical path.

The product runs through `starter.py` with its embedded server; model, search and pages are scripted services that
answer real HTTP after a fixed time. Prints one JSON object; exits 1 when the run fails or is slower than the bound.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.scripted import ScriptedServices, Setup, analysis_step, most_at_once, plan_of, research_step

ROOT = Path(__file__).resolve().parents[1]
MODEL_S, SEARCH_S, PAGE_S = 0.5, 0.2, 0.1
RESEARCH_STEPS = 4
RESEARCH_STEP_S = 3 * MODEL_S + SEARCH_S + PAGE_S
CRITICAL_PATH_S = MODEL_S + SEARCH_S + MODEL_S + RESEARCH_STEP_S + MODEL_S + MODEL_S
"""Coordinator, background search, planner, one research step, analyst, reporter: the rest can overlap."""
BOUND = 1.25
FOREIGN_SETTINGS = ("OPENAI", "TAVILY", "TEMPORAL", "DEER", "BASIC_", "REASONING_", "ROLE_", "SEARCH_", "MCP_", "MAX_")
GIVE_UP_S = 120


def measure() -> dict[str, Any]:  # the figures, as they are printed
    """Run the main job once.

    `wall_s` spans the first call to the last answer; `with_start_up_s` the whole process, from its start to its end.
    """
    with ScriptedServices() as services, tempfile.TemporaryDirectory() as data:
        services.setup = Setup(MODEL_S, SEARCH_S, PAGE_S)
        steps = [research_step(f"subject-{number}") for number in range(1, RESEARCH_STEPS + 1)]
        services.scripts["planner"] = plan_of(*steps, analysis_step())
        environment = _environment(services, data)
        _starter("--help", environment=environment)
        began = time.monotonic()
        ran = _starter("research", "Compare the four subjects", "--auto-accept", "--json", environment=environment)
        ended = time.monotonic()
        calls = services.log.calls()
        answers = [call.finished for call in calls if call.finished is not None]
        wall_s = max(answers, default=ended) - min((call.started for call in calls), default=began)
        status = _last_object(ran.stdout)
        return {
            "wall_s": round(wall_s, 3),
            "critical_path_s": CRITICAL_PATH_S,
            "ratio": round(wall_s / CRITICAL_PATH_S, 3),
            "bound": BOUND,
            "with_start_up_s": round(ended - began, 3),
            "phase": status.get("phase"),
            "reason": status.get("reason") if status else ran.stderr.strip()[-300:],
            "model_calls": services.log.count("model"),
            "searches": services.log.count("search"),
            "pages": services.log.count("page"),
            "researchers_at_once": most_at_once(services.log.calls("researcher")),
        }


def _environment(services: ScriptedServices, data: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_SETTINGS)}
    return {**own, **services.environment(), "DEER_DATA_DIR": data, "NO_COLOR": "1"}


def _starter(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "starter.py", *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=GIVE_UP_S,
        check=False,
    )


def _last_object(output: str) -> dict[str, Any]:  # the status object, as `--json` prints it last
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return dict(json.loads(lines[-1])) if lines else {}


def main() -> int:
    """Print the figures; the exit code says whether they hold."""
    figures = measure()
    print(json.dumps(figures, indent=2))
    return 0 if figures["phase"] == "completed" and figures["ratio"] <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
