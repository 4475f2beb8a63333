"""The settings of the program, typed and frozen, and what follows from them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from deer.config.endpoints import (
    ADDRESS_RULE,
    HttpAddress,
    ModelSettings,
    ModelTier,
    PageApi,
    Price,
    RoleModels,
    TemporalSettings,
    WrittenModels,
    separated,
)
from deer.config.searches import ENGINES_RULE, WANTED_BY_ENGINE, Engines, SearchApi, SearchOptions
from deer.errors import SettingsError
from deer.models import Role, WholeNumber

NO_MODEL_NOTICE = "No language model is set: answers are sentences picked from the sources, word for word."
_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^?#@]*)?")
MODELS_RULE = "the name of a model, a table, or several of them in order of fallback"
EXAMPLE_CORPUS_NOTICE = "No search is set either: only the example articles that come with the program are searched."


def _above_zero(most: int) -> str:
    return f"a number above 0, {most} at most"


def _names(kind: type[StrEnum]) -> str:
    return ", ".join(kind)


class Deployment(StrEnum):
    """What the program is run for; some settings are for tests only."""

    DEVELOPMENT = "development"
    PRODUCTION = "production"


@dataclass(frozen=True)
class Services:
    """Who answers for a run: the model, the engines in order of fallback, and what a person should know about it.

    `example_corpus`: whether `documents` searches the articles that come with the program.
    """

    model: Literal["openai", "extractive"]
    search: tuple[SearchApi, ...]
    example_corpus: bool
    notices: tuple[str, ...]


class Settings(BaseSettings):
    """Every setting, as `load_settings` read it. Made by hand it takes nothing from the environment.

    Models are kept as written; `models_for` gives the complete ones that a role uses.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    openai_api_key: Annotated[SecretStr | None, Field(description="a key, as text")] = None
    openai_base_url: Annotated[HttpAddress | None, Field(description=ADDRESS_RULE)] = None
    basic_model: Annotated[WrittenModels, Field(description=MODELS_RULE)] = ()
    reasoning_model: Annotated[WrittenModels, Field(description=MODELS_RULE)] = ()
    role_models: Annotated[
        RoleModels,
        Field(
            description="a table from role to basic, reasoning, a model's name or a table, or several of them in order "
            f"of fallback; roles: {_names(Role)}"
        ),
    ] = Field(default_factory=dict)

    search_api: Annotated[Engines, Field(description=ENGINES_RULE)] = ()
    search_engine: Annotated[SearchOptions, Field(description="a table of what holds for every search")] = Field(
        default_factory=SearchOptions
    )
    tavily_api_key: Annotated[SecretStr | None, Field(description="a key, as text")] = None
    tavily_base_url: Annotated[HttpAddress | None, Field(description=ADDRESS_RULE)] = None
    brave_search_api_key: Annotated[SecretStr | None, Field(description="a key, as text")] = None
    brave_search_base_url: Annotated[HttpAddress | None, Field(description=ADDRESS_RULE)] = None
    serper_api_key: Annotated[SecretStr | None, Field(description="a key, as text")] = None
    serper_base_url: Annotated[HttpAddress | None, Field(description=ADDRESS_RULE)] = None
    searx_host: Annotated[HttpAddress | None, Field(description=ADDRESS_RULE)] = None
    page_reader: Annotated[
        tuple[PageApi, ...],
        BeforeValidator(separated),
        Field(min_length=1, description=f"one or several, in order of fallback, of: {_names(PageApi)}"),
    ] = (PageApi.DIRECT,)
    jina_api_key: Annotated[SecretStr | None, Field(description="a key, as text")] = None
    jina_base_url: Annotated[HttpAddress | None, Field(description=ADDRESS_RULE)] = None
    page_max_mb: Annotated[WholeNumber, Field(ge=1, le=50, description="a whole number of MB from 1 to 50")] = 10
    """How large a PDF or Word document may be."""
    page_ports: Annotated[
        frozenset[Annotated[WholeNumber, Field(ge=1, le=65_535)]],
        BeforeValidator(separated),
        Field(description="port numbers from 1 to 65535, separated by commas"),
    ] = frozenset()
    """Ports that pages may be read on, besides 80 and 443."""
    mcp_servers: Annotated[
        None,
        Field(description="empty: MCP servers are not supported by this version"),
        BeforeValidator(lambda v: v or None),
    ] = None

    max_plan_steps: Annotated[WholeNumber, Field(ge=1, le=30, description="a whole number from 1 to 30")] = 5
    budget_tokens: Annotated[
        WholeNumber | None, Field(ge=1, le=10_000_000_000, description="a whole number from 1 to 10000000000")
    ] = None
    budget_usd: Annotated[Price | None, Field(gt=0, le=1_000_000, description=_above_zero(1_000_000))] = None
    budget_minutes: Annotated[Price | None, Field(gt=0, le=525_600, description=_above_zero(525_600))] = None
    budget_searches: Annotated[
        WholeNumber | None, Field(ge=0, le=1_000_000, description="a whole number from 0 to 1000000")
    ] = None
    budget_pages: Annotated[
        WholeNumber | None, Field(ge=0, le=1_000_000, description="a whole number from 0 to 1000000")
    ] = None
    model_timeout_seconds: Annotated[
        WholeNumber, Field(ge=5, le=540, description="a whole number of seconds from 5 to 540")
    ] = 120
    """At most the longest answer that is waited for: the flow ends a call soon after that."""
    model_stall_seconds: Annotated[
        WholeNumber, Field(ge=1, le=540, description="a whole number of seconds from 1 to 540")
    ] = 60
    attention_deadline_seconds: Annotated[
        WholeNumber | None, Field(ge=1, le=31_536_000, description="a whole number of seconds from 1 to 31536000")
    ] = None
    """How long a call waits for a person to mend what it needs; None: as long as it takes."""
    max_concurrent_activities: Annotated[
        WholeNumber, Field(ge=1, le=1_000, description="a whole number from 1 to 1000")
    ] = 100
    shutdown_grace_seconds: Annotated[
        WholeNumber, Field(ge=0, le=3_600, description="a whole number of seconds from 0 to 3600")
    ] = 130
    """Above `model_timeout_seconds` by default, so that a stopped worker ends hardly a call that was paid for."""

    deployment_name: Annotated[
        str | None,
        Field(
            min_length=1, max_length=200, pattern=r"^[^.:\s]+$", description="a name without spaces, dots and colons"
        ),
    ] = None
    """Given: workers join Worker Versioning under this name, and a run stays with the version it began on."""
    build_id: Annotated[
        str | None,
        Field(min_length=1, max_length=200, pattern=r"^[^:\s]+$", description="a name without spaces and colons"),
    ] = None
    """Which version a worker is; a digest of its code unless said."""

    data_dir: Annotated[Path, Field(description="a directory")] = Path(".deer")
    store: Annotated[
        str | None, Field(description="a directory that workers and starter share, or s3://bucket/prefix")
    ] = None
    aws: Mapping[str, SecretStr] = Field(default_factory=dict)
    """The AWS_* variables that were set, for a store in S3."""
    env: Annotated[Deployment, Field(description=f"one of: {_names(Deployment)}")] = Deployment.DEVELOPMENT
    require: Annotated[
        frozenset[Literal["chromium", "temporal"]],
        BeforeValidator(separated),
        Field(description="one or several of: chromium, temporal"),
    ] = frozenset()
    test_allow_hosts: Annotated[
        frozenset[str], BeforeValidator(separated), Field(description="hosts without port, separated by commas")
    ] = frozenset()
    web_token: Annotated[SecretStr | None, Field(description="a token, as text")] = None
    temporal: TemporalSettings = Field(default_factory=TemporalSettings)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is passed in counts: `load_settings` reads the places itself, to name the place of a mistake."""
        return (init_settings,)

    @field_validator("store")
    @classmethod
    def _is_a_directory_or_bucket(cls, store: str | None) -> str | None:
        if store is not None and "://" in store and not _BUCKET.fullmatch(store):
            raise ValueError("neither a directory nor s3://bucket/prefix")
        return store

    @model_validator(mode="after")
    def _keeps_tests_out_of_production(self) -> "Settings":
        if self.env is Deployment.PRODUCTION and self.test_allow_hosts:
            raise ValueError(
                "DEER_TEST_ALLOW_HOSTS is for tests and refused with DEER_ENV=production; unset one of them"
            )
        return self

    def models_for(self, role: Role, *, deep_thinking: bool = False) -> tuple[ModelSettings, ...]:
        """The complete models of a role in order of fallback, each once; empty when no model is set.

        ROLE_MODELS decides first. Else, where there is a reasoning model, the analyst and the reporter use it, the
        researcher too if it takes tools, and with `deep_thinking` the planner and the judge.
        """
        chosen = self.role_models.get(role) or (self._usual_tier(role, deep_thinking=deep_thinking),)
        models: list[ModelSettings] = []
        for choice in chosen:
            models += [model for model in self._models_of(choice) if model not in models]
        return tuple(models)

    def _models_of(self, choice: ModelTier | ModelSettings) -> list[ModelSettings]:
        if isinstance(choice, ModelSettings):
            return [self._completed(choice)]
        if choice is ModelTier.REASONING and self.reasoning_model:
            return [self._completed(model) for model in self.reasoning_model]
        models = [self._completed(model) for model in self.basic_model or (ModelSettings(),)]
        return [model for model in models if model.has_endpoint]

    def _usual_tier(self, role: Role, *, deep_thinking: bool) -> ModelTier:
        thinkers = {Role.ANALYST, Role.REPORTER}
        if self.reasoning_model and all(model.takes_tools for model in self.reasoning_model):
            thinkers.add(Role.RESEARCHER)
        if deep_thinking:
            thinkers |= {Role.PLANNER, Role.JUDGE}
        return ModelTier.REASONING if role in thinkers else ModelTier.BASIC

    def _completed(self, model: ModelSettings) -> ModelSettings:
        """Fill in address and key from OPENAI_*, or where those are unset from the first BASIC_MODEL that has any.

        A key goes only to the address that it was given for, never to another one that a table names.
        """
        address, key = self.openai_base_url, self.openai_api_key
        if address is None and key is None:
            basic = next((model for model in self.basic_model if model.has_endpoint), ModelSettings())
            address, key = basic.base_url, basic.api_key
        if model.base_url not in {None, address}:
            return model
        return model.model_copy(update={"base_url": address, "api_key": model.api_key or key})

    def services(self, documents: bool = False) -> Services:
        """Decide who answers. `documents`: whether the run brings documents, which count as a search.

        Raises SettingsError when a model has no endpoint or nothing to search.
        """
        search = self._engines()
        if documents and SearchApi.DOCUMENTS not in search:
            search = (*search, SearchApi.DOCUMENTS)
        if not self.models_for(Role.COORDINATOR):
            self._refuse_models_without_endpoint()
            if search:
                return Services("extractive", search, example_corpus=False, notices=(NO_MODEL_NOTICE,))
            notices = (NO_MODEL_NOTICE, EXAMPLE_CORPUS_NOTICE)
            return Services("extractive", (SearchApi.DOCUMENTS,), example_corpus=True, notices=notices)
        if not search:
            raise SettingsError(
                "a model is set but nothing to search with: set TAVILY_API_KEY, or SEARCH_API=duckduckgo, "
                "or give a folder with --documents DIR"
            )
        return Services("openai", search, example_corpus=False, notices=self._keyless_notices())

    def search_access(self, engine: SearchApi) -> tuple[str | None, str | None]:
        """Key and address of an engine, in the clear; None where it has none or its own."""
        key, address = {
            SearchApi.TAVILY: (self.tavily_api_key, self.tavily_base_url),
            SearchApi.BRAVE: (self.brave_search_api_key, self.brave_search_base_url),
            SearchApi.SERPER: (self.serper_api_key, self.serper_base_url),
            SearchApi.SEARXNG: (None, self.searx_host),
        }.get(engine, (None, None))
        return key.get_secret_value() if key else None, address

    def _engines(self) -> tuple[SearchApi, ...]:
        """The engines that are named, else those that something was set for. Raises SettingsError for what lacks."""
        named = tuple(dict.fromkeys(self.search_api or self.search_engine.engine))
        if not named:
            return tuple(engine for engine in WANTED_BY_ENGINE if self.search_access(engine) != (None, None))
        for engine in named:
            variable = WANTED_BY_ENGINE.get(engine)
            if variable and self.search_access(engine) == (None, None):
                what = "a key" if variable.endswith("_KEY") else "an address"
                raise SettingsError(f"SEARCH_API names {engine}, which needs {what}: set {variable}")
        return named

    def _refuse_models_without_endpoint(self) -> None:
        written = {"BASIC_MODEL": self.basic_model, "REASONING_MODEL": self.reasoning_model}
        for variable, models in written.items():
            for model in models:
                raise SettingsError(
                    f"{variable}={model.model or '(no name)'} is not enough to call a model: "
                    "set OPENAI_API_KEY or OPENAI_BASE_URL, or give BASIC_MODEL an address (base_url)"
                )
        if self.role_models:
            raise SettingsError("ROLE_MODELS is set but no model: set OPENAI_API_KEY or OPENAI_BASE_URL too")

    def _keyless_notices(self) -> tuple[str, ...]:
        if self.openai_api_key is None:
            return ()
        written = {"BASIC_MODEL": self.basic_model, "REASONING_MODEL": self.reasoning_model}
        return tuple(
            f"{variable} has an address of its own and no api_key: OPENAI_API_KEY is not sent there, calls have none."
            for variable, models in written.items()
            if any(self._completed(model).api_key is None for model in models)
        )

    def store_location(self, embedded: bool) -> str:
        """Where the TextStore is: a directory, or `s3://bucket/prefix`.

        Raises SettingsError outside embedded mode when DEER_STORE is not set.
        """
        if self.store is not None:
            return self.store
        if embedded:
            return str(self.data_dir / "store")
        raise SettingsError(
            "DEER_STORE is not set: outside embedded mode name a directory that workers and starter share, "
            "or s3://bucket/prefix"
        )
