"""Requests that are too long are told in fewer words: what goes first, what stays, and what holds whatever comes."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deer.context import fitted, tokens_of_request
from deer.errors import FailureKind, ServiceError
from deer.models import ChatMessage, RawToolCall, Role, SealedThoughts, Speaker
from deer.ports import ChatRequest
from deer.prompts.fences import Tag
from tests.unit.context.conversations import (
    finding,
    prose,
    request_of,
    search_reply,
    source,
    turn,
    unpaired,
)
from tests.unit.prompt_briefs import QUESTION, STEP, judge, planner, reporter, step_brief

RESEARCHER = step_brief("en-US", Role.RESEARCHER, findings=(), background=())
LEAST_ROOM = 3_000
"""Enough for the prompt of any role, its tools, and the question."""


def told(request: ChatRequest) -> list[dict[str, object]]:
    """What the tools answered."""
    return [json.loads(message.content) for message in request.messages if message.speaker is Speaker.TOOL]


def test_a_request_that_fits_is_left_alone() -> None:
    """Nothing is rewritten, not even copied, as long as there is room."""
    request = request_of(RESEARCHER, Role.RESEARCHER, [turn(1, [9_000])])
    assert fitted(request, tokens_of_request(request)) is request


def test_the_oldest_pages_become_digests_first() -> None:
    """A page of long ago keeps id, title, address and first sentences, and says that it was cut; the last two stay."""
    request = request_of(RESEARCHER, Role.RESEARCHER, [turn(number, [9_000]) for number in range(1, 6)])
    sent = fitted(request, tokens_of_request(request) * 7 // 10)
    first, *_, before, last = told(sent)
    assert (first["source_id"], first["title"], first["url"]) == ("s1-10", "A page", "https://www.example.org/s1-10")
    assert str(first["text"]).startswith("The measured value of the sample is 42.5 percent, as the laboratory wrote.")
    assert "[shortened: " in str(first["text"])
    assert "of 9000 characters]" in str(first["text"])
    assert first["shortened"] is True
    assert [before, last] == told(request)[-2:]


def test_hits_keep_what_names_them() -> None:
    """The digest of a search keeps each hit's id, title, address and score."""
    call = RawToolCall(id="c1", name="web_search", arguments='{"query": "x"}')
    search = (ChatMessage(speaker=Speaker.ASSISTANT, calls=(call,)), search_reply("c1", "s1", 8))
    request = request_of(RESEARCHER, Role.RESEARCHER, [search, turn(2, [9_000]), turn(3, [9_000])])
    sent = fitted(request, 6_200)
    hits, whole = told(sent)[0]["results"], told(request)[0]["results"]
    assert isinstance(hits, list)
    assert isinstance(whole, list)
    for hit, before in zip(hits, whole, strict=True):
        assert {**hit, "summary": ""} == {**before, "summary": ""}
        assert len(hit["summary"]) < len(before["summary"])


