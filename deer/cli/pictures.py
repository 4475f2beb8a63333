"""Runs, plans and lists as tables and lines for a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from urllib.parse import quote

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from deer.cli.durations import age
from deer.cli.exits import CALL, one_line
from deer.cli.listing import ListedRun
from deer.models import HandOff, Kind, Phase, PlanStatus, ProgressEntry, RunStatus, RunUsage, Spent, StepStatus, Usage
from deer.wording import in_usd

_LOOK_OF_STEP = {
    StepStatus.PENDING: ("·", "dim"),
    StepStatus.RUNNING: ("▶", "cyan"),
    StepStatus.DONE: ("✓", "green"),
    StepStatus.FAILED: ("✗", "red"),
    StepStatus.SKIPPED: ("–", "yellow"),
}
_LATEST_HANDOFFS = 4
_ID_CHARS = 64
"""Ids that the command line gives have no more; longer ones stand out of line and push no other question away."""

_FINDING_CHARS = 300
_DIGITS = {Kind.USD: 4, Kind.MINUTES: 1}
"""After the point, of what is not counted in whole numbers."""
_ANY_WIDTH = 1_000


def plan_table(plan: PlanStatus, *, with_status: bool) -> Table:
    """A plan with one row a step, and the planner's thought below; `with_status` adds how far each has come instead."""
    table = Table(box=box.ROUNDED, title=Text(f"Plan {plan.revision}: {one_line(plan.title)}"), title_justify="left")
    for heading in ("", "Step") if with_status else ("Step",):
        table.add_column(heading, no_wrap=True)
    table.add_column("Type", no_wrap=True)
    table.add_column("Title", overflow="fold", ratio=2)
    table.add_column("Description", overflow="fold", ratio=3)
    table.add_column("After", overflow="fold")
    for step in plan.steps:
        mark, style = _LOOK_OF_STEP[step.status]
        cells = [step.id, step.step_type.value, one_line(step.title), _readable(step.description)]
        cells.append(", ".join(step.depends_on) or "-")
        row = [Text(cell) for cell in cells]
        table.add_row(*([Text(mark, style)] if with_status else []), *row)
    if plan.thought and not with_status:
        table.caption, table.caption_justify = Text(_readable(plan.thought), "italic"), "left"
    return table


def question_text(question: str) -> Text:
    """What a run asks, with the answers that it offers below it."""
    return Text(_readable(question), "bold")


def run_page(status: RunStatus, now: datetime, ui_address: str | None = None) -> Group:
    """Everything about a run on one page, as `show` prints it."""
    parts: list[RenderableType] = [_head(status)]
    if status.plan is not None:
        parts.append(plan_table(status.plan, with_status=True))
        parts.extend(_step_outcomes(status.plan))
    if status.sources:
        parts.append(_sources_line(status))
    if status.usage != RunUsage():
        parts.append(Text(f"Spent: {spending(status.usage)}"))
    if status.budget:
        parts.append(Text(f"Budget: {budget_line(status.budget)}"))
    if status.usage.model_calls:
        parts.append(SpendingTable(status.usage))
    parts.extend(Text(f"Notice: {_readable(notice)}", "yellow") for notice in status.notices)
    if status.handoffs:
        parts.extend(_handoff_lines(status.handoffs[-_LATEST_HANDOFFS:]))
    if status.answer:
        parts.append(Text(f"Answer: {_readable(status.answer)}"))
    if status.report is not None:
        where = status.report.path or f"print it with: {CALL} report {status.id}"
        parts.append(Text(f"Report: {where}"))
    parts.extend(Text(line, "bold") for line in ways_on(status))
    if ui_address:
        page = temporal_page(ui_address, status.id)
        parts.append(Text(f"In Temporal, while a command, `serve` or `server` runs: {page}"))
    return Group(*parts)


