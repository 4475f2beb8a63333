"""The state of a run and every decision about it, without effects: no clock, no id, no random source of its own."""

from deer.flow.allowance import Allowance
from deer.flow.briefs import (
    can_search,
    coordinator_brief,
    judge_brief,
    planner_brief,
    reporter_brief,
    step_brief,
)
from deer.flow.budget import (
    budget_ends_rounds,
    end_overdue_steps,
    in_words,
    may_look_around,
    settle_leases,
    tell_time,
    time_left,
    time_watched,
    unpriced_notice,
    why_no_report,
    why_spent,
)
from deer.flow.controls import Orders, check_control, is_past_calls, take_control
from deer.flow.coordination import check_answer, open_question, take_answer, take_decision
from deer.flow.forks import forked, recalled_from, take_earlier
from deer.flow.holds import check_step_report, hold, take_step_report
from deer.flow.picture import picture
from deer.flow.plans import plan_from_draft, ready_steps
from deer.flow.progress import ProgressLog
from deer.flow.reviews import accept_unanswered, check_review, take_review
from deer.flow.spending import spending_section
from deer.flow.state import PAUSE_REASON, ReviewState, RunState, StepProgress
from deer.flow.team import (
    begin_round,
    do_without_the_rest,
    end_phase,
    end_step,
    gaps,
    has_rounds_left,
    has_steps_to_do,
    is_as_planned,
    leave_out_unpayable,
    report_notes,
    settle_waiting_steps,
    start_ready_steps,
    steps_to_start,
    stops_after_a_step,
    waiting_steps,
)
from deer.flow.views import finding_briefs, outcome_of, progress_since, references_of, status_of

__all__ = [
    "PAUSE_REASON",
    "Allowance",
    "Orders",
    "ProgressLog",
    "ReviewState",
    "RunState",
    "StepProgress",
    "accept_unanswered",
    "begin_round",
    "budget_ends_rounds",
    "can_search",
    "check_answer",
    "check_control",
    "check_review",
    "check_step_report",
    "coordinator_brief",
    "do_without_the_rest",
    "end_overdue_steps",
    "end_phase",
    "end_step",
    "finding_briefs",
    "forked",
    "gaps",
    "has_rounds_left",
    "has_steps_to_do",
    "hold",
    "in_words",
    "is_as_planned",
    "is_past_calls",
    "judge_brief",
    "leave_out_unpayable",
    "may_look_around",
    "open_question",
    "outcome_of",
    "picture",
    "plan_from_draft",
    "planner_brief",
    "progress_since",
    "ready_steps",
    "recalled_from",
    "references_of",
    "report_notes",
    "reporter_brief",
    "settle_leases",
    "settle_waiting_steps",
    "spending_section",
    "start_ready_steps",
    "status_of",
    "step_brief",
    "steps_to_start",
    "stops_after_a_step",
    "take_answer",
    "take_control",
    "take_decision",
    "take_earlier",
    "take_review",
    "take_step_report",
    "tell_time",
    "time_left",
    "time_watched",
    "unpriced_notice",
    "waiting_steps",
    "why_no_report",
    "why_spent",
]
