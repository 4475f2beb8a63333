"""The four places where settings are written, each read into values by variable name.

The name is the same everywhere; in files its case does not matter. An empty value counts as not set. Tables merge
field by field from place to place; anything else is taken whole from the highest place that has it.
"""

import difflib
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic_settings import BaseSettings, DotEnvSettingsSource

from deer.config.endpoints import TEMPORAL_METADATA_PREFIX, TEMPORAL_VARIABLES

OWN_PREFIX = "DEER_"

VARIABLES: Mapping[str, str] = {
    variable: variable.removeprefix(OWN_PREFIX).lower()
    for variable in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "BASIC_MODEL",
        "REASONING_MODEL",
        "ROLE_MODELS",
        "SEARCH_API",
        "TAVILY_API_KEY",
        "TAVILY_BASE_URL",
        "MAX_PLAN_STEPS",
        "MCP_SERVERS",
        "DEER_DATA_DIR",
        "DEER_STORE",
        "DEER_ENV",
        "DEER_REQUIRE",
        "DEER_TEST_ALLOW_HOSTS",
        "DEER_WEB_TOKEN",
        "DEER_MODEL_TIMEOUT_SECONDS",
        "DEER_MAX_CONCURRENT_ACTIVITIES",
        "DEER_SHUTDOWN_GRACE_SECONDS",
    )
}
"""Every variable of the program and the field of `Settings` that it sets."""

COMPOSE_VARIABLES = frozenset({"POSTGRES_PASSWORD"})
"""What docker-compose.yml reads from the same `.env`; the program itself does not."""

_PASSED_BY_MAKE = frozenset({"DEER_QUESTION"})
_TABLES = frozenset({"BASIC_MODEL", "REASONING_MODEL", "ROLE_MODELS", "MCP_SERVERS"})
_PART_MARK = "__"

Values = dict[str, Any]  # Any: whatever a file holds, checked when `Settings` is built


@dataclass
class Layer:
    """What one place says, by variable, and what is wrong with the way it says it."""

    place: str
    values: Values = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def read_layers(env: Mapping[str, str], directory: Path) -> tuple[Layer, ...]:
    """Read all places, highest first: the environment, `.env`, `deer.toml` and `conf.yaml` in `directory`."""
    dotenv_path = directory / ".env"
    # Not through a settings class: which file a value came from would be lost.
    dotenv: Mapping[str, str | None] = (
        DotEnvSettingsSource(BaseSettings, env_file=dotenv_path, case_sensitive=True, env_ignore_empty=True).env_vars
        if dotenv_path.is_file()
        else {}
    )
    in_dotenv = {
        name: text
        for name, text in dotenv.items()
        if text and name not in COMPOSE_VARIABLES and not name.startswith("COMPOSE_")
    }
    return (
        _from_strings("the environment", {name: text for name, text in env.items() if text and _concerns_us(name)}),
        _from_strings(".env", in_dotenv),
        _from_file(directory / "deer.toml", tomllib.loads),
        _with_references(_from_file(directory / "conf.yaml", yaml.safe_load), {**in_dotenv, **env}),
    )


def merge(layers: Iterable[Layer]) -> tuple[Values, dict[tuple[str, ...], str]]:
    """Put the layers on top of each other. Also gives the place that each value, or field of a table, came from."""
    values: Values = {}
    places: dict[tuple[str, ...], str] = {}
    for layer in layers:
        for variable, value in layer.values.items():
            _lay_under(values, places, (variable,), value, layer.place)
    return values, places


def _lay_under(
    values: Values, places: dict[tuple[str, ...], str], path: tuple[str, ...], value: object, place: str
) -> None:
    name = path[-1]
    if name not in values:
        values[name] = _copied(value)
        places[path] = place
        return
    if not isinstance(values[name], dict):
        return
    # A model written as a name is the table that has only the name.
    lower = {"model": value} if isinstance(value, str) else value
    if isinstance(lower, dict):
        for key, part in lower.items():
            _lay_under(values[name], places, (*path, key), part, place)


def _copied(value: object) -> object:
    return {key: _copied(part) for key, part in value.items()} if isinstance(value, dict) else value


