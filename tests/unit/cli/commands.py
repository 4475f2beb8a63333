"""The command line as a test calls it: in this process, without a server."""

from typer.main import get_command

from deer.cli.app import app


def options_of_research() -> set[str]:
    """All options that `research` takes."""
    research = get_command(app).commands["research"]  # type: ignore[attr-defined] # a group, typed as a command
    return {name for parameter in research.params for name in parameter.opts}


def command_names() -> set[str]:
    """All commands there are."""
    return set(get_command(app).commands)  # type: ignore[attr-defined] # a group, typed as a command
