"""The four places where settings are written, each read into values by variable name.

The name is the same everywhere; in files its case does not matter. An empty value counts as not set. Tables merge
field by field from place to place; anything else, lists too, is taken whole from the highest place that has it.
"""

import difflib
import json
import logging
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic_settings import BaseSettings, DotEnvSettingsSource

from deer.config.endpoints import AWS_VARIABLES, TEMPORAL_METADATA_PREFIX, TEMPORAL_VARIABLES

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
        "BRAVE_SEARCH_API_KEY",
        "BRAVE_SEARCH_BASE_URL",
        "SERPER_API_KEY",
        "SERPER_BASE_URL",
        "SEARX_HOST",
        "SEARCH_ENGINE",
        "MAX_PLAN_STEPS",
        "MCP_SERVERS",
        "DEER_BUDGET_TOKENS",
        "DEER_BUDGET_USD",
        "DEER_BUDGET_MINUTES",
        "DEER_BUDGET_SEARCHES",
        "DEER_BUDGET_PAGES",
        "PAGE_READER",
        "JINA_API_KEY",
        "JINA_BASE_URL",
        "DEER_PAGE_MAX_MB",
        "DEER_PAGE_PORTS",
        "DEER_DATA_DIR",
        "DEER_STORE",
        "DEER_ENV",
        "DEER_REQUIRE",
        "DEER_TEST_ALLOW_HOSTS",
        "DEER_WEB_TOKEN",
        "DEER_MODEL_TIMEOUT_SECONDS",
        "DEER_ATTENTION_DEADLINE_SECONDS",
        "DEER_BUILD_ID",
        "DEER_DEPLOYMENT_NAME",
        "DEER_MODEL_STALL_SECONDS",
        "DEER_MAX_CONCURRENT_ACTIVITIES",
        "DEER_SHUTDOWN_GRACE_SECONDS",
    )
}
"""Every variable of the program and the field of `Settings` that it sets."""

COMPOSE_VARIABLES = frozenset({"POSTGRES_PASSWORD"})
"""What docker-compose.yml reads from the same `.env`; the program itself does not."""

_PASSED_BY_MAKE = frozenset({"DEER_QUESTION"})
_TABLES = frozenset({"BASIC_MODEL", "REASONING_MODEL", "ROLE_MODELS", "MCP_SERVERS", "SEARCH_ENGINE"})
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
    environment = _from_strings("the environment", {name: text for name, text in env.items() if _concerns_us(name)})
    dotenv = _from_dotenv(directory / ".env")
    toml = _from_file(directory / "deer.toml", tomllib.loads)
    conf = _from_file(directory / "conf.yaml", yaml.safe_load)
    _resolve_references(conf, {**dotenv.values, **env})
    return environment, dotenv, toml, conf


def merge(layers: Iterable[Layer]) -> tuple[Values, dict[tuple[str, ...], str]]:
    """Put the layers on top of each other. Also gives the place that each value, or field of a table, came from."""
    values: Values = {}
    places: dict[tuple[str, ...], str] = {}
    for layer in layers:
        for variable, value in layer.values.items():
            if isinstance(value, list) and isinstance(values.get(variable), dict):
                layer.problems.append(
                    f"{variable} is a list in {layer.place}, to which {places[(variable,)]} cannot add a field: "
                    "write it into the tables of the list"
                )
                continue
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
    if isinstance(value, list):
        return [_copied(part) for part in value]
    return {key: _copied(part) for key, part in value.items()} if isinstance(value, dict) else value


def _is_known(variable: str) -> bool:
    return (
        variable in VARIABLES
        or variable in _PASSED_BY_MAKE
        or variable in AWS_VARIABLES
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
    for name in sorted(name for name, text in written.items() if text):  # a table comes before its parts
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
            try:
                _put_part(layer.values, variable, [part.lower() for part in parts], value)
            except TypeError:
                layer.problems.append(f"{name} in {place} is a field of a table, which {variable} there is not")
        else:
            layer.values[variable] = value
    return layer


def _put_part(values: Values, variable: str, parts: list[str], value: object) -> None:
    table: Values = values
    for key in (variable, *parts[:-1]):
        below = table.get(key, {})
        table[key] = {"model": below} if isinstance(below, str) else below
        table = table[key]
        if not isinstance(table, dict):
            raise TypeError(key)
    table[parts[-1]] = value


def _read(path: Path, problems: list[str]) -> str:
    """The text of a file, empty when there is none or it cannot be read, which is then among the problems."""
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else ""
    except OSError as error:
        problems.append(f"{path.name} cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        problems.append(f"{path.name} is not UTF-8 text")
    return ""


def _from_dotenv(path: Path) -> Layer:
    problems: list[str] = []
    text = _read(path, problems)
    if not text:
        return Layer(path.name, problems=problems)
    # Not through a settings class: which place a value came from would be lost.
    logging.getLogger("dotenv.main").setLevel(logging.ERROR)  # what it warns of is told below, as an error
    source = DotEnvSettingsSource(BaseSettings, env_file=path, case_sensitive=True, env_ignore_empty=True)
    layer = _from_strings(
        path.name,
        {
            name: value
            for name, value in source.env_vars.items()
            if value and name not in COMPOSE_VARIABLES and not name.startswith("COMPOSE_")
        },
    )
    # The reader drops such lines.
    without_sign = re.findall(r"^\s*(?:export\s+)?([A-Z_]+)(?![A-Z_]|\s*=)", text, re.MULTILINE)
    problems += [f"{name} in .env lacks its = sign: write {name}=value" for name in without_sign if _is_known(name)]
    if not without_sign:
        problems += [
            f".env, line {number}: not NAME=value; write a comment with #"
            for number, line in enumerate(text.splitlines(), start=1)
            if re.match(r"\s*[A-Za-z][\w-]*(?:\s+[^\s=]+)+\s*$", line) and "'" not in text and '"' not in text
        ]
    layer.problems += problems
    return layer


def _from_file(path: Path, parse: Callable[[str], object]) -> Layer:
    layer = Layer(path.name)
    try:
        content = parse(_read(path, layer.problems)) or {}
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
    if isinstance(value, list):
        return [_without_empty(part) for part in value if part not in (None, "")]
    return value


def _resolve_references(layer: Layer, variables: Mapping[str, object]) -> None:
    """Replace `$NAME` by the variable of that name, as DeerFlow's `conf.yaml` may say."""

    def resolved(value: object, path: str) -> object:
        if isinstance(value, dict):
            return {key: resolved(part, f"{path}.{key}") for key, part in value.items()}
        if isinstance(value, list):
            return [resolved(part, path) for part in value]
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        name = value[1:].strip("{}")
        if not variables.get(name):
            layer.problems.append(f"{path} in {layer.place} refers to {name}, which is not set")
        return variables.get(name)

    layer.values = {variable: resolved(value, variable) for variable, value in layer.values.items()}
