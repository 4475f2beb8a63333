"""What search engines do to a run: nothing found, odd results, limits, and one engine in the place of another."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from deer.models import Phase, StepStatus
from deer.ports import PageReader
from tests.eventually import eventually
from tests.running import Runs, research_worker
from tests.scripted import Call, Failure, Json, ScriptedServices, Text, call_tool, plan_of, research_step, subject_of
from tests.scripted.replies import Answer, Script
from tests.scripted.roles import SHOWN_SOURCE, finding, tool_text
from tests.unit.providers.web_server import Asked, Reply, WebServer

SPENT = Failure(432, {"detail": {"error": "This request exceeds your plan's set usage limit."}})
BRAVE_KEY = "brave-canary-5d1e"
FOUND_BY_BRAVE = {"url": "https://b.test/1", "title": "From Brave", "description": "the measured value of x"}


def searching(*queries: str) -> Script:
    """A researcher that searches for each of these, by number of its turn, and then submits what it has."""

    def script(call: Call) -> Answer:
        if call.rounds < len(queries):
            return call_tool("web_search", query=queries[call.rounds].format(subject=subject_of(call)))
        return finding(call)

    return script


class Brave:
    """A search engine with Brave's ways. It finds `found`, whatever it is asked."""

    def __init__(self) -> None:
        self.url = ""
        self.reset()

    def reset(self) -> None:
        """Begin again, asked nothing yet."""
        self.found: Json = FOUND_BY_BRAVE
        self.queries: list[str] = []

    def __call__(self, asked: Asked) -> Reply:
        assert asked.headers["x-subscription-token"] == BRAVE_KEY
        self.queries.append(asked.target)
        return Reply(body={"web": {"results": [self.found]}}, headers={"X-RateLimit-Limit": "1000, 0"})


@pytest.fixture(scope="module")
async def brave() -> AsyncIterator[Brave]:
    """The engine, listening."""
    engine = Brave()
    async with WebServer(engine) as listening:
        engine.url = listening.url
        yield engine


@pytest.fixture(scope="module")
async def brave_worker(
    server: WorkflowEnvironment,
    services: ScriptedServices,
    pages: PageReader,
    brave: Brave,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Runs]:
    """A worker that searches with Brave only, although it has a key for Tavily."""
    directory = tmp_path_factory.mktemp("brave")
    async with research_worker(
        server.client,
        services,
        pages,
        directory,
        SEARCH_API="brave",
        BRAVE_SEARCH_API_KEY=BRAVE_KEY,
        BRAVE_SEARCH_BASE_URL=brave.url,
    ) as started:
        yield started


@pytest.fixture
async def runs_on_brave(
    brave_worker: Runs, brave: Brave, scripted: ScriptedServices
) -> AsyncIterator[tuple[Runs, Brave]]:
    """Runs on that worker, and the engine, asked nothing yet."""
    brave.reset()
    async with brave_worker.of_one_test() as runs:
        yield runs, brave


async def test_with_nothing_found_no_link_survives(runs: Runs, scripted: ScriptedServices) -> None:
    """Case S01: when every search is empty the report says that it has no sources, and invented links are gone."""
    scripted.setup.results = lambda query: []
    scripted.scripts["researcher"] = searching("facts on {subject}")
    invented = ["https://made.up/1", "https://made.up/2", "https://made.up/3"]
    scripted.scripts["reporter"] = Text("# Sure\n\nIt is so " + " ".join(f"[as here]({url})" for url in invented))
    status = await runs.complete()
    assert status.report
    assert not any(url in status.report.markdown for url in invented)
    assert "rests on no sources" in status.report.markdown
    assert status.sources == ()
    assert status.phase is Phase.COMPLETED_WITH_GAPS


