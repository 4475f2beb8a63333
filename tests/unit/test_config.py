"""Settings: where they come from, which win, what is refused and in which words."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from deer.config import ModelSettings, SearchApi, load_settings
from deer.errors import SettingsError

KEY = "sk-canary-1234567890"


def write(directory: Path, **files: str) -> None:
    """Write settings files, named dotenv, toml and yaml."""
    names = {"dotenv": ".env", "toml": "deer.toml", "yaml": "conf.yaml"}
    for kind, text in files.items():
        (directory / names[kind]).write_text(text, encoding="utf-8")


def refusal(directory: Path, **env: str) -> str:
    """The one line with which the settings are refused."""
    with pytest.raises(SettingsError) as caught:
        load_settings(env, directory)
    message = str(caught.value)
    assert "\n" not in message
    return message


class TestPlaces:
    """Which place wins."""

    def test_nothing_set_gives_defaults(self, tmp_path: Path) -> None:
        """Without any setting there is a data directory under the given one, five steps, and an embedded server."""
        settings = load_settings({}, tmp_path)
        assert settings.data_dir == tmp_path / ".deer"
        assert settings.max_plan_steps == 5
        assert settings.model_timeout_seconds == 120
        assert settings.shutdown_grace_seconds == 130
        assert settings.temporal.embedded

    @pytest.mark.parametrize(
        ("present", "expected"),
        [("env dotenv toml yaml", 1), ("dotenv toml yaml", 2), ("toml yaml", 3), ("yaml", 4)],
    )
    def test_higher_place_wins(self, tmp_path: Path, present: str, expected: int) -> None:
        """The environment beats .env, which beats deer.toml, which beats conf.yaml."""
        texts = {"dotenv": "MAX_PLAN_STEPS=2\n", "toml": "max_plan_steps = 3\n", "yaml": "MAX_PLAN_STEPS: 4\n"}
        write(tmp_path, **{place: text for place, text in texts.items() if place in present.split()})
        env = {"MAX_PLAN_STEPS": "1"} if "env" in present.split() else {}
        assert load_settings(env, tmp_path).max_plan_steps == expected

    def test_process_environment_is_the_default(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a mapping the environment and the working directory of the process are read."""
        monkeypatch.setenv("MAX_PLAN_STEPS", "7")
        monkeypatch.chdir(tmp_path)
        settings = load_settings()
        assert settings.max_plan_steps == 7
        assert settings.data_dir == tmp_path / ".deer"

    def test_tables_merge_field_by_field(self, tmp_path: Path) -> None:
        """A key from the environment joins a table from a file, whose other fields stay."""
        write(tmp_path, yaml="BASIC_MODEL:\n  base_url: http://models.test/v1/\n  model: small\n  api_key: old\n")
        [model] = load_settings({"BASIC_MODEL__api_key": KEY}, tmp_path).basic_model
        assert model == ModelSettings(model="small", base_url="http://models.test/v1", api_key=SecretStr(KEY))

    def test_name_replaces_a_table_below(self, tmp_path: Path) -> None:
        """A model named alone in a higher place takes nothing from the table of a lower one."""
        write(tmp_path, yaml="BASIC_MODEL:\n  base_url: http://models.test/v1\n  model: small\n")
        assert load_settings({"BASIC_MODEL": "large"}, tmp_path).basic_model == (ModelSettings(model="large"),)

    def test_name_below_fills_a_table(self, tmp_path: Path) -> None:
        """A table in a higher place without a name takes the name from a lower place."""
        write(tmp_path, toml='basic_model = "small"\n')
        env = {"BASIC_MODEL__BASE_URL": "http://models.test/v1"}
        expected = ModelSettings(model="small", base_url="http://models.test/v1")
        assert load_settings(env, tmp_path).basic_model == (expected,)

    def test_table_in_one_variable(self, tmp_path: Path) -> None:
        """A table may be written as JSON in one variable, and its parts in further ones."""
        env = {"BASIC_MODEL": '{"model": "small", "token_limit": 32000}', "BASIC_MODEL__INPUT_PRICE": "0.5"}
        expected = ModelSettings(model="small", token_limit=32_000, input_price=0.5)
        assert load_settings(env, tmp_path).basic_model == (expected,)

    def test_several_models_are_a_list(self, tmp_path: Path) -> None:
        """Fallback models are names with commas, or a list of names and tables; `$NAME` works in a list too."""
        expected = (ModelSettings(model="a"), ModelSettings(model="b", api_key=SecretStr(KEY)))
        written = {"toml": f'basic_model = ["a", {{model = "b", api_key = "{KEY}"}}]\n'}
        yaml = "BASIC_MODEL:\n  - a\n  - model: b\n    api_key: $MY_KEY\n    base_url: ''\n"
        for files, env in (
            (written, {}),
            ({"yaml": yaml}, {"MY_KEY": KEY}),
            ({}, {"BASIC_MODEL": f'["a", {{"model": "b", "api_key": "{KEY}"}}]'}),
        ):
            directory = tmp_path / str(len(list(tmp_path.iterdir())))
            directory.mkdir()
            write(directory, **files)
            assert load_settings(env, directory).basic_model == expected
        assert [model.model for model in load_settings({"BASIC_MODEL": "a, b"}, tmp_path).basic_model] == ["a", "b"]

    def test_model_settings_go_into_the_request(self, tmp_path: Path) -> None:
        """Temperature and further fields of the body are settings of a model, a table also within a variable."""
        write(tmp_path, toml="[basic_model]\ntemperature = 0\nextra_body = {top_k = 20, chat = {thinking = false}}\n")
        [model] = load_settings({}, tmp_path).basic_model
        assert model.request_fields == {"temperature": 0, "top_k": 20, "chat": {"thinking": False}}
        [model] = load_settings({"BASIC_MODEL__EXTRA_BODY": '{"top_k": 5, "max_tokens": 900}'}, tmp_path).basic_model
        assert model.request_fields == {"temperature": 0, "top_k": 5, "max_tokens": 900, "chat": {"thinking": False}}
        assert model.answer_tokens == 900

    def test_deerflow_file_is_read(self, tmp_path: Path) -> None:
        """conf.yaml as DeerFlow has it works, with references to environment variables."""
        write(
            tmp_path,
            yaml="BASIC_MODEL:\n  base_url: https://a.test/api\n  model: m\n  api_key: $MY_KEY\nSEARCH_API: tavily\n",
        )
        settings = load_settings({"MY_KEY": KEY}, tmp_path)
        [model] = settings.basic_model
        assert model.api_key == SecretStr(KEY)
        assert settings.search_api == (SearchApi.TAVILY,)

    def test_empty_means_not_set(self, tmp_path: Path) -> None:
        """Empty values, as compose passes for variables that are not set, count as not set in every place."""
        write(tmp_path, dotenv="OPENAI_API_KEY=\n", toml='search_api = ""\n', yaml="BASIC_MODEL:\n  api_key: ''\n")
        settings = load_settings({"OPENAI_API_KEY": "", "MCP_SERVERS": "", "DEER_STORE": ""}, tmp_path)
        assert settings.openai_api_key is None
        assert settings.services().model == "extractive"

    def test_relative_paths_start_at_the_directory(self, tmp_path: Path) -> None:
        """Relative directories are taken from where the files are."""
        settings = load_settings({"DEER_DATA_DIR": "data", "DEER_STORE": "texts"}, tmp_path)
        assert settings.data_dir == tmp_path / "data"
        assert settings.store_location(embedded=False) == str(tmp_path / "texts")

    def test_settings_cannot_be_changed(self, tmp_path: Path) -> None:
        """Settings are read once: assigning to one fails."""
        settings = load_settings({}, tmp_path)
        with pytest.raises(ValidationError):
            settings.max_plan_steps = 6  # type: ignore[misc]  # what the test is about


