"""The options and arguments of the commands, as typer reads them. Numbers of a request are checked with it."""

from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line; progress goes to stderr.")]
RunId = Annotated[str, typer.Argument(metavar="ID", help="The run.", show_default=False)]
Detach = Annotated[bool, typer.Option("--detach", help="Do not follow; the run goes on in the background.")]

Question = Annotated[
    str,
    typer.Argument(metavar="QUESTION", help="What to find out; - reads it from standard input.", show_default=False),
]
AutoAccept = Annotated[bool, typer.Option("--auto-accept", help="Carry out every plan without asking.")]
NewId = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="NAME", help="Name of the run: letters, digits, `._-`, at most 64.", show_default=False
    ),
]
Documents = Annotated[
    Path | None,
    typer.Option("--documents", metavar="DIR", help="Search this folder of documents too.", show_default=False),
]
After = Annotated[
    str | None,
    typer.Option("--after", metavar="ID", help="Follow up on the report of this run.", show_default=False),
]
FromStep = Annotated[
    str, typer.Option("--from", metavar="STEP", help="The first step to be done again, such as s3.", show_default=False)
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Save the report here.", show_default=False)
]
Locale = Annotated[
    str | None,
    typer.Option("--locale", metavar="xx-XX", help="Language of the run, such as en-US or zh-CN.", show_default=False),
]
MaxSteps = Annotated[str | None, typer.Option("--max-steps", metavar="N", help="Steps of a plan, 1 to 30.")]
MaxRounds = Annotated[str | None, typer.Option("--max-rounds", metavar="N", help="Plans carried out, 1 to 10.")]
ReplanAfterWhat = Annotated[
    str | None,
    typer.Option(
        "--replan-after",
        metavar="round|step",
        help="When findings are judged, with --max-rounds above 1; round unless said.",
        show_default=False,
    ),
]
MaxTurns = Annotated[str | None, typer.Option("--max-turns", metavar="N", help="Tool rounds of a step, 1 to 100.")]
MaxEdits = Annotated[str | None, typer.Option("--max-edits", metavar="N", help="Edits of a plan, 0 to 100.")]
AttentionDeadline = Annotated[
    str | None,
    typer.Option(
        "--attention-deadline",
        metavar="TIME",
        help="How long a call waits for you to mend what it needs, before it counts as failed.",
        show_default=False,
    ),
]
Clarify = Annotated[
    bool, typer.Option("--clarify", help="Let the coordinator ask back about a vague question, three times at most.")
]
MaxClarificationRounds = Annotated[
    str | None, typer.Option("--max-clarification-rounds", metavar="N", help="The same, N times at most, 0 to 10.")
]
MaxParallelSteps = Annotated[
    str | None, typer.Option("--max-parallel-steps", metavar="N", help="Steps at work at once, 1 to 30.")
]
MaxSearchResults = Annotated[
    str | None, typer.Option("--max-search-results", metavar="N", help="Results of a search, 1 to 20.")
]


def _limit(option: str, what: str) -> Any:  # typer says no more of what an option is
    return typer.Option(option, metavar="N", help=f"{what}, at most; `none` for no limit.", show_default=False)


BudgetTokens = Annotated[str | None, _limit("--budget-tokens", "Tokens read and written")]
BudgetUsd = Annotated[str | None, _limit("--budget-usd", "USD, by the prices that are set")]
BudgetMinutes = Annotated[str | None, _limit("--budget-minutes", "Minutes at work")]
BudgetSearches = Annotated[str | None, _limit("--budget-searches", "Searches")]
BudgetPages = Annotated[str | None, _limit("--budget-pages", "Pages read")]
LimitTokens = Annotated[str | None, _limit("--tokens", "Tokens read and written")]
LimitUsd = Annotated[str | None, _limit("--usd", "USD, by the prices that are set")]
LimitMinutes = Annotated[str | None, _limit("--minutes", "Minutes at work")]
LimitSearches = Annotated[str | None, _limit("--searches", "Searches")]
LimitPages = Annotated[str | None, _limit("--pages", "Pages read")]
ReportStyleName = Annotated[
    str | None,
    typer.Option(
        "--report-style",
        metavar="STYLE",
        help="neutral, academic, popular_science, news, social_media, strategic_investment, or plain (no model).",
        show_default=False,
    ),
]
DeepThinking = Annotated[bool, typer.Option("--deep-thinking", help="Plan with the reasoning model.")]
NoLookAround = Annotated[bool, typer.Option("--no-look-around", help="Plan without a first search.")]
NoWebSearch = Annotated[bool, typer.Option("--no-web-search", help="Search documents only.")]
ReviewDeadline = Annotated[
    str | None,
    typer.Option(
        "--review-deadline", metavar="TIME", help="How long a plan waits: 90s, 30m, 24h, 2d.", show_default=False
    ),
]
OnReviewDeadline = Annotated[
    str | None,
    typer.Option(
        "--on-review-deadline",
        metavar="accept|cancel",
        help="What happens then; cancel unless said.",
        show_default=False,
    ),
]
AllowDomain = Annotated[
    list[str] | None, typer.Option("--allow-domain", metavar="DOMAIN", help="Only this domain; may be repeated.")
]
DenyDomain = Annotated[
    list[str] | None, typer.Option("--deny-domain", metavar="DOMAIN", help="Never this domain; may be repeated.")
]
RequestedBy = Annotated[
    str | None, typer.Option("--requested-by", metavar="NAME", help="Who asks, for the record.", show_default=False)
]

Revision = Annotated[
    int | None,
    typer.Option("--revision", metavar="N", help="The plan that is meant; the latest unless said.", show_default=False),
]
Feedback = Annotated[
    str | None,
    typer.Option("--feedback", metavar="TEXT", help="What the plan should change, in words.", show_default=False),
]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan", metavar="FILE", help="A plan as YAML or JSON, in the shape of `show`'s.", show_default=False
    ),
]
StepId = Annotated[str, typer.Argument(metavar="STEP", help="Id of a step, such as s2.", show_default=False)]
StepToRetry = Annotated[
    str | None,
    typer.Argument(metavar="[STEP]", help="A failed step; without it, all that needs attention.", show_default=False),
]
StepFile = Annotated[
    Path,
    typer.Option(
        "--file", metavar="FILE", help="The step as YAML or JSON, in the shape of `show`'s.", show_default=False
    ),
]
AnswerText = Annotated[
    str, typer.Argument(metavar="TEXT", help="The answer to the run's question.", show_default=False)
]
Format = Annotated[str, typer.Option("--format", metavar="md|html|pdf|docx|json", help="How to write it.")]
AuditedRunId = Annotated[str | None, typer.Argument(metavar="ID", help="The run.", show_default=False)]
Verify = Annotated[
    Path | None,
    typer.Option(
        "--verify", metavar="FILE", help="Check this file; no server, model or network is asked.", show_default=False
    ),
]
AuditOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to; else reports/ID.audit.json.", show_default=False),
]
OlderThan = Annotated[
    str, typer.Option("--older-than", metavar="TIME", help="How long ago: 12h, 30d; an hour at least.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")]
Port = Annotated[
    int | None,
    typer.Option("--port", metavar="N", help="Port to listen on; a free one unless said.", show_default=False),
]
UntilIdle = Annotated[
    bool, typer.Option("--until-idle", help="End when no open run can go on without a person.", hidden=True)
]
