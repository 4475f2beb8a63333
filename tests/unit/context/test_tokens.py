"""How long texts and requests are said to be, and how long they may be."""

import pytest

from deer.context import DEFAULT_TOKEN_LIMIT, answer_room, known_token_limit, safe_tokens, tokens_of_request
from deer.models import ChatMessage, RawToolCall, Role, SealedThoughts, Speaker
from deer.ports import ChatRequest
from deer.prompts import output_for, tools_for
from tests.unit.context.counted import COUNTED
from tests.unit.prompt_briefs import planner, step_brief


@pytest.mark.parametrize(("cl100k", "o200k", "text"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_an_estimate_is_on_the_safe_side_of_a_real_tokenizer(cl100k: int, o200k: int, text: str) -> None:
    """Texts in many scripts are estimated at no less than what two tokenizers count, and not at the double."""
    estimate = safe_tokens(text)
    assert max(cl100k, o200k) <= estimate < 2 * cl100k


def test_texts_that_are_no_utf8_are_counted_too() -> None:
    """Nothing is nothing, and half a pair of surrogates, as broken JSON brings, is counted like anything else."""
    assert safe_tokens("") == 0
    assert safe_tokens("\ud83d") > 0


def test_a_request_counts_whatever_it_says() -> None:
    """Messages, calls with their arguments, tools and the schema of the answer all count."""
    hello = ChatMessage(speaker=Speaker.USER, content="Hello")
    bare = ChatRequest(role=Role.PLANNER, brief=planner("en-US"), messages=(hello,))
    call = RawToolCall(id="c1", name="web_search", arguments='{"query": "heat pumps"}')
    talk = (hello, ChatMessage(speaker=Speaker.ASSISTANT, calls=(call,)))
    sealed = SealedThoughts(sealed_by="m", message={}, calls=({"extra_content": "E" * 30},))
    sealed_talk = (hello, talk[1].model_copy(update={"sealed": sealed}))
    sizes = [
        tokens_of_request(bare.model_copy(update=more))
        for more in (
            {},
            {"messages": talk},
            {"messages": sealed_talk},
            {"output": output_for(planner("en-US"))},
            {"tools": tools_for(step_brief("en-US", Role.RESEARCHER))},
        )
    ]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == len(sizes)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("gpt-4o-mini", 128_000),
        ("gpt-4", 8_192),
        ("gpt-4.1-nano", 1_000_000),
        ("openai/gpt-5-mini", 272_000),
        ("o4-mini", 200_000),
        ("foo1-mini", DEFAULT_TOKEN_LIMIT),
        ("claude-sonnet-4-5", 200_000),
        ("Qwen/Qwen2.5-7B-Instruct", 32_768),
        ("meta-llama/Llama-3.1-8B-Instruct", 128_000),
        ("llama3:8b", 8_192),
        ("SmolLM2-135M-Instruct", 8_192),
        ("deepseek-chat", 64_000),
        ("my-own-model", DEFAULT_TOKEN_LIMIT),
        (None, DEFAULT_TOKEN_LIMIT),
    ],
)
def test_well_known_models_have_their_limits(name: str | None, limit: int) -> None:
    """A well-known name, with or without its vendor, has its maker's limit; any other the default."""
    assert known_token_limit(name) == limit


def test_room_is_left_for_the_answer() -> None:
    """A quarter of a small limit, no more than a long report needs, but what requests allow, up to half."""
    assert answer_room(4_000) == 1_000
    assert answer_room(1_000_000) == 8_192
    assert answer_room(32_000, 500) == 8_000
    assert answer_room(128_000, 16_000) == 16_000
    assert answer_room(32_000, 64_000) == 16_000
