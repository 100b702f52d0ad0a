"""WebSocket connections: the endpoint and the session of each client."""
