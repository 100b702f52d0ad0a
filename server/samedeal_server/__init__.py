"""The server of Same Deal: rooms over WebSocket, the log in Redis, replays over HTTP."""
