import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_TEST_TREES = ("tests", "bench")


@dataclass(frozen=True)
class Import:
    """One imported name. `name` is dotted and absolute: `from deer import config` is `deer.config`."""

    name: str
    line: int
    is_inside_function: bool

    @property
    def top(self) -> str:
        """The package it comes from."""
        return self.name.partition(".")[0]

    @property
    def is_standard(self) -> bool:
        """Whether the standard library has it."""
        return self.top in sys.stdlib_module_names

    def is_in(self, *packages: str) -> bool:
        """Whether it is one of these modules or packages, or inside one."""
        return any(self.name == package or self.name.startswith(f"{package}.") for package in packages)


@dataclass(frozen=True)
class Module:
    """A Python file of the project under its dotted name."""

    name: str
    path: Path

    @functools.cached_property
    def text(self) -> str:
        """The source."""
        return self.path.read_text(encoding="utf-8")

    @functools.cached_property
    def tree(self) -> ast.Module:
        """The parsed source."""
        return ast.parse(self.text, str(self.path))

    @functools.cached_property
    def lines(self) -> list[str]:
        """The source by line, from index 0."""
        return self.text.splitlines()

    def is_in(self, *packages: str) -> bool:
        """Whether it is one of these modules or packages, or inside one."""
        return any(self.name == package or self.name.startswith(f"{package}.") for package in packages)

    @functools.cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import, also those inside functions and under TYPE_CHECKING."""
        inside = {
            id(node)
            for function in self.functions
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            found += [Import(name, node.lineno, id(node) in inside) for name in names]
        return tuple(found)

    @functools.cached_property
    def functions(self) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
        """Every function and method."""
        return tuple(node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    def at(self, line: int) -> str:
        """Where a line is, for a message."""
        return f"{self.path.relative_to(ROOT)}:{line}"


@functools.cache
def tracked_files() -> tuple[Path, ...]:
    """The files that git has, relative to the checkout: what else lies there is a person's own."""
    command = ["git", "ls-files", "--cached", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return tuple(sorted(path for name in listed.split("\0") if name and (ROOT / (path := Path(name))).is_file()))


@functools.cache
def product_modules() -> tuple[Module, ...]:
    """Every Python file outside tests and measurements."""
    return tuple(module for module in _modules() if not module.is_in(*_TEST_TREES))


@functools.cache
def modules_of_tests() -> tuple[Module, ...]:
    """Every Python file of the tests and measurements."""
    return tuple(module for module in _modules() if module.is_in(*_TEST_TREES))


def _modules() -> Iterator[Module]:
    for path in tracked_files():
        if path.suffix == ".py" and path.parts[0] not in ("examples", "docs"):
            parts = path.with_suffix("").parts
            yield Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), ROOT / path)
