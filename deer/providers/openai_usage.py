"""What a call took in tokens, worked out where the endpoint does not count them."""

import json
import re
from collections.abc import Mapping
from typing import Any

from deer.models import ChatReply

# Chinese, Japanese and Korean signs, with their punctuation and full-width forms.
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)
_CJK_CHARS_PER_TOKEN = 1.5
_BYTES_PER_TOKEN = 4


def estimated_tokens(text: str) -> int:
    """About how many tokens a text is: 1.5 signs of Chinese, Japanese and Korean each, else four bytes of UTF-8.

    Rules of thumb for the vocabularies of today's models; the true number may differ by a third.
    """
    if text.isascii():
        return -(-len(text) // _BYTES_PER_TOKEN)
    rest, signs = _CJK.subn("", text)
    bytes_ = len(rest.encode("utf-8", "replace"))
    return -(-bytes_ // _BYTES_PER_TOKEN) + round(signs / _CJK_CHARS_PER_TOKEN)


def with_estimated_usage(reply: ChatReply, body: Mapping[str, Any]) -> ChatReply:  # Any: see openai_requests.Json
    """The reply with both counts of tokens; those that the endpoint left out are estimated, and marked so.

    `body` is the request that was answered. No call has an empty prompt, so that a count of nothing is none.
    """
    counted = reply.usage
    if counted.input_tokens and counted.output_tokens:
        return reply  # the usual case: nothing to work out
    told = counted.input_tokens or estimated_tokens(
        json.dumps([body.get("messages"), body.get("tools")], ensure_ascii=False)
    )
    calls = "".join(call.name + call.arguments for call in reply.calls)
    said = counted.output_tokens or estimated_tokens(reply.reasoning + reply.content + calls)
    usage = counted.model_copy(update={"input_tokens": told, "output_tokens": said})
    return reply.model_copy(update={"usage": usage, "usage_is_estimated": usage != counted})
