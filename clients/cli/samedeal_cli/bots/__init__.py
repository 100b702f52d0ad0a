"""Commands with bots: a program that plays a seat, the arena, and the demo."""
