"""What the program talks to: models and the Temporal server, as settings describe them.

The description of a field says what is allowed; an error about the field repeats it.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, SecretStr, Tag

from deer.models import Number, Role, WholeNumber


def _checked_address(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise ValueError("not an http or https address")
    return address.rstrip("/")


def separated(written: object) -> object:
    """The words of a text, parted by commas; what is no text stays as it is, for pydantic to judge."""
    return [word.strip() for word in written.split(",") if word.strip()] if isinstance(written, str) else written


HttpAddress = Annotated[str, AfterValidator(_checked_address)]
"""An http or https address without credentials; a slash at its end is taken off."""

Price = Annotated[Number, Field(ge=0, allow_inf_nan=False)]


def _checked_name(name: str) -> str:
    if "," in name:
        raise ValueError("several names")
    return name


def _without_own_fields(body: Mapping[str, Any]) -> Mapping[str, Any]:  # JSON of the endpoint's own making
    if OWN_FIELDS & body.keys():
        raise ValueError("a field that the program writes")
    return body


OWN_FIELDS = frozenset(
    {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "stream", "stream_options"}
)
"""What the program itself writes into the body of a request."""

ADDRESS_RULE = "an http or https address without user name or password"
PRICE_RULE = "a number of USD per million tokens, 0 or more"
TEMPERATURE_RULE = "a number from 0 to 2"
EXTRA_BODY_RULE = f"a table of fields for the body of requests, none of: {', '.join(sorted(OWN_FIELDS))}"


class ModelTier(StrEnum):
    """The two models of a deployment, by what they are for."""

    BASIC = "basic"
    REASONING = "reasoning"


class ModelSettings(BaseModel):
    """A language model. As written, parts may be missing; `Settings.models_for` fills them in.

    `model`: None takes the only model that the endpoint lists.
    `base_url`: None is the default address of the `openai` package.
    `token_limit`: how many tokens request and answer may have, None when nobody said.
    `extra_body`: goes into every request as it is.
    `takes_tools`: False keeps a reasoning model away from the roles that call tools.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Annotated[
        Annotated[str, Field(min_length=1), AfterValidator(_checked_name)] | None,
        Field(description="the name of one model, without a comma"),
    ] = None
    base_url: Annotated[HttpAddress | None, Field(description=ADDRESS_RULE)] = None
    api_key: Annotated[SecretStr | None, Field(description="a key, as text")] = None
    token_limit: Annotated[WholeNumber | None, Field(ge=1_000, description="a number of tokens, 1000 or more")] = None
    input_price: Annotated[Price | None, Field(description=PRICE_RULE)] = None
    output_price: Annotated[Price | None, Field(description=PRICE_RULE)] = None
    takes_tools: Annotated[bool, Field(description="true or false")] = True
    temperature: Annotated[Annotated[Number, Field(ge=0, le=2)] | None, Field(description=TEMPERATURE_RULE)] = None
    extra_body: Annotated[
        Mapping[str, Any],  # JSON of the endpoint's own making
        AfterValidator(_without_own_fields),
        Field(description=EXTRA_BODY_RULE, repr=False),
    ] = Field(default_factory=dict)

    @property
    def request_fields(self) -> dict[str, Any]:
        """What its settings add to the body of every request."""
        temperature = {} if self.temperature is None else {"temperature": self.temperature}
        return {**temperature, **self.extra_body}

    @property
    def answer_tokens(self) -> int | None:
        """How long an answer may be as the extra fields have it; None when they do not say."""
        said = (self.extra_body.get(field) for field in ("max_completion_tokens", "max_tokens"))
        return next((tokens for tokens in said if isinstance(tokens, int)), None)

    @property
    def has_endpoint(self) -> bool:
        """Whether it says where to call, if only by a key for the default address."""
        return self.base_url is not None or self.api_key is not None


TIER_TAG, MODEL_TAG = "tier", "model-settings"
"""Branches of a role's model; pydantic puts them into the path of an error."""


def _table_of(written: object) -> object:
    return {"model": written} if isinstance(written, str) else written


def _listed(written: object) -> object:
    """One or several models as a list: names may stand in one text, separated by commas."""
    if isinstance(written, str):
        return [name.strip() for name in written.split(",") if name.strip()]
    return [written] if isinstance(written, dict | ModelSettings) else written


def _kind_of_role_model(written: Any) -> str:  # Any: whatever a file holds
    return TIER_TAG if isinstance(written, str) and written in set(ModelTier) else MODEL_TAG


WrittenModel = Annotated[ModelSettings, BeforeValidator(_table_of)]
"""A model written as a name or as a table."""

WrittenModels = Annotated[tuple[WrittenModel, ...], BeforeValidator(_listed)]
"""One or several models, in order of fallback; none where nothing is written."""

RoleModel = Annotated[
    Annotated[ModelTier, Tag(TIER_TAG)] | Annotated[WrittenModel, Tag(MODEL_TAG)], Discriminator(_kind_of_role_model)
]
"""A model of one role: a tier, a name or a table."""

RoleModels = Mapping[Role, Annotated[tuple[RoleModel, ...], BeforeValidator(_listed)]]
"""One or several models for a role, in order of fallback."""


class PageApi(StrEnum):
    """The ways to read pages: from here, or through Jina Reader."""

    DIRECT = "direct"
    JINA = "jina"


AWS_VARIABLES = frozenset(
    {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL",
    }
)
"""How a store in S3 is reached. What else Amazon's own tools read, as in a container's role, is left to the library."""

TEMPORAL_VARIABLES = frozenset(
    f"TEMPORAL_{name}"
    for name in (
        "ADDRESS",
        "NAMESPACE",
        "PROFILE",
        "CONFIG_FILE",
        "API_KEY",
        "TLS",
        "TLS_CLIENT_CERT_PATH",
        "TLS_CLIENT_CERT_DATA",
        "TLS_CLIENT_KEY_PATH",
        "TLS_CLIENT_KEY_DATA",
        "TLS_SERVER_CA_CERT_PATH",
        "TLS_SERVER_CA_CERT_DATA",
        "TLS_SERVER_NAME",
        "TLS_DISABLE_HOST_VERIFICATION",
        "CODEC_ENDPOINT",
        "CODEC_AUTH",
    )
)
"""Temporal's own variables, which `temporalio.envconfig` reads; `TEMPORAL_GRPC_META_*` comes on top."""

TEMPORAL_METADATA_PREFIX = "TEMPORAL_GRPC_META_"

_HOST_AND_PORT = re.compile(r"^(\[[0-9A-Fa-f:.]+\]|[^\s:/@]+):\d{1,5}$")


def _checked_temporal_address(address: str) -> str:
    if not _HOST_AND_PORT.match(address):
        raise ValueError("not host:port")
    return address


class TemporalSettings(BaseModel):
    """Where Temporal is. `variables` holds every TEMPORAL_* variable that was set, for `temporalio.envconfig`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: Annotated[
        Annotated[str, AfterValidator(_checked_temporal_address)] | None,
        Field(description="host:port, such as temporal.example.org:7233"),
    ] = None
    profile: str | None = None
    namespace: str = "default"
    api_key: SecretStr | None = None
    variables: Mapping[str, SecretStr] = Field(default_factory=dict)

    @property
    def embedded(self) -> bool:
        """Whether the program runs a server of its own: nothing names another one.

        A profile file alone never does: it may be there for other programs.
        """
        return self.address is None and self.profile is None

    def override_env_vars(self) -> dict[str, str]:
        """The merged variables in the clear, for the parameter of `temporalio.envconfig` with this name."""
        return {name: value.get_secret_value() for name, value in self.variables.items()}
