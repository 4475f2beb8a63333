"""What the documents name exists: commands, options, targets, settings, files, links, phases, limits and exit codes."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from deer.cli.app import app
from deer.cli.asking import option_of
from deer.cli.exits import ExitCode
from deer.config.endpoints import AWS_VARIABLES, TEMPORAL_VARIABLES
from deer.config.layers import COMPOSE_VARIABLES, VARIABLES
from deer.models import Phase, ResearchRequest, RunStatus
from tests.source import ROOT, product_modules

README, USING, ARCHITECTURE = ROOT / "README.md", ROOT / "docs/using.md", ROOT / "docs/architecture.md"
DECISIONS = sorted((ROOT / "docs/decisions").glob("*.md"))
DOCUMENTS = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOR_USERS = [README, USING, ROOT / "docs/deployment.md"]

SETTINGS = {*VARIABLES, *AWS_VARIABLES, *TEMPORAL_VARIABLES, *COMPOSE_VARIABLES}

_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_SETTING = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b")
_PATH = re.compile(r"^(?:activities|bench|deer|docs|examples|tests|workflows)(?:/[\w.-]+)+$")

every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def options_by_command() -> dict[str, set[str]]:
    """The options that each command takes."""
    commands = get_command(app).commands  # type: ignore[attr-defined] # a group, typed as a command
    return {
        name: {"--help", *(option for parameter in command.params for option in parameter.opts)}
        for name, command in commands.items()
    }


def code_of(document: Path) -> list[str]:
    """Everything that a document sets as code: the lines of its blocks, comments left off, and its spans."""
    text = document.read_text()
    lines = [line.partition(" #")[0] for block in _FENCE.findall(text) for line in block.splitlines()]
    return [*lines, *_SPAN.findall(_FENCE.sub("", text))]


def anchors_of(document: Path) -> set[str]:
    """The anchors of a document's headings, as web pages of repositories make them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_document
def test_commands_and_their_options_exist(document: Path) -> None:
    """Every call of the starter names a command that there is, with options that it takes."""
    options = options_by_command()
    for code in code_of(document):
        called = re.search(r"starter(?:\.py)? ([a-z]+)(.*)", code)
        if called is None:
            continue
        command, rest = called.groups()
        assert command in options, code
        assert set(_OPTION.findall(re.sub(r'"[^"]*"', "", rest))) <= options[command], code


@every_document
def test_options_named_alone_exist(document: Path) -> None:
    """An option that a sentence speaks of is one of the starter's."""
    known = set().union(*options_by_command().values())
    named = {code.split()[0].partition("=")[0] for code in code_of(document) if code.startswith("--")}
    assert named <= known


@every_document
def test_make_targets_exist(document: Path) -> None:
    """Every `make TARGET` is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {target for code in code_of(document) for target in re.findall(r"\bmake ([a-z][a-z-]*)", code)}
    assert named <= targets


@pytest.mark.parametrize("document", FOR_USERS, ids=lambda path: path.name)
def test_settings_exist(document: Path) -> None:
    """Every variable that users are told of is a setting, or one of Temporal's or compose's own."""
    assert {name for code in code_of(document) for name in _SETTING.findall(code)} <= SETTINGS


@pytest.mark.parametrize("document", [ARCHITECTURE, *DECISIONS], ids=lambda path: path.name)
def test_names_in_capitals_are_settings_or_stand_in_the_code(document: Path) -> None:
    """Where contributors read, such a name may also be a constant."""
    source = "\n".join(module.text for module in product_modules())
    named = {name for code in code_of(document) for name in _SETTING.findall(code)}
    assert not [name for name in named - SETTINGS if not re.search(rf"^{name}\b", source, re.MULTILINE)]


@every_document
def test_files_exist(document: Path) -> None:
    """Every path of the checkout that stands as code is there."""
    named = [code for code in code_of(document) if _PATH.match(code)]
    assert not [path for path in named if not (ROOT / path).exists()]


@every_document
def test_links_resolve(document: Path) -> None:
    """Links into the checkout lead to files, and to headings where they name one."""
    for link in _LINK.findall(_FENCE.sub("", document.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        if anchor:
            assert anchor in anchors_of(target), link


def test_readme_begins_with_something_that_works() -> None:
    """The two commands and what they need stand in the first screen, and the whole is quickly read."""
    lines = README.read_text().splitlines()
    first_screen = "\n".join(lines[:25])
    assert 'make research QUESTION="' in first_screen
    assert "make test" in first_screen
    assert "Python 3.11" in first_screen
    assert len(lines) < 200


def test_exit_codes_are_those_of_the_program() -> None:
    """The README explains every exit code but that of Ctrl-C, which is the shell's."""
    explained = {int(code) for code in re.findall(r"^\| (\d+) \|", README.read_text(), re.MULTILINE)}
    assert explained == set(ExitCode) - {ExitCode.INTERRUPTED}


def test_every_phase_is_explained() -> None:
    """The table of phases has each phase that a run can be in, and no other word."""
    _, _, section = USING.read_text().partition("| phase | meaning |\n")
    rows = section.partition("\n\n")[0]
    explained = {word for row in rows.splitlines() for word in _SPAN.findall(row.split("|")[1])}
    assert explained == set(Phase)


def test_limits_have_the_defaults_that_are_told() -> None:
    """The numbers in the table of limits are those of the request."""
    told = dict(re.findall(r"^\|[^|]*\(`(--max-[a-z-]+)`[^|]*\| (\d+) \|", USING.read_text(), re.MULTILINE))
    fields = {option_of(name): field.default for name, field in ResearchRequest.model_fields.items()}
    assert len(told) == len([option for option in fields if option.startswith("--max-")])
    assert {option: int(number) for option, number in told.items()} == {option: fields[option] for option in told}


def test_status_object_is_described_whole() -> None:
    """The description of the status object has every field at every depth."""
    schema = RunStatus.model_json_schema(mode="serialization")
    parts = [schema, *(part for part in schema["$defs"].values() if "properties" in part)]
    fields = {name for part in parts for name in part["properties"]}
    described = next(block for block in _FENCE.findall(ARCHITECTURE.read_text()) if "handoffs" in block)
    assert fields <= set(re.findall(r"\w+", described))


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda path: path.name)
def test_decisions_are_short_and_can_be_revised(decision: Path) -> None:
    """A decision has at most forty lines, and says what would change our mind."""
    text = decision.read_text()
    assert len(text.splitlines()) <= 40
    assert "**What would change our mind.**" in text
