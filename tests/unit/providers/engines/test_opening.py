"""Which engine stands behind which name."""

from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from deer.config import SearchApi, load_settings
from deer.errors import SettingsError
from deer.providers.engines.opening import open_engine
from worker import open_search, services_of_worker

TIMEOUT = timedelta(seconds=1)


@pytest.mark.parametrize("name", [name for name in SearchApi if name is not SearchApi.DOCUMENTS])
async def test_every_name_of_a_setting_opens_an_engine(name: SearchApi) -> None:
    """What SEARCH_API allows can be opened, and closed again, without anything being sent."""
    engine = open_engine(name, "key", "http://search.test", TIMEOUT)
    assert type(engine).__name__.lower() == f"{name}search"
    await engine.aclose()


@pytest.mark.parametrize("key", ["", "  ", "tvly-\u200bx"])
@pytest.mark.parametrize(
    ("name", "setting"),
    [("tavily", "TAVILY_API_KEY"), ("brave", "BRAVE_SEARCH_API_KEY"), ("serper", "SERPER_API_KEY")],
)
def test_a_key_that_cannot_be_sent_is_refused_at_once(name: str, setting: str, key: str) -> None:
    """An empty key, or one with characters that no header carries, is named before anything is searched."""
    with pytest.raises(SettingsError, match=setting):
        open_engine(name, key, None, TIMEOUT)


async def test_the_worker_opens_what_is_set(tmp_path: Path) -> None:
    """The engines of the settings become one search; documents alone are none."""
    async with AsyncExitStack() as opened:
        for engines, is_search in (("arxiv,wikipedia,documents", True), ("documents", False)):
            settings = load_settings({"SEARCH_API": engines}, tmp_path)
            search = open_search(settings, services_of_worker(settings), opened)
            assert (search is not None) == is_search
