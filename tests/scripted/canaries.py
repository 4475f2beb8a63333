"""Invented keys that must be seen nowhere but in the headers of the services they belong to."""

import base64
import urllib.parse

MODEL_KEY = "sk-canary/7f3a+model"
SEARCH_KEY = "tvly-canary/9c1d+search"


def leaked_canaries(text: str) -> list[str]:
    """The keys that a text holds: plain, URL-encoded or in base64 at any offset."""
    return [key for key in (MODEL_KEY, SEARCH_KEY) if any(form in text for form in _forms(key))]


def _forms(key: str) -> set[str]:
    forms = {key, urllib.parse.quote(key, safe=""), key.replace("/", "\\/")}
    for offset in range(3):
        # Base64 depends on the position in the text: the characters that mix with neighbours are left off.
        encoded = base64.b64encode(b"\0" * offset + key.encode()).decode()
        forms.add(encoded[(0, 2, 3)[offset] : -4])
    return forms
