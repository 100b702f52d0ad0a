"""Replays of bots and of the solver: a synthetic race of one on an open deal, with which everyone can verify a play.

The race never took place on a server. Its clock starts at 0 and advances by one tick per move, and its id and secret
are derived from the deal and the number of the play, so the replay is reproducible.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256

from msgspec import json

from samedeal.commitments import commitment
from samedeal.computer.bot import Bot
from samedeal.computer.bots import BOTS, play
from samedeal.game import Game, Move, Variant
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    Entry,
    Header,
    Joined,
    Moved,
    Options,
    Readied,
    Resigned,
)
from samedeal.race.race import Race
from samedeal.replays.replay import Replay
from samedeal.replays.signature import PLAY_PREFIX

TICK_MS = 1_000
PLAYER = "computer"
"""The player id of every bot that plays for par."""
SOLVER = "Solver"
"""The name under which the solver plays."""


def replay_of(
    game: type[Game], seed: str, k: int, signing_key: bytes, variant: Variant | None = None, bot: Bot | None = None
) -> Replay:
    """Return the replay of a bot's play number ``k`` on the deal of a seed, signed with a private key of 32 bytes.

    By default the newest bot of the game plays.
    The bot's own variant takes precedence. Raises ValueError for an invalid seed or variant.
    """
    player = bot or BOTS[game.slug]
    run = play(game, seed, k, variant, player)
    choices = {**(variant or {}), **player.variant}
    return _replay(game, seed, choices, f"{run.bot}|", f"|{k}", run.bot, run.moves, player.max_moves, signing_key)


def replay_of_line(
    game: type[Game], seed: str, moves: Sequence[Move], signing_key: bytes, variant: Variant | None = None
) -> Replay:
    """Return a line of moves on the deal of a seed as the replay of a play of the solver, signed like a bot's.

    Raises ValueError for an invalid seed or variant, and IllegalMove.
    """
    return _replay(game, seed, variant or {}, "solver|", f"|{' '.join(moves)}", SOLVER, moves, len(moves), signing_key)


def _replay(
    game: type[Game],
    seed: str,
    choices: Variant,
    prefix: str,
    suffix: str,
    player: str,
    moves: Sequence[Move],
    max_moves: int,
    signing_key: bytes,
) -> Replay:
    """Return the replay of moves; the id and the secret of its race follow from the deal, a prefix and a suffix."""
    non_default = {option: choice for option, choice in choices.items() if choice != game.options[option][0]}
    name = f"{prefix}{game.slug}:{seed}|{json.encode(non_default, order='sorted').decode()}{suffix}"
    id_ = f"{PLAY_PREFIX}{_sha256(f'samedeal/1/par|{name}').hex()[:32]}"
    secret = _sha256(f"samedeal/1/par-secret|{name}")
    header = Header(
        race=id_,
        game=game.slug,
        rules=game.rules,
        variant=non_default,
        seed=seed,
        commitment=commitment(id_, secret),
        opened_at=0,
        options=Options(
            limit_ms=(max_moves + 2) * TICK_MS,
            max_racers=1,
            start_delay_ms=0,
            undo=False,
            attempts=1,
            unlisted=True,
        ),
    )
    race, entries = Race.opened(header, secret), list[Entry]()
    for at, event in _events(player, moves):
        race, entry = race.extended(at, event)
        entries.append(entry)
    if not race.finished(race.at):
        race, entry = race.extended(race.at + TICK_MS, Resigned(seat=1))
        entries.append(entry)
    race, entry = race.extended(race.at, Closed(secret=secret.hex()))
    return Replay.of(race, (*entries, entry), signing_key)


def _events(player: str, moves: Sequence[Move]) -> Iterator[tuple[int, AnyEvent]]:
    """Yield the events up to the last move, with their times."""
    yield 0, Joined(seat=1, player=PLAYER, name=player, bot=True)
    yield from ((0, event) for event in (Readied(seat=1), Counting(), Dealt()))
    yield from ((number * TICK_MS, Moved(seat=1, move=move)) for number, move in enumerate(moves, start=1))


def _sha256(text: str) -> bytes:
    return sha256(text.encode()).digest()