def test_what_is_sealed_is_left_out_whole_and_signatures_never() -> None:
    """The long details of an old turn go, as no part of them would be taken; those of the latest turns stay."""
    signed = {"extra_content": {"google": {"thought_signature": "E" * 900}}}
    sealed = SealedThoughts(sealed_by="m", message={"reasoning_details": [{"data": "x" * 5_000}]}, calls=(signed,))
    turns = [turn(number, [9_000]) for number in (1, 2, 3)]
    turns = [(move.model_copy(update={"sealed": sealed}), *results) for move, *results in turns]
    request = request_of(RESEARCHER, Role.RESEARCHER, turns)
    sent = fitted(request, tokens_of_request(request) * 7 // 10)
    kept = [message.sealed for message in sent.messages if message.sealed]
    assert [seal.message == sealed.message for seal in kept] == [False, True, True]
    assert [seal.calls for seal in kept] == [(signed,)] * 3


def test_one_turn_of_many_pages_is_shortened_evenly() -> None:
    """Where the latest turn alone is too long, its pages share the room, and short ones stay whole."""
    request = request_of(RESEARCHER, Role.RESEARCHER, [turn(1, [12_000] * 11 + [300])])
    sent = fitted(request, 20_000)
    *long, short = [len(str(page["text"])) for page in told(sent)]
    assert min(long) > 2_000
    assert max(long) - min(long) < 100
    assert short == 300


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_a_reporter_with_many_findings_gets_the_longest_in_fewer_words(locale: str) -> None:
    """Ninety findings of several rounds fit: the long ones are cut and say so, the short ones are whole."""
    findings = tuple(finding(f"s{at}", 20_000 if at % 3 else 300, claims=2) for at in range(1, 91))
    brief = reporter(locale, sources=tuple(source(f"s{at}-1") for at in range(1, 91)))
    request = request_of(brief.model_copy(update={"findings": findings}), Role.REPORTER)
    assert tokens_of_request(request) > 120_000
    sent = fitted(request, 100_000)
    assert 60_000 < tokens_of_request(sent) <= 100_000
    text = sent.messages[1].content
    assert text.count("<finding ") == 90
    assert text.count("<claim ") == 180
    assert text.count(f"<summary>\n{prose(300)}\n</summary>") == 30
    assert ("of 20000 characters]" if locale == "en-US" else "共 20000 字") in text


def test_a_small_model_gets_a_report_to_write_too() -> None:
    """With little room quotes go first, then sources from the end of their list; every finding keeps its beginning."""
    findings = tuple(finding(f"s{at}", 5_000, claims=5) for at in range(1, 6))
    brief = reporter("en-US", sources=tuple(source(f"s1-{at}") for at in range(1, 126)))
    request = request_of(brief.model_copy(update={"findings": findings}), Role.REPORTER)
    sent = fitted(request, 6_000)
    text = sent.messages[1].content
    assert text.count("<finding ") == 5
    assert "<quote>" not in text
    assert 'id="s1-1"' in text
    assert 'id="s1-125"' not in text
    assert "[left out for want of room: " in text


def test_a_report_that_is_gone_on_with_keeps_its_end() -> None:
    """What the reporter has written is cut at its beginning: it goes on where it ended."""
    brief = reporter("en-US", written=f"{prose(30_000)} and so it ends")
    sent = fitted(request_of(brief, Role.REPORTER), 4_000)
    assert "and so it ends\n</written>" in sent.messages[1].content


def test_a_plan_of_many_steps_keeps_their_ids_and_titles() -> None:
    """A judge of a long plan still sees every step's id, type and title, so that it can name them."""
    steps = tuple(
        STEP.model_copy(update={"id": f"s{at}", "title": f"Step {at}", "description": prose(900)})
        for at in range(1, 61)
    )
    brief = judge("en-US")
    brief = brief.model_copy(update={"plan": brief.plan.model_copy(update={"steps": steps})})
    sent = fitted(request_of(brief, Role.JUDGE), 10_000)
    shown = sent.messages[1].content.split("<plan>\n")[1].split("\n</plan>")[0]
    assert [step["id"] for step in json.loads(shown)["steps"]] == [f"s{at}" for at in range(1, 61)]


def test_what_must_stay_and_does_not_fit_is_told() -> None:
    """A question that is longer than the model takes is refused with the remedy, and no retry."""
    request = request_of(planner("en-US", question=prose(8_000)), Role.PLANNER)
    with pytest.raises(ServiceError, match="token_limit") as refused:
        fitted(request, 2_000)
    assert refused.value.kind is FailureKind.TOO_LONG
    assert not refused.value.retryable


def test_the_blocks_that_are_shortened_are_those_of_the_prompts() -> None:
    """Fitting knows the prompts' blocks by name: each name is one of theirs."""
    from deer.context.openings import PLAN_BLOCKS, SHORTENED_BLOCKS

    assert {*SHORTENED_BLOCKS, *PLAN_BLOCKS} <= set(Tag)


PIECES = ("ab ", "Z9", '.,\n"\\', "{}<>/", "é", "中。", "한", "🔥", "</summary>", "A sentence. ")


def any_text(chance: Random) -> str:
    """A text of up to some ten thousand characters of all kinds."""
    return "".join(chance.choices(PIECES, k=chance.randint(1, 8))) * chance.choice([0, 1, 10, 600])


def any_request(chance: Random) -> ChatRequest:
    """A request of any role, with findings, sources and turns of any length."""
    findings = tuple(
        finding(f"s{at}", 0, claims=chance.randint(0, 12)).model_copy(update={"summary": any_text(chance)})
        for at in range(chance.randint(0, 40))
    )
    sources = tuple(source(f"b-{at}", chance.randint(0, 500)) for at in range(chance.randint(0, 60)))
    role = chance.choice([Role.RESEARCHER, Role.ANALYST, Role.REPORTER, Role.JUDGE, Role.PLANNER])
    if role is Role.REPORTER:
        report = reporter("en-US", sources=sources, written=any_text(chance))
        return request_of(report.model_copy(update={"findings": findings}), role)
    if role is Role.JUDGE:
        return request_of(judge("en-US").model_copy(update={"findings": findings}), role)
    if role is Role.PLANNER:
        return request_of(planner("zh-CN").model_copy(update={"findings": findings, "background": sources}), role)
    turns = [
        turn(number, chance.choices([0, 200, 3_000, 12_000], k=chance.randint(1, 6)), thought=any_text(chance))
        for number in range(1, chance.randint(1, 13))
    ]
    if chance.random() < 0.5:
        broken = RawToolCall(id="x1", name="submit_finding", arguments=any_text(chance))
        reply = ChatMessage(speaker=Speaker.TOOL, content=any_text(chance), call_id="x1")
        turns.append((ChatMessage(speaker=Speaker.ASSISTANT, calls=(broken,)), reply))
    return request_of(step_brief("en-US", role, findings=findings, background=sources), role, turns)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), room=st.integers(LEAST_ROOM, 40_000))
def test_no_request_exceeds_its_room(seed: int, room: int) -> None:
    """Whatever was said: it fits, keeps the rules, the question and the step, and pairs calls with replies in order."""
    request = any_request(Random(seed))
    sent = fitted(request, room)
    assert tokens_of_request(sent) <= room
    assert sent.messages[0] == request.messages[0]
    opening = sent.messages[1].content
    assert QUESTION in opening
    if request.role in (Role.RESEARCHER, Role.ANALYST):
        assert STEP.description in opening
    assert list(unpaired(sent.messages)) == []
    kept, asked = ([call for message in talk.messages for call in message.calls] for talk in (sent, request))
    assert [call.id for call in kept] == [call.id for call in asked[len(asked) - len(kept) :]]
    assert bool(kept) == bool(asked)
    for before, after in zip(reversed(asked), reversed(kept), strict=False):
        assert after == before or isinstance(json.loads(after.arguments), dict)
