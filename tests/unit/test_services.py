"""What follows from settings: who answers, with which model, and where Temporal and the texts are."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from deer.config import ModelSettings, ModelTier, SearchApi, Settings, load_settings
from deer.errors import SettingsError
from deer.models import Role

KEY = "sk-canary-1234567890"


class TestServices:
    """Who answers, decided by what is set."""

    def test_nothing_set_serves_the_example_corpus(self) -> None:
        """Without model and search the example corpus is searched without a model, and both are said."""
        services = Settings().services()
        assert (services.model, services.search, services.example_corpus) == (
            "extractive",
            (SearchApi.DOCUMENTS,),
            True,
        )
        assert "No language model" in services.notices[0]

    def test_documents_alone_are_searched_without_a_model(self) -> None:
        """Documents of the run replace the example corpus; that no model is used is said."""
        services = Settings().services(documents=True)
        assert (services.model, services.example_corpus) == ("extractive", False)
        assert len(services.notices) == 1

    def test_tavily_key_alone_means_tavily(self) -> None:
        """A Tavily key without SEARCH_API searches with Tavily, here without a model."""
        services = Settings(tavily_api_key=SecretStr("t")).services()
        assert (services.model, services.search) == ("extractive", (SearchApi.TAVILY,))

    def test_search_api_beats_the_key(self) -> None:
        """An explicit choice of engines is not widened by a key that happens to be set."""
        settings = Settings(tavily_api_key=SecretStr("t"), search_api=(SearchApi.DOCUMENTS,))
        assert settings.services().search == (SearchApi.DOCUMENTS,)

    def test_documents_join_the_engines(self) -> None:
        """Documents of a run come behind the engines that are set."""
        settings = Settings(tavily_api_key=SecretStr("t"), openai_base_url="http://models.test")
        assert settings.services(documents=True).search == (SearchApi.TAVILY, SearchApi.DOCUMENTS)

    @pytest.mark.parametrize(
        "settings",
        [
            Settings(openai_api_key=SecretStr("k")),
            Settings(openai_base_url="http://models.test"),
            Settings(basic_model=(ModelSettings(model="m", base_url="http://models.test"),)),
        ],
    )
    def test_each_way_to_set_a_model(self, settings: Settings) -> None:
        """A key, an address or a model with an address sets a model, which then needs something to search."""
        assert settings.services(documents=True).model == "openai"
        with pytest.raises(SettingsError, match=r"TAVILY_API_KEY.*SEARCH_API=duckduckgo.*--documents"):
            settings.services()

    def test_model_name_without_endpoint_is_refused(self) -> None:
        """A model's name alone does not say where to call it."""
        with pytest.raises(SettingsError, match=r"BASIC_MODEL=small.*OPENAI_BASE_URL"):
            Settings(basic_model=(ModelSettings(model="small"),)).services(documents=True)

    def test_tavily_without_key_is_refused(self) -> None:
        """Choosing Tavily without its key names the key; an address of its own may do without."""
        with pytest.raises(SettingsError, match="TAVILY_API_KEY"):
            Settings(search_api=(SearchApi.TAVILY,)).services()
        own = Settings(search_api=(SearchApi.TAVILY,), tavily_base_url="http://search.test")
        assert own.services().search == (SearchApi.TAVILY,)

    @pytest.mark.parametrize(
        ("engine", "variable"),
        [("brave", "BRAVE_SEARCH_API_KEY"), ("serper", "SERPER_API_KEY"), ("searxng", "SEARX_HOST")],
    )
    def test_an_engine_names_what_it_lacks(self, tmp_path: Path, engine: str, variable: str) -> None:
        """An engine that needs a key or an address is refused without it, by name; setting that alone chooses it."""
        with pytest.raises(SettingsError, match=f"SEARCH_API names {engine}, which needs .* set {variable}"):
            load_settings({"SEARCH_API": engine}, tmp_path).services()
        assert load_settings({variable: "http://x.test"}, tmp_path).services().search == (engine,)

    def test_engines_keep_their_order(self, tmp_path: Path) -> None:
        """Several engines answer in the order that they are named in, each once; DeerFlow's names are understood."""
        env = {"SEARCH_API": "wikipedia, brave_search,searx, arxiv,wikipedia,duckduckgo", "SEARX_HOST": "http://s.test"}
        settings = load_settings({**env, "BRAVE_SEARCH_API_KEY": KEY}, tmp_path)
        assert settings.services().search == ("wikipedia", "brave", "searxng", "arxiv", "duckduckgo")
        assert settings.search_access(SearchApi.BRAVE) == (KEY, None)
        assert settings.search_access(SearchApi.SEARXNG) == (None, "http://s.test")
        assert settings.search_access(SearchApi.ARXIV) == (None, None)

    def test_several_keys_are_several_engines(self, tmp_path: Path) -> None:
        """Without SEARCH_API every engine serves that something was set for."""
        env = {"SERPER_API_KEY": KEY, "TAVILY_API_KEY": KEY}
        assert load_settings(env, tmp_path).services().search == ("tavily", "serper")

    @pytest.mark.parametrize("engine", ["tavily", "brave_search", "serper"])
    def test_an_address_alone_is_an_engine(self, tmp_path: Path, engine: str) -> None:
        """A service of one's own in an engine's place serves by its address, without a key and without SEARCH_API."""
        services = load_settings({f"{engine.upper()}_BASE_URL": "http://search.test"}, tmp_path).services()
        assert services.search == (engine.removesuffix("_search"),)

    def test_deerflows_table_of_the_search_engine(self, tmp_path: Path) -> None:
        """conf.yaml may name the engine and what holds for every search as DeerFlow does; SEARCH_API wins."""
        (tmp_path / "conf.yaml").write_text(
            "SEARCH_ENGINE:\n  engine: tavily\n  include_domains:\n    - a.org\n  min_score_threshold: 0.4\n"
        )
        settings = load_settings({"TAVILY_API_KEY": KEY, "SEARCH_ENGINE__TIME_RANGE": "month"}, tmp_path)
        assert settings.services().search == ("tavily",)
        options = settings.search_engine
        assert (options.include_domains, options.min_score_threshold, options.time_range) == (("a.org",), 0.4, "month")
        assert load_settings({"SEARCH_API": "arxiv"}, tmp_path).services().search == ("arxiv",)

    def test_what_deerflow_asks_besides_pages_is_ignored(self, tmp_path: Path) -> None:
        """Fields for answers and pictures of Tavily's stop nothing and leave the others as they are."""
        (tmp_path / "conf.yaml").write_text(
            "SEARCH_ENGINE:\n  engine: tavily\n  include_answer: false\n  include_images: true\n"
            "  include_image_descriptions: true\n  include_raw_content: true\n"
        )
        settings = load_settings({"TAVILY_API_KEY": KEY}, tmp_path)
        assert settings.search_engine.include_raw_content
        assert settings.services().search == ("tavily",)

    @pytest.mark.parametrize(
        ("field", "value", "allowed"),
        [
            ("MIN_SCORE_THRESHOLD", "2", "a number from 0 to 1"),
            ("TIME_RANGE", "decade", "day, week, month or year"),
            ("INCLUDE_PICTURES", "true", "allowed: engine, include_domains, exclude_domains, search_depth"),
        ],
    )
    def test_a_wrong_field_of_that_table_is_named(self, tmp_path: Path, field: str, value: str, allowed: str) -> None:
        """A value that is not allowed and a field that there is not stop the program with what is allowed."""
        with pytest.raises(SettingsError, match=f"SEARCH_ENGINE.{field.lower()}.*{allowed}"):
            load_settings({f"SEARCH_ENGINE__{field}": value}, tmp_path)


