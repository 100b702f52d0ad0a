"""The tables and ratings of a club, as folds over its log."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, Self

from msgspec import Meta, Raw, Struct

from samedeal import codec
from samedeal.errors import Malformed, Refused
from samedeal.race.club import Club, ClubEntry, ClubFinished, Places, Slug
from samedeal.scores.evening import Totals, TotalsRow, matchpoints

DAY_MS: Final = 86_400_000
MONDAY: Final = 3
"""The number of days between the last Monday before 1970-01-01 and that day."""
MAX_RATED: Final = 200
"""The maximum number of players in a race that counts for the ratings."""
ROUNDS: Final = 100
"""How often all strengths are improved."""
WEEKS: Final = 12
"""The number of weeks in the history of ratings."""
Period = Literal["day", "week", "season", "all"]


def since(period: Period, at: int) -> int:
    """Return when the period that contains the time ``at`` began: the UTC day, the week from Monday, the quarter of the
    year, or all time. In ms since 1970-01-01 UTC.
    """
    day = at // DAY_MS
    match period:
        case "day":
            return day * DAY_MS
        case "week":
            return (day - (day + MONDAY) % 7) * DAY_MS
        case "season":
            date = datetime.fromtimestamp(at // 1000, UTC)
            quarter = datetime(date.year, date.month - (date.month - 1) % 3, 1, tzinfo=UTC)
            return round(quarter.timestamp()) * 1000
        case _:
            return 0


NumberOfEntry = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class ClubTable(Struct, frozen=True, kw_only=True):
    """The table of a club over a period."""

    period: Period
    since: int
    """When the period began, in ms since 1970-01-01 UTC; 0 for all time."""
    rows: tuple[TotalsRow, ...]
    """Best first. Those with equal points are in the order of their first races."""


class RatingRow(Struct, frozen=True, kw_only=True):
    """The rating of a player in a game."""

    player: str
    strength: Annotated[float, Meta(gt=0)]
    """The strength in the Bradley-Terry model: the odds against a player of strength 1. The rating as people see it is
    ``1000 + 400 * log10(strength)``, rounded."""
    races: int
    """How many races it is computed from."""


class ClubScores(Struct, frozen=True, kw_only=True):
    """The tables and ratings after some part of a club's log."""

    club: str
    n: NumberOfEntry
    """The number of the entry after which the tables are computed."""
    tables: tuple[ClubTable, ...]
    """The tables of the day, the week and the season of the last race that counts, and of all time."""
    rated: NumberOfEntry
    """The number of the entry after which the ratings are computed. It can be an earlier one."""
    ratings: Mapping[Slug, tuple[RatingRow, ...]]
    """The ratings by game, best first."""


class Comparisons(Struct):
    """The comparisons between players in one game, of which each race has one for each pair."""

    scores: dict[str, int] = {}
    """By player: two for each comparison won, one for each tie."""
    races: dict[str, int] = {}
    met: dict[str, dict[str, int]] = {}
    """By player, how often they were compared with each rival."""

    def add(self, places: Mapping[str, int]) -> None:
        for player, place in places.items():
            self.races[player] = self.races.get(player, 0) + 1
            met, score = self.met.setdefault(player, {}), self.scores.get(player, 0)
            for rival, other in places.items():
                if rival != player:
                    met[rival] = met.get(rival, 0) + 1
                    score += 2 if place < other else 1 if place == other else 0
            self.scores[player] = score

    def copy(self) -> Self:
        return type(self)(
            self.scores.copy(), self.races.copy(), {player: met.copy() for player, met in self.met.items()}
        )

    def ratings(self) -> tuple[RatingRow, ...]:
        """Return the strengths that make the results most likely, after one tie of each player against an imaginary one
        of strength 1. With 200 players, it takes about a second.

        The algorithm is the cyclic MM iteration for the Bradley-Terry model with ties as half a win (D. R. Hunter, "MM
        algorithms for generalized Bradley-Terry models", The Annals of Statistics 32, 2004, 384-406). It needs addition
        and division only, in a fixed order, so that every program gets the same numbers.
        """
        strengths = dict.fromkeys(sorted(self.met), 1.0)
        met = {player: sorted(self.met[player].items()) for player in strengths}
        for _ in range(ROUNDS):
            for player, strength in strengths.items():
                total = 1.0 / (strength + 1.0)
                for rival, count in met[player]:
                    total += count / (strength + strengths[rival])
                strengths[player] = (self.scores[player] + 1) / 2.0 / total
        ranked = sorted(strengths, key=lambda player: -strengths[player])
        return tuple(
            RatingRow(player=player, strength=strengths[player], races=self.races[player]) for player in ranked
        )


