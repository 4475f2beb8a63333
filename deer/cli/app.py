"""The commands: what each takes, and which module does it."""

from collections.abc import Coroutine
from typing import Any

import typer

from deer.cli import options as o

app = typer.Typer(
    name="starter.py",
    help="Deep research on Temporal: a question becomes an approved plan, researched steps and a cited report.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)

# Modules of the commands are imported inside them: --help must not wait for Temporal's client.


_AS_ASKED = (
    *("auto_accept", "locale", "report_style", "deep_thinking", "requested_by", "after"),
    *("max_steps", "max_rounds", "replan_after", "max_turns", "max_edits", "max_parallel_steps", "max_search_results"),
    *("budget_tokens", "budget_usd", "budget_minutes", "budget_searches", "budget_pages"),
    *("review_deadline", "attention_deadline"),
)
"""Options that are called as the request calls them."""


@app.command()
def research(
    question: o.Question,
    auto_accept: o.AutoAccept = False,
    detach: o.Detach = False,
    run_id: o.NewId = None,
    documents: o.Documents = None,
    output: o.Output = None,
    locale: o.Locale = None,
    max_steps: o.MaxSteps = None,
    max_rounds: o.MaxRounds = None,
    replan_after: o.ReplanAfterWhat = None,
    max_turns: o.MaxTurns = None,
    max_edits: o.MaxEdits = None,
    clarify: o.Clarify = False,
    max_clarification_rounds: o.MaxClarificationRounds = None,
    max_parallel_steps: o.MaxParallelSteps = None,
    max_search_results: o.MaxSearchResults = None,
    budget_tokens: o.BudgetTokens = None,
    budget_usd: o.BudgetUsd = None,
    budget_minutes: o.BudgetMinutes = None,
    budget_searches: o.BudgetSearches = None,
    budget_pages: o.BudgetPages = None,
    report_style: o.ReportStyleName = None,
    deep_thinking: o.DeepThinking = False,
    no_look_around: o.NoLookAround = False,
    no_web_search: o.NoWebSearch = False,
    review_deadline: o.ReviewDeadline = None,
    on_review_deadline: o.OnReviewDeadline = None,
    attention_deadline: o.AttentionDeadline = None,
    allow_domain: o.AllowDomain = None,
    deny_domain: o.DenyDomain = None,
    requested_by: o.RequestedBy = None,
    after: o.After = None,
    as_json: o.Json = False,
) -> None:
    """Research a question to a printed and saved report."""
    given = dict(locals())
    from deer.cli.research import Wishes
    from deer.cli.research import research as do_research

    asked = {name: given[name] for name in _AS_ASKED} | {
        "max_clarification_rounds": max_clarification_rounds or clarify or None,
        "look_around": not no_look_around,
        "web_search": not no_web_search,
        "review_deadline_policy": on_review_deadline,
        "allowed_domains": tuple(allow_domain or ()),
        "denied_domains": tuple(deny_domain or ()),
    }
    wishes = Wishes(run_id=run_id, detach=detach, documents=documents, output=output, as_json=as_json)
    _end_with(do_research(question, asked, wishes))


@app.command()
def follow(run_id: o.RunId, output: o.Output = None, as_json: o.Json = False) -> None:
    """Follow a run to its end, or to where it waits."""
    from deer.cli import research as following

    _end_with(following.follow(run_id, output, as_json=as_json))


@app.command()
def show(run_id: o.RunId, as_json: o.Json = False) -> None:
    """Show phase, plan, steps, sources and spending of a run."""
    from deer.cli import runs

    _end_with(runs.show(run_id, as_json=as_json))


@app.command("list")
def list_runs(as_json: o.Json = False) -> None:
    """Show all runs, those that wait for a person first."""
    from deer.cli import runs

    _end_with(runs.list_all(as_json=as_json))


@app.command()
def report(run_id: o.RunId, form: o.Format = "md", output: o.Output = None, as_json: o.Json = False) -> None:
    """Print a run's report, or write it into a file."""
    from deer.cli import exporting

    _end_with(exporting.report(run_id, form, output, as_json=as_json))


@app.command()
def audit(
    run_id: o.AuditedRunId = None, verify: o.Verify = None, output: o.AuditOutput = None, as_json: o.Json = False
) -> None:
    """Write the evidence of a run into a file, or check such a file."""
    from deer.cli import auditing

    _end_with(auditing.audit(run_id, verify, output, as_json=as_json))


@app.command()
def approve(run_id: o.RunId, revision: o.Revision = None, detach: o.Detach = False, as_json: o.Json = False) -> None:
    """Accept the plan that a run waits with."""
    from deer.cli import deciding

    _end_with(deciding.approve(run_id, revision, detach=detach, as_json=as_json))


@app.command()
def edit(
    run_id: o.RunId,
    feedback: o.Feedback = None,
    plan: o.PlanFile = None,
    revision: o.Revision = None,
    detach: o.Detach = False,
    as_json: o.Json = False,
) -> None:
    """Change a waiting plan in words, or replace it."""
    from deer.cli import deciding

    _end_with(deciding.edit(run_id, feedback, plan, revision, detach=detach, as_json=as_json))


@app.command()
def answer(run_id: o.RunId, text: o.AnswerText, detach: o.Detach = False, as_json: o.Json = False) -> None:
    """Answer what a run asks."""
    from deer.cli import deciding

    _end_with(deciding.answer(run_id, text, detach=detach, as_json=as_json))


@app.command()
def retry(run_id: o.RunId, step: o.StepToRetry = None, detach: o.Detach = False, as_json: o.Json = False) -> None:
    """Let a run go on once its trouble is mended, or try a failed step again."""
    from deer.cli import controlling

    _end_with(controlling.control(run_id, "retry", step_id=step, detach=detach, as_json=as_json))


@app.command()
def pause(run_id: o.RunId, as_json: o.Json = False) -> None:
    """Let calls in flight end and begin no new ones."""
    from deer.cli import controlling

    _end_with(controlling.pause(run_id, as_json=as_json))


@app.command()
def resume(run_id: o.RunId, detach: o.Detach = False, as_json: o.Json = False) -> None:
    """Let a paused run go on."""
    from deer.cli import controlling

    _end_with(controlling.control(run_id, "resume", detach=detach, as_json=as_json))


@app.command()
def skip(run_id: o.RunId, step: o.StepId, detach: o.Detach = False, as_json: o.Json = False) -> None:
    """Leave a step out, or end it."""
    from deer.cli import controlling

    _end_with(controlling.control(run_id, "skip", step_id=step, detach=detach, as_json=as_json))


@app.command("add-step")
def add_step(run_id: o.RunId, file: o.StepFile, detach: o.Detach = False, as_json: o.Json = False) -> None:
    """Add a step to the plan."""
    from deer.cli import controlling

    _end_with(controlling.control(run_id, "add_step", step=file, detach=detach, as_json=as_json))


@app.command("edit-step")
def edit_step(
    run_id: o.RunId, step: o.StepId, file: o.StepFile, detach: o.Detach = False, as_json: o.Json = False
) -> None:
    """Change a step that has not begun."""
    from deer.cli import controlling

    _end_with(controlling.control(run_id, "edit_step", step_id=step, step=file, detach=detach, as_json=as_json))


@app.command()
def budget(
    run_id: o.RunId,
    tokens: o.LimitTokens = None,
    usd: o.LimitUsd = None,
    minutes: o.LimitMinutes = None,
    searches: o.LimitSearches = None,
    pages: o.LimitPages = None,
    detach: o.Detach = False,
    as_json: o.Json = False,
) -> None:
    """Give a run other limits; those not named stay."""
    from deer.cli import controlling
    from deer.models import Kind

    limits = dict(zip(Kind, (tokens, usd, minutes, searches, pages), strict=True))
    _end_with(controlling.change_budget(run_id, limits, detach=detach, as_json=as_json))


@app.command()
def finish(run_id: o.RunId, detach: o.Detach = False, as_json: o.Json = False) -> None:
    """Begin nothing more, and report on what is known."""
    from deer.cli import controlling

    _end_with(controlling.control(run_id, "finish", detach=detach, as_json=as_json))


@app.command()
def fork(
    run_id: o.RunId,
    from_step: o.FromStep,
    new_id: o.NewId = None,
    auto_accept: o.AutoAccept = False,
    detach: o.Detach = False,
    as_json: o.Json = False,
) -> None:
    """Start a run that keeps what another had before a step."""
    from deer.cli import forking

    _end_with(forking.fork(run_id, from_step, new_id, auto_accept=auto_accept, detach=detach, as_json=as_json))


@app.command()
def cancel(run_id: o.RunId, as_json: o.Json = False) -> None:
    """End a run; its work so far stays readable."""
    from deer.cli import deciding

    _end_with(deciding.cancel(run_id, as_json=as_json))


@app.command()
def prune(older_than: o.OlderThan, dry_run: o.DryRun = False, as_json: o.Json = False) -> None:
    """Remove from the store what runs left that ended long ago."""
    from deer.cli import pruning

    _end_with(pruning.prune_store(older_than, dry_run=dry_run, as_json=as_json))


@app.command()
def server(port: o.Port = None, as_json: o.Json = False) -> None:
    """Run the embedded Temporal server alone, until it is stopped."""
    from deer.cli.serving import run_server
    from deer.config import load_settings

    _end_with(run_server(load_settings(), port, as_json=as_json))


@app.command()
def serve(until_idle: o.UntilIdle = False, as_json: o.Json = False) -> None:
    """Run server and worker, and carry all open runs on."""
    from deer.cli.serving import run_serve
    from deer.config import load_settings

    _end_with(run_serve(load_settings(), until_idle, as_json=as_json))


def _end_with(command: Coroutine[Any, Any, int]) -> None:  # coroutines yield and take nothing here
    import asyncio

    raise typer.Exit(asyncio.run(command))
