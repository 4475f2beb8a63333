"""Drafts into plans: who gives ids, what a step depends on, and which steps may start."""

from collections.abc import Mapping, Sequence

from deer.models import DraftStep, Plan, PlanDraft, Step, StepStatus, StepType

ENDED = frozenset({StepStatus.DONE, StepStatus.FAILED, StepStatus.SKIPPED})

EARLIER_PLANS_BYTES = 256 * 1024
"""Room for the plans that others replaced, as JSON: for all of twenty edits with plans of 12 KB.

They travel with the state of the run, of which Temporal takes 2 MB, and which every review saves again.
"""


def plan_from_draft(
    draft: PlanDraft, revision: int, kept: Sequence[Step] = (), known: Sequence[Step] = (), next_number: int = 1
) -> Plan:
    """The plan that a validated draft means.

    `kept`: steps that have begun; they stand first, as they were, whatever the draft says of them.
    `known`: steps that the writer was shown and may name by id. A step without id is new and gets `s<next_number>`.
    Without `depends_on`, research steps are independent; others depend on every step before them.
    """
    ids = _ids(draft, {step.id for step in known}, next_number)
    kept_ids = [step.id for step in kept]
    steps = list(kept)
    for at, drafted in enumerate(draft.steps):
        if ids[at] in kept_ids:
            continue
        steps.append(
            Step(
                id=ids[at],
                title=drafted.title,
                description=drafted.description,
                step_type=drafted.step_type,
                need_search=drafted.need_search and drafted.step_type is StepType.RESEARCH,
                depends_on=_depends_on(drafted, ids, [step.id for step in steps]),
            )
        )
    return Plan(
        revision=revision,
        title=draft.title,
        thought=draft.thought,
        has_enough_context=draft.has_enough_context,
        steps=tuple(steps),
    )


def _ids(draft: PlanDraft, known: set[str], next_number: int) -> list[str]:
    ids: list[str] = []
    for step in draft.steps:
        if step.id is not None and step.id in known:
            ids.append(step.id)
        else:
            ids.append(f"s{next_number}")
            next_number += 1
    return ids


def _depends_on(step: DraftStep, ids: Sequence[str], earlier: Sequence[str]) -> tuple[str, ...]:
    if step.depends_on is None:
        return () if step.step_type is StepType.RESEARCH else tuple(earlier)
    wanted = (ids[item - 1] if isinstance(item, int) else item for item in step.depends_on)
    return tuple(dict.fromkeys(wanted))


def latest_within_room(plans: Sequence[Plan]) -> tuple[Plan, ...]:
    """The latest of these plans that fit into `EARLIER_PLANS_BYTES`, without a gap, and always the last one."""
    room, kept = EARLIER_PLANS_BYTES, 0
    for plan in reversed(plans):
        room -= len(plan.model_dump_json().encode())
        if room < 0 and kept:
            break
        kept += 1
    return tuple(plans[len(plans) - kept :])


def ready_steps(plan: Plan, statuses: Mapping[str, StepStatus], slots: int) -> tuple[Step, ...]:
    """The steps that may start now, in the plan's order, at most `slots`.

    A step is ready when all that it depends on has ended, however it ended: a failed dependency does not stop it.
    """
    waiting = (step for step in plan.steps if statuses[step.id] is StepStatus.PENDING)
    ready = [
        step for step in waiting if all(statuses.get(other, StepStatus.SKIPPED) in ENDED for other in step.depends_on)
    ]
    return tuple(ready[: max(0, slots)])
