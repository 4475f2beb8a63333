"""The example files stay true: they load as they are and name every setting."""

import re
import shutil
from pathlib import Path

import pytest

from deer.config import Settings, load_settings
from deer.config.layers import VARIABLES
from deer.models import Role

CHECKOUT = Path(__file__).parents[2]
FOR_TESTS_OR_LATER = {"DEER_REQUIRE", "DEER_TEST_ALLOW_HOSTS", "DEER_WEB_TOKEN", "MCP_SERVERS"}
"""Settings that an example would only mislead about."""


def load_example(name: str, directory: Path, **env: str) -> Settings:
    """Load one example file under its real name."""
    shutil.copy(CHECKOUT / f"{name}.example", directory / name)
    return load_settings(env, directory)


def test_dotenv_example_says_the_defaults(tmp_path: Path) -> None:
    """The .env example changes nothing: what it gives are the defaults."""
    bare = tmp_path / "bare"
    bare.mkdir()
    defaults = load_settings({}, bare).model_copy(update={"data_dir": tmp_path / ".deer"})
    assert load_example(".env", tmp_path) == defaults


def test_dotenv_example_names_every_setting() -> None:
    """Every setting stands in the .env example or, as a table, in the deer.toml example."""
    dotenv = set(re.findall(r"^([A-Z_]+)=", (CHECKOUT / ".env.example").read_text(), re.MULTILINE))
    toml = (CHECKOUT / "deer.toml.example").read_text()
    missing = {name for name in set(VARIABLES) - dotenv - FOR_TESTS_OR_LATER if f"[{name.lower()}]" not in toml}
    assert not missing


@pytest.mark.parametrize("name", ["deer.toml", "conf.yaml"])
def test_file_example_is_a_working_setup(tmp_path: Path, name: str) -> None:
    """With the keys in the environment the example files set two models and Tavily."""
    settings = load_example(name, tmp_path, OPENAI_API_KEY="k", TAVILY_API_KEY="t")
    services = settings.services()
    assert services.model == "openai"
    assert services.notices == ()
    models, thinkers = settings.models_for(Role.COORDINATOR), settings.models_for(Role.ANALYST)
    assert [model.model for model in models][:1] == ["my-model"]
    assert [model.model for model in thinkers] == ["my-reasoning-model"]
