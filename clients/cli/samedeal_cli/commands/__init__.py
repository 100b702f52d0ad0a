"""The commands of ``samedeal``, one module per command or group of related commands."""
