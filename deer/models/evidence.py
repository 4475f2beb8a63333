"""Sources, claims and findings: what was seen, and what is said on the strength of it."""

from enum import StrEnum

from deer.models.addresses import Address
from deer.models.texts import Model, StoredText

SUMMARY_CHARS = 500
"""A search hit reaches a model with at most this many characters of its text."""


class Hit(Model):
    """What a search engine returns: one address with its text.

    `score` is the engine's own, higher is better, None when it gives none. `content` may be empty.
    """

    url: Address
    title: Address
    content: str
    score: float | None = None


SHOWN_PAGE_CHARS = 12_000
"""A page reaches a model with at most this many characters of its text."""


class Page(Model):
    """What a page reader returns. `url` is the final address; `text` is Markdown or plain text.

    The pages of a PDF are parted by form feeds. `author` and `published` (YYYY-MM-DD) are empty where the page does not
    say. `cut` tells that it was longer than the reader's cap.
    """

    url: Address
    title: Address
    text: str
    author: str = ""
    published: str = ""
    cut: bool = False


class PagePart(Model):
    """A part of a page's text, from the character at `start` to the one before `end`, counted from 0."""

    start: int
    end: int


class PageView(Model):
    """How a page is shown to a model. `parts`: in reading order; none when the whole of it is short enough.

    `was_cut`: the page goes on where its text ends, since it was longer than the reader's cap.
    """

    parts: tuple[PagePart, ...] = ()
    author: str = ""
    published: str = ""
    was_cut: bool = False


class FoundSource(Model):
    """A hit or a page as history carries it: `text` is what quotes are checked against.

    `text` None means that `summary` is all the text there is. `author`, `published` and `cut` are a page's.
    """

    url: Address
    title: Address
    summary: str
    score: float | None = None
    text: StoredText | None = None
    read: bool = False
    author: str = ""
    published: str = ""
    cut: bool = False


class Source(Model):
    """A source registered by code.

    `aliases`: ids that other steps gave the same address. `texts`: what was seen of it beyond the summary, in order.
    `number`: its place in the finished report, None when not cited.
    """

    id: str
    url: Address
    title: Address
    summary: str = ""
    score: float | None = None
    texts: tuple[StoredText, ...] = ()
    read: bool = False
    aliases: tuple[str, ...] = ()
    number: int | None = None

    @property
    def cited(self) -> bool:
        """Whether the finished report cites it."""
        return self.number is not None

    @property
    def known_ids(self) -> tuple[str, ...]:
        """The id and all aliases."""
        return (self.id, *self.aliases)

    @property
    def seen(self) -> tuple[StoredText, ...]:
        """Everything that was seen of it: where quotes are looked up."""
        return (*self.texts, self.summary) if self.summary else self.texts

    def for_checking(self) -> "Source":
        """The source with no more than the look-up of a quote needs, for where many travel at once."""
        texts = tuple(text if isinstance(text, str) else text.model_copy(update={"preview": ""}) for text in self.texts)
        return Source(id=self.id, url=self.url, title="", summary=self.summary, texts=texts, aliases=self.aliases)


class Check(StrEnum):
    """What became of comparing a claim with its source."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    CONTRADICTED = "contradicted"


class Claim(Model):
    """A sentence and the verbatim quote that bears it. `source_id` and `quote` are empty when none was given."""

    text: str
    source_id: str = ""
    quote: str = ""


class CheckedClaim(Claim):
    """A claim after its quote was looked up in the stored text of its source."""

    check: Check


class Finding(Model):
    """What a step found out. `notices` says what a reader should know about how it came about."""

    summary: StoredText
    claims: tuple[Claim, ...] = ()
    notices: tuple[str, ...] = ()