def _is_known(variable: str) -> bool:
    return (
        variable in VARIABLES
        or variable in _PASSED_BY_MAKE
        or variable in TEMPORAL_VARIABLES
        or variable.startswith(TEMPORAL_METADATA_PREFIX)
    )


def _concerns_us(variable: str) -> bool:
    return variable.startswith(OWN_PREFIX) or _is_known(variable.partition(_PART_MARK)[0])


def _unknown(variable: str, place: str) -> str:
    # The value stays out: under a misspelt name it may be a key.
    known = sorted({*VARIABLES, *TEMPORAL_VARIABLES} if not variable.startswith(OWN_PREFIX) else VARIABLES)
    close = difflib.get_close_matches(variable.upper(), known, n=1)
    allowed = [name for name in known if not name.startswith("TEMPORAL_")]
    meant = f"did you mean {close[0]}? " if close else ""
    return f"{variable} in {place} is not a setting; {meant}allowed: {', '.join(allowed)} and TEMPORAL_*"


def _from_strings(place: str, written: Mapping[str, str]) -> Layer:
    layer = Layer(place)
    for name in sorted(written):  # a table comes before its parts
        variable, *parts = name.split(_PART_MARK)
        if not _is_known(variable) or (parts and variable not in _TABLES):
            layer.problems.append(_unknown(name, place))
            continue
        text = written[name]
        value: object = text
        if variable in _TABLES and text.lstrip().startswith(("{", "[")):
            try:
                value = json.loads(text)
            except json.JSONDecodeError as error:
                layer.problems.append(f"{name} in {place} is not valid JSON ({error.msg} at character {error.pos})")
                continue
        if parts:
            _put_part(layer.values, variable, [part.lower() for part in parts], value)
        else:
            layer.values[variable] = value
    return layer


def _put_part(values: Values, variable: str, parts: list[str], value: object) -> None:
    table: Values = values
    for key in (variable, *parts[:-1]):
        below = table.get(key, {})
        table[key] = {"model": below} if isinstance(below, str) else below
        table = table[key]
    table[parts[-1]] = value


def _from_file(path: Path, parse: Callable[[str], object]) -> Layer:
    layer = Layer(path.name)
    if not path.is_file():
        return layer
    try:
        content = parse(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        layer.problems.append(f"{path.name} cannot be read: {error.strerror}")
        return layer
    except UnicodeDecodeError:
        layer.problems.append(f"{path.name} is not UTF-8 text")
        return layer
    except tomllib.TOMLDecodeError as error:
        layer.problems.append(f"{path.name} is not valid TOML: {error}")
        return layer
    except yaml.YAMLError as error:
        # The text of a YAML error quotes the file, which may hold keys.
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        layer.problems.append(f"{path.name} is not valid YAML{f' at line {mark.line + 1}' if mark else ''}")
        return layer
    if not isinstance(content, dict):
        layer.problems.append(f"{path.name} must be a table of settings")
        return layer
    for key, value in content.items():
        variable = str(key).upper()
        if not _is_known(variable):
            layer.problems.append(_unknown(str(key), path.name))
        elif variable in layer.values:
            layer.problems.append(f"{variable} stands twice in {path.name}, in different case")
        elif (kept := _without_empty(value)) not in (None, "", {}, []):
            layer.values[variable] = kept
    return layer


def _without_empty(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _without_empty(part) for key, part in value.items() if part not in (None, "")}
    return value


def _with_references(layer: Layer, variables: Mapping[str, str]) -> Layer:
    """Replace `$NAME` by the variable of that name, as DeerFlow's `conf.yaml` may say."""

    def resolved(value: object, path: str) -> object:
        if isinstance(value, dict):
            return {key: resolved(part, f"{path}.{key}") for key, part in value.items()}
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        name = value[1:].strip("{}")
        if name not in variables:
            layer.problems.append(f"{path} in {layer.place} refers to {name}, which is not set")
        return variables.get(name)

    layer.values = {variable: resolved(value, variable) for variable, value in layer.values.items()}
    return layer
