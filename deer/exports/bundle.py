"""The evidence of a run in one file: what was reported, on what, by whose leave, each part beside its hash.

The file is JSON in one form only, so that every changed byte shows: in a hash that no longer fits, or in the form.
Hashes tell mistakes and careless changes. Whoever writes all of them anew is found out only by the hash of the whole
file, which `audit` prints and which has to be kept elsewhere.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

import deer.prompts
from deer.errors import NotFound
from deer.flow import RunState, references_of, status_of
from deer.models import (
    CheckedClaim,
    Clarification,
    HandOff,
    Model,
    Phase,
    Plan,
    ResearchRequest,
    RunUsage,
    Source,
    StepStatusView,
    TextRef,
    hash_of,
)
from deer.ports import TextStore

FORMAT = "deer-temporal audit 1"

Tree = dict[str, Any]  # a JSON object

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_PROGRAM = frozenset({"coordinator", "planner", "judge", "reporter", "research team"})


class AuditedSource(Model):
    """A source as it was seen. `seen`: the hashes of all its texts; quotes were looked up in them.

    `number` is its place in the report, None when it is not cited.
    """

    id: str
    aliases: tuple[str, ...]
    number: int | None
    url: str
    title: str
    read: bool
    seen: tuple[str, ...]


class AuditedRun(Model):
    """What became of the run."""

    id: str
    phase: Phase
    reason: str | None
    locale: str
    answer: str | None
    notices: tuple[str, ...]


class AuditedPrompts(Model):
    """The hashes of the prompts, by file, of the program that wrote the bundle."""

    of: str = "the program that wrote this file"
    sha256: dict[str, str]


class Bundle(Model):
    """All that stands behind a report. `report` is None for a run without one.

    `plans`: the revisions that the run keeps, the latest at the end. `decisions`: those hand-offs that a person, a
    deadline or an automatic approval made, and every plan that was put up for review. `texts`: by hash; one that the
    store has lost is missing.
    """

    format: str = FORMAT
    run: AuditedRun
    request: ResearchRequest
    report: str | None
    claims: tuple[CheckedClaim, ...]
    sources: tuple[AuditedSource, ...]
    plans: tuple[Plan, ...]
    steps: tuple[StepStatusView, ...]
    decisions: tuple[HandOff, ...]
    handoffs: tuple[HandOff, ...]
    clarifications: tuple[Clarification, ...]
    usage: RunUsage
    prompts: AuditedPrompts
    texts: dict[str, str]

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """Hashes of texts that sources had and the store has lost."""
        return tuple(sha256 for source in self.sources for sha256 in source.seen if sha256 not in self.texts)


async def bundle_of(state: RunState, store: TextStore) -> Bundle:
    """The bundle of a run as it was when it saved this state. Raises NotFound when report or findings are lost."""
    status = status_of(state)
    whole = {path: await store.get(reference.sha256) for path, reference in references_of(state).items()}
    steps = status.plan.steps if status.plan else ()
    texts: dict[str, str] = {}
    return Bundle(
        run=AuditedRun(
            id=state.id,
            phase=state.phase,
            reason=state.reason,
            locale=state.locale,
            answer=state.answer,
            notices=state.notices,
        ),
        request=state.request,
        report=None if status.report is None else whole.get("report.markdown", status.report.markdown),
        claims=status.report.claims if status.report else (),
        sources=tuple([await _audited(source, store, texts) for source in state.sources.all()]),
        plans=(*state.earlier_plans, *([state.plan] if state.plan else [])),
        steps=tuple(
            step.model_copy(update={"finding": whole.get(f"plan.steps.{step.id}.finding", step.finding)})
            for step in steps
        ),
        decisions=tuple(_decisions(state.handoffs, {step.id for step in steps})),
        handoffs=state.handoffs,
        clarifications=state.clarifications,
        usage=status.usage,
        prompts=AuditedPrompts(sha256=dict(_prompt_hashes())),
        texts=texts,
    )


async def _audited(source: Source, store: TextStore, texts: dict[str, str]) -> AuditedSource:
    """A source, its texts put beside those of the others as far as the store still has them."""
    hashes = []
    for seen in source.seen:
        hashes.append(seen.sha256 if isinstance(seen, TextRef) else hash_of(seen))
        with suppress(NotFound):
            texts[hashes[-1]] = await store.get(seen.sha256) if isinstance(seen, TextRef) else seen
    return AuditedSource(
        id=source.id,
        aliases=source.aliases,
        number=source.number,
        url=source.url,
        title=source.title,
        read=source.read,
        seen=tuple(dict.fromkeys(hashes)),
    )


def _decisions(handoffs: Iterable[HandOff], step_ids: set[str]) -> Iterable[HandOff]:
    return (handoff for handoff in handoffs if handoff.to == "review" or handoff.sender not in _PROGRAM | step_ids)


@cache
def _prompt_hashes() -> Mapping[str, str]:
    prompts = sorted(files(deer.prompts).iterdir(), key=lambda file: file.name)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in prompts if file.name.endswith(".md")}


def bytes_of(bundle: Bundle) -> bytes:
    """The file of a bundle."""
    tree: Tree = bundle.model_dump(mode="json", by_alias=True)
    return written({**tree, "hashes": hashes_of(tree)})


def written(tree: Tree) -> bytes:
    """A JSON object in the one form that it has in a bundle."""
    return (_as_text(tree, indent=1) + "\n").encode()


def hashes_of(tree: Tree) -> Tree:
    """The hash of each part of a bundle; of lists, that of each item. Texts go by their hashes anyway."""
    return {
        name: [_hash_of_value(item) for item in part] if isinstance(part, list) else _hash_of_value(part)
        for name, part in tree.items()
        if name not in ("texts", "hashes")
    }


def _hash_of_value(value: Any) -> str:  # anything that JSON can hold
    return hash_of(_as_text(value, indent=None))


def _as_text(value: Any, indent: int | None) -> str:  # anything that JSON can hold
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))
    return _LONE_SURROGATE.sub(lambda char: f"\\u{ord(char[0]):04x}", text)  # which UTF-8 has no bytes for
