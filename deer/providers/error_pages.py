"""Recognises pages that answer 200 and are no evidence: error pages, walls, empty shells.

A wall is what stands before a page: a check for robots, a question about cookies, a log-in.
"""

import re

_EDGES = " .…!,。！"
_FEWEST_LETTERS = 10
_ERROR_CHARS = 200
_WALL_CHARS = 1_500
"""A wall explains itself at some length. An article that has a wall's title or words is longer."""
_SENTENCE_OF_WALL_CHARS = 400
_COOKIE_WALL_CHARS = 4_000
_COOKIE_SHARE = 0.5
"""Of the sentences of a cookie wall as many speak of nothing else."""
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
        "attention required!",
        "attention required",
        "checking your browser",
        "are you a robot?",
        "are you a robot",
        "are you human?",
        "robot check",
        "robot or human?",
        "bot verification",
        "human verification",
        "verifying you are human",
        "verify you are human",
        "security verification",
        "pardon our interruption",
        "request blocked",
        "ddos-guard",
        "you have been blocked",
        "sorry, you have been blocked",
        "access to this page has been denied",
        "百度安全验证",
        "安全验证",
        "人机验证",
        "环境异常",
        "访问验证",
        "访问被拒绝",
    )
)
_SHORT_WALL_TITLES = frozenset(("please wait", "captcha", "security check", "请稍候"))
"""Titles that an article may have as well."""
_LOGIN_TITLES = frozenset(
    (
        "log in",
        "login",
        "log in or sign up",
        "sign in",
        "sign up",
        "登录",
        "请登录",
        "用户登录",
        "anmelden",
        "connexion",
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
# What no article says of itself: the marks of the services that put up walls, and what they ask of a visitor.
_WALL_MARKS = re.compile(
    r"cloudflare ray id|performance (& |and )?security by cloudflare|incapsula incident id|"
    r"press (&|and) hold to confirm you are|"
    r"(to let us know|make sure|confirm that|verify) (that )?you('re| are) (not a robot|a human)|"
    r"our systems have detected unusual traffic|you('ve| have) been blocked by network security|"
    r"you don't have permission to access .{1,300} on this server\W+reference #|"
    r"enable javascript and cookies to continue|(log|sign) in to (continue|view|see) (this|the|reading)|"
    r"完成验证后即可继续访问|拖动滑块完成",
    re.DOTALL,
)
_OF_COOKIES = re.compile(
    r"cookie|consent|your (privacy|choices|device)|our partners|legitimate interest|"
    r"personal(i[sz]ed)? (data|ads|content)|ad measurement|accept all|reject all|隐私|einwilligung|datenschutz|"
    r"vie privée|privacidad",
)
_COOKIE_REQUEST = re.compile(
    r"(we|our partners|this (web)?site|[\w.]+) (and our (\d+ )?partners )?(use|store|value|care about|process)\b.{0,60}"
    r"(cookies|information on|your privacy|personal data)|before you continue to|accept (all|cookies)|reject all|"
    r"manage (your )?(choices|preferences|options|cookies|settings)|cookie (settings|preferences)|"
    r"alle (cookies )?akzeptieren|(nous|wir|utilizamos|usamos).{0,40}cookies|接受所有|全部接受",
)
_SENTENCE_ENDS = re.compile(r"[.!?。！？]\s+|\n+")
# Only as the first words: an article may well tell what a server says when a page was not found.
_ERROR_SENTENCES = re.compile(
    r"(oops|(we're |we are )?sorry|unfortunately)?\W*(but )?(the|this|that) (page|requested url)\b.{0,100}"
    r"(not|n't|no longer) (be )?(found|exist|available)|.{0,10}(您访问的页面|页面(不存在|已删除))"
)


def reason_against(title: str, text: str) -> str | None:
    """Why a page with this title and text is no evidence, in words that follow "the page"; None when it may be."""
    if sum(1 for character in text[:2000] if character.isalnum()) < _FEWEST_LETTERS:
        return "holds no readable text (it may need JavaScript)"
    if len(text) > _COOKIE_WALL_CHARS:
        return None
    heading = text.lstrip("# \n").partition("\n")[0]
    parts = [part for line in (title, heading) for part in (line, *_PARTS.split(line))]
    named = frozenset(part.lower().replace("’", "'").strip(_EDGES) for part in parts)
    body = text.lower().replace("’", "'")
    if _is_robot_wall(named, body):
        return "is a check for robots or a request to enable JavaScript, not an article"
    if _is_cookie_wall(body):
        return "asks about cookies and shows no article without an answer"
    if len(body) >= _ARTICLE_CHARS:
        return None
    if not named.isdisjoint(_LOGIN_TITLES):
        return "asks to log in and shows no article without"
    says_error = len(body) <= _ERROR_CHARS and _ERROR_SENTENCES.match(body)
    if says_error or any(part in _ERROR_TITLES or _is_error(part) for part in named):
        return f"is an error page ({(title or heading)[:80]!r}), not an article"
    return None


def _is_robot_wall(named: frozenset[str], body: str) -> bool:
    if len(body) > _WALL_CHARS:
        return False
    if not named.isdisjoint(_WALL_TITLES) or _WALL_MARKS.search(body):
        return True
    if len(body) < _ARTICLE_CHARS and not named.isdisjoint(_SHORT_WALL_TITLES):
        return True
    return len(body) <= _SENTENCE_OF_WALL_CHARS and bool(_WALL_SENTENCES.search(body))


def _is_cookie_wall(body: str) -> bool:
    """Whether a page asks about cookies, and most of its sentences are about that; a banner above an article is not."""
    if not _COOKIE_REQUEST.search(body):
        return False
    sentences = [sentence for sentence in _SENTENCE_ENDS.split(body) if sentence.strip()]
    concerned = sum(1 for sentence in sentences if _OF_COOKIES.search(sentence))
    return concerned >= _COOKIE_SHARE * len(sentences)


def _is_error(words: str) -> bool:
    """Whether a title says an error and nothing else: "404 - page not found", but not "what a 404 error means"."""
    return bool(_ERROR_ONLY.fullmatch(words.lstrip("([{ ")) and _ERROR_TELL.search(words))
