"""`pause`, `resume`, `skip`, `retry`, `add-step`, `edit-step` and `finish`: what a run is told while it goes on."""

from pathlib import Path
from typing import Any

from deer.cli.deciding import send
from deer.cli.exits import ExitCode
from deer.cli.plan_files import read_step_file
from deer.messages import ControlAction


async def control(
    run_id: str, action: str, *, step_id: str | None = None, step: Path | None = None, detach: bool, as_json: bool
) -> ExitCode:
    """Tell a run something; `step` is a file with a step. Raises Refused with the run's own reason."""
    message: dict[str, Any] = {"action": ControlAction(action).value}  # a message of deer.messages
    if step_id is not None:
        message["step_id"] = step_id
    if step is not None:
        message["step"] = read_step_file(step)
    return await send(run_id, "control", message, detach=detach, as_json=as_json)


async def pause(run_id: str, *, as_json: bool) -> ExitCode:
    """Have a run begin nothing new. It is not followed: it stands still by what it was told."""
    message = {"action": ControlAction.PAUSE.value}
    return await send(run_id, "control", message, detach=False, as_json=as_json, follows=False)