async def test_results_with_holes_harm_nobody(runs: Runs, scripted: ScriptedServices) -> None:
    """Case S03: results without title, text or score are used, those without address are not."""
    scripted.setup.results = lambda query: [
        {"url": "https://a.test/only"},
        {"title": "no address", "content": "the measured value"},
        {"url": "https://a.test/null", "title": "", "content": None, "score": None, "raw_content": None},
    ]
    scripted.scripts["researcher"] = searching("facts on {subject}")
    status = await runs.complete()
    assert status.phase is Phase.COMPLETED
    assert {source.url for source in status.sources} == {"https://a.test/only", "https://a.test/null"}
    assert {source.title for source in status.sources} == {source.url for source in status.sources}
    assert status.report
    assert "https://a.test/only" in status.report.markdown


async def test_a_spent_plan_is_asked_once_and_named(runs: Runs, scripted: ScriptedServices) -> None:
    """Case S05: the only engine without credit is asked once a query, and the run waits with the reason."""
    scripted.fail("search", SPENT)
    run = await runs.start(auto_accept=True)
    waiting = await run.reach(Phase.NEEDS_ATTENTION)
    assert waiting.reason
    assert "has no credit left, the plan limit is reached" in waiting.reason
    assert scripted.log.count("search") == 1
    await run.update("control", {"action": "retry"})
    assert (await run.end()).phase is Phase.COMPLETED


async def test_the_next_engine_answers_with_a_notice(
    server: WorkflowEnvironment,
    scripted: ScriptedServices,
    pages: PageReader,
    brave: Brave,
    tmp_path: Path,
) -> None:
    """Case S05: with a second engine the run goes on, asks the first one no more, and says so once."""
    brave.reset()
    scripted.fail("search", SPENT, times=99)
    scripted.scripts["researcher"] = searching("first {subject}", "second {subject}")
    async with research_worker(
        server.client,
        scripted,
        pages,
        tmp_path,
        SEARCH_API="tavily,brave",
        BRAVE_SEARCH_API_KEY=BRAVE_KEY,
        BRAVE_SEARCH_BASE_URL=brave.url,
    ) as runs:
        status = await runs.complete()
    assert len(brave.queries) == 3
    assert scripted.log.count("search") == 1
    assert status.phase is Phase.COMPLETED
    assert [source.url for source in status.sources] == ["https://b.test/1"]
    told = [notice for notice in status.notices if "Searched with brave in place" in notice]
    assert len(told) == 1
    assert "the plan limit is reached" in told[0]


async def test_only_the_chosen_engine_is_asked(runs_on_brave: tuple[Runs, Brave], scripted: ScriptedServices) -> None:
    """Case S13: background search and researcher use the engine that is set, whatever keys there are besides."""
    runs, engine = runs_on_brave
    scripted.scripts["researcher"] = searching("facts on {subject}")
    status = await runs.complete()
    assert len(engine.queries) == 2
    assert scripted.log.count("search") == 0
    assert (status.phase, status.notices) == (Phase.COMPLETED, ())


async def test_unfit_characters_are_stored_and_reported_cleaned(
    runs_on_brave: tuple[Runs, Brave], scripted: ScriptedServices
) -> None:
    """Case S11: NUL, lone surrogates, BEL and direction marks go, an escape that is written out stays."""
    runs, engine = runs_on_brave
    text = "a\0b \ud83d c\x07 \u202ed literal \\u0000 end"
    engine.found = {"url": "https://a.test/1", "title": "T\0\u202eX", "description": text}
    scripted.scripts["researcher"] = searching("facts on {subject}")
    status = await runs.complete()
    assert status.phase is Phase.COMPLETED
    assert [source.title for source in status.sources] == ["TX"]
    shown = tool_text(scripted.log.calls("researcher")[-1])
    assert "literal \\u0000 end" in shown.replace("\\\\", "\\")
    assert not {"\0", "\x07", "\u202e", "\ud83d"} & set(shown + status.model_dump_json())


