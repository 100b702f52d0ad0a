"""The outcomes of a verification, by the names that all verifiers use."""

from typing import Final, Literal

Outcome = Literal["verified", "key-unknown", "refused"]
"""What follows from all facts together, and from whether the signer's key is known."""
OUTCOMES: Final[dict[Outcome, str]] = {
    "verified": "verified (key known)",
    "key-unknown": "verified, key unknown",
    "refused": "refused",
}
"""The name of each outcome."""
