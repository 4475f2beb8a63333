# The worker, or with another command the starter. Secrets come from the environment, never from the image.

FROM python:3.11-slim-bookworm AS environment
# The core and what a store in S3 needs.
COPY requirements/s3.lock /tmp/
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --require-hashes -r /tmp/s3.lock

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --create-home deer \
    && install --directory --owner deer --group deer /data /data/store
COPY --from=environment /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1
WORKDIR /app
COPY worker.py starter.py pyproject.toml ./
COPY deer deer
COPY workflows workflows
COPY activities activities
COPY examples examples
RUN python -m compileall -q .
USER deer
VOLUME /data
# In exec form, so that SIGTERM reaches the worker, which lets calls in flight end.
CMD ["python", "worker.py"]
