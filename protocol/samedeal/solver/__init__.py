"""Solvers: searches for a winning line that know all cards, face-down ones included."""
