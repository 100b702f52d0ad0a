"""Synthetic races: races of programs on an open deal that never took place on a server. Their clock counts ticks."""

from collections.abc import Mapping
from typing import Final

from samedeal.commitments import commitment
from samedeal.game import Game, Variant
from samedeal.race.events import AnyEvent, Closed, Counting, Dealt, Entry, Header, Joined, Options, Readied
from samedeal.race.race import Race
from samedeal.race.standings import Standing

TICK_MS: Final = 1_000


class SyntheticRace:
    """A race with its log. ``add`` adds an event at the present ``tick``."""

    def __init__(
        self,
        race_id: str,
        secret: bytes,
        game: type[Game],
        seed: str,
        variant: Variant,
        players: Mapping[str, str],
        options: Options,
    ) -> None:
        """Deal the cards of a seed to ``players``, their names by public id."""
        header = Header(
            race=race_id,
            game=game.slug,
            rules=game.rules,
            variant={**variant},
            seed=seed,
            commitment=commitment(race_id, secret),
            opened_at=0,
            options=options,
        )
        self.race, self.entries = Race.opened(header, secret), list[Entry]()
        self.tick = 0
        for seat, (player, name) in enumerate(players.items(), start=1):
            self.add(Joined(seat=seat, player=player, name=name, bot=True))
        for seat in range(1, len(players) + 1):
            self.add(Readied(seat=seat))
        self.add(Counting())
        self.add(Dealt())

    def add(self, event: AnyEvent) -> None:
        """Add an event. Raises Refused if it is not possible now."""
        self.race, entry = self.race.extended(self.tick * TICK_MS, event)
        self.entries.append(entry)

    def close(self) -> tuple[Standing, ...]:
        """Add the last entry, once all racers are done or time is up. Return the standings, best first."""
        self.add(Closed(secret=self.race.secret.hex()))
        return self.race.standings()
