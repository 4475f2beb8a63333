"""Letting the product run under test: servers, workers and the runs that tests drive."""

from tests.running.buckets import BucketServer, bucket_server
from tests.running.runs import Run, Runs, children_in, completed_activities
from tests.running.server import start_server, start_skipping_server, temporal_binary
from tests.running.worker import client_with, page_reader, research_worker, worker_with

__all__ = [
    "BucketServer",
    "Run",
    "Runs",
    "bucket_server",
    "children_in",
    "client_with",
    "completed_activities",
    "page_reader",
    "research_worker",
    "start_server",
    "start_skipping_server",
    "temporal_binary",
    "worker_with",
]
