"""Finished races of bots, for tests of scores: several games, ties, resignations, timeouts and scratched seats."""

from random import Random

from msgspec.structs import replace

from samedeal.commitments import nonce_commitment
from samedeal.computer.bot import Seen
from samedeal.computer.first_bots import FIRST_BOTS
from samedeal.day import DAY_MS
from samedeal.deck import Words
from samedeal.race.events import Closed, Counting, Dealt, Joined, Left, Moved, Nonce, Readied, Resigned
from samedeal.race.race import Race
from samedeal.replays.replay import Replay
from support import finished_races
from support.finished_races import OPENED_AT, SECRET, Logged, nonce

PLAYERS = ("ada", "bo", "Zoë 🂡", "dee", 'quote " and \\', "fay", "gus")
"""The public ids."""
MOST_MOVES = 200
"""The most moves of a racer."""


def bot_races(number: int, seed: int = 1) -> list[Replay]:
    """Return a number of races in random order. Races 2n and 2n + 1 are opened at the same time."""
    random = Random(seed)
    races = [_bot_race(each, random) for each in range(number)]
    random.shuffle(races)
    return races


def _bot_race(number: int, random: Random) -> Replay:
    kind = random.choice(("sealed", "sealed", "open", "daily"))
    players = random.sample(PLAYERS, random.choice((1, 2, 2, 3, 4, 5)))
    log = _opened(number, kind, len(players), random)
    for seat, player in enumerate(players, start=1):
        name = f"{player} {number // 50}" if random.random() < 0.5 else player
        promise = nonce_commitment(log.race.id, nonce(seat))
        log.say(Joined(seat=seat, player=player, name=name, bot=player == "gus", commitment=promise), 1_000)
    if len(players) > 2 and random.random() < 0.2:
        log.say(Left(seat=len(players)))
    roster = [seat.number for seat in log.race.roster]
    for seat in roster:
        log.say(Readied(seat=seat))
    log.say(Counting())
    for seat in roster:
        if kind != "sealed" or random.random() < 0.9:  # without a nonce, the seat is scratched
            log.say(Nonce(seat=seat, nonce=nonce(seat).hex()), 10)
    log.say(Dealt(), 5_000)
    _race(log, random)
    log.say(Closed(secret=SECRET.hex()), 0 if log.race.finished(log.race.at) else (log.race.ends_at or 0) - log.race.at)
    return log.replay()


def _opened(number: int, kind: str, racers: int, random: Random) -> Logged:
    """Open a race of some game."""
    slug, seed = random.choice(tuple(FIRST_BOTS)), f"{random.randrange(100)}" if kind == "open" else None
    opened_at = OPENED_AT + number // 2 * (DAY_MS // 7)
    race = finished_races.opened(slug, f"race-{number}", seed, daily=kind == "daily", opened_at=opened_at).race
    options = replace(race.header.options, max_racers=1) if racers == 1 else race.header.options
    follows = f"race-{random.randrange(number)}" if number and random.random() < 0.3 else None
    return Logged(Race.opened(replace(race.header, options=options, follows=follows), SECRET))


def _race(log: Logged, random: Random) -> None:
    """Let the racers play in rounds. Those with the same random numbers and the same times are tied."""
    racers = [seat.number for seat in log.race.roster if seat.run]
    words = {seat: Words(f"{random.choice((0, 0, 1, 2))}") for seat in racers}
    lengths = {seat: random.choice((0, 9, 9, 25, MOST_MOVES)) for seat in racers}
    resigns = {seat: random.random() < 0.6 for seat in racers}
    last = dict.fromkeys(racers, "")
    strategy = FIRST_BOTS[log.race.header.game].strategy
    for turn in range(MOST_MOVES + 1):
        for first, seat in enumerate(racers):
            run = log.race.seat(seat).run
            if run is None or run.done or run.game.over:
                continue
            if turn < lengths[seat]:
                moves = strategy(Seen.of(run.game, {}), last[seat], words[seat])
                last[seat] = moves[words[seat].below(len(moves))]
                log.say(Moved(seat=seat, move=last[seat]), 0 if first else 700)
            elif resigns[seat]:
                log.say(Resigned(seat=seat))
