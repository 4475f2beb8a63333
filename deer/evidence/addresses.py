"""Addresses as keys: one page is one source, however it is written."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

_TRACKING = re.compile(r"^(utm_\w+|fbclid|gclid|msclkid|mc_[ce]id|igshid|ref_src)$")


def normalised_address(url: str) -> str:
    """The key under which one page is one source: no scheme, `www.`, fragment, tracking or trailing slash.

    Other query parameters stay, as `?id=1` and `?id=2` are two pages.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:  # such as a broken IPv6 literal or port; such an address is its own key
        return url.strip()
    host = (parts.hostname or "").removeprefix("www.")
    if port not in (None, 80, 443):
        host = f"{host}:{port}"
    query = urlencode(
        sorted(
            (key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if not _TRACKING.match(key)
        )
    )
    scheme = "" if parts.scheme in ("http", "https") else parts.scheme
    return urlunsplit((scheme, host, parts.path.rstrip("/"), query, ""))


def belongs_to(host: str, domain: str) -> bool:
    """Whether a host, in small letters, is a domain or below it; a dot before the domain changes nothing."""
    domain = domain.lower().lstrip(".")
    return host == domain or host.endswith(f".{domain}")
