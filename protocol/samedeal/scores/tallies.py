"""Tallies: a player's personal scores and head-to-head records, added up race by race in any order."""

from dataclasses import dataclass, field
from typing import Self

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


@dataclass
class _Newest:
    """The newest name of a player."""

    order: tuple[int, str] = (-1, "")
    name: str = ""
    bot: bool = False

    def see(self, result: RaceResult, racer: RacerResult) -> None:
        self.merge(_Newest((result.ended_at, result.race), racer.name, racer.bot))

    def merge(self, other: "_Newest") -> None:
        if other.order > self.order:
            self.order, self.name, self.bot = other.order, other.name, other.bot


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
    newest: _Newest = field(default_factory=_Newest)
    games: dict[str, _Game] = field(default_factory=dict)
    days: set[int] = field(default_factory=set)
    """The numbers of the UTC days on which the player raced a daily deal."""

    def add(self, result: RaceResult) -> None:
        """Add a race. Races in which the player was not dealt cards do not count."""
        racer = result.racer(self.player)
        if racer is None:
            return
        self.newest.see(result, racer)
        if result.daily:
            self.days.add(Day.at(result.opened_at).number)
        home = racer.goal if racer.won else racer.home
        ms = racer.ms if racer.won else None
        one = _Game(1, int(result.winner == racer), int(racer.won), home, racer.goal, ms)
        self.games.setdefault(result.game, _Game()).merge(one)

    def merged(self, other: Self) -> "PersonalTally":
        """Return the tally over the races of both, which have none in common."""
        tally = PersonalTally(self.player, days=self.days | other.days)
        for each in (self, other):
            tally.newest.merge(each.newest)
            for slug, game in each.games.items():
                tally.games.setdefault(slug, _Game()).merge(game)
        return tally

    def scores(self, today: Day) -> Personal:
        """Return the scores on a day, on which the current streak depends."""
        streak, longest = _streaks(self.days, today.number)
        total = _Game()
        for game in self.games.values():
            total.merge(game)
        return Personal(
            player=self.player,
            name=self.newest.name,
            bot=self.newest.bot,
            races=total.races,
            wins=total.wins,
            solved=total.solved,
            streak=streak,
            longest_streak=longest,
            games=tuple(_scores(slug, game) for slug, game in sorted(self.games.items())),
        )


@dataclass
class VersusTally:
    """The head-to-head record of a player against another, added up. Add each race once."""

    player: str
    other: str
    names: tuple[_Newest, _Newest] = field(default_factory=lambda: (_Newest(), _Newest()))
    games: dict[str, list[int]] = field(default_factory=dict)
    """By game: how often the player finished ahead, behind and tied."""

    def add(self, result: RaceResult) -> None:
        """Add a race. Races in which one of the two was not dealt cards do not count."""
        mine, theirs = result.racer(self.player), result.racer(self.other)
        if mine is None or theirs is None:
            return
        for newest, racer in zip(self.names, (mine, theirs), strict=True):
            newest.see(result, racer)
        ended = 0 if mine.place < theirs.place else 1 if mine.place > theirs.place else 2
        self.games.setdefault(result.game, [0, 0, 0])[ended] += 1

    def merged(self, other: Self) -> "VersusTally":
        """Return the tally over the races of both, which have none in common."""
        tally = VersusTally(self.player, self.other)
        for each in (self, other):
            for newest, newer in zip(tally.names, each.names, strict=True):
                newest.merge(newer)
            for slug, counts in each.games.items():
                known = tally.games.get(slug, [0, 0, 0])
                tally.games[slug] = [one + more for one, more in zip(known, counts, strict=True)]
        return tally

    def record(self) -> Versus:
        """Return the record."""
        ahead, behind, tied = (sum(counts[ended] for counts in self.games.values()) for ended in range(3))
        return Versus(
            player=self.player,
            name=self.names[0].name,
            other=self.other,
            other_name=self.names[1].name,
            races=ahead + behind + tied,
            ahead=ahead,
            behind=behind,
            tied=tied,
            games=tuple(
                GameRecord(game=slug, races=sum(counts), ahead=counts[0], behind=counts[1], tied=counts[2])
                for slug, counts in sorted(self.games.items())
            ),
        )


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
