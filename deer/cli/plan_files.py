"""Plans and steps as a person writes them: YAML or JSON in the shape of `show`'s plan."""

import json
from pathlib import Path
from typing import Any

import yaml

from deer.cli.given_files import bytes_of_file
from deer.errors import InvalidInput
from deer.models import PlanStatus, StepType

MAX_PLAN_FILE_BYTES = 1_000_000

_COMPUTED_BY_CODE = frozenset({"status", "finding", "reason", "revision"})


class _PlanLoader(yaml.SafeLoader):
    """Reads YAML without aliases, by which a few lines can mean gigabytes and which no plan needs."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # the stubs leave its type out
            raise yaml.MarkedYAMLError(problem="a plan has no aliases; write it out", problem_mark=mark)
        return super().compose_node(parent, index)


class _PlanDumper(yaml.SafeDumper):
    """Writes long texts as blocks, which are pleasant to edit."""


def _as_block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_long = "\n" in text or len(text) > 80
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=">" if is_long else None)


_PlanDumper.add_representer(str, _as_block)


def read_plan_file(path: Path) -> dict[str, Any]:  # the run validates what a person wrote
    """The plan in a file, without the fields that code computes. Raises InvalidInput naming the file."""
    return _read(path, "--plan", "a plan is a mapping with title and steps")


def read_step_file(path: Path) -> dict[str, Any]:  # as above
    """One step in a file, without the fields that code computes. Raises InvalidInput naming the file."""
    return _read(path, "--file", "a step is a mapping with title, description and step_type")


def _read(path: Path, option: str, shape: str) -> dict[str, Any]:  # as above
    raw = bytes_of_file(path, MAX_PLAN_FILE_BYTES, option)
    try:
        return _mapping_in(raw.decode("utf-8-sig"), shape)
    except UnicodeDecodeError as error:
        raise InvalidInput("is not UTF-8 text", f"{option} {path}") from error
    except InvalidInput as error:
        raise InvalidInput(str(error), f"{option} {path}") from None


def parse_plan_text(text: str) -> dict[str, Any]:  # the run validates what a person wrote
    """The plan in a YAML or JSON text, without the fields that code computes.

    Its rules are the run's, which checks it; here it only has to be a mapping. Raises InvalidInput.
    """
    return _mapping_in(text, "a plan is a mapping with title and steps")


def _mapping_in(text: str, shape: str) -> dict[str, Any]:  # as above
    try:
        plan = yaml.load(text, _PlanLoader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise InvalidInput(f"{line}neither YAML nor JSON: {error.problem or 'unreadable'}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(f"neither YAML nor JSON: {error}") from error
    if not isinstance(plan, dict):
        raise InvalidInput(shape)
    try:
        json.dumps(plan, ensure_ascii=False, default=str).encode()
    except (ValueError, RecursionError) as error:  # such as half a character
        raise InvalidInput(f"cannot be sent: {error}") from error
    kept = {str(name): value for name, value in plan.items() if name not in _COMPUTED_BY_CODE}
    if isinstance(kept.get("steps"), list):
        kept["steps"] = [_without_computed(step) for step in kept["steps"]]
    return kept


def plan_as_yaml(plan: PlanStatus) -> str:
    """A plan as a person edits it, with a word on the rules at its top."""
    shown = plan.model_dump(
        mode="json", exclude={"revision": True, "steps": {"__all__": {"status", "finding", "reason"}}}
    )
    body = yaml.dump(shown, Dumper=_PlanDumper, sort_keys=False, allow_unicode=True, width=100)
    return (
        f"# Plan {plan.revision}. Save and leave to send it; leave it unchanged, or empty, to send nothing.\n"
        f"# step_type: {', '.join(StepType)}. A new step has no id; depends_on names ids of other steps.\n" + body
    )


def _without_computed(step: Any) -> Any:  # whatever stands in the file; the run says what is wrong with it
    if not isinstance(step, dict):
        return step
    return {str(name): value for name, value in step.items() if name not in _COMPUTED_BY_CODE}