Games = Mapping[str, Comparisons]
"""The comparisons by game."""


Ratings = dict[str, tuple[RatingRow, ...]]
"""The ratings by game, best first."""


def ratings(games: Games) -> Ratings:
    return {game: comparisons.ratings() for game, comparisons in sorted(games.items())}


class _Shape(Struct):
    """The fields by which scores are recognised."""

    club: Raw
    tables: Raw
    ratings: Raw


def read_club_scores(data: bytes) -> ClubScores | None:
    """Decode the scores of a club in JSON, with fields in any order; None if it is something else.

    Raises Refused("bad-replay") if they are not valid.
    """
    try:
        codec.decode(data, "json", _Shape)
    except (Malformed, Refused):
        return None
    try:
        scores = codec.decode(data, "json", ClubScores)
        if not codec.is_same_json(data, codec.encode(scores, "json")):
            raise Refused("bad-message", "They have an unknown or duplicate field, or a number in another form.")
    except (Malformed, Refused) as error:
        raise Refused("bad-replay", f"These are not the scores of a club: {error}") from error
    return scores


class ClubTally:
    """What the tables and ratings of a club are computed from, added up entry by entry."""

    def __init__(self) -> None:
        self.n = 0
        """The number of the last entry."""
        self._totals: dict[Period, tuple[int, Totals]] = {
            period: (0, Totals()) for period in ("day", "week", "season", "all")
        }
        self.games = defaultdict[str, Comparisons](Comparisons)
        self.weeks = deque[tuple[int, Games]](maxlen=WEEKS)
        """The ends of the last weeks with races that are over, and the comparisons at that time."""

    def add(self, club: Club, entry: ClubEntry) -> None:
        """Add the next entry of the log, given the club before it."""
        self.n = entry.n
        if isinstance(event := entry.event, ClubFinished):
            for game, places in zip(club.races[event.race].games, event.places, strict=False):
                if len(places) > 1:
                    self._add(entry.at, game, dict(sorted(places.items())))  # as in the canonical form

    def _add(self, at: int, game: str, places: Places) -> None:
        scores = [*zip(places, matchpoints([*places.values()]), strict=True)]
        for period, (began, totals) in self._totals.items():
            if (begins := since(period, at)) != began:
                if period == "week" and began:
                    self.weeks.append((began + 7 * DAY_MS, {game: each.copy() for game, each in self.games.items()}))
                totals = Totals()
                self._totals[period] = begins, totals
            totals.add(scores)
        if len(places) <= MAX_RATED:
            self.games[game].add(places)

    def tables(self) -> tuple[ClubTable, ...]:
        """Return the tables, in the order of the periods."""
        return tuple(
            ClubTable(period=period, since=began, rows=tuple(totals.rows()))
            for period, (began, totals) in self._totals.items()
        )

    def scores(self, club: str) -> ClubScores:
        """Return the tables and ratings after the last entry."""
        return ClubScores(club=club, n=self.n, tables=self.tables(), rated=self.n, ratings=ratings(self.games))


def tally_of(club: Club, entries: Iterable[ClubEntry], tally: ClubTally | None = None) -> tuple[Club, ClubTally]:
    """Return a club and a tally after further entries. Raises Refused if they do not continue the log."""
    tally = tally or ClubTally()
    for entry in entries:
        after = club.after(entry)
        tally.add(club, entry)
        club = after
    return club, tally
