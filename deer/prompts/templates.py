"""The prompt files beside this module: read once, when first asked for, and filled with values."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from deer.models import Role
from deer.prompts.languages import PromptLanguage

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_PHRASE_HEADING = re.compile(r"^# ([a-z_]+)$", re.MULTILINE)


def system_prompt(role: Role, language: PromptLanguage) -> str:
    """The template of a role's system prompt."""
    return _file(f"{role}.{language}.md")


def phrase(name: str, language: PromptLanguage) -> str:
    """The template of a sentence or two that only some requests hold. KeyError when there is none of that name."""
    return _phrases(language)[name]


def filled(template: str, values: Mapping[str, str]) -> str:
    """A template with each `{name}` replaced by its value. KeyError when a value is missing.

    One pass: a value that itself holds a placeholder is left as it is.
    """
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


@cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()


@cache
def _phrases(language: PromptLanguage) -> Mapping[str, str]:
    _, *parts = _PHRASE_HEADING.split(_file(f"phrases.{language}.md"))
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}
