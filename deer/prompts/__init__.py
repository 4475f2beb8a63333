"""What models are told and offered: prompts, tools and the shape of their output. Reviewed like code."""

from deer.prompts.rendering import render, tool_message
from deer.prompts.tools import closing_message, output_for, searching_reminder, tools_for

__all__ = [
    "closing_message",
    "output_for",
    "render",
    "searching_reminder",
    "tool_message",
    "tools_for",
]
