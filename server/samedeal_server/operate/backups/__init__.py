"""Backups: snapshots of a store in files, verified after writing, and restored into an empty store."""
