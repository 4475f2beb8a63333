"""An answer to what a run asks: as the command sends it, and as a conversation at the terminal."""

from typing import Any

from rich.text import Text

from deer.cli.handles import RunHandle
from deer.cli.pictures import question_text
from deer.cli.terminal import Terminal
from deer.errors import InvalidInput, Refused

_PROMPT = "Your answer (Enter leaves it waiting):"


def answer_of(text: str) -> dict[str, Any]:  # a message of deer.messages
    """The answer that these words are. Raises InvalidInput when there are none."""
    if not (words := text.strip()):
        raise InvalidInput("the answer is empty", "TEXT")
    return {"text": words}


async def answer_at_terminal(run: RunHandle, question: str, terminal: Terminal) -> bool:
    """Show what the run asks and send what the person says; returns False when it is left waiting.

    What the run refuses is shown, and the person asked again.
    """
    terminal.show(question_text(question))
    while words := await terminal.ask(_PROMPT):
        try:
            await run.update("answer", answer_of(words))
        except Refused as refusal:
            terminal.show(Text(f"Not taken: {refusal}", "red"))
        else:
            return True
    return False
