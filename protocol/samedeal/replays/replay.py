"""Replays: finished races as files, as a single document or line by line."""

from collections.abc import Iterator, Mapping
from itertools import accumulate, islice
from typing import BinaryIO, Final, Literal, TypeVar, get_args

from msgspec import Struct

from samedeal import codec
from samedeal.errors import Malformed, Refused
from samedeal.race.events import Closed, Entry, Header, Hex32, Record
from samedeal.race.race import Race
from samedeal.race.standings import Standing
from samedeal.replays.signature import Signature, signed

MAX_BYTES = 64 * 2**20
"""The maximum size of a replay that is read as a single document."""
MAX_LINE_BYTES = 65_536
MAX_ENTRIES = 2**19
"""The maximum number of entries in a replay. No race reaches it."""

Format = Literal["samedeal.replay/1", "samedeal.replay/2", "samedeal.replay/3", "samedeal.replay/4"]
FORMATS: Final[Mapping[int, Format]] = dict(enumerate(get_args(Format), start=1))
"""The replay format for each race format (``Header.format``)."""

T = TypeVar("T")


class Head(Record, frozen=True, kw_only=True):
    """The first line of a line-based replay."""

    format: Format
    header: Header

    def __post_init__(self) -> None:
        if self.format != (needed := FORMATS[self.header.format]):
            raise ValueError(f"the header needs the format {needed}")


class Foot(Record, frozen=True, kw_only=True):
    """The last line of a line-based replay."""

    digest: Hex32
    signature: Signature
    standings: tuple[Standing, ...]


class Replay(Head, frozen=True, kw_only=True):
    """A finished race: header, log, last digest, signature and standings."""

    entries: tuple[Entry, ...]
    digest: Hex32
    signature: Signature
    standings: tuple[Standing, ...]

    @classmethod
    def of(cls, race: Race, entries: tuple[Entry, ...], signing_key: bytes) -> "Replay":
        """Return the replay of a closed race, signed with a private key of 32 bytes."""
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
        """The event of the last entry, if it closes the race."""
        return _closing(self.entries[-1]) if self.entries else None

    @property
    def secret(self) -> bytes:
        """The secret that the closing entry reveals. Raises Refused("bad-replay") if there is none."""
        if self.closing is None:
            raise Refused("bad-replay", f"The log ends at entry {len(self.entries)} without a closing entry.")
        return bytes.fromhex(self.closing.secret)

    def races(self) -> Iterator[Race]:
        """Iterate over the race before the first entry and after each one. Raises Refused at an invalid entry."""
        return accumulate(self.entries, Race.after, initial=Race.opened(self.header, self.secret))

    def lines(self) -> Iterator[bytes]:
        """Iterate over the lines of the replay, as read by ``ReplayLines``."""
        yield _line(Head(format=self.format, header=self.header))
        yield from map(_line, self.entries)
        yield _line(Foot(digest=self.digest, signature=self.signature, standings=self.standings))


class ReplayLines:
    """A line-based replay: head, entries and foot, each in canonical JSON. It takes little memory whatever its length.

    The file must be seekable and stay open, and only one iteration over the entries can run at a time.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Read the whole file once.

        Raises Refused("bad-replay") for an invalid replay and Refused("unsupported-version") for an unknown format.
        """
        self._file = file
        first, before, last, count = b"", b"", b"", 0
        for count, line in enumerate(self._lines(), start=1):  # noqa: B007 (the count is used below)
            first, before, last = first or line, last, line
        _check_format(first, "json")
        if count < 2:
            raise Refused(
                "bad-replay", "This is not a line-based replay: at least a first and a last line are required."
            )
        head, foot = _read_line(first, Head, 1), _read_line(last, Foot, count)
        self.header: Header = head.header
        self.digest: str = foot.digest
        self.signature: Signature = foot.signature
        self.standings: tuple[Standing, ...] = foot.standings
        self.count = count - 2
        """The number of entries."""
        self.closing: Closed | None = _closing(_read_line(before, Entry, count - 1)) if self.count else None

    @property
    def entries(self) -> Iterator[Entry]:
        """The entries. Raises Refused("bad-replay") at an invalid line."""
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
                raise Refused("bad-replay", f"A replay can have at most {MAX_ENTRIES} entries.")
            yield line


Log = Replay | ReplayLines
"""A finished race, either in memory or read line by line. Its entries can be iterated more than once."""


def in_lines(start: bytes) -> bool:
    """Return whether a file that starts with these bytes is a line-based replay."""
    try:
        codec.decode(start.partition(b"\n")[0], "json", Head)
    except (Malformed, Refused):
        return False
    return True


def read(data: bytes) -> Replay:
    """Decode a replay in JSON or MessagePack.

    Raises Refused("bad-replay") for invalid bytes and Refused("unsupported-version") for an unknown format.

    JSON may have whitespace and fields in any order. MessagePack must be canonical. Unknown and duplicate fields are
    rejected, and so are numbers in other forms, so that two programs cannot read different races from the same file.
    """
    if len(data) > MAX_BYTES:
        raise Refused("bad-replay", f"A replay can have at most {MAX_BYTES} bytes.")
    form: codec.Form = "json" if data.lstrip()[:1] == b"{" else "msgpack"
    try:
        replay = codec.decode(data, form, Replay)
        canonical = codec.encode(replay, form)
        if data != canonical and (form == "msgpack" or not codec.is_same_json(data, canonical)):
            text = "It has an unknown or duplicate field, a field with its default, or a number in another form."
            raise Refused("bad-message", text)
    except (Malformed, Refused) as error:
        _check_format(data, form)
        _check_format(data.partition(b"\n")[0], form)
        raise Refused("bad-replay", f"This is not a replay: {error}") from error
    return replay


class Stated(Struct):
    """The part of a replay, or of its first line, that states the format."""

    format: str


def _check_format(data: bytes, form: codec.Form) -> None:
    """Raise Refused("unsupported-version") for a replay in an unknown format."""
    try:
        stated = codec.decode(data, form, Stated).format
    except (Malformed, Refused):
        return
    if stated.startswith("samedeal.replay/") and stated not in FORMATS.values():
        supported = ", ".join(FORMATS.values())
        text = f"This replay is in the format {stated}; this version of samedeal reads {supported}."
        raise Refused("unsupported-version", f"{text} Update samedeal to read it.")


def _closing(entry: Entry) -> Closed | None:
    return entry.event if isinstance(entry.event, Closed) else None


def _line(record: Head | Entry | Foot) -> bytes:
    return codec.encode(record, "json") + b"\n"


def _read_line(line: bytes, kind: type[T], number: int) -> T:
    """Decode a line. It must be canonical, so that two programs cannot read different things from it."""
    try:
        record = codec.decode(line, "json", kind)
    except (Malformed, Refused) as error:
        raise Refused("bad-replay", f"Line {number} is not a valid line of a replay: {error}") from error
    if codec.encode(record, "json") + b"\n" != line:
        raise Refused("bad-replay", f"Line {number} of the replay is not in canonical form.")
    return record
