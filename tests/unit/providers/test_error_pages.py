"""Pages that answer 200 and say nothing, told from articles about such things."""

import pytest

from deer.providers.error_pages import reason_against


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("How 404 errors work", "A 404 error means that the server did not find the page."),
        ("404 Not Found: what it means", "The server says that nothing was found under this address."),
        ("Understanding 404 Not Found", "When a page could not be found, servers send 404."),
        ("Captcha history", "The captcha was invented in the late nineties."),
        ("The Gateway", "A novel on a bad gateway to the stars."),
        ("热泵", "热泵在零下二十度时的能效比为二点五。"),
    ],
)
def test_short_articles_near_errors_pass(title: str, text: str) -> None:
    """Any word beside the error's own makes a title one of an article."""
    assert reason_against(title, text) is None


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("404 - File or directory not found.", "The resource might have been removed or had its name changed."),
        ("Error 404 (Not Found)!!1", "That’s all we know of this error."),
        ("Oops! Page not found – ACME", "Go to the start page please."),
        ("Access Denied", "You don't have permission to access this on this server."),
        ("503 Service Temporarily Unavailable", "nginx nginx nginx"),
        ("页面不存在", "抱歉，您访问的页面不存在或已经删除"),
        ("Example", "Please enable JavaScript to view the page content."),
        ("Example", "Sorry, the page you are looking for does not exist."),
    ],
)
def test_error_pages_are_recognised_in_many_words(title: str, text: str) -> None:
    """Titles that say an error and nothing else, and short pages that begin with one, are error pages."""
    assert reason_against(title, text) is not None


CLOUDFLARE = """# Sorry, you have been blocked

## You are unable to access example.org

## Why have I been blocked?

This website uses a security service to protect itself from online attacks. What you just did triggered the security
solution. Several things could trigger this block, such as submitting a certain word or phrase, a command or malformed
data.

## What can I do to resolve this?

You can write to the owner of the site to let them know you were blocked. Please include what you were doing when this
page came up and the Cloudflare Ray ID found at the bottom of this page.

Cloudflare Ray ID: 8a1f00 • Your IP: 192.0.2.1 • Performance & security by Cloudflare"""
COOKIES = """# We value your privacy

We and our 842 partners store and access information on your device, such as unique IDs in cookies, to process personal
data. You may accept or manage your choices by clicking below, including your right to object where legitimate interest
is used. Your choices will be told to our partners and will not affect browsing data.

We and our partners process data for personalised ads and content, ad measurement and audience research.

Accept all

Reject all

More options"""


@pytest.mark.parametrize(
    ("title", "text", "told"),
    [
        ("Attention Required! | Cloudflare", CLOUDFLARE, "robots"),
        ("example.org", CLOUDFLARE, "robots"),
        ("Access to this page has been denied", "Press & Hold to confirm you are a human (and not a bot).", "robots"),
        ("Bloomberg", "To continue, please click the box below to let us know you're not a robot. " * 3, "robots"),
        ("微信公众平台", "环境异常\n\n当前环境异常，完成验证后即可继续访问。", "robots"),
        ("Before you continue", "Before you continue to the search\n\nWe use cookies and data. Accept all", "cookies"),
        ("The Daily", COOKIES, "cookies"),
        ("Zeitung", "Mit Werbung weiterlesen. Wir verwenden Cookies. Alle akzeptieren. Datenschutz.", "cookies"),
        ("Log in | Example", "Email\n\nPassword\n\nForgot it?", "log in"),
        ("Journal", "Please sign in to continue reading the article that you asked for.", "robots"),
    ],
    ids=["cloudflare", "no title", "hold", "box", "wechat", "google", "consent", "german", "login", "sign in"],
)
def test_walls_before_a_page_are_recognised(title: str, text: str, told: str) -> None:
    """Checks for robots, questions about cookies and log-ins are no evidence, also where they go on at some length."""
    assert told in (reason_against(title, text) or "")


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Chocolate chip cookies", "Mix the butter with the sugar. Bake the cookies for ten minutes. Let them cool."),
        (
            "The law on cookies",
            "A site must ask before it stores cookies. Consent has to be free and informed. The directive of 2002 says "
            "so, and the court confirmed it in 2019. Fines have been high since then. Many sites still ignore it.",
        ),
        ("News", "We use cookies. Accept all.\n\n" + "The council met on Monday and voted for the new bridge. " * 6),
        ("Ray tracing", "The ray leaves the eye. It meets the glass. Cloudflare has nothing to do with that at all."),
        ("How to log in to your router", "Open the address of the router. Type the name and the password on its back."),
        ("Just a moment: a memoir", "It took just a moment, he writes. The years after it took longer than that."),
    ],
)
def test_articles_near_walls_pass(title: str, text: str) -> None:
    """Recipes, law, a banner above the news and instructions are articles."""
    assert reason_against(title, text) is None
