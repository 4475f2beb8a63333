"""Tagged blocks that keep what a person, a page or a model wrote apart from what the prompts say.

A block begins with `<tag name="value">` and ends with `</tag>`. Text inside cannot end its block or begin another:
wherever it has a `<` that would make one of our tags, the `<` is written `&lt;`. All other text stays as it is, so
that quotes can be copied verbatim.
"""

import re
from collections.abc import Iterable
from enum import StrEnum


class Tag(StrEnum):
    """The blocks that prompts speak of."""

    ANSWER = "answer"
    ASKED = "asked"
    BACKGROUND = "background"
    CLAIM = "claim"
    CLARIFICATION = "clarification"
    EARLIER_PLAN = "earlier_plan"
    EARLIER_REPORT = "earlier_report"
    ERROR = "error"
    FEEDBACK = "feedback"
    FINDING = "finding"
    NOTICE = "notice"
    PLAN = "plan"
    QUESTION = "question"
    QUOTE = "quote"
    REASON = "reason"
    REJECTED_REPLY = "rejected_reply"
    REPLY = "reply"
    SOURCE = "source"
    SOURCES = "sources"
    STEP = "step"
    SUMMARY = "summary"
    TOPIC = "topic"
    WRITTEN = "written"


_UNSEEN = r"\s\u200b-\u200f\u2060\ufeff"  # spaces, and characters of no width
_OUR_TAG = re.compile(rf"<(?=[{_UNSEEN}/]*(?:{'|'.join(Tag)})\b)", re.IGNORECASE)


def fenced(tag: Tag, text: str, **attributes: str) -> str:
    """A block that holds a text from outside."""
    return _block(tag, _OUR_TAG.sub("&lt;", text), attributes)


def grouped(tag: Tag, blocks: Iterable[str], **attributes: str) -> str:
    """A block that holds other blocks. They must come from this module: nothing in them is escaped."""
    return _block(tag, "\n".join(blocks), attributes)


def _block(tag: Tag, content: str, attributes: dict[str, str]) -> str:
    shown = "".join(f' {name}="{_attribute_value(value)}"' for name, value in attributes.items())
    return f"<{tag}{shown}>\n{content}\n</{tag}>"


def _attribute_value(text: str) -> str:
    """A text on one line that cannot end its attribute. `&` stays, so that addresses can be copied."""
    return " ".join(text.split()).replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
