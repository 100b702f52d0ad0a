"""Proof: commitments, signatures, receipts and the verification of a replay."""
