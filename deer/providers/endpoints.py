"""How a paid service is reached: its key, its address in messages, proxies and certificates."""

import ssl
from functools import cache
from urllib.parse import urlsplit

import httpx2

from deer.errors import SettingsError


@cache
def trusted_certificates() -> ssl.SSLContext:
    """The authorities that every client trusts: those of certifi, or of SSL_CERT_FILE. Loading them takes 50 ms."""
    return httpx2.create_ssl_context()


def shown_address(url: str) -> str:
    """An endpoint's address for messages: without user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def is_on_this_machine(url: str) -> bool:
    """Whether an endpoint is on loopback, where a proxy of the environment could not reach it."""
    host = (urlsplit(url).hostname or "").lower()
    return host in ("localhost", "::1") or host.endswith(".localhost") or host.startswith("127.")


def checked_key(key: str, name: str) -> str:
    """A key without white space around it. Raises SettingsError, which names it, when it cannot be sent as one."""
    key = key.strip()
    if not key:
        raise SettingsError(f"{name} is empty; set it or leave it out")
    if not (key.isascii() and key.isprintable()):
        raise SettingsError(f"{name} holds characters that no key has (not printable ASCII); copy it again")
    return key
