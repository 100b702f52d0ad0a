"""Clients and their connections: limits, requests and responses, logs and metrics. Knows nothing of races.

uvicorn buffers fragments, control frames and pipelined requests without limit, and waits forever for clients that do
not read or do not complete their requests. The connection classes override parts of uvicorn that are not public, so
they are tested with one version only, ``connection_config.UVICORN``.
"""
