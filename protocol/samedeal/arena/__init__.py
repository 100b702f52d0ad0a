"""The arena: races between bots without a server, in which time is counted in moves, and what they show about skill."""
