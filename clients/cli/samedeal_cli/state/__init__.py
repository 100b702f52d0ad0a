"""State: what a screen shows, and how keys, clicks and messages change it."""
