"""What roles may call, the shape of the plan, and what agents are told on the way."""

import json
from collections.abc import Iterator

import pytest

from deer.models import (
    AgentNote,
    AnyBrief,
    Plan,
    Role,
    Speaker,
    ToolSpec,
)
from deer.prompts import agent_note, closing_message, output_for, tools_for
from tests.unit.prompt_briefs import (
    PLAN,
    coordinator,
    judge,
    one_brief_per_role,
    planner,
    reporter,
    step_brief,
)


@pytest.mark.parametrize(
    ("brief", "names"),
    [
        (coordinator("en-US"), ["handoff_to_planner", "direct_response"]),
        (coordinator("zh-CN", questions_left=1), ["handoff_to_planner", "direct_response", "ask_clarification"]),
        (planner("en-US"), []),
        (step_brief("en-US", Role.RESEARCHER), ["web_search", "read_page", "submit_finding"]),
        (step_brief("en-US", Role.RESEARCHER, can_search=False), ["submit_finding"]),
        (step_brief("en-US", Role.ANALYST), ["submit_finding"]),
        (step_brief("en-US", Role.CODER), ["submit_finding"]),
        (judge("en-US"), ["respond", "revise_plan"]),
        (reporter("en-US"), []),
    ],
)
def test_roles_are_offered_their_tools(brief: AnyBrief, names: list[str]) -> None:
    """Each role has its own tools, and only a researcher that can search has search and reading."""
    assert [tool.name for tool in tools_for(brief)] == names


def all_tools() -> dict[str, ToolSpec]:
    briefs = [*one_brief_per_role("en-US").values(), coordinator("en-US", questions_left=1)]
    return {tool.name: tool for brief in briefs for tool in tools_for(brief)}


def test_tools_require_only_what_is_needed() -> None:
    """A search needs a query, a page an address; whatever has a default may be left out."""
    assert {name: tool.parameters["required"] for name, tool in all_tools().items()} == {
        "handoff_to_planner": ["research_topic", "locale"],
        "direct_response": ["message", "locale"],
        "ask_clarification": ["question", "options"],
        "web_search": ["query"],
        "read_page": ["url"],
        "submit_finding": ["summary", "claims"],
        "respond": ["reason"],
        "revise_plan": ["steps", "reason"],
    }


def objects_in(schema: object) -> Iterator[dict[str, object]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects_in(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects_in(part)


def test_schemas_are_closed_and_plain_json() -> None:
    """Every object of every schema refuses unknown fields, and all of it survives JSON."""
    plan = output_for(planner("en-US"))
    assert plan is not None
    for schema in (plan.json_schema, *(tool.parameters for tool in all_tools().values())):
        assert json.loads(json.dumps(schema)) == schema
        assert [part for part in objects_in(schema) if part["additionalProperties"] is not False] == []


@pytest.mark.parametrize("earlier_plan", [None, PLAN])
def test_plan_schema_is_bounded_and_strict(earlier_plan: Plan | None) -> None:
    """All fields are required, texts and lists capped, a step waits for the others at most, ids need a shown plan."""
    output = output_for(planner("en-US", earlier_plan=earlier_plan))
    assert output is not None
    steps = output.json_schema["properties"]["steps"]

    assert steps["maxItems"] == 7
    assert steps["items"]["properties"]["depends_on"]["maxItems"] == (6 if earlier_plan is None else 7)
    assert list(output.json_schema["properties"]) == ["locale", "has_enough_context", "thought", "title", "steps"]
    for part in objects_in(output.json_schema):
        assert part["required"] == list(part["properties"])  # type: ignore[call-overload]  # a schema's own shape
    fields = ["title", "description", "step_type", "need_search", "depends_on"]
    assert list(steps["items"]["properties"]) == (fields if earlier_plan is None else ["id", *fields])
    assert json.dumps(output.json_schema).count('"type": "string"') == json.dumps(output.json_schema).count(
        '"maxLength"'
    ) + json.dumps(output.json_schema).count('"enum"')


def test_only_the_planner_has_an_output_schema() -> None:
    """Roles that write text or call tools are bound to no schema."""
    briefs = one_brief_per_role("en-US")

    assert [role for role, brief in briefs.items() if output_for(brief) is not None] == [Role.PLANNER]


def test_words_to_an_agent_are_in_its_language() -> None:
    """The closing turn and the reminder to search are messages of the user in the run's language."""
    assert [closing_message("zh-CN").content[:6], agent_note(AgentNote.MUST_SEARCH, "zh-TW").content[:5]] == [
        "这是你的最后",
        "本步骤要求",
    ]
    assert "no tools are left" in closing_message("fr-FR").content
    assert agent_note(AgentNote.MUST_SEARCH, "en-US").speaker is Speaker.USER
