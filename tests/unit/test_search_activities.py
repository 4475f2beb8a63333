"""Searching as an activity: engines and documents side by side, and what becomes of one without the other."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.search import MAX_ADDRESS_CHARS, SearchActivities
from deer.errors import FailureKind, ServiceError
from deer.models import Hit, Page, SearchReply, SearchRequest
from deer.ports import SearchQuery, SearchResults
from deer.providers.files import FileStore

REQUEST = SearchRequest(run_id="r1", query="x", max_results=5, documents=("mine",), locale="zh-CN")
DOWN = ServiceError("the engine is down", FailureKind.UNAVAILABLE, retryable=True)
SPENT = ServiceError("the engine has no credit", FailureKind.QUOTA_SPENT)


class Engine:
    """An engine that finds this, or fails."""

    def __init__(self, outcome: SearchResults | ServiceError) -> None:
        self._outcome = outcome
        self.queries: list[SearchQuery] = []

    async def search(self, query: SearchQuery) -> SearchResults:
        self.queries.append(query)
        if isinstance(self._outcome, ServiceError):
            raise self._outcome
        return self._outcome


class Documents:
    """One document that fits every query."""

    async def search(self, collections: Sequence[str], query: SearchQuery) -> Sequence[Hit]:
        return [Hit(url=f"doc://{name}/a.md", title="A", content="text") for name in collections]

    async def read(self, url: str) -> Page:
        raise AssertionError(f"no document was asked for: {url}")


async def searched(
    tmp_path: Path, engine: Engine | None, request: SearchRequest = REQUEST, *, attempt: int = 1
) -> SearchReply:
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, attempt=attempt)
    activities = SearchActivities(engine, Documents(), FileStore(tmp_path))
    reply: SearchReply = await environment.run(activities.search_web, request)
    return reply


async def test_documents_come_before_the_web(tmp_path: Path) -> None:
    """Both are searched; the locale reaches the engine, its notices reach the reader, endless addresses nobody."""
    hits = (
        Hit(url="https://w.test/", title="W", content=""),
        Hit(url="x" * MAX_ADDRESS_CHARS + "x", title="", content=""),
    )
    engine = Engine(SearchResults(hits=hits, notices=("told",)))
    reply = await searched(tmp_path, engine)
    assert [source.url for source in reply.sources] == ["doc://mine/a.md", "https://w.test/"]
    assert reply.notices == ("told",)
    assert engine.queries[0].locale == "zh-CN"


async def test_documents_stand_in_for_an_engine_that_refuses(tmp_path: Path) -> None:
    """What a retry cannot mend does not cost the documents; a notice in the run's language tells it."""
    reply = await searched(tmp_path, Engine(SPENT))
    assert [source.url for source in reply.sources] == ["doc://mine/a.md"]
    assert reply.notices == ("网络搜索失败，只搜索了文档：the engine has no credit",)


async def test_a_passing_failure_is_tried_once_more_first(tmp_path: Path) -> None:
    """An engine that may be back in a moment gets that moment, then the documents stand in for it."""
    with pytest.raises(ApplicationError, match="the engine is down"):
        await searched(tmp_path, Engine(DOWN))
    reply = await searched(tmp_path, Engine(DOWN), attempt=2)
    assert (len(reply.sources), len(reply.notices)) == (1, 1)


@pytest.mark.parametrize("engine", [Engine(DOWN), None])
async def test_without_documents_it_is_a_failed_search(tmp_path: Path, engine: Engine | None) -> None:
    """Nothing stands in for an engine that is down, or for none; that is no empty success."""
    with pytest.raises(ApplicationError):
        await searched(tmp_path, engine, REQUEST.model_copy(update={"documents": ()}), attempt=9)
