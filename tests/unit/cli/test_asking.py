"""What a person types becomes a request, or one line that names the option."""

import io
import re
from datetime import date, timedelta

import pytest

from deer.cli.asking import (
    bad_limit,
    build_request,
    check_run_id,
    new_run_id,
    option_of,
    parse_duration,
    read_question,
    request_hash,
)
from deer.cli.controlling import change_budget
from deer.errors import InvalidInput
from deer.models import RUN_ID_PATTERN, Budget, DeadlinePolicy, Kind, ReportStyle, ResearchRequest
from tests.unit.cli.commands import options_of_research


def test_options_reach_the_request() -> None:
    """Every option that was given stands in the request, in the request's own types."""
    request = build_request(
        "What is durable execution?",
        {
            "auto_accept": True,
            "locale": "zh_CN",
            "max_steps": "7",
            "max_rounds": None,
            "report_style": "Popular-Science",
            "look_around": False,
            "web_search": False,
            "review_deadline": "1h30m",
            "review_deadline_policy": "accept",
            "allowed_domains": ("example.org",),
            "requested_by": "Ada",
        },
    )
    assert request == ResearchRequest(
        question="What is durable execution?",
        auto_accept=True,
        locale="zh-CN",
        max_steps=7,
        report_style=ReportStyle.POPULAR_SCIENCE,
        look_around=False,
        web_search=False,
        review_deadline=timedelta(minutes=90),
        review_deadline_policy=DeadlinePolicy.ACCEPT,
        allowed_domains=("example.org",),
        requested_by="Ada",
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_steps": "99"}, "--max-steps: 99 is not allowed: input should be less than or equal to 30"),
        ({"max_turns": "many"}, "--max-turns: many is not allowed: input should be a valid integer"),
        ({"max_rounds": "0"}, "--max-rounds: 0 is not allowed: input should be greater than or equal to 1"),
        (
            {"max_clarification_rounds": "11"},
            "--max-clarification-rounds: 11 is not allowed: input should be less than or equal to 10",
        ),
        ({"max_clarification_rounds": "-1"}, "--max-clarification-rounds: -1 is not allowed: "),
        ({"locale": "klingon!"}, "--locale: klingon! is not allowed: write a language as en-US or zh-CN"),
        ({"report_style": "haiku"}, "--report-style: haiku is not allowed: one of neutral, academic"),
        ({"review_deadline": "soon"}, "--review-deadline: 'soon' is no time; write it as 90s, 30m, 24h or 2d"),
        ({"review_deadline": "0s"}, "--review-deadline: "),
        ({"review_deadline": "900000d"}, "--review-deadline: "),
        (
            {"denied_domains": ("http://127.0.0.1/",)},
            "--deny-domain: http://127.0.0.1/ is not allowed: write a host",
        ),
        ({"allowed_domains": ("",)}, "--allow-domain: "),
        (
            {"budget_tokens": "0"},
            "--budget-tokens: 0 is not allowed: give a whole number from 1 to 10,000,000,000, or none for no limit",
        ),
        ({"budget_usd": "much"}, "--budget-usd: much is not allowed: give an amount above 0, at most 1,000,000, or"),
        ({"budget_minutes": " "}, "--budget-minutes: nothing is not allowed: give a number above 0"),
        ({"review_deadline_policy": "panic"}, "--on-review-deadline: panic is not allowed: "),
    ],
)
def test_a_value_out_of_range_names_its_option(options: dict[str, object], said: str) -> None:
    """A value that is not allowed is refused with the option, the value and what is allowed, in one line."""
    with pytest.raises(InvalidInput) as refusal:
        build_request("What?", options)
    assert str(refusal.value).startswith(said)
    assert "\n" not in str(refusal.value)


def test_limits_make_a_budget() -> None:
    """Limits that are given are set, and the word none lifts one that settings give; the others are no limits."""
    budget = build_request("What?", {"budget_tokens": "50000", "budget_usd": 1.5, "budget_pages": "none"}).budget
    assert budget == Budget(tokens=50_000, usd=1.5)
    assert build_request("What?", {"budget_tokens": None}).budget == Budget()
    assert all(f"--budget-{limit}" in options_of_research() for limit in Budget.model_fields)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", "1e400", "1e-400", "10000000001", "true", "½", ""])
async def test_a_limit_that_is_none_names_option_value_and_remedy(kind: Kind, value: str) -> None:
    """What is no number, no finite one, or out of range is refused in one line, before any server is asked."""
    with pytest.raises(InvalidInput) as of_budget:
        await change_budget("r1", {kind: value}, detach=False, as_json=False)
    with pytest.raises(InvalidInput) as of_research:
        build_request("What?", {f"budget_{kind}": value})
    said = str(of_budget.value)
    assert said.startswith(f"--{kind}: {value or 'nothing'} is not allowed: give a")
    assert said.endswith("or none for no limit")
    assert str(of_research.value) == said.replace("--", "--budget-", 1)


