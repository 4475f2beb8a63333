"""A scripted model that plays every role well enough for a run to end in a cited report."""

import json
import re

from tests.scripted.calls import Call, Json, content_of
from tests.scripted.replies import Answer, Script, Text, call_tool

SUBJECT = re.compile(r"subject-[A-Za-z0-9]+")
SHOWN_SOURCE = re.compile(r'id"?(?:=|: )"((?:s\d+|b)-\d+)"')
PAGE_URL = re.compile(r"http://127\.0\.0\.1:\d+/page/[A-Za-z0-9-]+")
NAMED_ROLES = ("coordinator", "planner", "researcher", "analyst", "coder", "judge", "reporter")


def role_of(body: Json) -> str:
    """The role that speaks in a request, told by what it offers and, without an offer, by who it says it is."""
    tools = {tool["function"]["name"] for tool in body.get("tools") or []}
    for offered, role in (
        ({"respond", "revise_plan"}, "judge"),
        ({"handoff_to_planner", "direct_response", "ask_clarification"}, "coordinator"),
        ({"web_search", "read_page"}, "researcher"),
        ({"run_python"}, "coder"),
        ({"submit_finding"}, "analyst"),
    ):
        if tools & offered:
            return role
    if body.get("response_format"):
        return "planner"
    return _named_role(body)


def _named_role(body: Json) -> str:
    """The role that the system prompt names first: prompts name their neighbours too."""
    messages = body.get("messages") or []
    prompt = " ".join(content_of(m) for m in messages if m.get("role") in ("system", "developer")).lower()
    named = [(prompt.find(role), role) for role in NAMED_ROLES if role in prompt]
    return min(named)[1] if named else "unknown"


def research_step(subject: str, **fields: object) -> Json:
    """A research step of a planner's reply, on one subject."""
    step = {"title": f"Look at {subject}", "description": f"Collect facts on {subject}.", "step_type": "research"}
    return {**step, "need_search": True, **fields}


def analysis_step(**fields: object) -> Json:
    """An analysis step of a planner's reply."""
    step = {"title": "Compare", "description": "Compare what was found.", "step_type": "analysis"}
    return {**step, "need_search": False, **fields}


def plan_of(*steps: Json, **fields: object) -> str:
    """A planner's reply."""
    plan: Json = {"locale": "en-US", "has_enough_context": False, "thought": "t", "title": "T", "steps": list(steps)}
    return json.dumps({**plan, **fields}, ensure_ascii=False)


SMALL_PLAN = plan_of(research_step("subject-a1"), analysis_step())
"""One research step and one analysis step: the shortest way through every role."""


def coordinator(call: Call) -> Answer:
    """Hands the question over."""
    return call_tool("handoff_to_planner", research_topic=question_of(call), locale="en-US")


def asked_text(call: Call) -> str:
    """What a call says in its user messages: the question and what the role is to work with."""
    return "\n".join(content_of(message) for message in call.messages if message.get("role") == "user")


def question_of(call: Call) -> str:
    """The question as a call has it, on one line of at most 120 characters."""
    fenced = re.search(r"<question>\s*(.*?)\s*</question>", asked_text(call), re.DOTALL)
    return " ".join((fenced[1] if fenced else asked_text(call)).split())[:120]


def subject_of(call: Call) -> str:
    """The subject that a step is on: the last that its first request names."""
    found = SUBJECT.findall(asked_text(call))
    return found[-1] if found else "subject-unknown"


def researcher(call: Call) -> Answer:
    """Searches, reads the first page it was shown, and submits a finding with a quote from it."""
    if "submit_finding" not in call.tools:
        return Text("In short: the measured value was found.")
    if "web_search" not in call.tools or call.rounds >= 2:
        return finding(call)
    if call.rounds == 0:
        return call_tool("web_search", query=f"facts on {subject_of(call)}")
    return call_tool("read_page", url=shown_pages(call)[0])


def finding(call: Call) -> Answer:
    """Submits a finding whose claim quotes the first source that the call shows, if any."""
    ids = SHOWN_SOURCE.findall(tool_text(call))
    quote = f"the measured value of {subject_of(call)}"
    claim = {"text": f"There is {quote}.", "source_id": ids[0] if ids else "", "quote": quote if ids else ""}
    return call_tool("submit_finding", summary=f"Finding: {quote} was looked up.", claims=[claim] if ids else [])


def analyst(call: Call) -> Answer:
    """Submits a comparison without claims."""
    return call_tool("submit_finding", summary="Compared: the values agree.", claims=[])


def judge(call: Call) -> Answer:
    """Is content with what was found."""
    return call_tool("respond", reason="The findings are enough.")


def reporter(call: Call) -> Answer:
    """Writes two sections, the second of which cites every source that it was shown."""
    cited = "".join(f"[{source_id}]" for source_id in dict.fromkeys(SHOWN_SOURCE.findall(asked_text(call))))
    return Text(f"# Report\n\n## Key points\n\nThe values were measured.\n\n## Detail\n\nThey agree {cited}.\n")


def tool_text(call: Call) -> str:
    """What the tools have answered so far in a call."""
    return "\n".join(content_of(message) for message in call.messages if message.get("role") == "tool")


def shown_pages(call: Call) -> list[str]:
    """The addresses of scripted pages in the tools' answers."""
    return PAGE_URL.findall(tool_text(call)) or ["http://127.0.0.1:9/page/none"]


def default_scripts() -> dict[str, Script]:
    """A script for every role."""
    return {
        "coordinator": coordinator,
        "planner": SMALL_PLAN,
        "researcher": researcher,
        "analyst": analyst,
        "judge": judge,
        "reporter": reporter,
        "unknown": Text("I do not know what I am."),
    }
