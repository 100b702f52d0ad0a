"""Replays of bots and of the solver: a synthetic race of one on an open deal, with which everyone can verify a play.

The race never took place on a server. Its clock starts at 0 and advances by one tick per move, and its id and secret
are derived from the deal and the number of the play, so the replay is reproducible.
"""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import json

from samedeal.computer.bot import Bot
from samedeal.computer.bots import BOTS, play
from samedeal.game import Game, Move, Variant
from samedeal.race.events import Moved, Options, Resigned
from samedeal.race.synthetic_race import TICK_MS, SyntheticRace
from samedeal.replays.replay import Replay
from samedeal.replays.signature import PLAY_PREFIX

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
    variant = {option: choice for option, choice in choices.items() if choice != game.options[option][0]}
    name = f"{prefix}{game.slug}:{seed}|{json.encode(variant, order='sorted').decode()}{suffix}"
    id_ = f"{PLAY_PREFIX}{_sha256(f'samedeal/1/par|{name}').hex()[:32]}"
    secret = _sha256(f"samedeal/1/par-secret|{name}")
    limit_ms = (max_moves + 2) * TICK_MS
    options = Options(limit_ms=limit_ms, max_racers=1, start_delay_ms=0, undo=False, attempts=1, unlisted=True)
    log = SyntheticRace(id_, secret, game, seed, variant, {PLAYER: player}, options)
    for move in moves:
        log.tick += 1
        log.add(Moved(seat=1, move=move))
    if not log.race.finished(log.race.at):
        log.tick += 1
        log.add(Resigned(seat=1))
    log.close()
    return Replay.of(log.race, tuple(log.entries), signing_key)


def _sha256(text: str) -> bytes:
    return sha256(text.encode()).digest()
