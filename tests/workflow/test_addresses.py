"""Addresses that carry a user name and a password: what becomes of them."""

import pytest

from deer.models import FoundSource, Hit, ReadRequest, SearchRequest, without_credentials
from deer.providers.files import FileStore
from tests.running import Runs, children_in
from tests.scripted import Call, ScriptedServices, call_tool, plan_of, research_step
from tests.scripted.replies import Answer
from tests.scripted.roles import finding

SECRET = "canary-of-a-page"


async def test_no_address_keeps_its_credentials(runs: Runs, scripted: ScriptedServices) -> None:
    """Hits, pages and searches lose them before anything is shown, kept or asked; the page is read all the same."""
    with_secret = scripted.url.replace("://", f"://ada:{SECRET}@")

    def careless(call: Call) -> Answer:
        if call.rounds == 0:
            return call_tool("web_search", query=f"facts on subject-a1 as in {with_secret}/page/subject-a1-1")
        return call_tool("read_page", url=f"{with_secret}/page/subject-a1-1") if call.rounds == 1 else finding(call)

    scripted.scripts["planner"] = plan_of(research_step("subject-a1"))
    scripted.scripts["researcher"] = careless
    scripted.setup.results = lambda query: [
        {"title": "", "url": f"{with_secret}/page/subject-a1-{number}", "content": "A value.", "score": 1.0}
        for number in (1, 2)
    ]
    run = await runs.start(auto_accept=True)
    status = await run.end()
    assert [source.read for source in status.sources] == [True, False]
    assert status.report
    assert f"{scripted.url}/page/subject-a1-1" in status.report.markdown
    assert isinstance(runs.store, FileStore)
    kept = [path.read_bytes() for path in runs.store.root.rglob("*") if path.is_file()]
    handles = [run.handle, *(runs.client.get_workflow_handle(child) for child in children_in(await run.events()))]
    seen = [event.SerializeToString() for handle in handles for event in (await handle.fetch_history()).events]
    asked = [call.text.encode() for call in scripted.log.calls()]
    assert b"subject-a1-1" in b"".join(seen)
    assert not [data for data in (*kept, *seen, *asked, status.model_dump_json().encode()) if SECRET.encode() in data]


@pytest.mark.parametrize(
    ("written", "bare"),
    [
        ("https://user:pass@example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("http://token@example.org", "http://example.org"),
        ("https://a@b:c@d@example.org:8443/x@y", "https://example.org:8443/x@y"),
        ("//user:pass@example.org/", "//example.org/"),
        ("HTTPS://u:p%40@[::1]/", "HTTPS://[::1]/"),
        ('{"url": "https:\\/\\/u:p@example.org\\/x"}', '{"url": "https:\\/\\/example.org\\/x"}'),
        ("see ftp://u:p@a.example and https://u:p@b.example", "see ftp://a.example and https://b.example"),
        ("https://r.example/?to=https://u:p@a.example/", "https://r.example/?to=https://a.example/"),
    ],
)
def test_credentials_are_taken_out_of_an_address(written: str, bare: str) -> None:
    """All before the host goes, in any address of a text, and wherever an address comes into the program."""
    assert without_credentials(written) == bare
    assert without_credentials(bare) == bare
    assert Hit(url=written, title=written, content=written).url == bare
    assert FoundSource(url=written, title=written, summary="").title == bare
    assert ReadRequest(run_id="r", url=written).url == bare
    assert SearchRequest(run_id="r", query=written, max_results=1).query == bare


@pytest.mark.parametrize(
    "text",
    ["mail ada@example.org", "https://example.org/@ada", "doc://notes/a@b.md", "https://a.example?q=x@y", "a // b @ c"],
)
def test_what_is_no_credential_stays(text: str) -> None:
    """An `@` elsewhere in a text or an address names nobody."""
    assert without_credentials(text) == text
