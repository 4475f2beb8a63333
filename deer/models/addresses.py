"""Addresses as they are shown, kept and cited: without the user name and password that they may carry."""

import re
from typing import Annotated

from pydantic import AfterValidator

_CREDENTIALS = re.compile(r"((?:^|(?<=:))\\?/\\?/)[^\s/?#\\\"'<>]{0,4000}@")
"""All before the last `@` of what names the host, also where JSON escapes the slashes."""


def without_credentials(text: str) -> str:
    """A text in which no address has a user name or password; one of them alone counts as well."""
    return _CREDENTIALS.sub(r"\1", text)


Address = Annotated[str, AfterValidator(without_credentials)]
"""An address, or a text that may hold some, which loses its credentials wherever it comes from."""
