"""Finished races as they ended, folded in the worker process because a long log takes seconds."""

from msgspec import Raw, Struct, msgpack

from samedeal.codec import decoder
from samedeal.game import Game, Move
from samedeal.race.race import Race
from samedeal.race.run import Run
from samedeal.values import replace
from samedeal_server.store import stored_replays


class _Run(Struct, array_like=True):
    """A racer's run without what only undo would need."""

    game: Raw
    moves: tuple[Move, ...]
    attempts: int
    peak: int
    peak_ms: int
    resigned: bool


def folded(stored: bytes) -> Race:
    """Return a stored race as it ended. Raises Refused if its log is not valid."""
    *_, race = stored_replays.replay(stored).races()
    return race


def encode(race: Race) -> bytes:
    """Return a finished race in MessagePack, without the positions that undo could have returned to."""
    runs = [_encoded(seat.run) if seat.run else None for seat in race.seats]
    return msgpack.encode((replace(race, seats=tuple([replace(seat, run=None) for seat in race.seats])), runs))


def decode(data: bytes) -> Race:
    """Return an encoded race."""
    race, runs = decoder("msgpack", tuple[Race, list[_Run | None]]).decode(data)
    if race.seed is None:
        return race
    deal = race.game.from_seed(race.seed, **race.header.variant)
    seats = zip(race.seats, runs, strict=True)
    return replace(race, seats=tuple([replace(seat, run=run and _decoded(race, deal, run)) for seat, run in seats]))


def _encoded(run: Run) -> _Run:
    game = Raw(msgpack.encode(run.game))
    return _Run(game, run.moves, run.attempts, run.peak, run.peak_ms, run.resigned)


def _decoded(race: Race, deal: Game, run: _Run) -> Run:
    return Run(
        race.options,
        deal,
        decoder("msgpack", race.game).decode(run.game),
        run.moves,
        attempts=run.attempts,
        peak=run.peak,
        peak_ms=run.peak_ms,
        resigned=run.resigned,
    )
