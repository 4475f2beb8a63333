"""Recognises pages that answer 200 and are no evidence: error pages, bot walls, empty shells."""

import re

_EDGES = " .…!,。！"
_FEWEST_LETTERS = 10
_WALL_CHARS = 400
_ERROR_CHARS = 200
_ARTICLE_CHARS = 600
"""An article about an error may have the error as its title; it is longer than the error's own page."""

_PARTS = re.compile(r"\s+[|–—·:»-]\s+|\s*[|–—·»]\s*")
# What titles of error pages consist of; any other word means that the page is about something.
_ERROR_ONLY = re.compile(
    r"((\d+|a|access|address|an|and|are|at|available|bad|be|been|can|can't|cannot|content|could|couldn't|denied|"
    r"directory|does|doesn't|error|exist|exists|file|find|for|forbidden|found|gateway|gone|has|hasn't|have|here|https?|in|"
    r"internal|is|it|longer|looking|moved|no|not|of|on|oops|or|page|permanently|removed|requested|resource|server|service|"
    r"site|sorry|temporarily|that|the|there|this|time|timeout|to|uh|unauthorized|unavailable|url|was|wasn't|we|web|website|"
    r"were|whoops|with|you|you're|your)\b[^\w']*)+"
)
_ERROR_TELL = re.compile(
    r"\b(4\d\d|5\d\d|not found|forbidden|denied|unavailable|exist|unauthorized|gone|internal server error|bad gateway|"
    r"no longer|couldn't find|could not find|cannot find|can't find|time-?out)\b"
)
_WALL_TITLES = frozenset(
    (
        "just a moment",
        "one moment please",
        "please wait",
        "attention required!",
        "attention required",
        "checking your browser",
        "are you a robot?",
        "are you a robot",
        "are you human?",
        "robot check",
        "robot or human?",
        "bot verification",
        "captcha",
        "human verification",
        "verifying you are human",
        "verify you are human",
        "security check",
        "security verification",
        "pardon our interruption",
        "request blocked",
        "ddos-guard",
        "安全验证",
        "人机验证",
        "请稍候",
        "访问验证",
        "访问被拒绝",
    )
)
_ERROR_TITLES = frozenset(
    (
        "页面不存在",
        "页面未找到",
        "找不到页面",
        "网页不存在",
        "页面找不到了",
        "404页面",
        "ページが見つかりません",
        "페이지를 찾을 수 없습니다",
        "seite nicht gefunden",
        "page introuvable",
        "página no encontrada",
        "pagina non trovata",
        "страница не найдена",
    )
)
_WALL_SENTENCES = re.compile(
    r"checking your browser|enable javascript and cookies|(enable|requires|turn on) javascript|are (you )?(a )?human\b|"
    r"complete the (captcha|security check)|solve the captcha|unusual traffic|you are not a (ro)?bot|"
    r"请完成(安全)?验证|启用\s*javascript",
)
# Only as the first words: an article may well tell what a server says when a page was not found.
_ERROR_SENTENCES = re.compile(
    r"(oops|(we're |we are )?sorry|unfortunately)?\W*(but )?(the|this|that) (page|requested url)\b.{0,100}"
    r"(not|n't|no longer) (be )?(found|exist|available)|.{0,10}(您访问的页面|页面(不存在|已删除))"
)


def reason_against(title: str, text: str) -> str | None:
    """Why a page with this title and text is no evidence, in words that follow "the page"; None when it may be."""
    if sum(1 for character in text[:2000] if character.isalnum()) < _FEWEST_LETTERS:
        return "holds no readable text (it may need JavaScript)"
    if len(text) >= _ARTICLE_CHARS:
        return None
    heading = text.lstrip("# \n").partition("\n")[0]
    parts = [part for line in (title, heading) for part in (line, *_PARTS.split(line))]
    named = [part.lower().replace("’", "'").strip(_EDGES) for part in parts]
    body = text.lower().replace("’", "'")
    if any(part in _WALL_TITLES for part in named) or (len(body) <= _WALL_CHARS and _WALL_SENTENCES.search(body)):
        return "is a check for robots or a request to enable JavaScript, not an article"
    says_error = len(body) <= _ERROR_CHARS and _ERROR_SENTENCES.match(body)
    if says_error or any(part in _ERROR_TITLES or _is_error(part) for part in named):
        return f"is an error page ({(title or heading)[:80]!r}), not an article"
    return None


def _is_error(words: str) -> bool:
    """Whether a title says an error and nothing else: "404 - page not found", but not "what a 404 error means"."""
    return bool(_ERROR_ONLY.fullmatch(words.lstrip("([{ ")) and _ERROR_TELL.search(words))
