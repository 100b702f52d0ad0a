"""The full screen for a replay."""
