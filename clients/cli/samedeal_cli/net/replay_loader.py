"""Loads replays in any format from files, standard input and servers, and verifies that of a race that has ended."""

import asyncio
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import SEEK_END, BytesIO
from os import fstat
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from samedeal.errors import Refused
from samedeal.proof.outcomes import Outcome
from samedeal.proof.verification import Fact, outcome_of, verify
from samedeal.replays.log_files import MAX_LOG_BYTES, ChallengeLog, ClubLog, read_log_file
from samedeal.replays.replay import FORMATS, MAX_BYTES, MAX_LINE_BYTES, Log, Replay, ReplayLines, in_lines, read
from samedeal.scores.club_scores import ClubScores, read_club_scores
from samedeal_cli.addresses import challenge_link, race_link, server_address
from samedeal_cli.failure import Declined, Failure, Misused
from samedeal_cli.net.http_api import Api
from samedeal_cli.settings import Settings

if TYPE_CHECKING:
    from samedeal_cli.net.connection import Connection

MAX_BYTES_IN_LINES: Final = 2**29
"""Maximum size of a replay with one entry per line. The largest valid one has about 100 MB."""
ARCHIVE_S: Final = 15.0
"""Maximum time until a server publishes the replay of a finished race."""
_CHUNK = 2**16
_START = re.compile(rb"\s*\{|[\x80-\x8f]\xa6format")
"""The start of a replay: a JSON object, or a MessagePack map whose first field is the format."""


@contextmanager
def open_replay(settings: Settings, replay: str) -> Iterator[Log]:
    """Open the replay named on the command line. Raises the same errors as ``open_log``, also for a challenge."""
    with open_log(settings, replay) as log:
        if isinstance(log, ChallengeLog | ClubLog | ClubScores):
            what = "scores of a club" if isinstance(log, ClubScores) else f"log of a {log.kind}"
            text = f"This is the {what}. To verify it with the replays of its races, use samedeal table."
            raise Refused("bad-replay", text)
        yield log


@contextmanager
def open_log(settings: Settings, name: str) -> Iterator[Log | ChallengeLog | ClubLog | ClubScores]:
    """Open the replay, the log of a challenge or a club, or the scores of a club named on the command line.

    A replay with one entry per line is read lazily. Raises Refused("bad-replay"), also while it is read; Misused for an
    unreadable file; and the errors of Api.
    """
    with _source(settings, name) as file:
        start = file.read(MAX_LINE_BYTES)
        if not start:
            raise Refused("bad-replay", "This is not a replay: the file is empty.")
        if not in_lines(start):
            data = start + file.read(MAX_BYTES + 1 - len(start))
            if len(data) <= MAX_BYTES and not _START.match(data):
                raise Refused("bad-replay", "This is not a replay: the file has another format.")
            yield read_log_file(data) or read_club_scores(data) or read(data)
        elif file.seek(0, SEEK_END) > MAX_BYTES_IN_LINES:
            raise Refused("bad-replay", f"A replay in lines can have at most {MAX_BYTES_IN_LINES} bytes.")
        else:
            yield ReplayLines(file)


def load_replay(settings: Settings, replay: str) -> Replay:
    """Read the whole replay into memory. Raises the same errors as ``open_replay``."""
    with open_replay(settings, replay) as log:
        if isinstance(log, Replay):
            return log
        same = {name: getattr(log, name) for name in ("header", "digest", "signature", "standings")}
        return Replay(format=FORMATS[log.header.format], entries=tuple(log.entries), **same)


async def fetch_archived(api: Api, race_id: str, timeout_s: float = ARCHIVE_S) -> bytes:
    """Return the replay of a race that has just ended, as JSON. Waits until the server has archived it."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return await asyncio.to_thread(api.fetch, f"/replays/{race_id}.json")
        except Declined as declined:
            if declined.code not in ("not-found", "replay-sealed") or time.monotonic() > deadline:
                raise
        await asyncio.sleep(0.1)


def server_and_race(settings: Settings, replay: str) -> tuple[str, str] | None:
    """Return the server and race id that an argument names, or None if it is a file."""
    server, race_id = race_link(replay) or (replay, "")
    if server is None:
        return None if Path(replay).exists() else (settings.address, race_id)
    return (server_address(server), race_id) if race_id and "://" in server else None


def source_of(settings: Settings, name: str) -> tuple[str, str, int] | None:
    """Return the server of a replay or a challenge's log, its path and its maximum size in bytes; None for a file."""
    server, challenge = challenge_link(name) or (None, "")
    if server and "://" in server:
        return server_address(server), f"/challenges/{challenge}/log", MAX_LOG_BYTES
    race = server_and_race(settings, name)
    return race and (race[0], f"/replays/{race[1]}.msgpack", MAX_BYTES)


def published_keys(settings: Settings, replay: str) -> tuple[str, ...]:
    """Return the public keys of the server that a replay or a challenge comes from; none for a file."""
    source = source_of(settings, replay)
    return Api(source[0]).keys() if source else ()


@contextmanager
def _source(settings: Settings, replay: str) -> Iterator[BinaryIO]:
    """Open the replay or the log of a challenge as a seekable file."""
    if source := source_of(settings, replay):
        server, path, most_bytes = source
        yield BytesIO(Api(server).download(path, most_bytes=most_bytes))
        return
    is_stdin = replay == "-"
    if not is_stdin and Path(replay).is_dir():
        raise Misused(f"{replay} is a directory, not a replay")
    try:
        opened = nullcontext(sys.stdin.buffer) if is_stdin else Path(replay).open("rb")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise Misused(f"{replay}: {error.strerror}") from error
    with opened as file:
        seekable = not is_stdin and stat.S_ISREG(fstat(file.fileno()).st_mode)
        with nullcontext(file) if seekable else _copy(file) as copy:
            yield copy


def _copy(source: BinaryIO) -> BinaryIO:
    """Copy a pipe, up to the maximum size plus one chunk."""
    chunk = source.read(MAX_LINE_BYTES)
    lines = in_lines(chunk)
    copy: BinaryIO = TemporaryFile() if lines else BytesIO()  # noqa: SIM115 (the caller closes it)
    most = MAX_BYTES_IN_LINES if lines else MAX_BYTES
    while chunk and copy.tell() <= most:
        copy.write(chunk)
        chunk = source.read(_CHUNK)
    copy.seek(0)
    return copy


class Verification(NamedTuple):
    """The result of a verification."""

    outcome: Outcome | None
    """None if the replay could not be verified."""
    detail: str = ""
    """Why it could not be verified, or why it cannot be read."""
    facts: tuple[Fact, ...] = ()


async def verify_race(api: Api, connection: "Connection") -> Verification:
    """Verify a race that has just ended, with its server's keys and the receipts of a connection.

    A sealed replay cannot be verified.
    """
    try:
        if connection.header.is_common and not connection.view.deal:
            raise Declined("replay-sealed", "the replay is sealed until the deal is revealed")
        data = await fetch_archived(api, connection.race_id)
        keys = await asyncio.to_thread(api.keys)
        facts = await asyncio.to_thread(lambda: verify(read(data), keys, connection.receipts))
    except Failure as failure:
        return Verification(None, failure.format_message())
    except Refused as refused:
        return Verification(None if refused.code == "unsupported-version" else "refused", refused.text)
    return Verification(outcome_of(facts, key_known=bool(keys)), facts=facts)
