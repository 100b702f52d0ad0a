"""The full screen for a race."""
