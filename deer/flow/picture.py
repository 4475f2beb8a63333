"""A run as a Markdown picture, for the current details in Temporal's UI."""

from deer.flow.budget import budget_status
from deer.flow.state import RunState
from deer.models import Phase, StepStatus

# signs, as Temporal's UI shows a Markdown task list as its brackets
_SIGN = {
    StepStatus.PENDING: "☐",
    StepStatus.RUNNING: "▶",
    StepStatus.DONE: "☑",
    StepStatus.FAILED: "✗",
    StepStatus.SKIPPED: "↷",
}
_HANDOFFS_SHOWN = 12


def picture(state: RunState) -> str:
    """Phase, what is waited for, plan with its steps, spending and the latest hand-offs."""
    reason = f": {state.reason}" if state.reason and state.asked is None else ""
    parts = [f"**{state.phase}**{reason}", f"> {_inline(state.request.question)}"]
    parts.extend(f"> {_inline(said.answer)}" for said in state.clarifications)
    if state.asked is not None:
        lines = [f"The coordinator asks: **{_inline(state.asked.text)}**"]
        lines += [f"- {_inline(option)}" for option in state.asked.options]
        parts.append("\n".join(lines))
        parts.append('Send the signal `answer` with the answer as text, such as `"for small companies in Europe"`.')
    if state.phase is Phase.AWAITING_REVIEW and state.plan is not None:
        parts.append(
            f"Plan revision {state.plan.revision} waits: send the signal `approve` (no input), or `edit` with the "
            'wished changes as text, such as `"compare costs too"`.'
        )
    if state.plan is not None:
        lines = [f"### {_inline(state.plan.title)} (revision {state.plan.revision})"]
        for step in state.plan.steps:
            progress = state.steps[step.id]
            reason = f": {_inline(progress.reason)}" if progress.reason else ""
            lines.append(f"- {_SIGN[progress.status]} `{step.id}` {_inline(step.title)} ({step.step_type}){reason}")
        parts.append("\n".join(lines))
    usage = state.usage
    parts.append(
        f"model calls {usage.model_calls}, tokens {usage.input_tokens + usage.output_tokens}, "
        f"searches {usage.searches}, pages {usage.pages}, sources {len(state.sources.sources)}"
    )
    if budget := budget_status(state):
        parts.append("budget: " + ", ".join(f"{s.used:,.6g} of {s.limit:,.12g} {kind}" for kind, s in budget.items()))
    if state.handoffs:
        latest = state.handoffs[-_HANDOFFS_SHOWN:]
        parts.append("\n".join(f"- {_inline(h.sender)} → {_inline(h.to)}: {_inline(h.reason)}" for h in latest))
    parts.extend(f"⚠ {_inline(text)}" for text in state.notices[-5:])
    return "\n\n".join(parts)


def _inline(text: str) -> str:
    """One line, with what Markdown would act on escaped: titles come from models and pages."""
    line = " ".join(text.split())[:300]
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|!" else char for char in line)
