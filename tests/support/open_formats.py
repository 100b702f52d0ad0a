"""Writes the saved replays of formats that are open until 1.0, and a challenge: ``python -m support.open_formats``."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from msgspec import structs

from samedeal import codec
from samedeal.race.events import Closed, HeadStart
from samedeal.race.race import OPEN_MS, Race
from samedeal.replays.replay import Replay
from samedeal.replays.signature import signed
from support.challenges import LoggedChallenge, deal, raced
from support.finished_races import SECRET, Logged
from support.format_3_races import early_end, head_start
from support.races_by_hand import opened
from support.saved_replays import CHALLENGE, replay_file
from support.servers import SIGNING_KEY

KEY = bytes.fromhex(SIGNING_KEY)
"""The key of the servers of the tests."""


def replays() -> dict[tuple[int, str], Replay]:
    """Return the replays by format and name."""
    races = {(3, name): replay for name, replay in _races()}
    heats = challenge().replays
    races |= {(4, f"heat-{replay.header.race.rpartition('-')[2]}"): replay for replay in heats}
    return {
        key: structs.replace(replay, signature=signed(KEY, replay.header.race, replay.digest))
        for key, replay in races.items()
    }


def challenge() -> LoggedChallenge:
    """Return a challenge over two deals with heats of a player alone, of several, again, and without any."""
    logged, random = LoggedChallenge.open(deal("corners", variant=True), deal("the-edge", 60_000)), Random(4)
    for number, players in ((1, [1]), (2, [1, 2, 3]), (1, [2, 1]), (2, [])):
        logged.finish(raced(logged.heat(number, max_racers=max(1, len(players))), players, random))
    logged.reveal()
    return logged


def texts(number: int, name: str, replay: Replay) -> dict[Path, bytes]:
    """Return the files of a replay, with their contents. Only some are also saved in lines."""
    forms = {"json": codec.encode(replay, "json"), "msgpack": codec.encode(replay, "msgpack")}
    files = {replay_file(number, name, form): data for form, data in forms.items()}
    in_lines = replay_file(number, name, "ndjson")
    return files | ({in_lines: b"".join(replay.lines())} if in_lines.exists() else {})


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
    for (number, name), replay in replays().items():
        for file, data in texts(number, name, replay).items():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(data)
    CHALLENGE.write_bytes(codec.encode(challenge().log(KEY), "json"))
