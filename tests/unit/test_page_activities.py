"""Reading pages as an activity: what a run may read, and under which address it is known."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.pages import PageActivities
from deer.errors import FailureKind, ServiceError
from deer.models import SHOWN_PAGE_CHARS, Hit, Page, PagePart, PageView, ReadReply, ReadRequest, TextRef
from deer.ports import SearchQuery
from deer.providers.files import FileStore


class Redirecting:
    """A reader to which every address is another one in the end."""

    def __init__(self, final: str) -> None:
        self._final = final

    async def read(self, url: str) -> Page:
        return Page(url=self._final, title="T", text="The whole text.")

    async def find_parts(self, text: str, title: str, wanted: str, max_chars: int) -> Sequence[PagePart]:
        raise AssertionError("a short text is shown whole")


class Answering:
    """A reader that answers with one page or failure, and counts how often it is asked for what."""

    def __init__(self, answer: Page | ServiceError) -> None:
        self._answer = answer
        self.read_urls: list[str] = []
        self.wanted: list[str] = []

    async def read(self, url: str) -> Page:
        self.read_urls.append(url)
        if isinstance(self._answer, ServiceError):
            raise self._answer
        return self._answer

    async def find_parts(self, text: str, title: str, wanted: str, max_chars: int) -> Sequence[PagePart]:
        self.wanted.append(wanted)
        if wanted == "slow":
            raise ServiceError("finding the text of the page takes longer than 10 s", FailureKind.UNREADABLE)
        return (PagePart(start=len(text) - 10, end=len(text)),)


class NoDocuments:
    async def search(self, collections: Sequence[str], query: SearchQuery) -> Sequence[Hit]:
        return ()

    async def read(self, url: str) -> Page:
        raise AssertionError(f"no document was asked for: {url}")


async def read(tmp_path: Path, final: str, **limits: tuple[str, ...]) -> ReadReply:
    activities = PageActivities(Redirecting(final), NoDocuments(), FileStore(tmp_path))
    request = ReadRequest.model_validate({"run_id": "r1", "url": "https://allowed.example/r", **limits})
    reply: ReadReply = await ActivityEnvironment().run(activities.read_page, request)
    return reply


async def test_a_source_is_known_by_the_address_that_was_read(tmp_path: Path) -> None:
    """After a redirect the citation names the page whose text it is."""
    assert (await read(tmp_path, "https://elsewhere.example/page")).source.url == "https://elsewhere.example/page"


@pytest.mark.parametrize(
    "limits", [{"denied_domains": ("elsewhere.example",)}, {"allowed_domains": ("allowed.example",)}]
)
async def test_a_redirect_does_not_lead_around_the_domains_of_a_run(
    tmp_path: Path, limits: dict[str, tuple[str, ...]]
) -> None:
    """A domain that the run may not read is refused also when an allowed page leads there."""
    with pytest.raises(ApplicationError, match="elsewhere"):
        await read(tmp_path, "https://www.elsewhere.example/page", **limits)


async def asked(activities: PageActivities, wanted: str = "", url: str = "https://a.example/page") -> ReadReply:
    request = ReadRequest(run_id="r1", url=url, wanted=wanted)
    reply: ReadReply = await ActivityEnvironment().run(activities.read_page, request)
    return reply


async def test_a_long_page_is_fetched_once_and_shown_to_each_step_by_what_it_wants(tmp_path: Path) -> None:
    """Parts are found anew for each question, the whole text is kept, and the page is asked for once."""
    reader = Answering(
        Page(url="https://a.example/page", title="T", text="word " * 5_000, published="2024-03-05", cut=True)
    )
    activities = PageActivities(reader, NoDocuments(), FileStore(tmp_path))
    for wanted in ("heat", "noise"):
        reply = await asked(activities, wanted)
        assert reply.view == PageView(parts=(PagePart(start=24_990, end=25_000),), published="2024-03-05", was_cut=True)
        assert isinstance(reply.source.text, TextRef)
        assert reply.source.text.chars == 25_000
    assert reader.wanted == ["heat", "noise"]
    assert len(reader.read_urls) == 1


async def test_where_finding_the_parts_takes_too_long_the_beginning_is_shown(tmp_path: Path) -> None:
    """A page that was read is not lost because its parts cannot be ranked."""
    reader = Answering(Page(url="https://a.example/page", title="T", text="word " * 5_000))
    reply = await asked(PageActivities(reader, NoDocuments(), FileStore(tmp_path)), "slow")
    assert reply.view.parts == (PagePart(start=0, end=SHOWN_PAGE_CHARS),)


@pytest.mark.parametrize(
    ("kind", "retryable", "times"),
    [(FailureKind.UNREADABLE, False, 1), (FailureKind.UNREADABLE, True, 3), (FailureKind.UNAVAILABLE, True, 3)],
)
async def test_what_can_never_be_read_is_fetched_once(
    tmp_path: Path, kind: FailureKind, retryable: bool, times: int
) -> None:
    """Case W01: the same link asked for three times is fetched once, unless a later try may help."""
    reader = Answering(ServiceError("https://a.example/page: the PDF is damaged", kind, retryable=retryable))
    activities = PageActivities(reader, NoDocuments(), FileStore(tmp_path))
    for _ in range(3):
        with pytest.raises(ApplicationError, match="the PDF is damaged"):
            await asked(activities)
    assert len(reader.read_urls) == times
