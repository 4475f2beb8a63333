"""What a person sees of runs."""

from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console, RenderableType

from deer.cli.listing import ListedRun
from deer.cli.pictures import entry_line, list_lines, live_picture, plan_table, run_page, ways_on
from deer.models import Kind, Phase, ReportStatus, Role, RunUsage, SourceStatus, Spent, StepStatus, Usage
from tests.unit.cli.scripted_run import NOON, entry, plan, status, step


def _text(*shown: RenderableType, width: int = 120) -> str:
    console = Console(record=True, width=width, quiet=False, stderr=True)
    for renderable in shown:
        console.print(renderable)
    return console.export_text()


def test_a_page_shows_everything_about_a_run() -> None:
    """Phase, reason, question, plan, outcomes, sources, spending, notices and the way on stand on one page."""
    page = _text(
        run_page(
            status(
                Phase.NEEDS_ATTENTION,
                reason="the model endpoint refuses the key",
                plan=plan(
                    step("s1", status=StepStatus.DONE, finding="Cold halves the output."),
                    step("s2", status=StepStatus.FAILED, reason="the search gave nothing"),
                ),
                sources=(
                    SourceStatus(id="s1-1", number=1, url="http://x", title="t", read=True, cited=True),
                    SourceStatus(id="s1-2", number=None, url="http://y", title="t", read=False, cited=False),
                ),
                notices=("the first search failed",),
            ),
            NOON,
            "http://127.0.0.1:8233",
        )
    )
    for shown in (
        *(
            "r1",
            "needs_attention",
            "refuses the key",
            "heat pumps fare",
            "s1 found: Cold halves",
            "s2 failed: the search",
        ),
        *("1 cited, 1 read, 2 seen", "3 model calls", "the first search failed", "retry r1"),
        "http://127.0.0.1:8233/namespaces/default/workflows/r1",
    ):
        assert shown in page


def test_a_page_shows_what_each_role_spent() -> None:
    """A row a role has calls, tokens, searches, pages, cost and models; no price is a dash, an estimate is marked."""
    planner = Usage(model_calls=1, input_tokens=1_200, output_tokens=300, cost_usd=0.0125, models=("m-1",))
    researcher = Usage(
        model_calls=4, input_tokens=9_000, output_tokens=80, searches=2, pages=1, unpriced_calls=4, estimated_calls=1
    )
    usage = RunUsage(model_calls=5, roles={Role.PLANNER: planner, Role.RESEARCHER: researcher})
    page = _text(run_page(status(usage=usage), NOON))
    rows = {line.split()[0]: line.split() for line in page.splitlines() if line.strip()}
    assert rows["planner"] == ["planner", "1", "1,200", "300", "0", "0", "0.0125", "m-1"]
    assert rows["researcher"] == ["researcher", "4", "≈9,000", "≈80", "2", "1", "-"]
    assert "Calls" not in _text(run_page(status(usage=RunUsage(searches=3)), NOON))


@pytest.mark.parametrize("width", [120, 80, 60, 40])
def test_what_was_spent_is_readable_in_a_narrow_terminal(width: int) -> None:
    """Every figure and every name of a model stands there whole, in a table or in sentences, at any width."""
    spent = Usage(
        model_calls=128, input_tokens=1_234_567, output_tokens=234_567, cost_usd=12.3456, searches=120, pages=88
    ).model_copy(update={"models": ("vendor/some-model-2026-05-14", "some-mini"), "estimated_calls": 2})
    usage = RunUsage(model_calls=256, roles={Role.RESEARCHER: spent, Role.REPORTER: spent})
    shown = _text(run_page(status(usage=usage), NOON), width=width)
    words = [word.strip(",;:") for word in shown.split()]
    for word in ("128", "≈1,234,567", "≈234,567", "120", "88", "12.3456", "vendor/some-model-2026-05-14", "some-mini"):
        assert words.count(word) >= 2, word
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width


def test_a_page_shows_how_much_of_the_budget_is_used() -> None:
    """Limits stand beside their use, each in its unit; a run without a budget says nothing of one."""
    budget = {
        Kind.TOKENS: Spent(limit=50_000, used=4_200),
        Kind.USD: Spent(limit=1.5, used=0.021),
        Kind.MINUTES: Spent(limit=10, used=0.25),
    }
    page = _text(run_page(status(budget=budget), NOON))
    assert "Budget: 4,200 of 50,000 tokens, 0.0210 of 1.5 USD, 0.2 of 10 minutes" in page
    assert "Budget" not in _text(run_page(status(), NOON))


