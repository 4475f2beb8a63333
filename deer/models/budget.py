"""What a run may spend, and how much of it a step holds."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from deer.models.numbers import Number, WholeNumber
from deer.models.texts import Message, Model


class Kind(StrEnum):
    """What is limited. Tokens are those read and those written; minutes are those in which the run is at work."""

    TOKENS = "tokens"
    USD = "usd"
    MINUTES = "minutes"
    SEARCHES = "searches"
    PAGES = "pages"


class Budget(Message):
    """The limits of a run; None is no limit."""

    tokens: Annotated[WholeNumber, Field(ge=1, le=10_000_000_000)] | None = None
    usd: Annotated[Number, Field(gt=0, le=1_000_000)] | None = None
    minutes: Annotated[Number, Field(gt=0, le=525_600)] | None = None
    searches: Annotated[WholeNumber, Field(ge=0, le=1_000_000)] | None = None
    pages: Annotated[WholeNumber, Field(ge=0, le=1_000_000)] | None = None

    def limit(self, kind: Kind) -> float | None:
        """The limit of a kind, in its own unit."""
        limits: Mapping[Kind, float | None] = {
            Kind.TOKENS: self.tokens,
            Kind.USD: self.usd,
            Kind.MINUTES: self.minutes,
            Kind.SEARCHES: self.searches,
            Kind.PAGES: self.pages,
        }
        return limits[kind]


class Lease(Model):
    """What a step may spend, from its beginning, of each kind that is limited. A kind that is not named has no limit.

    `denied`: of which kinds nothing more is to be had, each with the reason in the language of the run.
    """

    granted: dict[Kind, float] = Field(default_factory=dict)
    denied: dict[Kind, str] = Field(default_factory=dict)


class Spent(Model):
    """How much of a limit is used."""

    limit: float
    used: float
