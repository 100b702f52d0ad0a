"""Same Deal: the pure library of patience races."""
