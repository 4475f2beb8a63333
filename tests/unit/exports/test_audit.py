"""The bundle of evidence: what it holds, and that nothing in it can change without being named."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from deer.exports.bundle import bundle_of, bytes_of, hashes_of, written
from deer.exports.verifying import verdict_on
from deer.flow import RunState, take_review
from deer.messages import Decision, Review
from deer.models import (
    Check,
    CheckedClaim,
    DraftStep,
    FinishedReport,
    FoundSource,
    Phase,
    PlanDraft,
    ResearchRequest,
    StepType,
    TextRef,
    hash_of,
)
from deer.ports import store_text
from tests.unit.cli.scripted_run import MemoryStore

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LONG = "The seasonal figure is 3.5. " * 20 + "热泵更便宜。 A lone sign: \ud800."
REPORT = """# Heat pumps

Three times less energy. [1] More in [the same page](https://a.example/x). [2]

## References

1. [Page \\[7\\]](https://a.example/x)
2. [Notes](doc://notes/costs.md)
"""


async def audited_run(store: MemoryStore) -> RunState:
    """A run whose plan one person edited and another approved, with two cited sources, a seen one and three claims."""
    state = RunState.begin("r1", ResearchRequest(question="Are heat pumps cheap?", requested_by="kim"))
    step = DraftStep(title="Look", description="Look.", step_type=StepType.RESEARCH)
    state.propose(NOON, PlanDraft(title="T", steps=(step,)), "planner")
    state.enter(Phase.AWAITING_REVIEW)
    state.open_review(NOON)
    plan = {"title": "T", "steps": [{"id": "s1", "title": "Look closely", "step_type": "research"}]}
    take_review(state, NOON, Review(decision=Decision.EDIT, plan=plan, reviewer="kim"))
    take_review(state, NOON + timedelta(minutes=1), Review(decision=Decision.APPROVE, reviewer="lee"))
    page = FoundSource(url="https://a.example/x", title="Page [7]", summary="A page.", read=True)
    state.sources.add(page.model_copy(update={"text": await store_text(store, LONG)}))
    state.sources.add(FoundSource(url="doc://notes/costs.md", title="Notes", summary="It costs “1,400” euros."))
    state.sources.add(FoundSource(url="https://b.example/y", title="Seen", summary="Nothing of note."))
    state.steps["s1"].claims = (
        CheckedClaim(text="3.5", source_id="b-1", quote="the seasonal figure is 3.5.", check=Check.VERIFIED),
        CheckedClaim(text="cheap", source_id="b-2", quote='It costs "1,400" euros', check=Check.VERIFIED),
        CheckedClaim(text="loud", source_id="b-2", quote="as loud as a train", check=Check.UNVERIFIED),
    )
    finished = FinishedReport(text=REPORT, numbers={"b-1": 1, "b-2": 2}, removed_markers=0, removed_links=0)
    state.take_report(NOON + timedelta(minutes=9), finished)
    state.end(NOON + timedelta(minutes=10), Phase.COMPLETED, None)
    return state


@pytest.fixture
async def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
async def content(store: MemoryStore) -> bytes:
    """The file of a bundle in which all is right."""
    return bytes_of(await bundle_of(await audited_run(store), store))


def changed(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The file after a change by somebody who made all its hashes fit again."""
    tree = json.loads(content)
    change(tree)
    del tree["hashes"]
    return written({**tree, "hashes": hashes_of(tree)})


async def test_the_bundle_holds_what_stands_behind_the_report(content: bytes) -> None:
    """Report, claims, each revision of the plan, texts by hash, and who approved what and when, are all in the file."""
    tree = json.loads(content)
    assert tree["report"] == REPORT
    assert [claim["check"] for claim in tree["claims"]] == ["verified", "verified", "unverified"]
    assert tree["sources"][0]["seen"] == [hash_of(LONG), hash_of("A page.")]
    assert tree["texts"][hash_of(LONG)] == LONG
    assert [(plan["revision"], plan["steps"][0]["title"]) for plan in tree["plans"]] == [
        (1, "Look"),
        (2, "Look closely"),
    ]
    assert [(made["from"], made["to"], made["at"][:16], made["reason"]) for made in tree["decisions"]] == [
        ("planner", "review", "2026-11-30T12:00", "plan revision 1: T"),
        ("kim", "review", "2026-11-30T12:00", "plan revision 2: T"),
        ("lee", "research team", "2026-11-30T12:01", "approved revision 2"),
    ]
    assert tree["request"]["requested_by"] == "kim"
    assert {"usage", "handoffs", "clarifications", "steps", "run"} <= set(tree)
    assert len(tree["prompts"]["sha256"]["reporter.zh.md"]) == 64


async def test_what_was_written_is_right(content: bytes) -> None:
    """A file as it was written passes; typography of quotes and escaped numbers in titles do not disturb it."""
    verdict = verdict_on(content)
    assert verdict.failures == ()
    assert (verdict.run_id, verdict.cited, verdict.verified_claims, verdict.texts) == ("r1", 2, 2, 4)


async def test_files_of_other_versions_stay_valid(content: bytes) -> None:
    """Words and fields that this version does not know, outside what is checked, do not make a file wrong."""

    def as_another_version_writes(tree: dict[str, Any]) -> None:
        tree["request"] |= {"report_style": "haiku", "new_field": 1}
        tree["run"]["phase"] = "dreaming"
        tree["new_part"] = [1, {"a": 2}]

    assert verdict_on(changed(content, as_another_version_writes)).failures == ()


async def test_every_changed_byte_is_found(content: bytes) -> None:
    """Whichever byte is changed, left out or added, the check fails and names a place."""
    for number, at in enumerate(range(0, len(content), 101)):
        before, byte, after = content[:at], content[at], content[at + 1 :]
        instead = (bytes([byte ^ 1]), bytes([byte ^ 32]), b"", bytes([byte]) + b" ")[number % 4]
        verdict = verdict_on(before + instead + after)
        assert verdict.failures, f"byte {at}: {content[at - 20 : at + 20]!r}"
        assert verdict.failures[0].split(":")[0]


async def test_the_failure_names_what_was_changed(content: bytes) -> None:
    """A changed figure in a stored text is told by the hash of that text, one in a claim by the claim's place."""
    text = verdict_on(content.replace(b"figure is 3.5. The", b"figure is 3.6. The", 1))
    assert text.failures == (f"texts.{hash_of(LONG)}: does not have its hash",)
    claim = verdict_on(content.replace(b'"text": "loud"', b'"text": "calm"'))
    assert claim.failures == ("claims[2]: does not have its hash",)


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        (lambda tree: tree["claims"][0].update(quote="the figure is 9.9 all year"), "claims[0]: its quote"),
        (lambda tree: tree["claims"][2].update(check="verified"), "claims[2]: its quote 'as loud as a train'"),
        (lambda tree: tree["claims"][0].update(source_id="b-9"), "claims[0]: there is no source 'b-9'"),
        (lambda tree: tree.update(report=tree["report"].replace("[2]", "[3]")), "report: [3] has no source"),
        (lambda tree: tree.update(report=tree["report"].replace(" [2]", "")), "report: source number 2 is not cited"),
        (lambda tree: tree.update(report=REPORT + "\n[x](https://evil.test/)"), "report: https://evil.test/ is the"),
        (lambda tree: tree["sources"][0].update(number=4), "sources: are not numbered from 1 on"),
        (lambda tree: tree["sources"][1].update(seen=[]), "sources: nothing was seen of b-2, which is cited"),
        (lambda tree: tree["texts"].pop(hash_of(LONG)), f"texts.{hash_of(LONG)}: is missing, source b-1 had it"),
        (lambda tree: tree.update(report=None), "sources: number 1 is cited by no report"),
        (lambda tree: tree["sources"].append("x"), "sources.3: "),
    ],
)
async def test_hashes_alone_do_not_make_it_right(
    content: bytes, change: Callable[[dict[str, Any]], object], failure: str
) -> None:
    """Where somebody also made the hashes fit, what the file says must still hold together."""
    failures = verdict_on(changed(content, change)).failures
    assert [found for found in failures if found.startswith(failure)], failures


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", "line 1, column 1"),
        (b"{}", "format"),
        (b"[]", "format"),
        (b"\xff", "byte 0"),
        (b"[" * 100_000, "format"),
        (b"1" * 10_000, "format"),
    ],
)
def test_what_is_no_bundle_is_said(content: bytes, place: str) -> None:
    """Anything else in place of a bundle fails with a sentence, whatever it is."""
    [failure] = verdict_on(content).failures
    assert failure.startswith(place)


async def test_a_text_that_the_store_lost_is_named(store: MemoryStore) -> None:
    """A bundle can still be written when a text was removed from the store, and says which."""
    state = await audited_run(store)
    state.sources.add(FoundSource(url="https://c.example", title="Lost", summary="s", text=lost_text()))
    bundle = await bundle_of(state, store)
    assert bundle.missing_texts == ("0" * 64,)
    assert verdict_on(bytes_of(bundle)).failures == (f"texts.{'0' * 64}: is missing, source b-4 had it",)


def lost_text() -> TextRef:
    """A reference to what no store has."""
    return TextRef(sha256="0" * 64, chars=9, preview="lost")
