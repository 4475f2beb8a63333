"""The layout and the limits that the project set itself, proved by reading its own source."""

import ast
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.source import ROOT, Import, Module, modules_of_tests, product_modules, tracked_files


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PURE = tuple(
    f"deer.{name}"
    for name in ("models", "messages", "errors", "flow", "parsing", "evidence", "context", "ports", "wording")
)
DATA_TYPES = _words(
    """
    __future__ abc ast base64 bisect collections copy dataclasses datetime decimal difflib enum fractions
    functools graphlib hashlib html itertools json keyword math operator re string textwrap types typing
    unicodedata urllib.parse
    """
)
"""Parts of the standard library that neither act nor look at the world."""
EFFECTS = _words(
    """
    os sys io pathlib shutil tempfile socket ssl select selectors subprocess multiprocessing threading concurrent
    random secrets uuid time logging http urllib.request sqlite3 signal platform getpass
    """
)
"""Parts of the standard library that a deterministic workflow must not touch."""


@dataclass(frozen=True)
class Row:
    """A row of the import table: who, and what he may import besides the standard library."""

    who: tuple[str, ...]
    may_import: tuple[str, ...]
    standard: Callable[[Import], bool] = lambda _: True
    third_parties_except: tuple[str, ...] | None = None
    """None: only those in `may_import`; else all but these."""
    only_inside_functions: tuple[str, ...] = ()

    def forbids(self, imported: Import) -> bool:
        """Whether the table forbids an import."""
        if imported.is_standard:
            return not self.standard(imported)
        if imported.is_in(*self.only_inside_functions):
            return not imported.is_inside_function
        if imported.is_in(*self.may_import):
            return False
        if imported.is_in(*FIRST_PARTY):
            return True
        return self.third_parties_except is None or imported.is_in(*self.third_parties_except)


FIRST_PARTY = ("deer", "activities", "workflows", "worker", "starter", "tests", "bench")


def _is_data_type(imported: Import) -> bool:
    return imported.is_in(*DATA_TYPES)


def _has_no_effect(imported: Import) -> bool:
    return not imported.is_in(*EFFECTS)


DATA = (*PURE, "pydantic")
"""What every part may import: values, their validation, and what is computed from them alone."""

ONCE = "deer.answers"
"""Ports put to use by several activities; it reaches the world through what it is handed only."""

EXPORT_LIBRARIES = ("markdown_it", "nh3", "docx", "lxml", "typst", "manimgx_fonts_cjk")

TABLE = (
    Row(PURE, DATA, standard=_is_data_type),
    Row((ONCE, "deer.pruning"), DATA),
    Row(("deer.prompts",), ("deer.prompts", "deer.models")),
    Row(("deer.exports",), (*DATA, "deer.exports", "deer.prompts", *EXPORT_LIBRARIES)),
    Row(
        ("deer.config",),
        ("deer.config", "deer.models", "deer.errors", "pydantic", "pydantic_core", "pydantic_settings", "yaml"),
    ),
    Row(
        ("deer.temporal", "deer.devserver", "deer.payloads"),
        # the server's own messages are protobuf
        (*DATA, "deer.temporal", "deer.devserver", "deer.payloads", "deer.config", "temporalio", "google.protobuf"),
    ),
    Row(("deer.providers",), (*DATA, "deer.providers"), third_parties_except=("temporalio",)),
    Row(
        ("activities",),
        (
            *DATA,
            "deer.prompts",
            ONCE,
            "activities.failures",
            "activities.heartbeats",
            "temporalio.activity",
            "temporalio.exceptions",
        ),
    ),
    Row(
        ("workflows",),
        (*DATA, "workflows", "activities", "temporalio.workflow", "temporalio.common", "temporalio.exceptions"),
        standard=_has_no_effect,
    ),
    Row(
        ("deer.cli", "deer.web", "starter"),
        (
            *PURE,
            "deer.cli",
            "deer.web",
            "deer.exports",
            "deer.pruning",
            "deer.temporal",
            "deer.devserver",
            "deer.config",
            "workflows",
        ),
        third_parties_except=("openai", "tavily", "ddgs", "trafilatura", "httpx", "httpx2"),
        only_inside_functions=("worker",),
    ),
    Row(("worker",), FIRST_PARTY[:-2], third_parties_except=()),
    Row(("deer",), ()),
)
"""Each module is held to the first row that names it or a package around it."""


