"""The person at the terminal: asked line by line, or given a text in an editor."""

import asyncio
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Protocol

from rich.console import Console, RenderableType

from deer.errors import Refused


class Terminal(Protocol):
    """A person who can be asked."""

    def show(self, what: RenderableType) -> None:
        """Show something."""
        ...

    async def ask(self, prompt: str) -> str | None:
        """The line that the person typed, without spaces around it; None when they closed the input."""
        ...

    async def edit(self, text: str) -> str:
        """The text after the person edited it. Raises Refused when there is no editor."""
        ...


class RealTerminal:
    """The terminal of this process. Neither question nor editor stops the event loop, where a worker may be at work."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def show(self, what: RenderableType) -> None:
        self._console.print(what)

    async def ask(self, prompt: str) -> str | None:
        self._console.print(f"{prompt} ", end="", markup=False)
        loop = asyncio.get_running_loop()
        typed = asyncio.Event()
        # A thread blocked in input() would keep the process from ending at Ctrl-C; waiting for the terminal does not.
        loop.add_reader(sys.stdin, typed.set)
        try:
            await typed.wait()
        finally:
            loop.remove_reader(sys.stdin)
        line = sys.stdin.readline()  # a terminal hands over whole lines
        return line.strip() if line else None

    async def edit(self, text: str) -> str:
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with tempfile.TemporaryDirectory(prefix="deer-plan-") as folder:
            path = Path(folder) / "plan.yaml"
            path.write_text(text, encoding="utf-8")
            try:
                process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(path))
            except (OSError, ValueError) as error:
                raise Refused(f"the editor {editor!r} does not start ({error}); set EDITOR to one that does") from error
            if await process.wait():
                raise Refused(f"the editor {editor!r} ended with an error; nothing was sent")
            return path.read_text(encoding="utf-8")
