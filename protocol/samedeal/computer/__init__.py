"""The computer as a player: bots, deal filters and par."""
