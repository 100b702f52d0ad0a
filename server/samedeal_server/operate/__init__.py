"""The commands of operators, which the program ``samedeal`` imports when they are called."""
