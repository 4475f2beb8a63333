"""Files that a person names, read within bounds: a pipe may never be written to, a device never end."""

import os
import stat
from pathlib import Path

from deer.errors import InvalidInput


def bytes_of_file(path: Path, most_bytes: int, option: str) -> bytes:
    """What is in a regular file. Raises InvalidInput, naming option and file, for any other and for a larger one."""
    named = f"{option} {path}"
    try:
        # without O_NONBLOCK, opening a pipe waits for its writer
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidInput("is no regular file; name one that ends", named)
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", named) from error
    if len(content) > most_bytes:
        raise InvalidInput(f"is larger than {most_bytes:,} bytes", named)
    return content
