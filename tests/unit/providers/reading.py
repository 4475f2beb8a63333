"""Reading one page from a server that answers what a test says."""

import pytest

from deer.errors import ServiceError
from deer.models import Page
from deer.ports import PageReader
from tests.unit.providers.web_server import Reply, WebServer, always


async def page_of(pages: PageReader, reply: Reply) -> Page:
    """The page that a reply is read as."""
    async with WebServer(always(reply)) as server:
        return await pages.read(f"{server.url}/page")


async def failure_of(pages: PageReader, reply: Reply) -> ServiceError:
    """Why a reply is not read."""
    with pytest.raises(ServiceError) as caught:
        await page_of(pages, reply)
    return caught.value
