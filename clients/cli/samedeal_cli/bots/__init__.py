"""Commands with bots: a program that plays a seat, and the arena."""
