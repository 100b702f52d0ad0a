"""Nonces: a player's share in sealed deals. They survive restarts and are never used in two deals."""

from contextlib import suppress
from hashlib import sha256
from hmac import digest as hmac_digest
from pathlib import Path
from secrets import token_bytes
from typing import Self

from samedeal_cli.failure import warn


class Nonces:
    """The nonces of one account, derived from a local secret key and the number of nonces revealed before.

    If a server opens a new race with the id of one whose nonce it has seen, it gets a different nonce. Otherwise, it
    could choose the deal.
    """

    def __init__(self, key: bytes, book: Path | None = None) -> None:
        """`book` is the file that records revealed nonces; without one, they are kept in memory."""
        self._key, self._book = key, book
        self._opened: list[str] = []
        """Revealed nonces that are not in the file."""

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load the nonces of an account from a directory. Creates missing files, readable only by their owner."""
        path = folder / "nonce.key"
        with suppress(FileExistsError), path.open("xb") as file:
            path.chmod(0o600)
            file.write(token_bytes(32))
        key = path.read_bytes()
        return cls(key if len(key) == 32 else token_bytes(32), folder / "nonces.opened")

    def nonce(self, seat: str, *, opened: bool) -> bytes:
        """Return the 32 bytes for a seat, which identifies server, race and player.

        With `opened` false, it is the nonce to commit to; with true, the one to reveal in the current countdown, even
        if it was revealed before.
        """
        recorded = self._book.read_text().splitlines() if self._book and self._book.exists() else []
        count = [*recorded, *self._opened].count(_line(seat))
        return hmac_digest(self._key, f"{seat}|{max(0, count - opened)}".encode(), "sha256")

    def note(self, seat: str) -> None:
        """Record that the nonce of a seat is about to be revealed. Warns if it cannot be stored."""
        if self._book:
            try:
                with self._book.open("a") as file:
                    self._book.chmod(0o600)
                    file.write(f"{_line(seat)}\n")
                return
            except OSError as error:
                warn("cannot record that your nonce for this race was revealed", error)
        self._opened.append(_line(seat))


def _line(seat: str) -> str:
    return sha256(seat.encode()).hexdigest()
