"""Replays: a finished race as a file, in one piece or line by line."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, islice
from typing import BinaryIO, Final, Literal, Protocol, TypeVar

from msgspec import Struct

from samedeal.errors import Malformed, Refused
from samedeal.proof.signature import Signature, signed
from samedeal.race.events import Closed, Entry, Header, Hex32, Record
from samedeal.race.race import Race
from samedeal.race.seat import Standing
from samedeal.wire import codec

MAX_BYTES = 64 * 2**20
"""The largest replay that is read in one piece."""
MAX_LINE_BYTES = 65_536
MAX_ENTRIES = 2**19
"""The longest replay that is read line by line. No race has as many."""

Format = Literal["samedeal.replay/1"]
FORMATS: Final[Mapping[int, Format]] = {1: "samedeal.replay/1"}
"""What replays state as their format, by the format of their race (``Header.format``)."""

T = TypeVar("T")

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*+(:?)')
"""In JSON: a text, and whether it is the name of a field."""


class Log(Protocol):
    """A finished race, whether it is in memory or read line by line."""

    @property
    def header(self) -> Header: ...
    @property
    def entries(self) -> Iterable[Entry]:
        """From the first to the last, as often as they are asked for."""

    @property
    def closing(self) -> Closed | None:
        """What the last entry says, if it closes the race."""

    @property
    def digest(self) -> str: ...
    @property
    def signature(self) -> Signature: ...
    @property
    def standings(self) -> tuple[Standing, ...]: ...


class Head(Record, frozen=True, kw_only=True):
    """The first line of a replay in lines."""

    format: Format
    header: Header


class Foot(Record, frozen=True, kw_only=True):
    """The last line of a replay in lines."""

    digest: Hex32
    signature: Signature
    standings: tuple[Standing, ...]


class Replay(Record, frozen=True, kw_only=True):
    """A finished race: its header, its whole log, the last digest and its signature, and the standings."""

    format: Format
    header: Header
    entries: tuple[Entry, ...]
    digest: Hex32
    signature: Signature
    standings: tuple[Standing, ...]

    @classmethod
    def of(cls, race: Race, entries: tuple[Entry, ...], signing_key: bytes) -> "Replay":
        """The replay of a race that is closed, signed with a private key of 32 bytes."""
        return cls(
            format=FORMATS[race.header.format],
            header=race.header,
            entries=entries,
            digest=race.digest,
            signature=signed(signing_key, race.id, race.digest),
            standings=race.standings(),
        )

    @property
    def closing(self) -> Closed | None:
        return _closing(self.entries[-1]) if self.entries else None

    @property
    def secret(self) -> bytes:
        """What the closing entry reveals. Raises Refused("bad-replay") if there is none."""
        if self.closing is None:
            raise Refused("bad-replay", f"The log ends at entry {len(self.entries)} without a closing entry.")
        return bytes.fromhex(self.closing.secret)

    def races(self) -> Iterator[Race]:
        """The race before the first entry and after each, checked in folding. Raises Refused where it does not hold."""
        return accumulate(self.entries, Race.after, initial=Race.opened(self.header, self.secret))

    def lines(self) -> Iterator[bytes]:
        """The replay line by line, as ``ReplayLines`` reads it."""
        yield _line(Head(format=self.format, header=self.header))
        yield from map(_line, self.entries)
        yield _line(Foot(digest=self.digest, signature=self.signature, standings=self.standings))


class ReplayLines:
    """A replay in lines: head, entries and foot, each in canonical JSON. However long it is, it takes little memory.

    The file has to be one in which one can go back, and to stay open; one who reads its entries at a time.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Looks through the whole file once.

        Raises Refused("bad-replay") if it is no replay in lines, Refused("unsupported-version") for an unknown format.
        """
        self._file = file
        first, before, last, count = b"", b"", b"", 0
        for count, line in enumerate(self._lines(), start=1):  # noqa: B007 (the count is looked at below)
            first, before, last = first or line, last, line
        _check_format(first, "json")
        if count < 2:
            raise Refused("bad-replay", "This is not a replay in lines: it has a first and a last line at least.")
        head, foot = _read_line(first, Head, 1), _read_line(last, Foot, count)
        self.header: Header = head.header
        self.digest: str = foot.digest
        self.signature: Signature = foot.signature
        self.standings: tuple[Standing, ...] = foot.standings
        self.count = count - 2
        """How many entries there are."""
        self.closing: Closed | None = _closing(_read_line(before, Entry, count - 1)) if self.count else None

    @property
    def entries(self) -> Iterator[Entry]:
        """Raises Refused("bad-replay") at a line that is no entry."""
        lines = islice(self._lines(), 1, self.count + 1)
        return (_read_line(line, Entry, number) for number, line in enumerate(lines, start=2))

    def _lines(self) -> Iterator[bytes]:
        self._file.seek(0)
        number = 0
        while line := self._file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise Refused("bad-replay", f"Line {number} has more than {MAX_LINE_BYTES} bytes.")
            if number > MAX_ENTRIES + 2:
                raise Refused("bad-replay", f"A replay has at most {MAX_ENTRIES} entries.")
            yield line


def in_lines(start: bytes) -> bool:
    """Whether a file that begins so is a replay in lines: its first line is a whole head."""
    try:
        codec.decode(start.partition(b"\n")[0], "json", Head)
    except (Malformed, Refused):
        return False
    return True


def read(data: bytes) -> Replay:
    """A replay from the bytes of a file, JSON or MessagePack.

    Raises Refused("bad-replay") if they are none, Refused("unsupported-version") for an unknown format.

    In JSON white space and the order of fields are free; MessagePack is read only as it is written here. No field may
    be unknown or there twice: two programs that read the same file cannot find different races in it.
    """
    if len(data) > MAX_BYTES:
        raise Refused("bad-replay", f"A replay has at most {MAX_BYTES} bytes.")
    form: codec.Form = "json" if data.lstrip()[:1] == b"{" else "msgpack"
    try:
        replay = codec.decode(data, form, Replay)
        canonical = codec.encode(replay, form)
        if data != canonical and (form == "msgpack" or _fields(data) > _fields(canonical)):
            raise Refused("bad-message", "It has a field that is unknown, or is written otherwise than a replay is.")
    except (Malformed, Refused) as error:
        _check_format(data, form)
        _check_format(data.partition(b"\n")[0], form)
        raise Refused("bad-replay", f"This is not a replay: {error}") from error
    return replay


class _Stated(Struct):
    """As much of a replay, or of its first line, as states the format."""

    format: str


def _check_format(data: bytes, form: codec.Form) -> None:
    """Raises Refused("unsupported-version") for a replay in a format that is unknown here."""
    try:
        stated = codec.decode(data, form, _Stated).format
    except (Malformed, Refused):
        return
    if stated.startswith("samedeal.replay/") and stated not in FORMATS.values():
        known = ", ".join(FORMATS.values())
        text = f"This replay is in the format {stated}; this version of samedeal reads {known}."
        raise Refused("unsupported-version", f"{text} Update samedeal to read it.")


def _closing(entry: Entry) -> Closed | None:
    return entry.event if isinstance(entry.event, Closed) else None


def _line(record: Head | Entry | Foot) -> bytes:
    return codec.encode(record, "json") + b"\n"


def _read_line(line: bytes, kind: type[T], number: int) -> T:
    """What a line holds. Only the canonical form is read, so that two programs cannot find different things in it."""
    try:
        record = codec.decode(line, "json", kind)
    except (Malformed, Refused) as error:
        raise Refused("bad-replay", f"Line {number} is not one of a replay: {error}") from error
    if codec.encode(record, "json") + b"\n" != line:
        raise Refused("bad-replay", f"Line {number} is written otherwise than a replay is.")
    return record


def _fields(data: bytes) -> int:
    """How many fields all objects of some JSON have together.

    What was read has every field that is written anew, and of fields that are there twice only the last. So a text
    that has no more of them than the canonical one has none that is unknown, there twice, or at its default.
    """
    return _STRING.findall(data).count(b":")
