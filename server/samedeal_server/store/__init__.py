"""The store: connections to Redis, the race log, the archive, guests and par results."""
