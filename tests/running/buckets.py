"""A server beside the tests that speaks S3 and checks signatures, with its buckets in a directory."""

import shutil
import socket
import subprocess
import sysconfig
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.eventually import SLOW_MACHINE_S

_BUCKET = "deer-tests"
KEY_ID, KEY = "deer-tests-key", "deer-tests-canary-secret"


@dataclass(frozen=True)
class BucketServer:
    """Where the server listens."""

    address: str

    def environment(self) -> dict[str, str]:
        """The variables with which a program reaches it."""
        return {"AWS_ENDPOINT_URL": self.address, "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": KEY}

    def new_store(self) -> str:
        """The location of a store that nothing is in."""
        return f"s3://{_BUCKET}/{uuid.uuid4().hex[:12]}/store"


@contextmanager
def bucket_server(directory: Path) -> Iterator[BucketServer]:
    """The S3 server that rclone is, for as long as the context lasts."""
    scripts = sysconfig.get_path("scripts")
    binary = shutil.which("rclone", path=scripts) or shutil.which("rclone")
    assert binary, "rclone is not installed; it is among the development requirements"
    (directory / _BUCKET).mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    arguments = ["--addr", f"127.0.0.1:{port}", "--auth-key", f"{KEY_ID},{KEY}", "--config", "/dev/null"]
    server = subprocess.Popen(
        [binary, "serve", "s3", str(directory), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(port, server)
        yield BucketServer(f"http://127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait(timeout=SLOW_MACHINE_S)


def _wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    give_up_at = time.monotonic() + SLOW_MACHINE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert server.poll() is None, "rclone ended before it listened"
            assert time.monotonic() < give_up_at, "rclone did not listen in time"
            time.sleep(0.02)
        else:
            return
