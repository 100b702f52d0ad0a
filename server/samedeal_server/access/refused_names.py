"""Refused names: those that imitate the server or its operator, and the operator's own list."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from samedeal.errors import Refused
from samedeal.names import normalised
from samedeal.race.server_bots import SERVER_BOTS
from samedeal_server.access.look_alikes import mixes_scripts, scripts, skeleton, words
from samedeal_server.settings import SettingsError

logger = logging.getLogger(__name__)

RESERVED: Final = ("admin", "administrator", "moderator", "operator", "same deal", "server", "staff", "system")
"""Words that no name may contain."""
MAX_BYTES: Final = 2**20
"""The maximum size of the operator's list."""


class _Words(NamedTuple):
    """What no name may contain, as skeletons: whole words, and parts of words."""

    whole: frozenset[str]
    parts: tuple[str, ...]


class RefusedNames:
    """Decides whether new guests may have a name. Names of existing guests and in replays are not affected."""

    def __init__(self, file: Path | None = None) -> None:
        """`file` is the operator's list. Raises SettingsError if it cannot be used."""
        self._reserved = _Words(frozenset(map(skeleton, RESERVED)), ())
        self._bots = frozenset(map(skeleton, SERVER_BOTS))
        self._file, self._stamp, self._listed = file, _stamp(file), _read(file)

    def check(self, name: str) -> None:
        """Raise Refused("name-refused") if new guests may not have a name, without repeating any list.

        Raises Refused("bad-message") for an invalid name. Reads the operator's list again if it has changed.
        """
        name = normalised(name)
        if mixes_scripts(name):
            mixed = " and ".join(scripts(name)[:2])
            text = f"A name must be written in one script; this one mixes {mixed}. Use only one of them."
            raise Refused("name-refused", text)
        self._reread()
        joined, runs = skeleton(name), set(words(name))
        if joined in self._bots:
            text = "This is the name of one of the server's bots. Add something to it, such as an initial."
            raise Refused("name-refused", text)
        if not runs.isdisjoint(self._reserved.whole | self._listed.whole) or any(
            part in joined for part in self._listed.parts
        ):
            raise Refused("name-refused", "This name is not available on this server. Choose another one.")

    def _reread(self) -> None:
        """Read the operator's list again if it has changed. A list that cannot be used leaves the last one in force."""
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._listed = _read(self._file)
            logger.info("read SAMEDEAL_REFUSED_NAMES again")
        except SettingsError as error:
            logger.error("the last list of refused names stays in force: %s", error)


def _stamp(file: Path | None) -> tuple[int, int, int] | None:
    """Return what changes whenever a file changes, or None if there is none."""
    try:
        stat = file.stat() if file else None
    except OSError:
        return None
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns) if stat else None


def _read(file: Path | None) -> _Words:
    if file is None:
        return _Words(frozenset(), ())
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise SettingsError(f"Cannot read SAMEDEAL_REFUSED_NAMES {file}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"SAMEDEAL_REFUSED_NAMES {file} is not UTF-8 text: {error.reason}.") from error
    if len(data) > MAX_BYTES:
        raise SettingsError(f"SAMEDEAL_REFUSED_NAMES {file} has more than {MAX_BYTES} bytes.")
    return _parse(file, text.splitlines())


def _parse(file: Path, lines: Iterable[str]) -> _Words:
    whole, parts = set[str](), list[str]()
    for number, line in enumerate(lines, start=1):
        if not (word := line.partition("#")[0].strip()):
            continue
        is_part = len(word) > 2 and word.startswith("*") and word.endswith("*")
        bare = word[1:-1] if is_part else word
        if "*" in bare or not (looks := skeleton(bare)):
            expected = "a word, or *word* for names that contain it anywhere"
            raise SettingsError(f"SAMEDEAL_REFUSED_NAMES {file}, line {number}: expected {expected}.")
        if is_part:
            parts.append(looks)
        else:
            whole.add(looks)
    return _Words(frozenset(whole), tuple(parts))
