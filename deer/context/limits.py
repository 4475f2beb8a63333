"""How long a request may be: what is known of well-known models, and what is left free for the answer."""

import re
from typing import Final

DEFAULT_TOKEN_LIMIT = 128_000
"""For models that nobody said anything about."""

MAX_ANSWER_ROOM = 8_192
"""A long report; a longer one is cut by the model and gone on with."""

# Makers publish these figures for request and answer together. The first pattern that fits a name counts.
_KNOWN: Final[tuple[tuple[str, int], ...]] = (
    (r"gpt-4\.1", 1_000_000),
    (r"gpt-5", 272_000),
    (r"gpt-4o|chatgpt-4o|gpt-4-turbo|gpt-4-(?:0125|1106)|gpt-oss", 128_000),
    (r"gpt-4-32k", 32_768),
    (r"gpt-4", 8_192),
    (r"gpt-3\.5", 16_385),
    (r"o1-(?:mini|preview)", 128_000),
    (r"o[134](?:-|$)", 200_000),
    (r"claude", 200_000),
    (r"gemini", 1_000_000),
    (r"gemma-?3-?(?:270m|1b)", 32_768),
    (r"gemma-?3", 128_000),
    (r"gemma", 8_192),
    (r"deepseek", 64_000),
    (r"qwen-?(?:long|turbo|flash)", 1_000_000),
    (r"qwen-?max|qwq", 32_768),
    (r"qwen-?plus|qwen3-(?:coder|max)", 128_000),
    (r"qwen", 32_768),
    (r"llama-?4", 128_000),
    (r"llama-?3[.-][123]", 128_000),
    (r"llama-?3", 8_192),
    (r"llama-?2", 4_096),
    (r"mi[sx]tral-(?:large|medium|small|nemo)|ministral|magistral|devstral", 128_000),
    (r"mixtral-8x22b", 65_536),
    (r"mi[sx]tral", 32_768),
    (r"phi-?4", 16_384),
    (r"kimi|moonshot-v1-128k", 128_000),
    (r"moonshot-v1-32k", 32_768),
    (r"moonshot-v1-8k", 8_192),
    (r"glm-4", 128_000),
    (r"smollm3", 65_536),
    (r"smollm2", 8_192),
    (r"smollm", 2_048),
)


def known_token_limit(model: str | None) -> int:
    """The token limit of a model by its name, wherever the name comes from (`vendor/name:tag`); else the default.

    Where a name stands for models of several sizes, it is the smallest of them.
    """
    name = (model or "").lower()
    matching = (limit for pattern, limit in _KNOWN if re.search(rf"(?<![a-z])(?:{pattern})", name))
    return next(matching, DEFAULT_TOKEN_LIMIT)


def answer_room(token_limit: int, asked: int | None = None) -> int:
    """How many tokens of a limit are left to the answer: a quarter, at most `MAX_ANSWER_ROOM`.

    `asked`: what requests allow the answer, None when they do not say; up to half of the limit it is left too.
    """
    return max(min(token_limit // 4, MAX_ANSWER_ROOM), min(asked or 0, token_limit // 2))
