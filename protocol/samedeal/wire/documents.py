"""The JSON documents of the HTTP API that clients read."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from samedeal.cards import Pile
from samedeal.computer.deal_filters import filters
from samedeal.computer.par import Compared, Par
from samedeal.game import Counted, Game
from samedeal.games.catalogue import GAMES
from samedeal.games.lessons import PRACTICE, Practice
from samedeal.race.challenge import ChallengeHeader
from samedeal.race.challenge import Stage as ChallengeStage
from samedeal.race.events import Header
from samedeal.race.race import Race, Stage
from samedeal.race.standings import Standing
from samedeal.scores.field import DealResult, FieldRow
from samedeal.scores.results import RaceResult
from samedeal.scores.tallies import Personal

Slug = Annotated[str, Meta(description="The slug of a game.", extra_json_schema={"enum": list(GAMES)})]
DailyStage = Literal["upcoming", "today", "sealed", "revealed"]
EXAMPLE_MOVES: Final = 12


class GameDescription(Struct, frozen=True):
    """A game."""

    slug: Slug
    title: str
    rules: str
    """The version of its rules."""
    layout: str
    """The rows of the table: a line of place names for each."""
    fanned: Sequence[str]
    """The places whose piles are fanned out."""
    foundations: Sequence[str]
    """The places of the foundations."""
    labels: Mapping[str, str]
    """The ranks of the places that are reserved for one rank."""
    hidden: Sequence[str]
    """The pile whose cards are all face down, if there is one: moves such as ``draw`` work it."""
    goal: int
    """The number of cards to move to the foundations."""
    limit_ms: int
    """The default time limit of a race, in milliseconds."""
    options: Mapping[str, Sequence[str | bool]]
    """The options of the game and their choices, the default first."""
    filters: Sequence[str] = ()
    """The filters of its sealed deals, the default first."""
    practice: Practice | None = None
    """Its practice deal, if it has one. Cards in texts are in notation form."""
    pitch: str = ""
    """The game in one line."""
    counted: Counted = "home"
    """What its results count: cards home or, in a game played for its score, cards left."""
    example: Mapping[str, Pile] = {}
    """The piles a few moves after a deal, to draw a picture of the game."""
    film: Sequence[Mapping[str, Pile]] = ()
    """The steps of its practice deal, to draw a moving picture: all piles, and then those that each step changes."""
    how: Sequence[str] = ()
    """Its rules in three short lines."""
    attempts: int = 0
    """The default number of attempts in a race; 0 means any number."""
    collection: str = ""
    """The collection that lists of games show it in, such as ``corner``; empty if it is in none."""

    @property
    def stock(self) -> str:
        """The pile that moves such as ``draw`` work; empty if there is none."""
        return next(iter(self.hidden), "")

    @classmethod
    def of(cls, game: type[Game]) -> "GameDescription":
        practice = PRACTICE.get(game.slug)
        computed: dict[str, Any] = {
            "filters": filters(game),
            "practice": practice,
            "example": _example(game),
            "film": _film(game),
            "hidden": [game.stock] if game.stock else [],
        }
        fields: dict[str, Any] = {name: getattr(game, name) for name in cls.__struct_fields__ if name not in computed}
        fields |= {name: sorted(fields[name]) for name in ("fanned", "foundations")}
        return cls(**fields, **computed)


@cache
def _example(game: type[Game]) -> Mapping[str, Pile]:
    """Return a player's view of a fixed deal after the first legal move of each position."""
    position = game.from_seed("same deal")
    for _ in range(EXAMPLE_MOVES):
        position = position if position.over else position.after(position.moves()[0])
    return position.view()


@cache
def _film(game: type[Game]) -> Sequence[Mapping[str, Pile]]:
    """Return the piles of a player's view of the practice deal, and those that change with each of its steps."""
    if (practice := PRACTICE.get(game.slug)) is None:
        return ()
    position = game.from_seed(practice.seed)
    tables = [position.view()]
    for step in practice.steps:
        position = position.after(step.move)
        tables.append(position.view())
    changes = (set(after.items()) - set(before.items()) for before, after in pairwise(tables))
    return [tables[0], *(dict(sorted(changed)) for changed in changes)]


