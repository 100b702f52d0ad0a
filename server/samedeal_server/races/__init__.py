"""Live races: the registry of rooms, deal searches, daily deals, and which players are present."""
