"""Who may connect and how often: client addresses, origins and rate limits."""