class GameList(Struct, frozen=True):
    """All games."""

    games: Sequence[GameDescription]


class OpenedRace(Struct, frozen=True):
    """A new race."""

    race: str
    """The ID of the race."""
    link: str
    """The URL to share with people."""
    header: Header


class Listed(Struct, frozen=True):
    """A race in a list."""

    race: str
    game: str
    stage: Stage
    racers: int
    """How many players have a seat."""
    max_racers: int
    opened_at: int
    sealed: bool
    """Whether the deal depends on the racers' nonces."""
    daily: bool
    """Whether the race is on the game's daily deal of the day it was opened."""
    host: str | None = None
    """The name of the guest who opened the race, before its countdown, if it has a host."""
    challenge: str | None = None
    """The challenge that the race is a heat of, if it is one."""
    follows: str | None = None
    """The race that this one is a rematch of, if it is one."""

    @classmethod
    def of(cls, race: Race) -> "Listed":
        return cls(
            race=race.id,
            game=race.header.game,
            stage=race.stage,
            racers=len(race.roster),
            max_racers=race.options.max_racers,
            opened_at=race.header.opened_at,
            sealed=race.header.sealed,
            daily=race.header.daily,
            challenge=race.header.heat.challenge if race.header.heat else None,
            follows=race.header.follows,
        )


class RaceList(Struct, frozen=True):
    """A page of races, newest first."""

    races: Sequence[Listed]
    next: str | None
    """The value of `before` for the next page; null on the last page."""


class RaceSummary(Struct, frozen=True, omit_defaults=True):
    """A finished race in a list."""

    race: str
    game: str
    deal: str | None
    """None if no deal was dealt, or if it is not public yet."""
    ended_at: int
    standings: tuple[Standing, ...]
    reveals_at: int = 0
    """When a daily deal becomes public."""


class ReplayList(Struct, frozen=True):
    """A page of finished races, newest first."""

    replays: Sequence[RaceSummary]
    next: str | None
    """The value of `before` for the next page; null on the last page."""


class Result(Struct, frozen=True):
    """A player's result of a day: their standing in the race that counts."""

    place: int
    name: str
    bot: bool
    outcome: str
    home: int
    goal: int
    ms: int
    race: str | None
    """None for an unlisted race."""


class Daily(Struct, frozen=True):
    """The public part of the daily deal of a game."""

    game: str
    date: str
    commitment: str
    stage: DailyStage
    reveals_at: int
    deal: str | None
    """None before it is revealed. If nobody has played it, it is None until the server has searched for it."""
    secret: str | None
    """None before it is revealed."""
    results: tuple[Result, ...]
    """One page of the results, best first."""
    players: int
    """The number of players on all pages."""
    next: int | None
    """The `skip` of the next page; null on the last page."""
    yours: Result | None = None
    """The result of the guest whose token was sent: of their first race on the deal, whatever they do in later ones."""


class Today(Struct, frozen=True):
    """Today's deal of every game."""

    daily: Sequence[Daily]


class OpenedChallenge(Struct, frozen=True):
    """A new challenge, which exists once its creator has contributed to its deals."""

    challenge: str
    """The ID of the challenge."""
    link: str
    """The URL to share with people."""
    header: ChallengeHeader


class ListedChallenge(Struct, frozen=True):
    """A challenge in a list."""

    challenge: str
    by: str | None
    """The name of the guest who opened it; None if that guest was erased."""
    games: Sequence[str]
    """The slugs of its games, by deal."""
    until: int
    """The deadline."""


class ChallengeList(Struct, frozen=True):
    """Listed challenges that are open, earliest deadline first."""

    challenges: Sequence[ListedChallenge]


