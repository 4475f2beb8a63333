"""Read the settings once, and say what is wrong with them in words a person can act on."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from deer.config.endpoints import AWS_VARIABLES, MODEL_TAG, TIER_TAG, ModelSettings, TemporalSettings
from deer.config.layers import VARIABLES, Values, merge, read_layers
from deer.config.searches import SearchOptions
from deer.config.settings import Settings
from deer.errors import SettingsError

_VARIABLE_OF_FIELD = {field: variable for variable, field in VARIABLES.items()}
_SECRET_NAME = re.compile(r"key|token$|auth|secret|password", re.IGNORECASE)
_LOOKS_SECRET = re.compile(r"\b(sk|pk|tvly)-\w|://[^/\s]*@", re.IGNORECASE)
# Pydantic adds the branch of a union, and the mark of a key, to the path of an error.
_NOT_IN_PATHS = frozenset({TIER_TAG, MODEL_TAG, "[key]"})


def load_settings(env: Mapping[str, str] | None = None, directory: Path | None = None) -> Settings:
    """Read environment, `.env`, `deer.toml` and `conf.yaml`, each winning over the next, into frozen settings.

    `env`: None reads the environment of the process. `directory`: where the files are and what relative paths
    start from; None is the working directory.
    Raises SettingsError, one line with every mistake: the variable, its value unless secret, and what is allowed.
    """
    base = (directory or Path.cwd()).absolute()
    layers = read_layers(os.environ if env is None else env, base)
    values, places = merge(layers)
    problems = [problem for layer in layers for problem in layer.problems]
    temporal = {name: values.pop(name) for name in list(values) if name.startswith("TEMPORAL_")}
    aws = {name: str(values.pop(name)) for name in list(values) if name in AWS_VARIABLES}
    values.pop("DEER_QUESTION", None)
    fields = {VARIABLES[variable]: value for variable, value in values.items()}
    try:
        settings = Settings.model_validate({**fields, "temporal": _temporal(temporal), "aws": aws})
    except ValidationError as error:
        problems += _worded(error.errors(include_url=False), places)
        raise SettingsError("; ".join(problems)) from None  # the cause would show values
    if problems:
        raise SettingsError("; ".join(problems))
    located = {
        "data_dir": base / settings.data_dir.expanduser(),
        "store": None if settings.store is None else _located(settings.store, base),
    }
    return settings.model_copy(update=located)


def _located(store: str, base: Path) -> str:
    return store if "://" in store else str(base / Path(store).expanduser())


def _temporal(variables: Mapping[str, Any]) -> Values:  # Any: whatever a file holds
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in variables.items()}
    named = {field: texts.get(f"TEMPORAL_{field.upper()}") for field in ("address", "profile", "namespace", "api_key")}
    return {field: text for field, text in named.items() if text is not None} | {"variables": texts}


def _worded(errors: Iterable[ErrorDetails], places: Mapping[tuple[str, ...], str]) -> Iterator[str]:
    for error in errors:
        parts = [str(part) for part in error["loc"] if not isinstance(part, int) and part not in _NOT_IN_PATHS]
        if not parts:  # a rule about several settings names them itself
            yield error["msg"].removeprefix("Value error, ")
            continue
        path: tuple[str, ...]
        if parts[0] == "temporal":
            path = (f"TEMPORAL_{parts[1].upper()}",)
            allowed = TemporalSettings.model_fields[parts[1]].description
        else:
            path = (_VARIABLE_OF_FIELD[parts[0]], *parts[1:])
            allowed = _description(parts)
        name = _name(path, error["loc"])
        place = next(places[path[:end]] for end in range(len(path), 0, -1) if path[:end] in places)
        if error["type"] == "extra_forbidden":
            yield f"{name} in {place} is not a setting; allowed: {', '.join(_table(parts).model_fields)}"
        else:
            yield f"{name}{_shown(path, error['input'])} in {place} is not allowed; it must be {allowed}"


def _name(path: Sequence[str], loc: Sequence[int | str]) -> str:
    """The dotted name of a setting; of several models in a list, all but the first are numbered."""
    position = next((part for part in loc[:-1] if isinstance(part, int)), 0)
    if position == 0:
        return ".".join(path)
    *table, field = path
    return f"{'.'.join(table)}[{position + 1}].{field}"


def _description(parts: Sequence[str]) -> str | None:
    """What is allowed for a field of `Settings` or, where the path goes deeper, of a table."""
    if len(parts) > 1 and parts[-1] in _table(parts).model_fields:
        return _table(parts).model_fields[parts[-1]].description
    return Settings.model_fields[parts[0]].description


def _table(parts: Sequence[str]) -> type[ModelSettings] | type[SearchOptions]:
    """The kind of table that a path leads into."""
    return SearchOptions if parts[0] == "search_engine" else ModelSettings


def _shown(path: Sequence[str], value: object) -> str:
    """The value after an equals sign; nothing for secrets and for tables, which may hold some."""
    if isinstance(value, dict | list) or _SECRET_NAME.search(path[-1]) or _LOOKS_SECRET.search(str(value)):
        return ""
    text = " ".join(str(value).split())
    return f"={text if len(text) <= 80 else text[:79] + '…'}"
