"""Finished races as files, and as a timeline of tables."""
