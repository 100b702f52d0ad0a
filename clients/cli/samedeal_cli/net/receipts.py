"""Receipts: what this account was told of each race, kept on its disk as it comes, and found again for the replay."""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from samedeal.errors import Refused
from samedeal.proof.receipts import MAX_LINE_BYTES, HeaderKept, Kept, NonceKept, Receipts, header_line, line, read
from samedeal.race.events import Header
from samedeal_cli.failure import Misused, warn
from samedeal_cli.settings import state_dir

MAX_BYTES: Final = 2**24
"""No more is kept in one file, and no more is read of one. A long race takes half a megabyte."""
YEAR_S: Final = 365 * 86_400
"""How long a file is kept after the last was written to it."""


class ReceiptBook:
    """What one run of a program is told of one race: each thing once, and on the disk before anything follows from it.

    Every run has a file of its own, so that nobody else ever writes to it.
    """

    def __init__(self, header: Header, folder: Path | None = None, *, sent: dict[str, Any] | None = None) -> None:
        """The file is made below `folder`, for its owner alone; without one the receipts last as long as this.

        `sent` is the header as the server sent it: it is kept with the fields that this version does not know.
        """
        self.header = header
        self._lines: dict[bytes, None] = {}
        self._size = 0
        self._full = False
        self._path = _new(folder, header.race) if folder else None
        self._keep(line(HeaderKept(header)) if sent is None else header_line(sent))

    @property
    def receipts(self) -> Receipts:
        """What was kept so far. Raises Refused("unsupported-version") if the header has unknown fields."""
        (receipts,) = read(self._lines)
        return receipts

    def note(self, kept: Kept) -> None:
        """Keeps what was told, or is about to be. Says so once if it cannot; the game goes on without."""
        self._keep(line(kept), at_once=isinstance(kept, NonceKept))

    def _keep(self, text: bytes, *, at_once: bool = False) -> None:
        if self._full or text in self._lines:
            return
        self._lines[text] = None
        self._size += len(text)
        try:
            if self._size > MAX_BYTES:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            if self._path:
                _append(self._path, text, at_once=at_once)
        except OSError as error:
            self._full = True
            warn("no more receipts of this race are stored", error)


def files(race: str = "*") -> list[Path]:
    """The files of a race, or all, the oldest first."""
    with suppress(OSError):
        return sorted(_folder(state_dir()).glob(f"{race}.*.ndjson"), key=lambda path: path.stat().st_mtime)
    return []


def in_file(path: Path) -> list[Receipts]:
    """The receipts of each race in a file.

    Raises Misused if it cannot be read, or holds something else; Refused("unsupported-version") as ``read``.
    """
    try:
        return read(lines(path))
    except Refused as refused:
        if refused.code == "unsupported-version":
            raise
        raise Misused(f"{path}: {refused.text}") from refused


def lines(path: Path) -> Iterator[bytes]:
    """The lines of a file but for a last one without its end, which was cut off when the machine or the disk gave up.

    Raises Misused if the file cannot be read, or is too large.
    """
    left = MAX_BYTES
    try:
        with path.open("rb") as file:
            while text := file.readline(MAX_LINE_BYTES + 1):
                left -= len(text)
                if left < 0:
                    raise Misused(f"{path}: larger than the {MAX_BYTES} bytes allowed for a receipts file")
                if text.endswith(b"\n") or len(text) > MAX_LINE_BYTES:
                    yield text
    except OSError as error:
        raise Misused(f"{path}: {error.strerror}") from error


def _new(folder: Path, race: str) -> Path:
    """A file for a race that nobody has; those that are a year old are forgotten for it."""
    path = _folder(folder) / f"{race}.{token_hex(8)}.ndjson"
    with suppress(OSError):  # writing will say what is wrong
        path.parent.mkdir(mode=0o700, exist_ok=True)
        for old in path.parent.glob("*.ndjson"):
            if old.stat().st_mtime < time.time() - YEAR_S:
                old.unlink()
    return path


def _append(path: Path, text: bytes, *, at_once: bool) -> None:
    """Adds to a file; `at_once` sees to it that all of it is on the disk, and not only on its way there."""
    with open(path, "ab", opener=_private) as file:
        file.write(text)
        file.flush()
        if at_once:
            os.fsync(file.fileno())


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _folder(state: Path) -> Path:
    return state / "receipts"