def test_a_finished_run_says_where_its_report_is() -> None:
    """The page of a finished run names the file of the report, or the command that prints it."""
    report = ReportStatus(markdown="# R", path="/tmp/r1.md", claims=())
    assert "/tmp/r1.md" in _text(run_page(status(Phase.COMPLETED, report=report), NOON))
    unsaved = report.model_copy(update={"path": None})
    assert "report r1" in _text(run_page(status(Phase.COMPLETED, report=unsaved), NOON))


def test_a_plan_is_readable_in_a_narrow_terminal() -> None:
    """No word of a plan is lost at 60 columns."""
    shown = _text(plan_table(plan(step("s1", description="Collect measured facts.")), with_status=False), width=60)
    for word in ("s1", "research", "Angle", "Collect", "measured", "facts."):
        assert word in shown


def test_a_title_is_no_markup() -> None:
    """Titles come from models and people: what looks like rich's markup is shown as it is, and breaks nothing."""
    titled = plan(step("s1", title="[b]Step")).model_copy(update={"title": "Costs [/b] [red]x"})
    shown = _text(plan_table(titled, with_status=True))
    assert "Costs [/b] [red]x" in shown
    assert "[b]Step" in shown


def test_a_plan_that_waits_is_shown_with_the_thought_behind_it() -> None:
    """Whoever reviews a plan reads why it looks so; the page of a run shows how far its steps are instead."""
    thought_out = plan(step("s1")).model_copy(update={"thought": "Prices are\x1b[31m unknown."})
    assert "Prices are" in _text(plan_table(thought_out, with_status=False))
    assert "\x1b[31m" not in _text(plan_table(thought_out, with_status=False))
    assert "Prices are" not in _text(plan_table(thought_out, with_status=True))


def test_the_live_picture_shows_what_each_step_does() -> None:
    """Running steps carry their latest line; hand-offs and spending stand beside."""
    running = status(plan=plan(step("s1", status=StepStatus.RUNNING), step("s2")))
    shown = _text(live_picture(running, [entry("turn 3: reads a page", "s1")]))
    assert "turn 3: reads a page" in shown
    assert "coordinator → planner: a question to research" in shown
    assert "3 model calls" in shown


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    """Control characters and markup in titles, reasons and progress are shown as text or left out."""
    evil = "\x1b]0;owned\x07\x1b[2J [bold red]not markup[/] \x9b31m"
    hostile = status(Phase.FAILED, reason=evil, question=evil, plan=plan(step("s1", title=evil, finding=evil)))
    shown = _text(run_page(hostile, NOON), live_picture(hostile, [entry(evil, "s1")]))
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)
    assert "[bold red]not markup[/]" in shown
    assert "\x1b" not in entry_line(entry(evil))


@pytest.mark.parametrize(
    ("phase", "command"),
    [
        (Phase.AWAITING_REVIEW, "approve r1"),
        (Phase.AWAITING_REVIEW, 'edit r1 --feedback "'),
        (Phase.CLARIFYING, "answer r1"),
        (Phase.NEEDS_ATTENTION, "retry r1"),
    ],
)
def test_a_waiting_run_says_what_to_type(phase: Phase, command: str) -> None:
    """Each phase that waits for a person names the command that goes on."""
    assert any(command in line for line in ways_on(status(phase)))


def test_a_working_run_asks_for_nothing() -> None:
    """A run that goes on by itself names no command."""
    assert ways_on(status(Phase.RESEARCHING)) == []


def test_the_list_shows_phase_age_and_question() -> None:
    """A line of the list says what, since when and about what, on one line whatever the question is."""
    now = datetime(2026, 11, 30, 15, tzinfo=UTC)
    runs = [
        ListedRun("r1", Phase.AWAITING_REVIEW, "How\ndo heat pumps fare? " * 20, NOON),
        ListedRun("r2", Phase.COMPLETED, "Why?", now - timedelta(days=3)),
        ListedRun("r3", Phase.COMPLETED, "When?", None),
    ]
    lines = [line.plain for line in list_lines(runs, now)]
    assert lines[0].startswith("awaiting_review     r1     3 h  How do heat pumps fare? How do")
    assert lines[1] == "completed           r2     3 d  Why?"
    assert lines[2] == "completed           r3       -  When?"
