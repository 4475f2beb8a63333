"""The deployment files, checked without a container engine: schema, promises, and one script against a real server."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deer.config import load_settings

CHECKOUT = Path(__file__).parents[2]
TEXT = (CHECKOUT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)  # Any: YAML as it is written
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
VARIABLE = re.compile(r"(?<!\$)\$\{(?P<name>[A-Z_]+)(?P<rule>:[-?])?(?P<word>[^}]*)\}")


def seconds(duration: str) -> int:
    """A compose duration that is written in seconds."""
    return int(duration.removesuffix("s"))


def script_of(service: str) -> str:
    """The shell script of a one-shot service, as the container's shell gets it."""
    (script,) = SERVICES[service]["command"]
    assert isinstance(script, str)
    return script.replace("$$", "$")


def test_file_follows_the_compose_specification() -> None:
    """The file passes the published schema of the compose specification."""
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    checked = subprocess.run(
        [*checker, CHECKOUT / "docker-compose.yml"], capture_output=True, text=True, timeout=60, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_names_inside_the_file_resolve() -> None:
    """Services wait only for services that there are, in a state these can reach, and use declared volumes."""
    for name, service in SERVICES.items():
        for other, wait in service.get("depends_on", {}).items():
            one_shot = SERVICES[other].get("restart", "").startswith("on-failure")
            expected = "service_completed_successfully" if one_shot else "service_healthy"
            assert wait["condition"] == expected, (name, other)
            assert one_shot or "healthcheck" in SERVICES[other]
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in COMPOSE["volumes"]


def test_ports_are_bound_to_this_host() -> None:
    """No port is published beyond the host itself."""
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_images_are_pinned() -> None:
    """Every image has a version."""
    for service in SERVICES.values():
        assert re.fullmatch(r"[a-z/-]+:\d[\w.]*", service["image"])


def test_missing_secrets_stop_compose() -> None:
    """Passwords and keys have no default: without them compose stops with a message that names the variable."""
    variables = {found["name"]: found for found in VARIABLE.finditer(TEXT)}
    for name in ("POSTGRES_PASSWORD", "OPENAI_API_KEY", "TAVILY_API_KEY"):
        assert variables[name]["rule"] == ":?"
        assert name in variables[name]["word"]
    assert all(found["rule"] is not None for found in variables.values())


def test_every_variable_is_in_the_dotenv_example() -> None:
    """Whatever the file asks for can be filled in in .env.example."""
    documented = set(re.findall(r"^([A-Z_]+)=", (CHECKOUT / ".env.example").read_text(), re.MULTILINE))
    assert {found["name"] for found in VARIABLE.finditer(TEXT)} <= documented


@pytest.mark.parametrize("name", ["worker", "starter"])
def test_environment_of_our_services_is_accepted(name: str, tmp_path: Path) -> None:
    """What the file passes to worker and starter are settings that the program takes, with an outside server."""
    filled = {
        variable: VARIABLE.sub(lambda found: found["word"] if found["rule"] == ":-" else "filled-in", str(value))
        for variable, value in SERVICES[name]["environment"].items()
    }
    settings = load_settings(filled, tmp_path)
    assert not settings.temporal.embedded
    assert settings.store_location(embedded=False) == "/data/store"
    assert "texts:/data" in SERVICES[name]["volumes"]


@pytest.mark.parametrize("name", ["worker", "starter"])
def test_a_bucket_can_be_the_store_of_our_services(name: str, tmp_path: Path) -> None:
    """With `DEER_STORE` and a key in .env, worker and starter have the same bucket and the right to it."""
    given = {"DEER_STORE": "s3://texts/deer", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}
    filled = {
        variable: VARIABLE.sub(lambda found: given.get(found["name"]) or "", str(value))
        for variable, value in SERVICES[name]["environment"].items()
        if variable.startswith(("DEER_STORE", "AWS_", "TEMPORAL_ADDRESS"))
    }
    settings = load_settings(filled, tmp_path)
    assert settings.store_location(embedded=False) == "s3://texts/deer"
    assert set(settings.aws) == {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}


def test_only_the_worker_holds_provider_keys() -> None:
    """No service but the worker gets the keys of model and search."""
    for name, service in SERVICES.items():
        held = {variable for variable in service.get("environment", {}) if variable.endswith("_API_KEY")}
        assert bool(held) == (name == "worker")


def test_worker_may_finish_its_calls() -> None:
    """Compose waits longer before it kills the worker than the worker waits for calls in flight."""
    worker = SERVICES["worker"]
    assert seconds(worker["stop_grace_period"]) > int(worker["environment"]["DEER_SHUTDOWN_GRACE_SECONDS"])


def test_scripts_are_valid_shell() -> None:
    """The scripts of the one-shot services parse as POSIX shell."""
    for service in ("schema", "namespace"):
        subprocess.run(["sh", "-n"], input=script_of(service), text=True, timeout=10, check=True)


@pytest.fixture(scope="module")
def server_address() -> Iterator[str]:
    """The address of a Temporal server that knows neither namespace nor search attribute."""
    program = shutil.which("temporal", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        if "temporal" in os.environ.get("DEER_REQUIRE", ""):
            pytest.fail("the temporal program is missing; `make setup` installs it")
        pytest.skip("no temporal program for this platform")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [program, "server", "start-dev", "--headless", "--port", str(port), "--log-level", "never"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=10)


@pytest.mark.parametrize("time", ["first", "second"])
def test_namespace_script_prepares_a_server(server_address: str, time: str) -> None:
    """On a real server the script creates namespace and search attribute, and running it again changes nothing."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TEMPORAL_ADDRESS": server_address,
        "TEMPORAL_NAMESPACE": "compose-test",
    }
    done = subprocess.run(
        ["/bin/sh", "-euc", script_of("namespace")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
    )
    assert done.returncode == 0, (time, done.stdout, done.stderr)
    listed = subprocess.run(
        ["temporal", "operator", "search-attribute", "list"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    assert "ResearchPhase" in listed.stdout


class TestImage:
    """What the Dockerfile promises."""

    LINES = (CHECKOUT / "Dockerfile").read_text().splitlines()

    def test_packages_come_from_the_lock(self) -> None:
        """Packages are those of core and S3 store, installed from their lock under its hashes, from nowhere else."""
        installs = [line for line in self.LINES if "pip install" in line]
        assert len(installs) == 1
        assert "--require-hashes -r /tmp/s3.lock" in installs[0]
        assert "COPY requirements/s3.lock /tmp/" in self.LINES
        locked = (CHECKOUT / "requirements/s3.lock").read_text()
        core = re.findall(r"^[a-z0-9._-]+==\S+", (CHECKOUT / "requirements.lock").read_text(), re.MULTILINE)
        assert core
        assert not [pin for pin in (*core, "obstore==") if pin not in locked]

    def test_program_runs_without_root(self) -> None:
        """The last user is not root, and the program gets signals itself."""
        assert [line for line in self.LINES if line.startswith("USER")][-1] == "USER deer"
        assert self.LINES[-1] == 'CMD ["python", "worker.py"]'

    def test_keys_and_runs_stay_out(self) -> None:
        """Only what is named gets into the image: everything is ignored first, and no settings file is let in."""
        kept = (CHECKOUT / ".dockerignore").read_text().splitlines()
        assert "*" in kept
        assert not {"!.env", "!deer.toml", "!conf.yaml", "!.deer"} & set(kept)
        copied = [line.split()[1:-1] for line in self.LINES if line.startswith("COPY") and "--from" not in line]
        assert {f"!{name}" for names in copied for name in names} <= set(kept)
