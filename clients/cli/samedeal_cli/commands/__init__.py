"""The commands of ``samedeal``, one module for each."""
