"""Races: events, the fold over the log, seats, undo, and timed events."""
