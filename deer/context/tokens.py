"""How many tokens a text has, estimated on the safe side and without any tokenizer's tables.

A tokenizer per model would have to be fetched or carried (75 MB for OpenAI's alone). Bytes are counted by kind instead,
each kind weighed so that ordinary text in any script comes out at or above what OpenAI's `cl100k_base` counts: prose in
23 languages, code, addresses and tables at 1.0 to 1.6 times. `o200k_base` and other tokenizers of today count the
scripts of Asia and the Near East lower still. Only what is not language is told too low: random letters by a half,
base64 by 40 %, hexadecimal digests by 15 %. What an endpoint then refuses is shortened again.
"""

import json
from collections.abc import Iterable
from typing import Final

from deer.models import ChatMessage
from deer.ports import ChatRequest

TOKENS_PER_MESSAGE = 8
"""Marks around a message and its role, and the like around a call; chat formats take 3 to 7."""


def _bytes(*spans: tuple[int, int]) -> bytes:
    return bytes(byte for first, last in spans for byte in range(first, last + 1))


_WEIGHTS: Final[tuple[tuple[bytes, float], ...]] = (
    (_bytes((0x61, 0x7A)), 0.28),  # small letters
    (_bytes((0x41, 0x5A)), 0.45),  # capitals
    (_bytes((0x30, 0x39)), 0.65),  # digits
    (b" \n\t\r", 0.12),
    (_bytes((0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x7F)), 1.0),  # control characters
    (_bytes((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)), 0.9),  # punctuation
    # First bytes of longer characters; the bytes after them weigh nothing.
    (_bytes((0xC2, 0xCD)), 1.8),  # Latin letters with accents, which break words into pieces
    (_bytes((0xCE, 0xCF), (0xD5, 0xDF)), 1.15),  # Greek, Hebrew, Arabic
    (_bytes((0xD0, 0xD4)), 0.75),  # Cyrillic
    (_bytes((0xE0, 0xE0), (0xE3, 0xE3)), 1.5),  # scripts of India, Thai; kana
    (_bytes((0xE1, 0xE2)), 3.1),  # Amharic, Burmese, Vietnamese vowels; symbols and typographic marks
    (_bytes((0xE4, 0xE9)), 1.5),  # Chinese characters
    (_bytes((0xEA, 0xEF)), 1.6),  # Korean, full-width forms
    (_bytes((0xF0, 0xF4)), 3.6),  # pictographs
)


def safe_tokens(text: str) -> int:
    """Tokens of a text, rounded up; rather too many than too few."""
    data = text.encode("utf-8", "surrogatepass")
    total = len(data)
    return -int(-sum((total - len(data.translate(None, kind))) * weight for kind, weight in _WEIGHTS) // 1)


def tokens_of_message(message: ChatMessage) -> int:
    """Tokens of a message with the calls in it, and the reasoning that some endpoints want back."""
    calls = sum(
        TOKENS_PER_MESSAGE + safe_tokens(call.id) + safe_tokens(call.name) + safe_tokens(call.arguments)
        for call in message.calls
    )
    said = safe_tokens(message.content) + safe_tokens(message.reasoning) + safe_tokens(message.call_id or "")
    sealed = message.sealed
    kept = safe_tokens(sealed.message_text) + safe_tokens(sealed.call_text) if sealed is not None else 0
    return TOKENS_PER_MESSAGE + said + kept + calls


def tokens_around(request: ChatRequest) -> int:
    """Tokens of what a request says besides its messages: the tools it offers and the schema of its answer."""
    schemas: Iterable[object] = (
        *(tool.model_dump(mode="json") for tool in request.tools),
        *((request.output.model_dump(mode="json"),) if request.output else ()),
    )
    return sum(TOKENS_PER_MESSAGE + safe_tokens(json.dumps(schema, ensure_ascii=False)) for schema in schemas)


def tokens_of_request(request: ChatRequest) -> int:
    """Tokens of all that a request says."""
    return tokens_around(request) + sum(tokens_of_message(message) for message in request.messages)
