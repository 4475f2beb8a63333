"""The program that turns the bytes of a page into text, run in a process of its own by `extractor`.

Pages are hostile and extraction is superlinear in their size, so the process holds no keys, bounds its memory, ends
itself at the deadline of a job, and ends when its standard input does. It reads jobs from standard input, each a JSON
line followed by `bytes` bytes, and answers each with a JSON line:

    {job: extract, kind, charset, seconds, bytes}             Extracted, or {refused} with the reason
    {job: select, title, wanted, max_chars, seconds, bytes}   {parts: [[start, end]]}: of the text that follows
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from deer.providers.extraction.extracted import Extracted, Unextractable
from deer.providers.extraction.pdf import extract_pdf
from deer.providers.extraction.plain import extract_table, extract_text
from deer.providers.extraction.web_page import extract_web_page
from deer.providers.extraction.word_document import extract_word_document

MAX_MEMORY_BYTES = 2 * 1024**3
"""A small file can unpack to any size in a library's hands."""

Job = Mapping[str, Any]  # as `extractor` wrote it

_PDF_SHARE = 0.6
"""So much of the time of a job goes to reading the pages of a PDF; what is left is for their words."""
_EXTRACTIONS: Mapping[str, Callable[[bytes, Job], Extracted]] = {
    "html": lambda body, job: extract_web_page(body, job["charset"]),
    "text": lambda body, job: extract_text(body, job["charset"]),
    "table": lambda body, job: extract_table(body, job["charset"]),
    "pdf": lambda body, job: extract_pdf(body, _PDF_SHARE * job["seconds"]),
    "word": lambda body, _: extract_word_document(body),
}


def answer_to(job: Job, body: bytes) -> Mapping[str, object]:
    """The answer to a job."""
    if job["job"] == "select":
        # Imported late: it takes half a second, and most pages are short.
        from deer.providers.relevance import relevant_parts

        return {"parts": relevant_parts(body.decode(), job["title"], job["wanted"], job["max_chars"])}
    try:
        return _EXTRACTIONS[job["kind"]](body, job)
    except Unextractable as error:
        return {"refused": str(error)}


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answer jobs until there are no more. A job that outlasts its seconds ends the process by SIGALRM."""
    while line := jobs.readline():
        job = json.loads(line)
        body = jobs.read(job["bytes"])
        signal.setitimer(signal.ITIMER_REAL, job["seconds"])
        answer = answer_to(job, body)
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
        answers.flush()


def main() -> None:
    """Serve on the standard streams, of which libraries must not write into the second."""
    with suppress(ValueError, OSError):  # some systems know no such bound
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
