"""Proofs: commitments, signatures, receipts and the verification of replays."""
