"""The network: races over WebSocket, everything else over HTTP, and stored credentials and receipts."""