class ChallengePage(Struct, frozen=True, kw_only=True):
    """What a viewer may see of a challenge."""

    challenge: str
    link: str
    """The URL to share with people."""
    by: str | None
    """The name of the guest who opened it; None if that guest was erased."""
    header: ChallengeHeader
    nonce: str
    """What its creator has contributed to the deals."""
    stage: ChallengeStage
    reveals_at: int
    """When the deals, all replays and the log become public."""
    names: Sequence[str]
    """The names of those who have played at least one deal, in alphabetical order, at most 100."""
    players: int
    """How many they are."""
    played: Sequence[int]
    """How many have played each deal."""
    heats: Sequence[Listed]
    """The open heats for more than one player."""
    counts: Sequence[str | None]
    """By deal, the heat that counts for the guest whose token was sent: the first in which they were dealt cards."""
    yours: Sequence[DealResult | None]
    """By deal, the guest's results in these heats; without `place` and `points` while they see no others."""
    results: Sequence[FieldRow] | None
    """One page of the table, best first; null while the viewer may not see it: before the reveal, it is sealed for all
    who have not played every deal, unless the challenge shows it to everybody."""
    next: int | None
    """The `skip` of the next page; null on the last page."""
    secret: str | None
    """None before the reveal."""
    codes: Sequence[str | None]
    """The codes of the deals; None before the reveal, and for a deal that nobody has played."""


class ClubMember(Struct, frozen=True):
    """A member of a club."""

    player: str
    name: str


class ClubChallenge(ListedChallenge, frozen=True, kw_only=True):
    """A challenge of a club that is not revealed."""

    names: Sequence[str]
    """The names of those who have played at least one deal, in alphabetical order, at most 100."""
    played: bool
    """Whether the guest whose token was sent has been dealt cards on every deal."""


class ClubPage(Struct, frozen=True, kw_only=True):
    """A club as a member sees it. For a guest with an invitation, there are only its name and members."""

    club: str
    link: str
    """The URL of its page, which only members can see."""
    name: str
    members: Sequence[ClubMember]
    """In the order of joining. The first one is the owner."""
    is_member: bool
    """Whether the guest whose token was sent is a member."""
    dissolved: bool = False
    invitation: str | None = None
    """The link that invites others, if the club has an invitation."""
    races: Sequence[Listed] = ()
    """The races that have not ended, newest first."""
    challenges: Sequence[ClubChallenge] = ()
    """The challenges that are not revealed, earliest deadline first."""
    names: Mapping[str, str] = {}
    """The newest known name of everybody who is in the scores, by player. Nobody knows the names of erased players."""
    n: int = 0
    """The number of the last entry of the log. When it changes, so may the rest."""


class ClubInvitation(Struct, frozen=True):
    """The invitation to a club."""

    link: str
    """The page on which one can join. The token is in the fragment, which browsers do not send."""
    qr: Sequence[str]
    """The link as a QR code without its quiet zone: rows of modules, `1` for dark."""


class ListedClub(Struct, frozen=True):
    """A club in a list."""

    club: str
    name: str
    members: int


class ClubList(Struct, frozen=True):
    """The clubs in which a guest is a member, by name."""

    clubs: Sequence[ListedClub]


class ClubHistory(Struct, frozen=True):
    """How the ratings in a club have changed."""

    weeks: Sequence[int]
    """The ends of the last weeks that are over, in ms since 1970-01-01 UTC, oldest first."""
    strengths: Mapping[str, Mapping[str, Sequence[float | None]]]
    """By game and player, the strength at the end of each week; null before the player's first race."""


class PlayerPage(Struct, frozen=True):
    """A player's personal scores and newest races, as far as the viewer may see them."""

    scores: Personal
    races: Sequence[RaceResult]
    """Newest first."""


class RacePar(Par, frozen=True, kw_only=True):
    """The computer's results on the deal of a race, compared with its racers."""

    race: str
    racers: Sequence[Compared]