class TestModels:
    """Which model a role uses, completed from the shared settings."""

    def test_shared_endpoint_completes_a_name(self) -> None:
        """A model given by name is called at the shared address with the shared key."""
        settings = Settings(
            openai_api_key=SecretStr(KEY), openai_base_url="http://a.test", basic_model=(ModelSettings(model="small"),)
        )
        expected = ModelSettings(model="small", base_url="http://a.test", api_key=SecretStr(KEY))
        assert settings.models_for(Role.PLANNER) == (expected,)

    def test_key_goes_only_to_its_address(self) -> None:
        """A model with an address of its own and no key is called without one, and a notice says so."""
        settings = Settings(
            openai_api_key=SecretStr(KEY), basic_model=(ModelSettings(model="small", base_url="http://elsewhere.test"),)
        )
        [model] = settings.models_for(Role.PLANNER)
        assert model.api_key is None
        assert "BASIC_MODEL has an address of its own" in settings.services(documents=True).notices[0]

    def test_basic_table_serves_other_names(self) -> None:
        """Where only BASIC_MODEL says where to call, a reasoning model given by name is called there too."""
        basic = ModelSettings(model="small", base_url="http://a.test", api_key=SecretStr(KEY))
        settings = Settings(basic_model=(basic,), reasoning_model=(ModelSettings(model="large"),))
        expected = ModelSettings(model="large", base_url="http://a.test", api_key=SecretStr(KEY))
        assert settings.models_for(Role.REPORTER) == (expected,)

    def test_reasoning_model_serves_its_roles(self) -> None:
        """Analyst, reporter and researcher use the reasoning model, planner and judge only for deep thinking."""
        settings = Settings(
            openai_api_key=SecretStr(KEY),
            basic_model=(ModelSettings(model="small"),),
            reasoning_model=(ModelSettings(model="large"),),
        )

        def roles_of(name: str, deep_thinking: bool) -> set[Role]:
            chosen = {role: settings.models_for(role, deep_thinking=deep_thinking) for role in Role}
            return {role for role, [model] in chosen.items() if model.model == name}

        assert roles_of("large", deep_thinking=False) == {Role.ANALYST, Role.REPORTER, Role.RESEARCHER}
        assert roles_of("small", deep_thinking=True) == {Role.COORDINATOR, Role.CODER}

    def test_reasoning_model_without_tools_leaves_the_researcher(self) -> None:
        """A reasoning model that takes no tools does not serve the researcher."""
        settings = Settings(
            openai_api_key=SecretStr(KEY),
            basic_model=(ModelSettings(model="small"),),
            reasoning_model=(ModelSettings(model="large", takes_tools=False),),
        )
        [model] = settings.models_for(Role.RESEARCHER)
        assert model.model == "small"

    def test_role_models_decide_first(self, tmp_path: Path) -> None:
        """A role takes the tier, the name or the table that is set for it."""
        env = {
            "OPENAI_API_KEY": KEY,
            "BASIC_MODEL": "small",
            "REASONING_MODEL": "large",
            "ROLE_MODELS": '{"planner": "reasoning", "reporter": "basic", "coder": {"model": "code"}, "judge": "o"}',
        }
        settings = load_settings(env, tmp_path)
        assert settings.role_models[Role.PLANNER] == (ModelTier.REASONING,)
        names = {role: model.model for role in Role for model in settings.models_for(role)}
        assert names[Role.PLANNER] == "large"
        assert names[Role.REPORTER] == "small"
        assert names[Role.CODER] == "code"
        assert names[Role.JUDGE] == "o"

    def test_models_stand_in_for_each_other(self, tmp_path: Path) -> None:
        """Several models, by name or table, serve in their order; a tier brings all of its own, each model once."""
        env = {
            "OPENAI_API_KEY": KEY,
            "BASIC_MODEL": "small, spare",
            "REASONING_MODEL": '["large", {"model": "far", "base_url": "http://far.test", "api_key": "k"}]',
            "ROLE_MODELS": '{"planner": ["reasoning", "basic", "small"], "judge": "spare, other"}',
        }
        settings = load_settings(env, tmp_path)

        def names_of(role: Role) -> list[str | None]:
            return [model.model for model in settings.models_for(role)]

        assert names_of(Role.COORDINATOR) == ["small", "spare"]
        assert names_of(Role.REPORTER) == ["large", "far"]
        assert names_of(Role.PLANNER) == ["large", "far", "small", "spare"]
        assert names_of(Role.JUDGE) == ["spare", "other"]
        keys = [model.api_key for model in settings.models_for(Role.REPORTER)]
        assert keys == [SecretStr(KEY), SecretStr("k")]

    def test_no_model_set(self) -> None:
        """Without a model no role has one."""
        assert all(Settings().models_for(role) == () for role in Role)


