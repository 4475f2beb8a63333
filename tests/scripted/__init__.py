"""Scripted services for tests and measurements: they answer real HTTP on loopback and remember what they were asked."""

from tests.scripted.calls import Call, CallLog, Json, Kind, most_at_once
from tests.scripted.canaries import leaked_canaries
from tests.scripted.replies import REFUSED_KEY, Failure, Stream, Text, ToolCall, ToolCalls, call_tool
from tests.scripted.roles import SMALL_PLAN, analysis_step, plan_of, research_step, subject_of
from tests.scripted.services import Gate, InsideListener, ScriptedServices, Setup

__all__ = [
    "REFUSED_KEY",
    "SMALL_PLAN",
    "Call",
    "CallLog",
    "Failure",
    "Gate",
    "InsideListener",
    "Json",
    "Kind",
    "ScriptedServices",
    "Setup",
    "Stream",
    "Text",
    "ToolCall",
    "ToolCalls",
    "analysis_step",
    "call_tool",
    "leaked_canaries",
    "most_at_once",
    "plan_of",
    "research_step",
    "subject_of",
]
