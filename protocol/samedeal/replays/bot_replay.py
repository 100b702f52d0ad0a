"""The replay of a bot's play: a race of one on an open deal, made up so that everybody can verify what the bot did.

It took place nowhere. Its clock starts at 0 and ticks once for each move, and its id and secret follow from the deal
and the number of the play, so that it is the same whenever it is made.
"""

from collections.abc import Iterator
from hashlib import sha256

from msgspec import json

from samedeal.computer.bots import BOTS, MAX_MOVES, Run, play
from samedeal.game import Game, Variant
from samedeal.proof.commitments import commitment
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

TICK_MS = 1_000
PLAYER = "computer"
"""The public id of every bot that plays for par."""


def replay_of(game: type[Game], seed: str, k: int, signing_key: bytes, variant: Variant | None = None) -> Replay:
    """Play number k of the bot of a game on the deal of a seed, signed with a private key of 32 bytes.

    The variant is the one that the bot plays. Raises ValueError for a seed or a variant that the game has not.
    """
    run = play(game, seed, k, variant)
    choices = {**(variant or {}), **BOTS[game.slug].variant}
    unusual = {option: choice for option, choice in choices.items() if choice != game.options[option][0]}
    name = f"{run.bot}|{game.slug}:{seed}|{json.encode(unusual, order='sorted').decode()}|{k}"
    id_, secret = f"par-{_sha256(f'samedeal/1/par|{name}').hex()[:32]}", _sha256(f"samedeal/1/par-secret|{name}")
    header = Header(
        race=id_,
        game=game.slug,
        rules=game.rules,
        variant=unusual,
        seed=seed,
        commitment=commitment(id_, secret),
        opened_at=0,
        options=Options(
            limit_ms=(MAX_MOVES + 2) * TICK_MS, max_racers=1, start_delay_ms=0, undo=False, attempts=1, unlisted=True
        ),
    )
    race, entries = Race.opened(header, secret), list[Entry]()
    for at, event in _events(run):
        race, entry = race.extended(at, event)
        entries.append(entry)
    if not race.finished(race.at):
        race, entry = race.extended(race.at + TICK_MS, Resigned(seat=1))
        entries.append(entry)
    race, entry = race.extended(race.at, Closed(secret=secret.hex()))
    return Replay.of(race, (*entries, entry), signing_key)


def _events(run: Run) -> Iterator[tuple[int, AnyEvent]]:
    """What happens, and when, up to the bot's last move."""
    yield 0, Joined(seat=1, player=PLAYER, name=run.bot, bot=True)
    yield from ((0, event) for event in (Readied(seat=1), Counting(), Dealt()))
    yield from ((number * TICK_MS, Moved(seat=1, move=move)) for number, move in enumerate(run.moves, start=1))


def _sha256(text: str) -> bytes:
    return sha256(text.encode()).digest()
