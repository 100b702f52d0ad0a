"""Replays of many kinds of races, to be altered: of each game, sealed, public and daily; won, lost, resigned, timed out
and cancelled; with undo, restarts and variants, one or several racers, and scratched seats; with a head start, and
ended early; heats of challenges and races of clubs.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from msgspec import structs

from samedeal import codec
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Closed, ClubLink, Moved
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO
from samedeal.replays.bot_replay import replay_of
from samedeal.replays.replay import Replay
from support.challenges import random_challenge
from support.clubs import with_club
from support.finished_races import SECRET, SIGNING_KEY, Logged, finished
from support.format_3_races import early_end, head_start
from support.race_steps import play
from support.races_by_hand import raced, run_of, running, with_server_bot
from support.random_games import BACK_AND_FORTH
from support.random_races import KINDS, random_race
from support.vectors import WINS

SAVED = Path(__file__).parents[1] / "saved"
VARIANTS: tuple[tuple[str, dict[str, str | bool]], ...] = (
    ("corners", {"refill": "waste"}),
    ("gallery", {"cap": False}),
    ("klondike", {"draw": "1", "passes": "3"}),
)


def original_replays(seed: int) -> dict[str, bytes]:
    """Return replays in JSON by name. The seed decides what happens in the random ones."""
    found = {f"{file.parent.name} {file.stem}": file.read_bytes() for file in sorted(SAVED.glob("*-[0-9]/*.json"))}
    found |= {name: codec.encode(replay, "json") for name, replay in _races(seed)}
    return found


def _races(seed: int) -> Iterator[tuple[str, Replay]]:
    for slug, game in GAMES.items():
        for kind in KINDS:
            if kind != "friendly" or slug == "corners":  # in the games on the grid, the filter takes long
                yield f"random {kind} {slug}", random_race(slug, kind, Random(f"{seed} {slug} {kind}"))[1]
        yield f"finished {slug}", finished(slug)
        yield f"finished daily {slug}", finished(slug, daily=True, moves=10)
        yield f"server bot {slug}", _closed(with_server_bot(slug))
        yield f"rematch {slug}", _rematch(finished(slug))
        yield f"of a club {slug}", with_club(finished(slug, moves=10), ClubLink(club="merry-heron-77", h="ab" * 32))
        yield f"won {slug}", _won(game)
        yield f"restarted {slug}", _restarted(game)
        if slug not in BACK_AND_FORTH:
            yield f"early end {slug}", early_end(slug, Random(f"{seed} {slug}"))
        yield f"head start {slug}", head_start(slug, Random(f"{seed} {slug}"))
        yield f"bot's {slug}", replay_of(game, str(seed), 0, SIGNING_KEY)
    for number in range(4):
        heats = random_challenge(Random(f"{seed} {number}")).replays
        yield from ((f"heat {number} {replay.header.race}", replay) for replay in heats)
    yield "certified corners", _closed(running(filter="certified/1"))
    for slug, variant in VARIANTS:
        log = raced(slug, Random(f"{seed} {slug}"), tries=60, variant=variant)
        yield f"variant of {slug}", _closed(log)


def _rematch(replay: Replay) -> Replay:
    """The same entries in a race with everything that came with the second format."""
    options = structs.replace(replay.header.options, finishers="all", best_of=3, spectators="open")
    header = structs.replace(replay.header, follows="first-race", ghosts=("first-race", "another"), options=options)
    log = Logged(Race.opened(header, SECRET))
    for entry in replay.entries:
        log.say(entry.event, entry.at - log.race.at)
    return log.replay()


def _won(game: type[Game]) -> Replay:
    """One of two racers wins, and the other makes the same moves until the end and then runs out of time."""
    win = WINS[game.slug]
    log = running(slug=game.slug, seed=win["seed"])
    play(log, 1, win["moves"])
    play(log, 2, win["moves"][:10])
    play(log, 2, (RESTART,))
    return _closed(log)


def _restarted(game: type[Game]) -> Replay:
    """Two racers restart at the end of the game or after many moves, and undo something; the third does nothing."""
    log = running(3, slug=game.slug, attempts=2)
    for seat in (1, 2):
        for attempt in range(2):
            for _ in range(40):
                if moves := run_of(log.race, seat).game.moves():
                    log.say(Moved(seat=seat, move=moves[seat % 2 - 1]), 10)
            for move in (UNDO, RESTART)[attempt:]:
                if run_of(log.race, seat).may(move):
                    log.say(Moved(seat=seat, move=move), 10)
    return _closed(log)


def _closed(log: Logged) -> Replay:
    if not log.race.closed:
        end = log.race.ends_at or log.race.expires_at
        log.say(Closed(secret=SECRET.hex()), max(0, end - log.race.at))
    return log.replay()
