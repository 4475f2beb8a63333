"""What models are told and offered: prompts, tools and the shape of their output. Reviewed like code."""

from deer.prompts.rendering import render
from deer.prompts.replies import agent_note, tool_message
from deer.prompts.tools import closing_message, output_for, tools_for

__all__ = [
    "agent_note",
    "closing_message",
    "output_for",
    "render",
    "tool_message",
    "tools_for",
]
