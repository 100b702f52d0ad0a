"""Proofs: receipts and the verification of replays."""
