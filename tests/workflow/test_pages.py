"""Pages as the researcher meets them: what is read is shown with its place and can be quoted, what is none says why."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from deer.models import Check, Phase, RunStatus
from tests.running import Runs
from tests.scripted import Call, ScriptedServices, ToolCall, ToolCalls, call_tool, plan_of, research_step
from tests.scripted.replies import Answer, Failure
from tests.unit.providers.page_files import paragraph, pdf_file, word_file
from tests.unit.providers.web_server import Reply, WebServer, always

PDF = pdf_file(
    "Cold weather tests of heat pumps in the laboratory.",
    "The measured value of the second sample was 31 percent, which",
    "was more than anybody had expected.",
)
Said = Mapping[str, Any]  # a tool's reply as the model reads it


def html(title: str, body: str) -> str:
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>"


def article(sentence: str) -> str:
    return f"<article>{f'<p>{sentence}</p>' * 12}</article>"


async def read_all(
    runs: Runs, scripted: ScriptedServices, urls: Sequence[str], claims: Sequence[tuple[str, str]] = ()
) -> tuple[list[Said], RunStatus]:
    """What a researcher is told who reads these addresses in one turn, and how the run of this one step ends.

    Of each claim the first part says by its place which page it is on, the second is its quote.
    """

    def turns(call: Call) -> Answer:
        if call.rounds == 0:
            return ToolCalls(tuple(ToolCall("read_page", {"url": url}) for url in urls))
        ids = [said.get("source_id", "") for said in told(call)]
        made = [{"text": "A fact.", "source_id": ids[int(at)], "quote": quote} for at, quote in claims]
        return call_tool("submit_finding", summary="Found what there was.", claims=made)

    step = research_step("subject-a1", description="How loud was the school: its noise in dB?", need_search=False)
    scripted.scripts["planner"] = plan_of(step)
    scripted.scripts["researcher"] = turns
    status = await runs.complete("What is the value?", look_around=False)
    return told(scripted.log.calls("researcher")[-1]), status


def told(call: Call) -> list[Said]:
    """The replies of tools in a call, in the order of their calls."""
    return [json.loads(message["content"]) for message in call.messages if message["role"] == "tool"]


async def test_pages_of_every_kind_reach_the_researcher(runs: Runs, scripted: ScriptedServices) -> None:
    """Cases W01, W09: PDF, Word, CSV and pages in other encodings are read, and quotes of them, also over two pages."""
    gbk = html("热泵", article("热泵在低温下的能效比仍然高于电暖。")).encode("gbk")
    japanese = html("ポンプ", '<meta charset="utf-8">' + article("寒冷地のヒートポンプの効率は高い。")).encode(
        "shift_jis"
    )
    western = html("Q", article("She said “it’s warm – at last” in the café.")).encode("cp1252")
    scripted.setup.files = {
        "pdf": ("text/html", PDF),
        "word": ("application/octet-stream", word_file(paragraph("The minutes say that the value is 32 percent."))),
        "csv": ("text/csv", b"sample,value\nsecond,33\n"),
        "gbk": ("text/html", gbk),
        "japanese": ("text/html", japanese),
        "western": ("text/html", western),
        "picture.html": ("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
    }
    urls = [f"{scripted.url}/page/{name}" for name in scripted.setup.files]
    quotes = [("0", "was 31 percent, which was more than anybody had expected"), ("1", "the value is 32 percent")]
    said, status = await read_all(runs, scripted, urls, quotes)
    assert [passage["page"] for passage in said[0]["passages"]] == [1, 2, 3]
    assert "the value is 32 percent" in said[1]["text"]
    assert "| second | 33 |" in said[2]["text"]
    assert "热泵在低温下的能效比" in said[3]["text"]
    assert "寒冷地のヒートポンプ" in said[4]["text"]
    assert "“it’s warm – at last” in the café" in said[5]["text"]
    assert "cannot read this type (image/png)" in said[6]["error"]
    assert status.report is not None
    assert [claim.check for claim in status.report.claims] == [Check.VERIFIED, Check.VERIFIED]


async def test_of_a_long_page_the_passages_that_matter_are_shown(runs: Runs, scripted: ScriptedServices) -> None:
    """What the step asks about stands behind character 25,000: it is shown with its place, and all can be quoted."""
    ships = [
        f"<p>In year {year} the harbour was full of ships, and {year % 7} were built there.</p>" for year in range(900)
    ]
    noise = "<p>The noise of the school was 45 dB in that year.</p>"
    hidden = "<p>Only the archive of the parish knows that a kiln once stood there.</p>"
    body = "".join(["<article>", *ships[:500], noise, *ships[500:700], hidden, *ships[700:], "</article>"])
    scripted.setup.pages = {"long": html("A chronicle", body)}
    quotes = [("0", "The noise of the school was 45 dB"), ("0", "a kiln once stood there")]
    [said], status = await read_all(runs, scripted, [f"{scripted.url}/page/long"], quotes)
    [passage] = [passage for passage in said["passages"] if "45 dB" in passage["text"]]
    assert passage["from"] > 25_000
    assert said["cut"] is True
    assert said["chars"] > 50_000
    assert sum(len(passage["text"]) for passage in said["passages"]) <= 12_000
    assert "kiln" not in str(said)
    assert status.report is not None
    assert [claim.check for claim in status.report.claims] == [Check.VERIFIED, Check.VERIFIED]


async def test_what_is_no_evidence_is_never_cited(runs: Runs, scripted: ScriptedServices) -> None:
    """Case W03: walls, error pages and refusals fail with a reason in one line; an article on errors is read."""
    scripted.setup.pages = {
        "wall": html("Just a moment...", "<h1>example.org</h1><p>Checking your browser before accessing it.</p>"),
        "soft": html("Example", "<h1>404 Not Found</h1><p>nothing here, please go away</p>"),
        "cookies": html(
            "The Daily",
            "<h1>We value your privacy</h1><p>We and our partners store and access information on your device.</p>"
            "<p>You may accept or manage your choices at any time.</p><button>Accept all</button>",
        ),
        "article": html("404 errors", article("A server answers 404 Not Found when it has no such page.")),
    }
    refusals = {"forbidden": 403, "gone": 404}
    scripted.setup.failure = lambda call: Failure(refusals[call.path]) if call.path in refusals else None
    names = (*refusals, *scripted.setup.pages)
    said, status = await read_all(runs, scripted, [f"{scripted.url}/page/{name}" for name in names])
    reasons = [reply.get("error", "") for reply in said]
    assert [bool(reason) for reason in reasons] == [True] * 5 + [False]
    assert all("\n" not in reason for reason in reasons)
    assert status.phase is Phase.COMPLETED
    assert len(status.sources) == 1


async def test_inside_networks_stay_closed(runs: Runs, scripted: ScriptedServices) -> None:
    """Case W05: inside addresses, other schemes and a redirect are refused; the listener inside hears nothing."""
    async with (
        WebServer(always(Reply(body=html("Inside", article("Secret."))))) as inside,
        WebServer(always(Reply(302, b"", {"Location": f"http://localhost:{inside.port}/"}))) as leading,
    ):
        port = inside.port
        urls = [
            leading.url,
            f"http://localhost:{port}/",
            f"http://127.0.0.2:{port}/",
            f"http://[::1]:{port}/",
            f"http://[::ffff:127.0.0.1]:{port}/",
            f"http://0.0.0.0:{port}/",
            "http://2130706433/",
            "http://10.0.0.5/",
            "http://169.254.169.254/latest/meta-data/",
            "http://100.100.100.200/",
            "file:///etc/passwd",
            "ftp://example.org/",
        ]
        said, status = await read_all(runs, scripted, urls)
        assert inside.hits == 0
    assert all("is not read" in reply["error"] for reply in said)
    assert "Secret" not in str(said)
    assert status.phase is Phase.COMPLETED
    assert status.sources == ()
