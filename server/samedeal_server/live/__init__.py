"""Races in this process: their rooms, timing, opening, deals and bots, and the scores computed from finished ones."""