def test_what_is_said_of_limits_is_so() -> None:
    """The ends of the ranges that a refusal names are allowed, and for whole numbers what lies beyond is not."""
    for kind in Kind:
        *_, least, most = re.findall(r"[\d,]+", str(bad_limit("--x", kind, "x")))
        ends = [float(number.strip(",").replace(",", "")) for number in (least, most)]
        if kind in (Kind.USD, Kind.MINUTES):
            ends[0] += 0.0001
        for end in ends:
            assert build_request("What?", {f"budget_{kind}": end}).budget.limit(kind) == end
        for beyond in (ends[0] - 1, ends[1] + 1):
            with pytest.raises(InvalidInput, match="is not allowed"):
                build_request("What?", {f"budget_{kind}": beyond})


@pytest.mark.parametrize(
    ("question", "said"), [("", "empty"), (" \n\t ", "empty"), ("x" * 8_001, "8,001 characters, at most 8,000")]
)
def test_an_empty_or_overlong_question_is_refused(question: str, said: str) -> None:
    """A question without words or above the limit is refused, and never repeated in the message."""
    with pytest.raises(InvalidInput, match=said) as refusal:
        read_question(question, io.StringIO())
    assert len(str(refusal.value)) < 300


def test_a_question_that_is_not_unicode_is_refused() -> None:
    """Bytes that are no text, as a shell may pass them, are refused instead of failing later."""
    with pytest.raises(InvalidInput, match="QUESTION"):
        build_request("caf\udce9", {})


def test_a_dash_reads_the_question_from_standard_input() -> None:
    """`research -` takes its question from standard input."""
    assert read_question("-", io.StringIO("What is\nin the pipe?\n")) == "What is\nin the pipe?"


def test_standard_input_without_an_end_is_not_read_to_it() -> None:
    """A question that never ends is refused for its length, not kept in memory; and so is what is no text."""

    class Endless(io.StringIO):
        def read(self, size: int | None = -1) -> str:
            assert size is not None
            assert 0 < size <= 1_000_000
            return "x" * size

    with pytest.raises(InvalidInput, match="at most 8,000"):
        read_question("-", Endless())
    with pytest.raises(InvalidInput, match="no text"):
        read_question("-", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\x00"), encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1_800), ("24h", 86_400), ("2d", 172_800), (" 1H30M ", 5_400)]
)
def test_times_are_read_in_their_units(text: str, seconds: int) -> None:
    """Seconds, minutes, hours and days may be written, also together."""
    assert parse_duration(text, "--review-deadline") == timedelta(seconds=seconds)


def test_new_ids_are_readable_and_differ() -> None:
    """A new run is named after its day, differently each time, and as a run may be named."""
    names = {new_run_id(date(2026, 11, 30)) for _ in range(50)}
    assert len(names) == 50
    assert all(name.startswith("r-20261130-") and re.match(RUN_ID_PATTERN, name) for name in names)


@pytest.mark.parametrize(
    ("given", "rounds"), [(None, 0), (False, 0), ("0", 0), (True, 3), ("1", 1), (1, 1), ("10", 10)]
)
def test_questions_back_are_off_or_three_or_a_number(given: object, rounds: int) -> None:
    """Nobody is asked unless it was wished; the mere wish means three times."""
    assert build_request("Why?", {"max_clarification_rounds": given}).max_clarification_rounds == rounds
    if given is not None:
        asked = {"question": "Why?", "max_clarification_rounds": given}
        assert ResearchRequest.model_validate(asked).max_clarification_rounds == rounds


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, "naïve", "ok\n"])
def test_a_name_that_cannot_be_used_is_refused(name: str) -> None:
    """A run's name has only letters, digits and ._- and at most 64 of them."""
    with pytest.raises(InvalidInput, match="--id"):
        check_run_id(name)


def test_equal_requests_have_equal_hashes() -> None:
    """The hash tells requests apart by any of their values, and only by those."""
    request = build_request("What?", {"max_steps": "3"})
    assert request_hash(request) == request_hash(build_request("What?", {"max_steps": "3", "locale": None}))
    assert request_hash(request) != request_hash(build_request("What?", {"max_steps": "4"}))


def test_every_field_has_the_option_that_the_commands_offer() -> None:
    """An error names an option that exists."""
    not_on_the_line = {"documents", "deep_thinking", "continue_after_events", "budget"}
    fields = set(ResearchRequest.model_fields) - not_on_the_line
    assert {option_of(field) for field in fields} <= {*options_of_research(), "QUESTION"}


def test_a_policy_for_a_deadline_needs_the_deadline() -> None:
    """What to do at a deadline says nothing without one, and is not passed over in silence."""
    with pytest.raises(InvalidInput, match="give one with --review-deadline"):
        build_request("Why?", {"review_deadline_policy": "accept"})
    assert build_request("Why?", {"review_deadline_policy": "accept", "review_deadline": "2h"}).review_deadline
