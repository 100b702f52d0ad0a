"""Studies of the games: scripts whose results are in the docs."""
