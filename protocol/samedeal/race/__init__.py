"""A race as a fold over its log: events, the race itself, undo, and what is due when."""
