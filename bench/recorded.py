"""Recorded games: what bots play on an open deal, as the messages that a racer sends."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, count, islice
from random import Random

from samedeal.computer.bots import BOTS, plays
from samedeal.games.catalogue import GAMES
from samedeal.race.run import MAX_MOVES, RESTART
from samedeal.wire import codec, messages

SEEDS = dict.fromkeys(GAMES, "1") | {"corners": "296"}
"""The deals that are played, by their seeds: all racers of a race have the same. In most deals of Corners one can do
little but draw; in this there is more."""
WAYS = 8
"""Through one deal there are so many different ways; racers take them by turns."""
PLAYS = 8 * WAYS
LONGEST = 100
"""So many moves are made at random until it is begun again."""
FIRST_ID = 100
"""The number of a move's request less its ply; smaller ones are for what goes before."""


@dataclass(frozen=True)
class Book:
    """What racers of one game play: plays of the bot one after another, with a restart between two."""

    game: str
    variant: dict[str, str | bool]
    lines: tuple[tuple[str, ...], ...]
    """For each way its moves, as many as a racer may make in a race."""

    @property
    def opening(self) -> dict[str, object]:
        """The request for a race in which they can be played."""
        return {"game": self.game, "seed": SEEDS[self.game], "variant": self.variant}


@cache
def book(game: str) -> Book:
    """The book of a game. The bot's plays are taken in their order, without those that it wins: these end a race.

    A bot that always plays the same would have all racers do so; instead of it somebody plays who has luck alone.
    """
    bot = BOTS[game]
    found = plays(GAMES[game], SEEDS[game], count())
    pool = [tuple(run.moves) for run in islice((run for run in found if not run.won), PLAYS)]
    if len(set(pool)) < WAYS:
        pool = [*islice(_at_random(game), PLAYS)]
    lines = []
    for way in range(WAYS):
        moves: list[str] = []
        for play in chain.from_iterable(pool[way::WAYS] for _ in count()):
            moves += (*play, RESTART)
            if len(moves) >= MAX_MOVES:
                break
        lines.append(tuple(moves[:MAX_MOVES]))
    return Book(game, dict(bot.variant), tuple(lines))


def _at_random(game: str) -> Iterator[tuple[str, ...]]:
    """Plays of any legal moves, drawing mostly where there is no other, without those that are won."""
    for number in count():
        random, position, moves = Random(number), GAMES[game].from_seed(SEEDS[game]), list[str]()
        while len(moves) < LONGEST and (choices := position.moves()):
            others = [move for move in choices if move != "draw"]
            moves.append(random.choice(others if others and random.random() < 0.8 else choices))
            position = position.after(moves[-1])
        if not position.won:
            yield tuple(moves)


@cache
def frames(game: str, way: int) -> tuple[bytes, ...]:
    """The messages for one way through the deal, the one for ply n at n."""
    moves = book(game).lines[way % WAYS]
    return tuple(
        codec.encode(messages.Move(id=FIRST_ID + ply, move=move, ply=ply), "msgpack") for ply, move in enumerate(moves)
    )