class TestTemporal:
    """Where Temporal is."""

    @pytest.mark.parametrize("variable", ["TEMPORAL_ADDRESS", "TEMPORAL_PROFILE"])
    def test_address_or_profile_leaves_embedded_mode(self, tmp_path: Path, variable: str) -> None:
        """An address or a profile names another server, from any place; then a store must be set."""
        (tmp_path / ".env").write_text(f"{variable}=temporal.test:7233\n")
        settings = load_settings({}, tmp_path)
        assert not settings.temporal.embedded
        assert settings.temporal.override_env_vars() == {variable: "temporal.test:7233"}
        with pytest.raises(SettingsError, match="DEER_STORE is not set"):
            settings.store_location(embedded=False)

    def test_other_variables_stay_embedded(self, tmp_path: Path) -> None:
        """A profile file or a namespace alone does not redirect; texts are then kept in the data directory."""
        settings = load_settings({"TEMPORAL_CONFIG_FILE": "/x.toml", "TEMPORAL_NAMESPACE": "n"}, tmp_path)
        assert settings.temporal.embedded
        assert settings.temporal.namespace == "n"
        assert settings.store_location(embedded=True) == str(tmp_path / ".deer" / "store")

    def test_booleans_reach_temporal_as_words(self, tmp_path: Path) -> None:
        """A TOML boolean becomes the word that Temporal's own reader understands."""
        (tmp_path / "deer.toml").write_text("temporal_tls = true\n")
        assert load_settings({}, tmp_path).temporal.override_env_vars() == {"TEMPORAL_TLS": "true"}
