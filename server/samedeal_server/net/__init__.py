"""Clients and their connections: limits, requests and responses, logs and metrics. Knows nothing of races.

uvicorn buffers fragments, control frames and requests without limit, and waits forever for clients that do
not read or do not complete their requests. The connection classes override parts of uvicorn that are not public, so
pyproject.toml names the versions that they are tested with.
"""
