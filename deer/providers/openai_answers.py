"""What a reply means in the dialect that was spoken."""

from deer.models import ChatReply
from deer.parsing import without_thoughts
from deer.ports import ChatRequest
from deer.providers.openai_dialects import Dialect, OutputDialect, ToolDialect
from deer.providers.tools_in_words import with_calls_from_words


def understood(reply: ChatReply, request: ChatRequest, dialect: Dialect) -> ChatReply:
    """The reply as the request wanted it: JSON as text, tools as calls, and no thoughts in either."""
    if request.output is not None and dialect.output_of(request) is OutputDialect.TOOL and reply.calls:
        return reply.model_copy(update={"content": reply.calls[0].arguments, "calls": ()})
    answer = without_thoughts(reply.content)
    if request.output is not None and not answer:
        return reply  # a block that is never closed may hold the JSON, which is looked for by those who read it
    reply = reply.model_copy(update={"content": answer})
    return with_calls_from_words(reply, request.tools) if dialect.tools is ToolDialect.WORDS else reply
