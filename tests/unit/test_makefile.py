"""The Makefile's promises about what a person types, tried on a copy with a stand-in for uv."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]

RECORDER = """#!{python}
import json, os, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(0)
with open("calls.jsonl", "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit(int(os.environ.get("EXIT_CODE", "0")))
"""


class Project:
    """A copy of the Makefile with the environment in place, whose uv writes down how it was called."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        shutil.copy(CHECKOUT / "Makefile", directory)
        (directory / "requirements").mkdir()
        for lock in ("requirements.lock", "requirements/dev.lock", "requirements/pdf.lock"):
            (directory / lock).touch()
        (directory / "bin").mkdir()
        uv = directory / "bin" / "uv"
        uv.write_text(RECORDER.format(python=sys.executable))
        uv.chmod(0o755)
        binaries = directory / ".venv" / "bin"
        binaries.mkdir(parents=True)
        (binaries / "python").touch()
        for stamp in (".core-installed", ".setup-done"):
            (directory / ".venv" / stamp).touch()

    def make(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run make here, without the variables that an outer make hands down."""
        handed_down = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "ARGS", "QUESTION", "EXTRAS"}
        inherited = {name: value for name, value in os.environ.items() if name not in handed_down}
        path = f"{self.directory / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["make", *arguments],
            cwd=self.directory,
            env={**inherited, "PATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def calls(self) -> list[list[str]]:
        """The arguments of every call of uv so far."""
        written = self.directory / "calls.jsonl"
        if not written.exists():
            return []
        return [json.loads(line) for line in written.read_text().splitlines()]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize(
    "question",
    [
        'What is a "$100" bill? `id`',
        "$(shell touch x)",
        "$(touch x) && touch x; `touch x`",
        "it's 5% # of $$HOME \\ | > x",
        "两\uff1a什么是热泵\uff1f",
        "first line\nsecond line",
    ],
)
@pytest.mark.parametrize("given", ["as a make variable", "in the environment"])
def test_question_arrives_verbatim(project: Project, question: str, given: str) -> None:
    """A question with anything that shell or make would read reaches the program unchanged and runs nothing."""
    result = (
        project.make("research", f"QUESTION={question}")
        if given == "as a make variable"
        else project.make("research", QUESTION=question)
    )
    assert result.returncode == 0, result.stderr
    assert project.calls() == [["run", "starter.py", "research", "--", question]]
    assert not (project.directory / "x").exists()


def test_arguments_are_options_and_the_question_is_none(project: Project) -> None:
    """ARGS are split as shell words; a question that begins with a dash is a question."""
    project.make("research", "QUESTION=--why", "ARGS=--auto-accept --output 'a b.md'")
    assert project.calls() == [["run", "starter.py", "research", "--auto-accept", "--output", "a b.md", "--", "--why"]]


def test_missing_question_is_a_usage_error_before_any_work(project: Project) -> None:
    """Without a question make prints the usage in one line, and nothing is installed first."""
    shutil.rmtree(project.directory / ".venv")
    result = project.make("research")
    assert result.returncode == 2
    assert result.stderr.splitlines()[0] == 'usage: make research QUESTION="..." [ARGS="--auto-accept ..."]'
    assert project.calls() == []
    assert not (project.directory / ".venv").exists()


def test_standing_environment_is_left_alone(project: Project) -> None:
    """With up-to-date stamps neither setup nor research installs or removes a thing."""
    project.make("setup")
    project.make("research", "QUESTION=why")
    assert [call[0] for call in project.calls()] == ["run"]


def test_research_adds_a_changed_core_and_removes_nothing(project: Project) -> None:
    """After the core lock changed research installs it on top, by a command that never uninstalls others."""
    newer = (project.directory / ".venv" / ".core-installed").stat().st_mtime + 10
    os.utime(project.directory / "requirements.lock", (newer, newer))
    project.make("research", "QUESTION=why")
    assert [call[:2] for call in project.calls()] == [["pip", "install"], ["run", "starter.py"]]
    assert "--require-hashes" in project.calls()[0]


def test_extras_are_remembered(project: Project) -> None:
    """Extras named once stay until others are named, and each change is one sync of all locks together."""
    project.make("setup", "EXTRAS=pdf")
    project.make("setup")
    project.make("setup", "EXTRAS=")
    project.make("setup")
    assert [[word for word in call if word.endswith(".lock")] for call in project.calls()] == [
        ["requirements.lock", "requirements/dev.lock", "requirements/pdf.lock"],
        ["requirements.lock", "requirements/dev.lock"],
    ]


def test_waiting_run_is_explained(project: Project) -> None:
    """Exit code 3 stays an error for scripts, and a line says to people that the run waits."""
    result = project.make("research", "QUESTION=why", EXIT_CODE="3")
    assert result.returncode != 0
    assert "The run waits for you" in result.stderr
    failed = project.make("research", "QUESTION=why", EXIT_CODE="1")
    assert "The run waits for you" not in failed.stderr


def test_help_lists_every_target(project: Project) -> None:
    """`make` alone prints each target with what it does."""
    shown = project.make().stdout
    benches = ("bench-main", "bench-history", "bench-waiting", "bench-parallel")
    for target in ("setup", "research", "test", "faults", "chaos", "check", "fmt", *benches, "lock"):
        assert f"make {target} " in shown
