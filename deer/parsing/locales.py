"""Language tags as people and models write them."""

import re

from deer.models import LOCALE_PATTERN


def sane_locale(value: str) -> str | None:
    """A BCP 47 tag in its usual spelling (`zh_cn` becomes `zh-CN`), or None when it is none."""
    parts = value.strip().replace("_", "-").split("-")
    cased = [parts[0].lower()] + [part.title() if len(part) == 4 else part.upper() for part in parts[1:]]
    tag = "-".join(cased)
    return tag if re.fullmatch(LOCALE_PATTERN, tag) else None
