"""The log of a challenge as a file, once its deals are public."""

from collections.abc import Collection
from typing import Final, Literal, Self

from samedeal import codec
from samedeal.errors import Malformed, Refused
from samedeal.race.challenge import Challenge, ChallengeEntry, ChallengeHeader, Revealed
from samedeal.race.events import Hex32, Record
from samedeal.replays.replay import Stated
from samedeal.replays.signature import Signature, holds, signed

CHALLENGE_FORMAT: Final = "samedeal.challenge/1"
MAX_CHALLENGE_BYTES: Final = 32 * 2**20
"""The maximum size of the log of a challenge."""


class ChallengeLog(Record, frozen=True, kw_only=True):
    """A revealed challenge: header, log, last digest and signature."""

    format: Literal["samedeal.challenge/1"]
    header: ChallengeHeader
    entries: tuple[ChallengeEntry, ...]
    digest: Hex32
    signature: Signature

    @classmethod
    def of(cls, challenge: Challenge, entries: tuple[ChallengeEntry, ...], signing_key: bytes) -> Self:
        """Return the log of a revealed challenge, signed with a private key of 32 bytes."""
        return cls(
            format=CHALLENGE_FORMAT,
            header=challenge.header,
            entries=entries,
            digest=challenge.digest,
            signature=signed(signing_key, _signed_name(challenge.id), challenge.digest),
        )

    def verified(self, keys: Collection[str] = ()) -> Challenge:
        """Return the challenge after its whole log.

        If `keys` (public keys in hexadecimal) are given, one of them must have signed it. Raises Refused("bad-replay")
        if anything is wrong with it.
        """
        if not self.entries or not isinstance(last := self.entries[-1].event, Revealed):
            raise Refused("bad-replay", "The log of the challenge does not end with the secret.")
        if self.entries[-1].h != self.digest:
            raise Refused("bad-replay", "The last digest of the challenge does not match its log.")
        challenge = Challenge.opened(self.header, bytes.fromhex(last.secret))
        for number, entry in enumerate(self.entries, start=1):
            try:
                challenge = challenge.after(entry)
            except Refused as refused:
                text = f"Entry {number} does not match the log of the challenge."
                raise Refused("bad-replay", text) from refused
        if not holds(self.signature, _signed_name(challenge.id), self.digest):
            raise Refused("bad-replay", f"The signature of the challenge is not valid for {self.signature.key}.")
        if keys and self.signature.key not in keys:
            text = f"The challenge is signed by {self.signature.key}, which is not one of the expected keys."
            raise Refused("bad-replay", text)
        return challenge


def is_challenge(data: bytes) -> bool:
    """Return whether a file states that it is the log of a challenge."""
    try:
        return codec.decode(data, "json", Stated).format.startswith("samedeal.challenge/")
    except (Malformed, Refused):
        return False


def read_challenge(data: bytes) -> ChallengeLog:
    """Decode the log of a challenge, in JSON with fields in any order. Raises Refused("bad-replay")."""
    try:
        if len(data) > MAX_CHALLENGE_BYTES:
            raise Refused("too-large", f"It can have at most {MAX_CHALLENGE_BYTES} bytes.")
        log = codec.decode(data, "json", ChallengeLog)
        if not codec.is_same_json(data, codec.encode(log, "json")):
            raise Refused("bad-message", "It has an unknown or duplicate field, or a number in another form.")
    except (Malformed, Refused) as error:
        raise Refused("bad-replay", f"This is not the log of a challenge: {error}") from error
    return log


def _signed_name(challenge: str) -> str:
    """Return the name under which a challenge is signed. No race has such an id."""
    return f"challenge/{challenge}"
