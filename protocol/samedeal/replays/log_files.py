"""The logs of challenges, once their deals are public, and of clubs as files."""

from collections.abc import Collection, Iterable
from typing import Any, ClassVar, Final, Literal, Self, TypeVar

from samedeal import codec
from samedeal.errors import Malformed, Refused
from samedeal.race.challenge import Challenge, ChallengeEntry, ChallengeHeader, Revealed
from samedeal.race.club import Club, ClubEntry, ClubHeader
from samedeal.race.events import Hex32, Record
from samedeal.replays.replay import Stated
from samedeal.replays.signature import Signature, holds, signed

CHALLENGE_FORMAT: Final = "samedeal.challenge/1"
CLUB_FORMAT: Final = "samedeal.club/1"
MAX_LOG_BYTES: Final = 64 * 2**20
"""The maximum size of the file."""
S = TypeVar("S", Challenge, Club)


class LogFile(Record, frozen=True, kw_only=True):
    """A header, a log, its last digest and a signature."""

    kind: ClassVar[str]
    digest: Hex32
    signature: Signature

    def _check_end(self, digest: str) -> None:
        """Raises Refused("bad-replay") if the log does not end with the digest that the file states."""
        if digest != self.digest:
            raise Refused("bad-replay", f"The last digest of the {self.kind} does not match its log.")

    def _state(self, first: S, entries: Iterable[Any], keys: Collection[str]) -> S:
        """Return the state after the whole log. Arguments and errors as in ``verified``."""
        state = first
        for number, entry in enumerate(entries, start=1):
            try:
                state = state.after(entry)
            except Refused as refused:
                text = f"Entry {number} does not match the log of the {self.kind}."
                raise Refused("bad-replay", text) from refused
        if not holds(self.signature, _signed_name(state), self.digest):
            raise Refused("bad-replay", f"The signature of the {self.kind} is not valid for {self.signature.key}.")
        if keys and self.signature.key not in keys:
            text = f"The {self.kind} is signed by {self.signature.key}, which is not one of the expected keys."
            raise Refused("bad-replay", text)
        return state


class ChallengeLog(LogFile, frozen=True, kw_only=True):
    """A revealed challenge."""

    kind = "challenge"

    format: Literal["samedeal.challenge/1"]
    header: ChallengeHeader
    entries: tuple[ChallengeEntry, ...]

    @classmethod
    def of(cls, challenge: Challenge, entries: tuple[ChallengeEntry, ...], signing_key: bytes) -> Self:
        """Return the log of a revealed challenge, signed with a private key of 32 bytes."""
        return cls(format=CHALLENGE_FORMAT, header=challenge.header, entries=entries, **_signed(challenge, signing_key))

    def verified(self, keys: Collection[str] = ()) -> Challenge:
        """Return the challenge after its whole log.

        If `keys` (public keys in hexadecimal) are given, one of them must have signed it. Raises Refused("bad-replay")
        if anything is wrong with it.
        """
        if not self.entries or not isinstance(last := self.entries[-1].event, Revealed):
            raise Refused("bad-replay", "The log of the challenge does not end with the secret.")
        self._check_end(self.entries[-1].h)
        return self._state(Challenge.opened(self.header, bytes.fromhex(last.secret)), self.entries, keys)


class ClubLog(LogFile, frozen=True, kw_only=True):
    """A club up to some entry."""

    kind = "club"

    format: Literal["samedeal.club/1"]
    header: ClubHeader
    entries: tuple[ClubEntry, ...]

    @classmethod
    def of(cls, club: Club, entries: tuple[ClubEntry, ...], signing_key: bytes) -> Self:
        """Return the log of a club, signed with a private key of 32 bytes."""
        return cls(format=CLUB_FORMAT, header=club.header, entries=entries, **_signed(club, signing_key))

    def verified(self, keys: Collection[str] = ()) -> Club:
        """Return the club after its whole log. Arguments and errors as in ``ChallengeLog.verified``."""
        club = Club.opened(self.header)
        self._check_end(self.entries[-1].h if self.entries else club.digest)
        return self._state(club, self.entries, keys)


LOG_FILES: Final[tuple[type[ChallengeLog | ClubLog], ...]] = (ChallengeLog, ClubLog)


def read_log_file(data: bytes) -> ChallengeLog | ClubLog | None:
    """Decode the log of a challenge or a club, in JSON with fields in any order; None if it does not state that it is
    one. Raises Refused("bad-replay") if it is not valid.
    """
    try:
        stated = codec.decode(data, "json", Stated).format
    except (Malformed, Refused):
        return None
    kind = next((kind for kind in LOG_FILES if stated.startswith(f"samedeal.{kind.kind}/")), None)
    if kind is None:
        return None
    try:
        if len(data) > MAX_LOG_BYTES:
            raise Refused("too-large", f"It can have at most {MAX_LOG_BYTES} bytes.")
        log = codec.decode(data, "json", kind)
        if not codec.is_same_json(data, codec.encode(log, "json")):
            raise Refused("bad-message", "It has an unknown or duplicate field, or a number in another form.")
    except (Malformed, Refused) as error:
        raise Refused("bad-replay", f"This is not the log of a {kind.kind}: {error}") from error
    return log


def _signed(state: Challenge | Club, key: bytes) -> dict[str, Any]:
    """Return the last digest and the signature."""
    return {"digest": state.digest, "signature": signed(key, _signed_name(state), state.digest)}


def _signed_name(state: Challenge | Club) -> str:
    """Return the name under which a challenge or a club is signed. No race has such an id."""
    return f"{'club' if isinstance(state, Club) else 'challenge'}/{state.id}"
