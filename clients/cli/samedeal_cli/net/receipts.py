"""Receipts: what servers say about races, stored at once to check replays against."""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from samedeal.errors import Refused
from samedeal.proof import receipts as proof
from samedeal.race.events import Header
from samedeal_cli.failure import Misused, warn
from samedeal_cli.settings import state_dir

MAX_BYTES: Final = 2**24
"""Maximum size of a file. A long race needs half a megabyte."""
FOLDER: Final = "receipts"
YEAR_S: Final = 365 * 86_400
"""How long files are stored after the last write."""


class ReceiptBook:
    """The receipts of one race in one run of this program, without duplicates, in a separate file.

    A receipt is written before the program acts on it.
    """

    def __init__(self, header: Header, folder: Path | None = None, *, sent: dict[str, Any] | None = None) -> None:
        """The file is created below `folder`, readable only by its owner; without one, receipts are kept in memory.

        `sent` is the header as the server sent it, with fields that this version does not know.
        """
        self.header = header
        self._lines: dict[bytes, None] = {}
        self._size, self._full = 0, False
        self._path = _new_path(folder, header.race) if folder else None
        self._add(proof.line(proof.HeaderReceipt(header)) if sent is None else proof.header_line(sent))

    @property
    def receipts(self) -> proof.Receipts:
        """The receipts so far. Raises Refused("unsupported-version") if the header has unknown fields."""
        (receipts,) = proof.read(self._lines)
        return receipts

    def note(self, receipt: proof.Receipt) -> None:
        """Store a receipt. If this fails, warn once and store no more; the game continues."""
        self._add(proof.line(receipt), sync=isinstance(receipt, proof.NonceReceipt))

    def _add(self, text: bytes, *, sync: bool = False) -> None:
        if self._full or text in self._lines:
            return
        self._lines[text] = None
        self._size += len(text)
        try:
            if self._size > MAX_BYTES:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            if self._path:
                with open(self._path, "ab", opener=partial(os.open, mode=0o600)) as file:
                    file.write(text)
                    file.flush()
                    if sync:  # wait until the data is on disk
                        os.fsync(file.fileno())
        except OSError as error:
            self._full = True
            warn("no more receipts of this race are stored", error)


def files(race_id: str = "*") -> list[Path]:
    """Return the files of a race, or all files, oldest first."""
    with suppress(OSError):
        return sorted((state_dir() / FOLDER).glob(f"{race_id}.*.ndjson"), key=lambda path: path.stat().st_mtime)
    return []


def headers() -> Iterator[Header]:
    """Yield the headers of all races of which there are receipts that this version can read."""
    for path in files():
        with suppress(Refused, Misused):
            stored = proof.read(line for line in lines(path) if line.startswith(b'["header"'))
            yield from (receipts.header for receipts in stored)


def in_file(path: Path) -> list[proof.Receipts]:
    """Return the receipts of each race in a file. Raises Misused, and Refused("unsupported-version") as ``read``."""
    try:
        return proof.read(lines(path))
    except Refused as refused:
        if refused.code == "unsupported-version":
            raise
        raise Misused(f"{path}: {refused.text}") from refused


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, except for a truncated last one. Raises Misused if it is unreadable or too large."""
    left = MAX_BYTES
    try:
        with path.open("rb") as file:
            while text := file.readline(proof.MAX_LINE_BYTES + 1):
                left -= len(text)
                if left < 0:
                    raise Misused(f"{path}: larger than the {MAX_BYTES} bytes allowed for a receipts file")
                if text.endswith(b"\n") or len(text) > proof.MAX_LINE_BYTES:
                    yield text
    except OSError as error:
        raise Misused(f"{path}: {error.strerror}") from error


def _new_path(folder: Path, race_id: str) -> Path:
    """Return an unused path for a race. Deletes files that are a year old."""
    path = folder / FOLDER / f"{race_id}.{token_hex(8)}.ndjson"
    with suppress(OSError):  # writing will raise it again
        path.parent.mkdir(mode=0o700, exist_ok=True)
        for old in path.parent.glob("*.ndjson"):
            if old.stat().st_mtime < time.time() - YEAR_S:
                old.unlink()
    return path
