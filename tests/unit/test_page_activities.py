"""Reading pages as an activity: what a run may read, and under which address it is known."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.pages import PageActivities
from deer.models import Hit, Page, ReadReply, ReadRequest
from deer.ports import SearchQuery
from deer.providers.files import FileStore


class Redirecting:
    """A reader to which every address is another one in the end."""

    def __init__(self, final: str) -> None:
        self._final = final

    async def read(self, url: str) -> Page:
        return Page(url=self._final, title="T", text="The whole text.")


class NoDocuments:
    async def search(self, collections: Sequence[str], query: SearchQuery) -> Sequence[Hit]:
        return ()

    async def read(self, url: str) -> Page:
        raise AssertionError(f"no document was asked for: {url}")


async def read(tmp_path: Path, final: str, **limits: tuple[str, ...]) -> ReadReply:
    activities = PageActivities(Redirecting(final), NoDocuments(), FileStore(tmp_path))
    request = ReadRequest(run_id="r1", url="https://allowed.example/r", **limits)
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
