"""The keys under which every kind of store keeps things.

texts/ab/<sha256>        a text under the SHA-256 of its bytes
entries/runs/r1@entry    the entry `runs/r1`; the mark keeps it apart from the directory of `runs/r1/...`
"""

import re
from urllib.parse import quote, unquote

from deer.errors import InvalidInput

TEXTS = "texts"
ENTRIES = "entries"
SHA256 = re.compile(r"[0-9a-f]{64}")

ENTRY_MARK = "@entry"
_MAX_PART_BYTES = 200
"""File systems allow 255 bytes in a name; the mark and a temporary name need room."""


def text_key(sha256: str) -> str:
    """The key of a text."""
    return f"{TEXTS}/{sha256[:2]}/{sha256}"


def entry_key(name: str) -> str:
    """The key of an entry. Raises InvalidInput for a name that cannot be one."""
    return f"{entries_beside(name)}/{_key_part(name.split('/')[-1], name)}{ENTRY_MARK}"


def entries_beside(name: str) -> str:
    """The key of the directory that an entry is in, and with it all whose names begin alike. Raises InvalidInput."""
    return "/".join([ENTRIES, *(_key_part(part, name) for part in name.split("/")[:-1])])


def entry_of(key: str) -> str | None:
    """The name of the entry that has this key; None for a key of anything else."""
    if not key.startswith(f"{ENTRIES}/") or not key.endswith(ENTRY_MARK):
        return None
    return unquote(key.removeprefix(f"{ENTRIES}/").removesuffix(ENTRY_MARK), errors="surrogatepass")


def _key_part(part: str, name: str) -> str:
    """One part of a name as a part of a key that cannot mean another place; InvalidInput when there is none."""
    encoded = quote(part, safe=" ", errors="surrogatepass")
    if part in ("", ".", "..") or len(encoded) > _MAX_PART_BYTES:
        raise InvalidInput(
            f"{name[:100]!r} cannot name an entry: parts between slashes have 1 to 200 letters, no dots alone"
        )
    return encoded
