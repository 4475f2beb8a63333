"""What a run is told while it goes on: `pause`, `resume`, `retry`, its steps, its budget, `finish`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from deer.cli.asking import bad_limit, limits_in
from deer.cli.deciding import send
from deer.cli.exits import ExitCode
from deer.cli.plan_files import read_step_file
from deer.errors import InvalidInput
from deer.messages import ControlAction
from deer.models import Budget, Kind


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


async def change_budget(run_id: str, options: Mapping[Kind, str | None], *, detach: bool, as_json: bool) -> ExitCode:
    """Give a run other limits; those that are not given stay. Raises InvalidInput naming the option."""
    if not (limits := limits_in(options)):
        raise InvalidInput("give at least one limit, such as --tokens 200000; none lifts one", "budget")
    try:
        budget = Budget.model_validate(limits)
    except ValidationError as error:
        complaint = error.errors(include_url=False, include_context=False)[0]
        kind = Kind(str(complaint["loc"][0]))
        raise bad_limit(f"--{kind}", kind, complaint["input"]) from None
    message = {"action": ControlAction.BUDGET.value, "budget": budget.model_dump(mode="json", exclude_unset=True)}
    return await send(run_id, "control", message, detach=detach, as_json=as_json)


async def pause(run_id: str, *, as_json: bool) -> ExitCode:
    """Have a run begin nothing new. It is not followed: it stands still by what it was told."""
    message = {"action": ControlAction.PAUSE.value}
    return await send(run_id, "control", message, detach=False, as_json=as_json, follows=False)
