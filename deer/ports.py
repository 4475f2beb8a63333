"""What the product needs of the outside world. `deer.providers` implements it, activities receive it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from pydantic import BaseModel

from deer.models import (
    AnyBrief,
    ChatMessage,
    ChatReply,
    Hit,
    Model,
    OutputSchema,
    Page,
    PagePart,
    Role,
    StoredText,
    TextRef,
    ToolSpec,
    is_inline,
    preview_of,
    references,
    with_texts,
)

M = TypeVar("M", bound=BaseModel)


class ChatRequest(Model):
    """One call of a model.

    `role` routes the call; no provider guesses it from a prompt. `brief` is what `messages` were rendered from.
    `must_call_tool`: the model must answer with a call of one of `tools`.
    `thinks_deeply`: the person asked for a stronger model where roles have a choice.
    `call`: the same for all attempts at one call, of no other meaning.
    `attempt`: which of at most `attempts` attempts at this call it is, counted from 1.
    `may_be_empty`: a reply that says nothing is an answer, since what there was to say has been said.
    """

    role: Role
    brief: AnyBrief
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    must_call_tool: bool = False
    thinks_deeply: bool = False
    output: OutputSchema | None = None
    call: str = ""
    attempt: int = 1
    attempts: int = 1
    may_be_empty: bool = False


class ChatModel(Protocol):
    """A model that answers a conversation."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        """One answer. Raises ServiceError; never makes the same call again, though it may ask in other words."""
        ...


class SearchQuery(Model):
    """One search. `topic` is `general` or `news`, `depth` `basic` or `advanced`.

    `time_range`: `day`, `week`, `month` or `year`, empty for any age. `locale`: of the run, empty when unknown.
    """

    text: str
    max_results: int
    topic: str = "general"
    depth: str = "advanced"
    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    time_range: str = ""
    locale: str = ""


class SearchResults(Model):
    """What a search brought, best first; without hits there is nothing to find. `notices` are for the reader."""

    hits: tuple[Hit, ...]
    notices: tuple[str, ...] = ()


class SearchEngine(Protocol):
    """Finds addresses for words."""

    async def search(self, query: SearchQuery) -> SearchResults:
        """What there is, which may be more or other than was asked for. Raises ServiceError."""
        ...


class DocumentSearch(Protocol):
    """Finds passages in collections of documents that people registered."""

    async def search(self, collections: Sequence[str], query: SearchQuery) -> Sequence[Hit]:
        """Hits with `doc://collection/path` addresses. Raises NotFound for an unknown collection."""
        ...

    async def read(self, url: str) -> Page:
        """The whole document behind a `doc:` address. Raises ServiceError (Unreadable) when there is none."""
        ...


class PageReader(Protocol):
    """Reads pages as text, and finds what matters in a text that is too long to be shown whole."""

    async def read(self, url: str) -> Page:
        """The readable text of an http(s) page.

        Raises ServiceError: AddressRefused before any connection to an inside address, Unreadable for what is no
        evidence (error pages, empty shells, unknown types), Unavailable where a later try may help.
        """
        ...

    async def find_parts(self, text: str, title: str, wanted: str, max_chars: int) -> Sequence[PagePart]:
        """The parts of a long text that bear on the words of `wanted`, in reading order.

        Together they are at most `max_chars` long. Raises ServiceError (Unreadable) where finding them takes too long.
        """
        ...


class CodeResult(Model):
    """What a code cell printed; `error` is the traceback or the limit that ended it."""

    output: str
    error: str | None = None


class CodeRunner(Protocol):
    """Runs model-written Python in a sandbox."""

    async def run(self, session: str, code: str) -> CodeResult:
        """Run one cell; state lives across the cells of a session. Raises ServiceError."""
        ...


RECORDS, STATES, ANSWERS = "runs/", "states/", "answered/"
"""Beginnings of entry names: records of runs, all that runs knew when they saved them, and what they were answered."""


class TextStore(Protocol):
    """Keeps texts by content hash, and small named entries. Shared by all workers and readers of a deployment."""

    async def require_writable(self) -> None:
        """Raise ServiceError (StoreUnwritable) unless something can be kept: found out before a call is paid for."""
        ...

    async def put(self, text: str) -> str:
        """Keep a text; returns its SHA-256. Putting it again makes it young, and changes nothing else.

        Raises ServiceError (StoreUnwritable); retryable where the same call may succeed later by itself.
        """
        ...

    async def get(self, sha256: str) -> str:
        """The text of a hash. Raises NotFound."""
        ...

    async def write_entry(self, name: str, text: str) -> None:
        """Set a named entry such as `runs/r1`, whole or not at all. Raises ServiceError (StoreUnwritable)."""
        ...

    async def read_entry(self, name: str) -> str | None:
        """The entry of that name; None when there is none."""
        ...

    async def entry_names(self, prefix: str) -> Sequence[str]:
        """Names that begin with `prefix`, sorted."""
        ...


class Kept(Model):
    """What a store keeps under a hash or a name: how large it is, and when it was last put or written (UTC)."""

    name: str
    size_bytes: int
    changed_at: datetime


class PrunableStore(TextStore, Protocol):
    """A TextStore that can be looked through and cleaned."""

    async def texts(self) -> Sequence[Kept]:
        """Every text, by hash, in any order."""
        ...

    async def entries(self, prefix: str) -> Sequence[Kept]:
        """The entries whose names begin with `prefix`, sorted by name."""
        ...

    async def remove_text(self, sha256: str, unchanged_since: datetime) -> bool:
        """Remove a text that nobody has put since a moment; whether it was removed.

        Whoever puts it at the same time has it afterwards, whatever is removed in between.
        """
        ...

    async def remove_entry(self, name: str, unchanged_since: datetime) -> bool:
        """Remove an entry that nobody has written since a moment; whether it was removed."""
        ...


async def store_text(store: TextStore, text: str) -> TextRef:
    """Keep a text, however short, and return its reference."""
    return TextRef(sha256=await store.put(text), chars=len(text), preview=preview_of(text))


async def offload(store: TextStore, text: str) -> StoredText:
    """The text itself when it may travel in history, else a reference to it."""
    return text if is_inline(text) else await store_text(store, text)


async def resolve(store: TextStore, value: M) -> M:
    """A copy of a model with every reference replaced by its text. Raises NotFound."""
    hashes = {ref.sha256 for ref in references(value)}
    return with_texts(value, {sha256: await store.get(sha256) for sha256 in hashes})
