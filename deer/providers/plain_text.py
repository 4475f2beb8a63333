"""Text from outside, made fit to be stored, sent and shown."""

import re

_NEW_LINES = re.compile(r"\r\n?")
# C0 but tab and line feed, DEL and C1, and the marks that turn the direction of what follows.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without control characters and direction overrides; a lone surrogate becomes U+FFFD.

    Surrogates that form a pair become their character. A control character that is written out, such as the six
    characters of an escape, is ordinary text and stays.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _UNSEEN.sub("", _NEW_LINES.sub("\n", text))


def one_line(text: str) -> str:
    """The cleaned text with every run of white space as one space."""
    return " ".join(clean(text).split())
