"""The command-line client of Same Deal."""
