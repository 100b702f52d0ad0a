"""Writes the saved replays of the third format, which is open until 1.0: ``python -m support.format_3_replays``."""

from collections.abc import Iterator
from random import Random

from msgspec import structs

from samedeal import codec
from samedeal.race.events import Closed, HeadStart
from samedeal.race.race import OPEN_MS, Race
from samedeal.replays.replay import Replay
from samedeal.replays.signature import signed
from support.finished_races import SECRET, Logged
from support.format_3_races import early_end, head_start
from support.races_by_hand import opened
from support.saved_replays import replay_file
from support.servers import SIGNING_KEY


def replays() -> dict[str, Replay]:
    """Return the replays by name, signed by the servers of the tests."""
    key = bytes.fromhex(SIGNING_KEY)
    return {
        name: structs.replace(replay, signature=signed(key, replay.header.race, replay.digest))
        for name, replay in _races()
    }


def texts(replay: Replay) -> dict[str, bytes]:
    """Return a replay in each form."""
    forms = {"json": codec.encode(replay, "json"), "msgpack": codec.encode(replay, "msgpack")}
    return forms | {"ndjson": b"".join(replay.lines())}


def _races() -> Iterator[tuple[str, Replay]]:
    ended, ahead = early_end("kings-in-the-corners", Random(3)), head_start("corners", Random(3))
    yield "early-end", ended
    yield "head-start", ahead
    yield "head-start-of-nobody", _with_header(ahead, head_start=HeadStart(player="player-9", ms=600_000 // 2))
    options = structs.replace(ahead.header.options, end_when_stuck=True, best_of=3, finishers="none", unlisted=True)
    yield "everything", _with_header(ahead, options=options, follows="calm-otter-41")
    log = opened(head_start=HeadStart(player="player-1", ms=1), end_when_stuck=True)
    log.say(Closed(secret=SECRET.hex()), OPEN_MS)
    yield "cancelled", log.replay()


def _with_header(replay: Replay, **changes: object) -> Replay:
    """Return the same entries under another header."""
    log = Logged(Race.opened(structs.replace(replay.header, **changes), SECRET))
    for entry in replay.entries:
        log.say(entry.event, entry.at - log.race.at)
    return log.replay()


if __name__ == "__main__":
    for name, replay in replays().items():
        for form, data in texts(replay).items():
            replay_file(3, name, form).parent.mkdir(exist_ok=True)
            replay_file(3, name, form).write_bytes(data)
