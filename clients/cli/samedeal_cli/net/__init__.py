"""The network: races over WebSocket, everything else over HTTP, and what is kept for both."""
