"""The bench: what the server carries, measured side by side with a plain echo and with others of its kind."""
