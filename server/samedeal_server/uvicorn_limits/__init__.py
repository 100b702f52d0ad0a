"""Limits for uvicorn's connections, which protect the server from hostile clients.

uvicorn buffers fragments, control frames and pipelined requests without limit, and waits forever for clients that do
not read or do not complete their requests. These classes override parts of uvicorn that are not public, so they are
tested with one version only, ``config.UVICORN``.
"""