def live_picture(status: RunStatus, latest: Iterable[ProgressEntry]) -> Group:
    """A run at work: phase, hand-offs, plan and spending. `latest`: the last entry of each step, shown beside it."""
    doing = {entry.step_id: one_line(entry.text) for entry in latest if entry.step_id}
    parts: list[RenderableType] = [_head(status)]
    parts.extend(_handoff_lines(status.handoffs[-_LATEST_HANDOFFS:]))
    if status.plan is not None:
        table = Table(box=None, show_header=False, padding=(0, 1))
        for column in range(3):
            table.add_column(no_wrap=True, overflow="ellipsis", ratio=None if column < 2 else 1)
        for step in status.plan.steps:
            mark, style = _LOOK_OF_STEP[step.status]
            line = Text(one_line(step.title))
            if step.status is StepStatus.RUNNING and step.id in doing:
                line.append(f"  {doing[step.id]}", "dim")
            table.add_row(Text(mark, style), Text(step.id), line)
        parts.append(table)
    parts.append(Text(f"Spent: {spending(status.usage)}", "dim"))
    if status.budget:
        parts.append(Text(f"Budget: {budget_line(status.budget)}", "dim"))
    return Group(*parts)


def entry_line(entry: ProgressEntry) -> str:
    """One line of progress: local time, step, what happened."""
    step = f"[{entry.step_id}] " if entry.step_id else ""
    return f"{entry.at.astimezone():%H:%M:%S} {step}{one_line(entry.text)}"


def list_lines(runs: Sequence[ListedRun], now: datetime) -> list[Text]:
    """Runs, one a line: phase, name, age and question. Only the question may be cut, by whoever prints the line."""
    longest = min(max((len(run.id) for run in runs), default=0), _ID_CHARS)
    lines = []
    for run in runs:
        passed = age(run.started_at, now) if run.started_at else "-"
        line = Text(f"{run.phase.value:<20}", _style_of(run.phase), end="")
        line.append(f"{run.id:<{longest}}  {passed:>6}  {one_line(run.question)}", "default not bold")
        lines.append(line)
    return lines


def ways_on(status: RunStatus) -> list[str]:
    """What to type so that a waiting run goes on; empty for one that does not wait."""
    if status.phase is Phase.AWAITING_REVIEW:
        return [
            f"Accept the plan:  {CALL} approve {status.id}",
            f'Change the plan:  {CALL} edit {status.id} --feedback "what should change"',
        ]
    if status.phase is Phase.CLARIFYING:
        return [f'Answer:  {CALL} answer {status.id} "your answer"']
    if status.phase is Phase.PAUSED:
        return [f"Let it go on:  {CALL} resume {status.id}"]
    if status.phase is Phase.NEEDS_ATTENTION:
        ways = [f"Once that is mended:  {CALL} retry {status.id}"]
        return [*ways, *([f"Report without it:  {CALL} finish {status.id}"] if status.plan else [])]
    return []


def temporal_page(ui_address: str, run_id: str) -> str:
    """The run's page in the web interface of the embedded server."""
    return f"{ui_address}/namespaces/default/workflows/{quote(run_id, safe='')}"


class SpendingTable:
    """What each role spent: a row each where that fits into the width, else a sentence each. No word is broken.

    `≈` stands before tokens of which some are estimated, a dash where no call had a price.
    """

    def __init__(self, usage: RunUsage) -> None:
        self._usage = usage

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for has_models in (True, False):
            table = self._table(has_models=has_models)
            if console.measure(table, options=options.update(max_width=_ANY_WIDTH)).minimum <= options.max_width:
                yield table
                if not has_models and (models := self._models()):
                    yield Text(f"Models: {models}")
                return
        yield from (Text(f"{role.value}: {_spent_in_words(spent)}") for role, spent in self._usage.roles.items())

    def _table(self, *, has_models: bool) -> Table:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
        table.add_column("Role", no_wrap=True)
        for heading in ("Calls", "Tokens\nin", "Tokens\nout", "Searches", "Pages", "USD"):
            table.add_column(heading, justify="right", no_wrap=True)
        if has_models:
            table.add_column("Model")
        for role, spent in self._usage.roles.items():
            counts = [str(spent.model_calls), *_tokens(spent), str(spent.searches), str(spent.pages), _cost(spent)]
            table.add_row(*map(Text, [role.value, *counts, *([_names(spent)] if has_models else [])]))
        return table

    def _models(self) -> str:
        return "; ".join(f"{role.value} {_names(spent)}" for role, spent in self._usage.roles.items() if spent.models)