class TestRefusals:
    """What stops the program, and what it says."""

    @pytest.mark.parametrize(
        ("variable", "value", "allowed"),
        [
            ("MAX_PLAN_STEPS", "0", "a whole number from 1 to 30"),
            ("MAX_PLAN_STEPS", "31", "a whole number from 1 to 30"),
            ("MAX_PLAN_STEPS", "many", "a whole number from 1 to 30"),
            ("SEARCH_API", "bing", "tavily, brave, serper, searxng, duckduckgo, wikipedia, arxiv, documents"),
            ("DEER_ENV", "prod", "development, production"),
            ("DEER_REQUIRE", "firefox", "chromium, temporal"),
            ("DEER_STORE", "gs://bucket/x", "a directory that workers and starter share, or s3://bucket/prefix"),
            ("DEER_MODEL_TIMEOUT_SECONDS", "1", "from 5 to 540"),
            ("DEER_MODEL_TIMEOUT_SECONDS", "541", "from 5 to 540"),
            ("OPENAI_BASE_URL", "models.test/v1", "an http or https address"),
            ("TEMPORAL_ADDRESS", "http://temporal.test", "host:port"),
            ("BASIC_MODEL__INPUT_PRICE", "-1", "USD per million tokens"),
            ("BASIC_MODEL__TEMPERATURE", "3", "a number from 0 to 2"),
            ("BASIC_MODEL__EXTRA_BODY", "x", "a table of fields for the body of requests"),
            ("BASIC_MODEL__MODEL", "a,b", "the name of one model"),
        ],
    )
    def test_wrong_value_is_named(self, tmp_path: Path, variable: str, value: str, allowed: str) -> None:
        """A wrong value is refused with its variable, the value, the place and what is allowed."""
        message = refusal(tmp_path, **{variable: value})
        name, _, part = variable.partition("__")
        assert message.startswith(f"{name}{'.' + part.lower() if part else ''}={value} in the environment")
        assert allowed in message

    def test_place_of_a_mistake_is_named(self, tmp_path: Path) -> None:
        """A mistake in a file is reported with that file, also inside a table that several places fill."""
        write(tmp_path, toml='[basic_model]\ninput_price = "cheap"\n', yaml="BASIC_MODEL:\n  model: small\n")
        assert "BASIC_MODEL.input_price=cheap in deer.toml" in refusal(tmp_path, BASIC_MODEL__API_KEY=KEY)

    def test_all_mistakes_are_told_at_once(self, tmp_path: Path) -> None:
        """Several mistakes come in one line, each once."""
        message = refusal(tmp_path, MAX_PLAN_STEPS="0", DEER_ENV="x", DEER_STOER="y")
        assert message.count("; ") >= 2
        assert all(name in message for name in ("MAX_PLAN_STEPS=0", "DEER_ENV=x", "did you mean DEER_STORE?"))

    @pytest.mark.parametrize("kind", ["dotenv", "toml", "yaml"])
    def test_unknown_key_in_a_file(self, tmp_path: Path, kind: str) -> None:
        """An unknown key in any file is refused with the likely one, and its value is not shown."""
        texts = {
            "dotenv": f"OPENAI_API_KEI={KEY}\n",
            "toml": f'openai_api_kei = "{KEY}"\n',
            "yaml": f"OPENAI_API_KEI: {KEY}\n",
        }
        write(tmp_path, **{kind: texts[kind]})
        message = refusal(tmp_path)
        assert "is not a setting; did you mean OPENAI_API_KEY?" in message
        assert KEY not in message

    def test_unknown_field_of_a_table(self, tmp_path: Path) -> None:
        """An unknown field of a model's table is refused with the fields there are."""
        write(tmp_path, yaml="BASIC_MODEL:\n  model: small\n  max_retries: 3\n")
        message = refusal(tmp_path)
        assert "BASIC_MODEL.max_retries in conf.yaml is not a setting; allowed: model, base_url, api_key" in message

    def test_a_mistake_in_a_list_of_models_is_numbered(self, tmp_path: Path) -> None:
        """Of several models it is said which one has the mistake; an unknown field is named there too."""
        write(tmp_path, toml='basic_model = ["a", {model = "b", token_limit = 1, top_k = 2}]\n')
        message = refusal(tmp_path)
        assert "BASIC_MODEL[2].token_limit=1 in deer.toml is not allowed" in message
        assert "BASIC_MODEL[2].top_k in deer.toml is not a setting; allowed: model" in message

    def test_a_field_does_not_join_a_list(self, tmp_path: Path) -> None:
        """A field cannot be laid over a list of models, in one place or over another: that is said, not ignored."""
        env = {"BASIC_MODEL": '["a", "b"]', "BASIC_MODEL__TOKEN_LIMIT": "32000"}
        assert "BASIC_MODEL__TOKEN_LIMIT in the environment" in refusal(tmp_path, **env)
        write(tmp_path, toml='basic_model = ["a", "b"]\n')
        message = refusal(tmp_path, BASIC_MODEL__TOKEN_LIMIT="32000")
        assert "BASIC_MODEL is a list in deer.toml, to which the environment cannot add a field" in message

    def test_the_body_of_requests_stays_the_programs(self, tmp_path: Path) -> None:
        """Extra fields cannot replace what the program writes, such as the messages."""
        message = refusal(tmp_path, BASIC_MODEL='{"extra_body": {"messages": []}}')
        assert "BASIC_MODEL.extra_body in the environment is not allowed" in message
        assert "none of: messages, model" in message

    def test_unknown_role(self, tmp_path: Path) -> None:
        """A model for a role that there is not is refused with the roles there are."""
        message = refusal(tmp_path, ROLE_MODELS='{"critic": "basic"}')
        assert "ROLE_MODELS.critic" in message
        assert "coordinator, planner, researcher" in message

    def test_foreign_variables_are_left_alone(self, tmp_path: Path) -> None:
        """Variables of other programs, and those that make and compose use, are no mistakes."""
        write(tmp_path, dotenv="POSTGRES_PASSWORD=x\nCOMPOSE_PROFILES=dev\nTEMPORAL_TLS=true\n")
        load_settings({"HOME": "/x", "DEERSTALKER": "1", "DEER_QUESTION": "why", "TEMPORAL_CLI_X": "1"}, tmp_path)

    def test_test_hosts_are_refused_in_production(self, tmp_path: Path) -> None:
        """The hosts that tests may reach inside the network cannot be set in production."""
        allowed = load_settings({"DEER_TEST_ALLOW_HOSTS": "127.0.0.1, localhost"}, tmp_path)
        assert allowed.test_allow_hosts == {"127.0.0.1", "localhost"}
        message = refusal(tmp_path, DEER_TEST_ALLOW_HOSTS="127.0.0.1", DEER_ENV="production")
        assert "DEER_TEST_ALLOW_HOSTS" in message

    def test_ports_of_pages(self, tmp_path: Path) -> None:
        """Ports are numbers; what is none is refused with what is allowed."""
        assert load_settings({"DEER_PAGE_PORTS": "8080, 8443"}, tmp_path).page_ports == {8080, 8443}
        assert "port numbers from 1 to 65535" in refusal(tmp_path, DEER_PAGE_PORTS="8080, http")
        assert "port numbers from 1 to 65535" in refusal(tmp_path, DEER_PAGE_PORTS="0")

    def test_mcp_servers_are_not_supported(self, tmp_path: Path) -> None:
        """MCP servers are refused rather than ignored; an empty list of them is none."""
        assert "not supported by this version" in refusal(tmp_path, MCP_SERVERS='{"files": {"command": "x"}}')
        assert load_settings({"MCP_SERVERS": "{}"}, tmp_path).mcp_servers is None

    @pytest.mark.parametrize(
        ("kind", "text", "expected"),
        [
            ("toml", "max_plan_steps =", "deer.toml is not valid TOML"),
            ("yaml", f"BASIC_MODEL:\n  api_key: '{KEY}\n", "conf.yaml is not valid YAML at line"),
            ("yaml", "- a list", "conf.yaml must be a table of settings"),
            ("toml", "max_plan_steps = true\n", "MAX_PLAN_STEPS=True in deer.toml"),
            ("toml", "max_plan_steps = 3\nMAX_PLAN_STEPS = 4\n", "MAX_PLAN_STEPS stands twice in deer.toml"),
            ("yaml", "OPENAI_API_KEY: $NOT_SET\n", "OPENAI_API_KEY in conf.yaml refers to NOT_SET, which is not set"),
            ("dotenv", 'BASIC_MODEL={"model": \n', "BASIC_MODEL in .env is not valid JSON"),
            ("dotenv", f"OPENAI_API_KEY: {KEY}\n", "OPENAI_API_KEY in .env lacks its = sign"),
            ("dotenv", f"MAX_PLAN_STEPS=3\nOPENAI_API_KEY {KEY}\n", "OPENAI_API_KEY in .env lacks its = sign"),
        ],
    )
    def test_malformed_file(self, tmp_path: Path, kind: str, text: str, expected: str) -> None:
        """A file that cannot be read as what it should be is named with what is wrong, not quoted."""
        write(tmp_path, **{kind: text})
        message = refusal(tmp_path)
        assert expected in message
        assert KEY not in message

    @pytest.mark.parametrize("name", [".env", "deer.toml", "conf.yaml"])
    def test_file_that_is_no_text(self, tmp_path: Path, name: str) -> None:
        """A file in another encoding is named."""
        (tmp_path / name).write_bytes(b"MAX_PLAN_STEPS=\xff\n")
        assert f"{name} is not UTF-8 text" in refusal(tmp_path)

    @pytest.mark.parametrize(
        "env",
        [
            {"OPENAI_BASE_URL": KEY},
            {"OPENAI_BASE_URL": f"https://user:{KEY}@models.test"},
            {"BASIC_MODEL": f'{{"api_key": "{KEY}", "model": 3}}'},
            {"BASIC_MODEL": f'{{"api_key": "{KEY}"'},
            {"BASIC_MODEL__api_key": f'{{"key": "{KEY}"}}', "BASIC_MODEL__token_limit": "1"},
            {"DEER_TOKEN": KEY},
            {"ROLE_MODELS": f'{{"planner": {{"api_key": "{KEY}", "x": 1}}}}'},
            {"MCP_SERVERS": f'{{"a": {{"env": {{"TOKEN": "{KEY}"}}}}}}'},
        ],
    )
    def test_no_key_in_a_refusal(self, tmp_path: Path, env: dict[str, str]) -> None:
        """A key never shows in a refusal, wherever it was put by mistake."""
        assert KEY not in refusal(tmp_path, **env)

    def test_no_key_in_a_picture_of_the_settings(self, tmp_path: Path) -> None:
        """Printed settings hide every key, also those of Temporal and of tables."""
        env = {
            "OPENAI_API_KEY": KEY,
            "TAVILY_API_KEY": KEY,
            "TEMPORAL_API_KEY": KEY,
            "TEMPORAL_CODEC_AUTH": KEY,
            "DEER_WEB_TOKEN": KEY,
            "ROLE_MODELS": f'{{"planner": {{"api_key": "{KEY}"}}}}',
        }
        settings = load_settings(env, tmp_path)
        assert KEY not in repr(settings) + str(settings) + settings.model_dump_json()

    @given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40))
    def test_any_text_is_taken_or_refused_in_one_line(
        self, text: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Whatever a number, a list or a table is set to, the answer is settings or a one-line refusal."""
        said = ""
        for variable in ("MAX_PLAN_STEPS", "SEARCH_API", "BASIC_MODEL", "ROLE_MODELS", "OPENAI_BASE_URL"):
            try:
                load_settings({variable: text}, tmp_path_factory.getbasetemp())
            except SettingsError as error:
                said += str(error)
        assert len(said.splitlines()) <= 1
