"""Nonces: a racer's own part in sealed deals. The same again after a restart, and never the same in two deals."""

from contextlib import suppress
from hashlib import sha256
from hmac import digest as hmac_digest
from pathlib import Path
from secrets import token_bytes
from typing import Self

from samedeal_cli.failure import warn


class Nonces:
    """The nonces of one account: made from a key that never leaves the machine, and from how many were opened before.

    A server that has seen the nonce for a race, and begins another race under the same id, gets another nonce: so it
    cannot choose the deal by what it knows.
    """

    def __init__(self, key: bytes, book: Path | None = None) -> None:
        """`book` is the file in which is noted what was opened; without one it is known only as long as this lasts."""
        self._key = key
        self._book = book
        self._opened: list[str] = []
        """What was opened and is not in the book."""

    @classmethod
    def kept(cls, folder: Path) -> Self:
        """Those of the account whose files are in a folder; the files are made when needed, for their owner alone."""
        path = folder / "nonce.key"
        with suppress(FileExistsError), path.open("xb") as file:
            path.chmod(0o600)
            file.write(token_bytes(32))
        key = path.read_bytes()
        return cls(key if len(key) == 32 else token_bytes(32), folder / "nonces.opened")

    def nonce(self, seat: str, *, opened: bool) -> bytes:
        """The 32 bytes for a seat, a text that names server, race and player.

        With `opened` false the one to commit to; with true the one of a countdown that has begun, sent already or not.
        """
        count = self._lines().count(_line(seat))
        return hmac_digest(self._key, f"{seat}|{max(0, count - opened)}".encode(), "sha256")

    def note(self, seat: str) -> None:
        """Notes, before it is sent, that the nonce of a seat is known to others from now on; says so if it cannot."""
        try:
            self._write(_line(seat))
        except OSError as error:
            warn("cannot record that your nonce for this race was revealed", error)
            self._opened.append(_line(seat))

    def _write(self, line: str) -> None:
        if self._book is None:
            self._opened.append(line)
            return
        with self._book.open("a") as file:
            self._book.chmod(0o600)
            file.write(f"{line}\n")

    def _lines(self) -> list[str]:
        noted = self._book.read_text().splitlines() if self._book and self._book.exists() else []
        return noted + self._opened


def _line(seat: str) -> str:
    return sha256(seat.encode()).hexdigest()