def _spent_in_words(spent: Usage) -> str:
    tokens_in, tokens_out = _tokens(spent)
    words = [f"{spent.model_calls} calls", f"{tokens_in} tokens in", f"{tokens_out} tokens out"]
    words += [f"{spent.searches} searches", f"{spent.pages} pages"]
    words += [f"{_cost(spent)} USD"] if _has_price(spent) else []
    return ", ".join(words) + (f"; {_names(spent)}" if spent.models else "")


def _tokens(spent: Usage) -> tuple[str, str]:
    about = "≈" if spent.estimated_calls else ""
    return f"{about}{spent.input_tokens:,}", f"{about}{spent.output_tokens:,}"


def _cost(spent: Usage) -> str:
    return in_usd(spent.cost_usd) if _has_price(spent) else "-"


def _has_price(spent: Usage) -> bool:
    return spent.unpriced_calls < spent.model_calls


def _names(spent: Usage) -> str:
    return one_line(", ".join(spent.models))


def spending(usage: RunUsage) -> str:
    """What a run has spent, in words."""
    counts = [
        f"{usage.model_calls} model calls",
        f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens",
        f"{usage.searches} searches",
        f"{usage.pages} pages",
    ]
    if usage.code_cells:
        counts.append(f"{usage.code_cells} code cells")
    if usage.cost_usd:
        counts.append(f"{in_usd(usage.cost_usd)} USD")
    return ", ".join(counts)


def budget_line(budget: Mapping[Kind, Spent]) -> str:
    """How much of each limit is used, such as `4,200 of 50,000 tokens, 0.021 of 1 USD`."""
    return ", ".join(
        f"{spent.used:,.{_DIGITS.get(kind, 0)}f} of {spent.limit:,.12g} {'USD' if kind is Kind.USD else kind}"
        for kind, spent in budget.items()
    )


def _head(status: RunStatus) -> Text:
    head = Text()
    head.append(f"{status.id}  ", "bold").append(status.phase.value, _style_of(status.phase))
    if status.max_rounds > 1:
        head.append(f"  round {status.round} of {status.max_rounds}", "dim")
    if status.reason:
        head.append(f"\n{_readable(status.reason)}")
    return head.append(f"\n{_readable(status.question)}", "italic")


def _step_outcomes(plan: PlanStatus) -> list[Text]:
    lines = []
    for step in plan.steps:
        if step.reason:
            lines.append(Text(f"{step.id} {step.status.value}: {_readable(step.reason)}"))
        elif step.finding:
            finding = one_line(step.finding)
            cut = finding if len(finding) <= _FINDING_CHARS else f"{finding[:_FINDING_CHARS]}…"
            lines.append(Text(f"{step.id} found: {cut}"))
    return lines


def _sources_line(status: RunStatus) -> Text:
    cited, read = sum(source.cited for source in status.sources), sum(source.read for source in status.sources)
    return Text(f"Sources: {cited} cited, {read} read, {len(status.sources)} seen")


def _handoff_lines(handoffs: Sequence[HandOff]) -> list[Text]:
    return [
        Text(f"{handoff.at.astimezone():%H:%M:%S} {handoff.sender} → {handoff.to}: {one_line(handoff.reason)}", "dim")
        for handoff in handoffs
    ]


def _style_of(phase: Phase) -> str:
    if phase.waits_for_a_person:
        return "bold yellow"
    return "red" if phase in {Phase.FAILED, Phase.CANCELLED} else "green" if phase.is_end else "cyan"


def _readable(text: str) -> str:
    """A text of several lines without the control characters that would steer a terminal."""
    return "\n".join(one_line(line) for line in text.strip().splitlines())
