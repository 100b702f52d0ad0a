"""Limits for uvicorn's connections, which protect the server from hostile clients."""
