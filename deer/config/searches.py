"""The search engines there are, and what settings say about them.

The description of a field says what is allowed; an error about the field repeats it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from deer.config.endpoints import separated
from deer.models import Number, WholeNumber


class SearchApi(StrEnum):
    """The search engines there are."""

    TAVILY = "tavily"
    BRAVE = "brave"
    SERPER = "serper"
    SEARXNG = "searxng"
    DUCKDUCKGO = "duckduckgo"
    WIKIPEDIA = "wikipedia"
    ARXIV = "arxiv"
    DOCUMENTS = "documents"


WANTED_BY_ENGINE = {
    SearchApi.TAVILY: "TAVILY_API_KEY",
    SearchApi.BRAVE: "BRAVE_SEARCH_API_KEY",
    SearchApi.SERPER: "SERPER_API_KEY",
    SearchApi.SEARXNG: "SEARX_HOST",
}
"""What an engine cannot do without, unless the settings give it an address of its own."""

NAMES_IN_DEERFLOW = {"brave_search": SearchApi.BRAVE, "searx": SearchApi.SEARXNG}
ENGINES_RULE = f"one or several, in order of fallback, of: {', '.join(SearchApi)}"


def listed_engines(written: object) -> object:
    """Engines as a list; names may stand in one text, separated by commas, and may be those of DeerFlow."""
    names = [word.strip() for word in written.split(",")] if isinstance(written, str) else written
    if not isinstance(names, list | tuple):
        return names
    return [NAMES_IN_DEERFLOW.get(name, name) if isinstance(name, str) else name for name in names if name]


IGNORED_OPTIONS = frozenset({"include_answer", "include_images", "include_image_descriptions"})
"""What DeerFlow asks of Tavily besides pages. Pages are all that a report rests on: such fields change nothing."""

Engines = Annotated[tuple[SearchApi, ...], BeforeValidator(listed_engines)]
Domains = Annotated[tuple[str, ...], BeforeValidator(separated)]


class SearchOptions(BaseModel):
    """What holds for every search, as the table SEARCH_ENGINE says it with the names that DeerFlow gives.

    `engine` counts where SEARCH_API is not set. `search_depth` None leaves it to the model that searches; that and
    `include_raw_content` are Tavily's. `IGNORED_OPTIONS` may stand there and are not kept.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: Annotated[Engines, Field(description=ENGINES_RULE)] = ()
    include_domains: Annotated[Domains, Field(description="a list of domains")] = ()
    exclude_domains: Annotated[Domains, Field(description="a list of domains")] = ()
    search_depth: Annotated[Literal["basic", "advanced"] | None, Field(description="basic or advanced")] = None
    time_range: Annotated[
        Literal["day", "week", "month", "year"] | None, Field(description="day, week, month or year")
    ] = None
    include_raw_content: Annotated[bool, Field(description="true or false")] = False
    min_score_threshold: Annotated[Number, Field(ge=0, le=1, description="a number from 0 to 1")] = 0.0
    max_content_length_per_page: Annotated[
        WholeNumber, Field(ge=500, le=200_000, description="a number of characters from 500 to 200000")
    ] = 20_000

    @model_validator(mode="before")
    @classmethod
    def _without_ignored(cls, written: object) -> object:
        if not isinstance(written, Mapping):
            return written
        return {name: value for name, value in written.items() if name not in IGNORED_OPTIONS}
