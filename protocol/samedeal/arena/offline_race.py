"""Offline races: a real race on an open deal, in which every racer makes one move per tick and no clock runs.

The fold, and with it the rules, undo, restarts and standings, is that of any race. On the race's clock, tick t is t
seconds after the deal, so a winner who needed fewer moves is ahead.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from samedeal.game import Game, Move
from samedeal.race.events import Moved, Options, Resigned
from samedeal.race.run import Run
from samedeal.race.standings import Standing
from samedeal.race.synthetic_race import TICK_MS, SyntheticRace
from samedeal.wire.bot_player import RESIGN
from samedeal.wire.messages import View
from samedeal.wire.views import view


class OfflineRace(SyntheticRace):
    """A race that is played tick by tick: ``next_tick``, and then one ``make`` for each of the seats ``playing``."""

    def __init__(self, game: type[Game], seed: str, names: Sequence[str], moves: int) -> None:
        """Deal the cards of a seed to racers with these names, for a race of at most ``moves`` ticks."""
        race_id = f"arena-{_sha256(f'id|{game.slug}:{seed}').hex()[:32]}"
        players = {f"racer-{seat}": name for seat, name in enumerate(names, start=1)}
        options = Options(limit_ms=(moves + 1) * TICK_MS, max_racers=len(names), start_delay_ms=0, unlisted=True)
        super().__init__(race_id, _sha256(f"secret|{race_id}"), game, seed, {}, players, options)
        self._moves = moves

    def next_tick(self) -> Mapping[int, View]:
        """Start the next tick. Return the view of each seat that can make a move in it; none if the race is over."""
        self.tick += 1
        if self.tick > self._moves or self.race.finished(self.race.at):
            return {}
        at = self.tick * TICK_MS
        playing = [seat.number for seat in self.race.seats if seat.run and not seat.run.done]
        return {seat: view(self.race, seat, at, legal=True, header=True) for seat in playing}

    def run(self, seat: int) -> Run:
        """Return the attempts of a seat."""
        return {each.number: each.run for each in self.race.seats if each.run}[seat]

    def make(self, seat: int, move: Move) -> None:
        """Make a move, ``undo``, ``restart`` or ``resign`` in this tick. Raises Refused."""
        self.add(Resigned(seat=seat) if move == RESIGN else Moved(seat=seat, move=move))

    def close(self) -> tuple[Standing, ...]:
        """Close the race and return its standings, best first. Racers who are still playing have run out of time."""
        is_finished = self.race.finished(self.race.at)
        self.tick = self.race.at // TICK_MS if is_finished else self._moves + 1
        return super().close()


def _sha256(text: str) -> bytes:
    return sha256(f"samedeal/1/arena|{text}".encode()).digest()