def _row_of(module: Module) -> Row | None:
    return next((row for row in TABLE if module.is_in(*row.who)), None)


@pytest.mark.parametrize(
    ("module", "imported", "is_forbidden"),
    [
        ("deer.flow.state", "deer.parsing.parse_plan", False),
        ("deer.flow.state", "time.monotonic", True),
        ("deer.parsing", "temporalio.workflow", True),
        ("deer.providers.engines.tavily", "httpx", False),
        ("deer.providers.engines.tavily", "temporalio.activity", True),
        ("deer.providers.engines.tavily", "deer.config.Settings", True),
        ("activities.llm", "openai", True),
        ("activities.llm", "activities.search.SearchActivities", True),
        ("workflows.research", "temporalio.client.Client", True),
        ("workflows.research", "uuid.uuid4", True),
        ("workflows.research", "deer.providers.files", True),
        ("deer.cli.app", "worker.run_worker", True),
        ("deer.cli.app", "rich.table.Table", False),
        ("deer.cli.app", "deer.providers.files", True),
    ],
)
def test_the_table_says_what_the_design_says(module: str, imported: str, is_forbidden: bool) -> None:
    """The rule itself is right about typical imports, allowed and forbidden."""
    row = _row_of(Module(module, ROOT))
    assert row
    assert row.forbids(Import(imported, 1, is_inside_function=False)) == is_forbidden


@pytest.mark.parametrize("module", product_modules(), ids=lambda module: module.name)
def test_imports_keep_to_the_table(module: Module) -> None:
    """Every module stands in the import table and imports only what its row allows."""
    row = _row_of(module)
    assert row, f"{module.name} has no place in the layout"
    broken = [f"{module.at(i.line)} imports {i.name}" for i in module.imports if row.forbids(i)]
    assert not broken, "\n".join(broken)


def test_pure_modules_import_each_other_downwards() -> None:
    """No two pure modules import each other, by whatever way round."""
    below: dict[str, set[str]] = {name: set() for name in PURE}
    for module in product_modules():
        for name in (name for name in PURE if module.is_in(name)):
            below[name] |= {other for other in PURE if other != name for i in module.imports if i.is_in(other)}
    circles = [name for name in PURE if name in _reachable(below, name)]
    assert not circles, f"these reach themselves: {circles}"