async def test_all_engines_down_is_a_failed_search(runs: Runs, scripted: ScriptedServices) -> None:
    """Case S13: a search that stays down is a notice in the background and an error to the agent, not empty success."""
    scripted.setup.failure = lambda call: (
        Failure(503, "down", {"retry-after-ms": "10"}) if call.kind == "search" else None
    )
    scripted.scripts["researcher"] = searching("facts on {subject}")
    status = await runs.complete()
    assert any("background search failed" in notice for notice in status.notices)
    assert "is not available (HTTP 503)" in tool_text(scripted.log.calls("researcher")[-1])
    assert status.usage.searches == 0


async def test_a_long_question_is_searched_in_short(runs: Runs, scripted: ScriptedServices) -> None:
    """Case S07: an engine that refuses more than 400 characters is never sent more, and gets whole characters."""
    question = "Wie viel kostet 🔥👩‍🔬 " * 45
    scripted.setup.failure = lambda call: (
        Failure(400, {"detail": {"error": "Query is too long."}}) if len(str(call.body.get("query"))) > 400 else None
    )
    scripted.scripts["coordinator"] = lambda call: call_tool(
        "handoff_to_planner", research_topic=question, locale="en-US"
    )
    status = await runs.complete(question)
    assert status.phase is Phase.COMPLETED
    sent = [str(call.body["query"]) for call in scripted.log.calls("search")]
    assert max(map(len, sent)) in range(300, 401)
    assert not any("background" in notice for notice in status.notices)


async def test_one_page_under_several_addresses_is_one_reference(runs: Runs, scripted: ScriptedServices) -> None:
    """Case S09: variants of an address in several steps are one source with one number; other pages stay apart."""
    variants = {
        "a1": ["http://ex.test/a", "https://ex.test/a/"],
        "b2": ["https://ex.test/a?utm_source=x", "https://ex.test/a#s2", "https://ex.test/p?id=1"],
        "c3": ["https://www.ex.test/a", "https://ex.test/p?id=2"],
    }

    def results(query: str) -> list[Json]:
        urls = next((urls for name, urls in variants.items() if f"subject-{name}" in query), [])
        return [{"url": url, "title": url, "content": "the measured value"} for url in urls]

    scripted.setup.results = results
    scripted.scripts["planner"] = plan_of(*[research_step(f"subject-{name}") for name in variants])
    scripted.scripts["researcher"] = searching("facts on {subject}")
    status = await runs.complete(look_around=False)
    assert sorted(source.number or 0 for source in status.sources) == [1, 2, 3]
    assert sum("ex.test/a" in source.url for source in status.sources) == 1
    assert status.report
    references = status.report.markdown.partition("## References")[2]
    assert [line.partition(".")[0] for line in references.split("\n") if "ex.test" in line] == ["1", "2", "3"]


async def test_steps_that_ask_the_same_at_once_pay_once(runs: Runs, scripted: ScriptedServices) -> None:
    """Three steps search for the same at the same moment, in other letters: one request, and all see its results."""
    scripted.scripts["planner"] = plan_of(*[research_step(f"subject-{name}") for name in ("a1", "b2", "c3")])
    spellings = {"subject-a1": "the same  Thing", "subject-b2": "The Same Thing ", "subject-c3": "the same thing"}
    scripted.scripts["researcher"] = lambda call: (
        call_tool("web_search", query=spellings[subject_of(call)]) if call.rounds == 0 else finding(call)
    )
    gate = scripted.hold("search")
    run = await runs.start(auto_accept=True, look_around=False, locale="en-US")
    await eventually(lambda: scripted.log.count("researcher") == 3 and len(gate.caught) == 1, "one search on its way")
    gate.open()
    status = await run.end()
    assert scripted.log.count("search") == status.usage.searches == 1
    assert status.plan
    assert {step.status for step in status.plan.steps} == {StepStatus.DONE}
    told = [tool_text(call) for call in scripted.log.calls("researcher") if call.rounds == 1]
    assert len(told) == 3
    assert all(len(set(SHOWN_SOURCE.findall(text))) == 3 for text in told)
    entries = await run.store.entry_names(f"answered/{run.id}/searches/")
    assert len(entries) == 1
