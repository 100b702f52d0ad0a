"""Tallies: a player's personal scores and head-to-head records, added up race by race in any order."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal, Self, get_args

from msgspec import Struct

from samedeal.day import Day
from samedeal.game import Counted
from samedeal.games.catalogue import GAMES
from samedeal.scores.results import RaceResult, RacerResult


class GameScores(Struct, frozen=True, kw_only=True):
    """A player's scores in one game."""

    game: str
    races: int
    wins: int
    """The races in which the player finished ahead of all rivals."""
    solved: int
    """The races in which the player solved the deal."""
    best_ms: int | None
    """The shortest time in which the player solved a deal; null if there is none."""
    best: int
    """The best result as players quote it; see `counted`."""
    goal: int
    """The number of cards in a solved deal."""
    counted: Counted
    """What `best` counts: cards home (more is better) or, in a game played for its score, cards left (fewer is)."""


class Personal(Struct, frozen=True, kw_only=True):
    """A player's personal scores."""

    player: str
    """The public id."""
    name: str
    """The newest name."""
    bot: bool
    races: int
    wins: int
    solved: int
    streak: int
    """The number of consecutive UTC days, up to today or yesterday, on which the player raced a daily deal."""
    longest_streak: int
    games: tuple[GameScores, ...]
    """By slug."""


class GameRecord(Struct, frozen=True, kw_only=True):
    """How two players did against each other in one game."""

    game: str
    races: int
    ahead: int
    """How often the player finished ahead of the other."""
    behind: int
    tied: int


class Versus(Struct, frozen=True, kw_only=True):
    """How two players did against each other, over all races in which both were dealt cards."""

    player: str
    """The public id."""
    name: str
    """The newest name."""
    other: str
    other_name: str
    races: int
    ahead: int
    """How often the player finished ahead of the other."""
    behind: int
    tied: int
    games: tuple[GameRecord, ...]
    """By slug."""


_Ended = Literal["ahead", "behind", "tied"]
_Newest = tuple[int, str, str, bool]
"""The end and the id of a player's newest race, and the player's name and whether it was a bot there."""
_NONE: Final = (-1, "", "", False)


def _seen(result: RaceResult, racer: RacerResult) -> _Newest:
    return result.ended_at, result.race, racer.name, racer.bot


@dataclass
class _Game:
    """What is added up for each game."""

    races: int = 0
    wins: int = 0
    solved: int = 0
    home: int = 0
    goal: int = 0
    best_ms: int | None = None

    def merge(self, other: "_Game") -> None:
        self.races += other.races
        self.wins += other.wins
        self.solved += other.solved
        self.home = max(self.home, other.home)
        self.goal = max(self.goal, other.goal)
        self.best_ms = min((ms for ms in (self.best_ms, other.best_ms) if ms is not None), default=None)


@dataclass
class PersonalTally:
    """The personal scores of a player, added up. Add each race once."""

    player: str
    newest: _Newest = _NONE
    games: dict[str, _Game] = field(default_factory=dict)
    days: set[int] = field(default_factory=set)
    """The numbers of the UTC days on which the player raced a daily deal."""

    def add(self, result: RaceResult) -> None:
        """Add a race. Races in which the player was not dealt cards do not count."""
        racer = result.racer(self.player)
        if racer is None:
            return
        self.newest = max(self.newest, _seen(result, racer))
        if result.daily:
            self.days.add(Day.at(result.opened_at).number)
        home = racer.goal if racer.won else racer.home
        ms = racer.ms if racer.won else None
        one = _Game(1, int(result.winner == racer), int(racer.won), home, racer.goal, ms)
        self.games.setdefault(result.game, _Game()).merge(one)

    def merged(self, other: Self) -> "PersonalTally":
        """Return the tally over the races of both, which have none in common."""
        tally = PersonalTally(self.player, max(self.newest, other.newest), days=self.days | other.days)
        for each in (self, other):
            for slug, game in each.games.items():
                tally.games.setdefault(slug, _Game()).merge(game)
        return tally

    def scores(self, today: Day) -> Personal:
        """Return the scores on a day, on which the current streak depends."""
        *_, name, bot = self.newest
        streak, longest = _streaks(self.days, today.number)
        games = self.games.values()
        return Personal(
            player=self.player,
            name=name,
            bot=bot,
            races=sum(game.races for game in games),
            wins=sum(game.wins for game in games),
            solved=sum(game.solved for game in games),
            streak=streak,
            longest_streak=longest,
            games=tuple(_scores(slug, game) for slug, game in sorted(self.games.items())),
        )


@dataclass
class VersusTally:
    """The head-to-head record of a player against another, added up. Add each race once."""

    player: str
    other: str
    newest: tuple[_Newest, _Newest] = (_NONE, _NONE)
    counts: Counter[tuple[str, _Ended]] = field(default_factory=Counter)
    """How often the player finished ahead, behind and tied in each game."""

    def add(self, result: RaceResult) -> None:
        """Add a race. Races in which one of the two was not dealt cards do not count."""
        mine, theirs = result.racer(self.player), result.racer(self.other)
        if mine is None or theirs is None:
            return
        self.newest = _newer(self.newest, (_seen(result, mine), _seen(result, theirs)))
        ended: _Ended = "ahead" if mine.place < theirs.place else "behind" if mine.place > theirs.place else "tied"
        self.counts[result.game, ended] += 1

    def merged(self, other: Self) -> "VersusTally":
        """Return the tally over the races of both, which have none in common."""
        newest = _newer(self.newest, other.newest)
        return VersusTally(self.player, self.other, newest, self.counts + other.counts)

    def record(self) -> Versus:
        """Return the record."""
        slugs = sorted({slug for slug, _ in self.counts})
        return Versus(
            player=self.player,
            name=self.newest[0][2],
            other=self.other,
            other_name=self.newest[1][2],
            games=tuple(GameRecord(game=slug, **self._numbers(slug)) for slug in slugs),
            **self._numbers(*slugs),
        )

    def _numbers(self, *slugs: str) -> dict[str, int]:
        """Return the fields of a record over some games."""
        numbers = {ended: sum(self.counts[slug, ended] for slug in slugs) for ended in get_args(_Ended)}
        return {"races": sum(numbers.values()), **numbers}


def _newer(these: tuple[_Newest, _Newest], those: tuple[_Newest, _Newest]) -> tuple[_Newest, _Newest]:
    return max(these[0], those[0]), max(these[1], those[1])


def _scores(slug: str, game: _Game) -> GameScores:
    counted = GAMES[slug].counted if slug in GAMES else "home"
    return GameScores(
        game=slug,
        races=game.races,
        wins=game.wins,
        solved=game.solved,
        best_ms=game.best_ms,
        best=game.goal - game.home if counted == "left" else game.home,
        goal=game.goal,
        counted=counted,
    )


def _streaks(days: set[int], today: int) -> tuple[int, int]:
    """Return the streak that ends today or yesterday, and the longest one, in days."""
    lengths = dict[int, int]()
    for day in sorted(days):
        lengths[day] = lengths.get(day - 1, 0) + 1
    return lengths.get(today, lengths.get(today - 1, 0)), max(lengths.values(), default=0)
