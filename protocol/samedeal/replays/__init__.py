"""Replays: finished races as files and as timelines of tables."""
