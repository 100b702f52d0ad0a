"""The state of the home screen: who plays where, and what is going on there, as one immutable value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from samedeal.race.server_bots import Level
from samedeal.scores.tallies import Personal
from samedeal.wire.documents import Daily, Listed, PlayerPage
from samedeal_cli.render.phrases import counted, personal_phrases, title_of
from samedeal_cli.state.actions import Entry

QUICK_GAME: Final = "golf"
"""The game of a race that is opened without choosing one: it is the shortest."""

NO_CHALLENGES: Final = "One deal for all your friends, with a deadline."


class ChallengeLine(NamedTuple):
    """A challenge that the user has opened or played."""

    text: str
    is_urgent: bool
    """Whether somebody has passed the user, or the deadline is near."""
    words: tuple[str, ...]
    """The command that plays it or, if it is over or played, shows it."""


class Offer(NamedTuple):
    """Something that the user can do: its key, title and description."""

    key: str
    title: str
    text: str


@dataclass(frozen=True)
class HomeState:
    """Everything that the home screen shows."""

    server: str
    """The server's address, without the scheme."""
    name: str = ""
    """The user's name, or empty if none is chosen yet."""
    running: str = ""
    """The game and the id of the race in which the user has a seat, or empty."""
    races: Sequence[Listed] = ()
    """The listed races, newest first."""
    daily: Sequence[Daily] = ()
    """Today's deals."""
    challenges: Sequence[ChallengeLine] = ()
    """The urgent ones first, then the newest."""
    page: PlayerPage | None = None
    """The user's own scores and newest races, if there are any."""
    width: int = 80
    height: int = 24
    ascii: bool = False

    @property
    def _scores(self) -> Personal | None:
        return self.page.scores if self.page and self.page.scores.races else None

    @property
    def offers(self) -> Sequence[Offer]:
        """What the user can do, the most likely first."""
        raced = sum(daily.yours is not None for daily in self.daily)
        streak = f" Your streak: {counted(self._scores.streak, 'day')}." if self._scores and self._scores.streak else ""
        today = f"You have raced {raced} of {len(self.daily)} today." if raced else "The same deal for everybody."
        results = f"{personal_phrases(self._scores)[0]}." if self._scores else "No races yet."
        return [
            *([Offer("b", "Back to your race", self.running)] if self.running else []),
            Offer("p", "Play now", self._quick_text),
            Offer("d", "Daily", f"{today}{streak}"),
            Offer("c", "Challenges", self.challenges[0].text if self.challenges else NO_CHALLENGES),
            Offer("f", "Friends", "Open a race and share its link, or join one."),
            Offer("t", "Practice", "Play with hints, without a clock."),
            Offer("r", "Results", results),
        ]

    @property
    def entries(self) -> Sequence[Entry]:
        """What the footer shows besides the offers, and what the command palette has."""
        others = [Entry(offer.key, "", offer.title) for offer in self.offers]
        return [Entry("enter", self.offers[0].title.lower(), ""), *others, Entry("q", "quit", "quit")]

    @property
    def _quick_text(self) -> str:
        if race := race_to_join(self.races):
            return f"Join {counted(race.racers, 'player')} at {title_of(race.game)}."
        level = level_of(self._scores, QUICK_GAME)
        return f"Race {'an' if level == 'expert' else 'a'} {level} bot at {title_of(QUICK_GAME)}, for two minutes."


def race_to_join(races: Sequence[Listed], game: str | None = None) -> Listed | None:
    """Return the open race, perhaps of one game, that somebody who wants to play at once joins: the fullest."""
    # Daily deals and those of challenges are raced once, and rematches are for those who raced before.
    open_races = [race for race in races if race.stage == "open" and not (race.daily or race.challenge or race.follows)]
    waiting = [race for race in open_races if 0 < race.racers < race.max_racers]
    matching = [race for race in waiting if game in (None, race.game)]
    return max(matching, key=lambda race: race.racers, default=None)


def level_of(scores: Personal | None, game: str) -> Level:
    """Return the level of the bot that is a good rival for a player with these scores."""
    own = next((each for each in scores.games if each.game == game), None) if scores else None
    if own is None or own.solved == 0:
        return "beginner"
    return "expert" if own.solved * 2 > own.races else "regular"