def _reachable(below: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    ahead = set(below[start])
    while ahead:
        found |= ahead
        ahead = {deeper for name in ahead for deeper in below[name]} - found
    return found


ACTS = re.compile(r"^(datetime|date|datetime\.datetime|datetime\.date)\.(now|utcnow|today)$|^(open|input|print)$")


@pytest.mark.parametrize(
    "module", [m for m in product_modules() if m.is_in(*PURE, "workflows")], ids=lambda module: module.name
)
def test_pure_and_deterministic_code_reads_no_clock_and_no_file(module: Module) -> None:
    """Neither the pure modules nor the workflows ask the machine for the time or open anything."""
    calls = (node for node in ast.walk(module.tree) if isinstance(node, ast.Call))
    found = [f"{module.at(c.lineno)} {ast.unparse(c.func)}" for c in calls if ACTS.search(ast.unparse(c.func))]
    assert not found, "\n".join(found)


def test_workflows_avoid_what_breaks_cancelling() -> None:
    """Workflow code has no TaskGroup, wait_for, timeout or asyncio.wait: each breaks failures or cancelling."""
    trap = re.compile(r"^asyncio\.(TaskGroup|wait_for|timeout|timeout_at|wait)$")
    found = [
        f"{module.at(node.lineno)} {ast.unparse(node)}"
        for module in product_modules()
        if module.is_in("workflows")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and trap.search(ast.unparse(node))
    ]
    assert not found, "\n".join(found)


def _broad_handlers(module: Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler):
            caught = "everything" if node.type is None else ast.unparse(node.type)
            if node.type is None or re.search(r"\b(Base)?Exception\b", caught):
                yield node.lineno, caught


def test_broad_handlers_give_their_reason() -> None:
    """Code catches what it can name; `Exception` needs a reason beside it, and more than that is never caught."""
    found = []
    for module in product_modules():
        for line, caught in _broad_handlers(module):
            reason = re.sub(r"noqa: *[A-Z0-9, ]+", "", module.lines[line - 1].partition("#")[2]).strip(" -#")
            if caught != "Exception" or not reason or module.is_in("workflows"):
                found.append(f"{module.at(line)} catches {caught}")
    assert not found, "\n".join(found)


def test_files_and_functions_stay_short() -> None:
    """No Python file has more than 400 lines, no function more than 60."""
    found = []
    for module in (*product_modules(), *modules_of_tests()):
        if len(module.lines) > 400:
            found.append(f"{module.at(1)} has {len(module.lines)} lines")
        for function in module.functions:
            length = (function.end_lineno or function.lineno) - function.lineno + 1
            if length > 60:
                found.append(f"{module.at(function.lineno)} {function.name} has {length} lines")
    assert not found, "\n".join(found)


def test_no_module_has_a_name_that_says_nothing() -> None:
    """A module is named after its subject."""
    nameless = re.compile(r"^(utils?|helpers?|common|shared|manager|misc|base)$")
    found = [
        module.path.name for module in (*product_modules(), *modules_of_tests()) if nameless.match(module.path.stem)
    ]
    assert not found


def test_every_test_says_what_it_holds() -> None:
    """Each test has a docstring of one sentence or paragraph."""
    found = [
        f"{module.at(function.lineno)} {function.name}"
        for module in modules_of_tests()
        if module.path.stem.startswith("test_")
        for function in module.functions
        if function.name.startswith("test_")
        and (not (said := ast.get_docstring(function)) or "\n\n" in said or not said.endswith("."))
    ]
    assert not found, "\n".join(found)


def test_tests_patch_nothing() -> None:
    """Fakes implement a port or answer HTTP: no test reaches into the product and replaces a part."""
    patch = re.compile(r"unittest\.mock|\bmocker\b|monkeypatch\.setattr")
    found = [
        m.at(1) for m in modules_of_tests() if m.path != ROOT / "tests/test_architecture.py" and patch.search(m.text)
    ]
    assert not found


def test_nothing_is_left_for_later() -> None:
    """The code has no reminders and no unfinished bodies."""
    reminder = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|NotImplemented" r"Error)\b")
    found = [
        module.at(number)
        for module in (*product_modules(), *modules_of_tests())
        if module.path != ROOT / "tests/test_architecture.py"
        for number, line in enumerate(module.lines, 1)
        if reminder.search(line)
    ]
    assert not found


def test_the_top_level_is_the_one_of_the_layout() -> None:
    """Every file lies where the layout has a place for it."""
    allowed = {
        *(
            [
                "README.md",
                "CONTRIBUTING.md",
                "CHANGELOG.md",
                "LICENSE",
                "pyproject.toml",
                "requirements.lock",
                "requirements",
                "Makefile",
            ]
        ),
        *(
            [
                ".env.example",
                "deer.toml.example",
                "conf.yaml.example",
                "Dockerfile",
                "docker-compose.yml",
                ".dockerignore",
            ]
        ),
        *(
            [
                "worker.py",
                "starter.py",
                "workflows",
                "activities",
                "deer",
                "tests",
                "bench",
                "docs",
                "examples",
                ".ci",
                ".gitignore",
            ]
        ),
    }
    assert {path.parts[0] for path in tracked_files()} <= allowed


IO_LIBRARIES = _words(
    """
    openai httpx httpx2 httpcore tavily ddgs trafilatura requests urllib3 aiohttp lxml sqlite3 yaml pydantic_settings
    typer rich click starlette uvicorn fastapi jinja2 worker starter deer.providers deer.config deer.cli
    """
)


def test_importing_the_story_loads_no_io_library() -> None:
    """`import workflows.research` in a fresh interpreter loads no client of any service but Temporal."""
    code = "import json, sys; import workflows.research; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(_output_of("-c", code))
    assert not set(IO_LIBRARIES) & set(loaded)


def test_help_answers_within_a_second() -> None:
    """`starter.py --help` is up within 1 s: nothing heavy is imported before it is needed."""
    took_s = []
    for _ in range(3):  # the best of three: the bound is on the program, not on what else the machine does
        began = time.monotonic()
        assert "research" in _output_of("starter.py", "--help")
        took_s.append(time.monotonic() - began)
    assert min(took_s) < 1.0


def _output_of(*arguments: str) -> str:
    ran = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
