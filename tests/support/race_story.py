"""The story of a race that screens are drawn of: ada, bo and the bot cy play the same line, and bo is the fastest.

The user is bo. Everything is fixed: no time, no chance, and no network.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from msgspec import structs

from samedeal.analysis.analysis import Analysis
from samedeal.analysis.turning_point import TurningPoint
from samedeal.computer.par import Compared, Square
from samedeal.errors import Refused
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Header
from samedeal.race.ghosts import Ghost
from samedeal.race.race import Stage
from samedeal.replays.signature import public_key
from samedeal.scores.evening import Evening, EveningRow
from samedeal.scores.results import RaceResult, RacerResult
from samedeal.scores.tallies import GameScores, Personal, Versus
from samedeal.share.phrases import played_for_score
from samedeal.wire.documents import Daily, RacePar, Result
from samedeal.wire.messages import Host, View
from samedeal_cli.state.selection import Selection
from support.example_states import RACE, board, info, standing
from support.finished_races import DAY, OPENED_AT, SIGNING_KEY, finished
from support.vectors import WINS

PLAYED_MS: Final = 130_000
CARD: Final = re.compile(r"\b[A2-9TJQK][SHDC]\b")
DEAL: Final = "5a" * 32
REPLAYED_MOVES: Final = 120
NAMES: Final = ("ada", "bo", "cy")
PLAYERS: Final = ("player-1", "player-2", "player-3")


# Positions.


@cache
def position(slug: str, share: float) -> Game:
    """Return the game after a share of a line that wins it."""
    game, moves = GAMES[slug].from_seed(WINS[slug]["seed"]), WINS[slug]["moves"]
    for move in moves[: round(len(moves) * share)]:
        game = game.after(move)
    return game


@cache
def choosing(slug: str) -> tuple[Game, int, str]:
    """Return a position from a quarter on, the number of moves, and a key that selects a pile.

    If one key plays each move of the game, that key moves the cursor.
    """
    count, choices = len(WINS[slug]["moves"]), dict[int, int]()
    for ply in range(count // 4, count):
        game = position(slug, ply / count)
        selection = Selection(tuple(game.moves()), game.layout, game.foundations, game.stock)
        choices[ply] = len(selection.choices)
        for place in selection.choices:
            picked, _, _ = selection.press(selection.keys[place], 0)
            if picked.picks and len(picked.choices) > 1:
                return game, ply, selection.keys[place]
    ply = max(choices, key=lambda ply: choices[ply])
    return position(slug, ply / count), ply, "right"


@cache
def refused_move(slug: str) -> tuple[str, str]:
    """Return the illegal move of one or two piles with the longest refusal that names a card, and the refusal."""
    game, _, _ = choosing(slug)
    places = [place for place in game.layout.split() if place != "." and place != game.stock]
    refusals = {}
    for move in (*places, *(one + plus + other for plus in ("", "+") for one in places for other in places)):
        try:
            game.after(move)
        except Refused as refused:
            refusals[move] = refused.text
    return max(refusals.items(), key=lambda refusal: (bool(CARD.search(refusal[1])), len(refusal[1])))


def analysis(slug: str) -> Analysis:
    """Return an analysis of a race with this story: the deal could be won, by ada until move 40."""
    return Analysis(
        game=slug,
        deal=f"{slug}:{WINS[slug]['seed']}",
        variant={},
        outcome="won",
        positions=1_234,
        line=tuple(WINS[slug]["moves"]),
        racers=(TurningPoint(seat=1, step=40, is_end=False, proven=True),),
    )


# Views.


class Story:
    """What the server sends about a race, view by view."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        self.header = finished(slug, REPLAYED_MOVES).header
        self.left_ms = self.header.options.limit_ms - PLAYED_MS
        self._n = 0

    def view(self, stage: Stage, outcomes: Sequence[str], shares: Sequence[float] = (0, 0, 0), **fields: Any) -> View:
        """Return the next view, with everyone's outcome and share of the line."""
        self._n += 1
        games = [position(self.slug, share) for share in shares]
        racers = [
            standing(seat, name, outcome, game.home, game.goal, ms=round(PLAYED_MS * share) + 10 * seat)
            for seat, (name, outcome, game, share) in enumerate(zip(NAMES, outcomes, games, shares, strict=False), 1)
        ]
        racers.sort(key=lambda racer: (racer.outcome != "won", -racer.home))
        ranking = tuple(structs.replace(racer, place=place) for place, racer in enumerate(racers, 1))
        content: dict[str, Any] = {"host": Host(name="ada", seat=1), "seat": 2, "standings": ranking}
        return View(race=RACE, n=self._n, h="0" * 64, stage=stage, **content | fields)

    def lobby(self) -> View:
        return self.view("open", ("ready", "waiting", "ready"))

    def countdown(self) -> View:
        return self.view("countdown", ("ready",) * 3, clock_ms=2_400)

    def start(self) -> View:
        own = board(position(self.slug, 0))
        return self.view("running", ("playing",) * 3, board=own, clock_ms=self.header.options.limit_ms)

    def middle(self) -> View:
        game, ply, _ = choosing(self.slug)
        shares = (0.3, ply / len(WINS[self.slug]["moves"]), 0.1)
        return self.view("running", ("playing",) * 3, shares, board=board(game, ply), clock_ms=self.left_ms)

    def won(self, *, visible: bool) -> View:
        """You have won, and may see the other tables or not."""
        count = len(WINS[self.slug]["moves"])
        games = [position(self.slug, share) for share in (0.8, 1, 0.4)]
        tables = [board(game, round(count * share)) for game, share in zip(games, (0.8, 1, 0.4), strict=True)]
        others = {1: tables[0], 3: tables[2]} if visible else None
        outcomes = ("playing", "won", "playing")
        return self.view("running", outcomes, (0.8, 1, 0.4), board=tables[1], boards=others, clock_ms=self.left_ms)

    def over(self) -> View:
        """The race is over. A ghost was slower than you."""
        ghost = Ghost(
            ghost=1,
            name="dee",
            bot=False,
            outcome="won",
            done=True,
            home=position(self.slug, 1).home,
            goal=GAMES[self.slug].goal,
            progress=1.0,
            ms=142_300,
        )
        own = board(position(self.slug, 1), len(WINS[self.slug]["moves"]), moves=[])
        deal = f"{self.slug}:{DEAL}.3"
        return self.view("over", ("timeout", "won", "resigned"), (0.8, 1, 0.4), board=own, deal=deal, ghosts=(ghost,))


class DailyStory(Story):
    """A daily deal that bo plays alone and gives up."""

    def __init__(self, slug: str) -> None:
        super().__init__(slug)
        options = structs.replace(self.header.options, max_racers=1)
        self.header = structs.replace(self.header, daily=True, options=options)

    def over(self) -> View:
        game = position(self.slug, 0.6)
        mine = standing(1, "bo", "resigned", game.home, game.goal, ms=78_000)
        ply = round(len(WINS[self.slug]["moves"]) * 0.6)
        return self.view("over", (), seat=1, standings=(mine,), board=board(game, ply, moves=[]))


# Documents.


def documents(header: Header) -> dict[str, Any]:
    """Return the server's documents about a race, by path."""
    slug, goal = header.game, GAMES[header.game].goal
    racers = tuple(
        RacerResult(
            player=player, seat=place, name=name, bot=name == "cy", place=place, won=place == 1, home=9, goal=goal, ms=9
        )
        for place, (player, name) in enumerate(zip(PLAYERS, NAMES, strict=True))
    )
    race = RaceResult(
        race=RACE,
        game=slug,
        opened_at=OPENED_AT,
        ended_at=OPENED_AT,
        daily=header.daily,
        unlisted=False,
        follows=None,
        racers=racers[1:2] if header.daily else racers,
    )
    found: dict[str, Any] = {
        f"/games/{slug}": info(slug),
        "/.well-known/samedeal": {"keys": [{"key": public_key(SIGNING_KEY)}], "limits": {"away_seconds": 30}},
        f"/players/{PLAYERS[1]}": {"scores": _scores(slug), "races": [race]},
    }
    if header.daily:
        return found | {f"/daily/{DAY}/{slug}": _day(header)}
    records = {f"/players/{PLAYERS[1]}/versus/{PLAYERS[seat - 1]}": _record(seat) for seat in (1, 3)}
    return (
        found
        | records
        | {
            f"/races/{RACE}/evening": _evening(),
            f"/races/{RACE}/par": _par(slug),
            f"/replays/{RACE}.json": finished(slug, REPLAYED_MOVES),
        }
    )


def _scores(slug: str) -> Personal:
    scored = played_for_score(slug)
    games = GameScores(
        game=slug,
        races=12,
        wins=5,
        solved=3,
        best_ms=118_000,
        best=0 if scored else GAMES[slug].goal,
        goal=GAMES[slug].goal,
        counted="left" if scored else "home",
    )
    return Personal(
        player=PLAYERS[1],
        name="bo",
        bot=False,
        races=12,
        wins=5,
        solved=3,
        streak=1,
        longest_streak=4,
        games=(games,),
    )


def _record(seat: int) -> Versus:
    name, ahead, behind, tied = {1: ("ada", 3, 1, 2), 3: ("cy", 1, 0, 0)}[seat]
    return Versus(
        player=PLAYERS[1],
        name="bo",
        other=PLAYERS[seat - 1],
        other_name=name,
        races=ahead + behind + tied,
        ahead=ahead,
        behind=behind,
        tied=tied,
        games=(),
    )


def _evening() -> Evening:
    rows = (("bo", 3.5, 3), ("ada", 2.0, 1), ("cy", 0.5, 0))
    table = (
        EveningRow(
            place=place,
            player=PLAYERS[NAMES.index(name)],
            seat=NAMES.index(name) + 1,
            name=name,
            bot=name == "cy",
            points=points,
            races=4 if place < 3 else 1,
            wins=wins,
        )
        for place, (name, points, wins) in enumerate(rows, 1)
    )
    return Evening(races=("one", "two", "three", RACE), table=tuple(table), best_of={"3": PLAYERS[1], "5": PLAYERS[1]})


def _par(slug: str) -> RacePar:
    goal = GAMES[slug].goal
    kinds: tuple[Square, ...] = ("solved", "equal", "worse")
    squares = tuple(kind for kind, count in zip(kinds, (1, 2, 17), strict=True) for _ in range(count))
    compared = Compared(
        seat=2, name="bo", home=goal, won=True, result=goal, worse=0.85, equal=0.1, better=0.05, squares=squares
    )
    return RacePar(
        game=slug,
        deal=f"{slug}:{DEAL}.3",
        variant={},
        bot="bot",
        plays=20,
        goal=goal,
        counted="home",
        homes=(goal,) * 20,
        results=(goal,) * 20,
        minimum=goal,
        median=goal,
        mean=goal,
        maximum=goal,
        solved=1,
        race=RACE,
        racers=(compared,),
    )


def _day(header: Header) -> Daily:
    goal = GAMES[header.game].goal
    first, second = (
        Result(place, name, False, "won", goal, goal, ms, None)
        for place, (name, ms) in enumerate((("ada", 62_000), ("名前", 98_400)), 1)
    )
    home = position(header.game, 0.6).home
    yours = Result(3, "bo", False, "resigned", home, goal, 78_000, None)
    results = (first, second, yours)
    return Daily(header.game, DAY, "9f" * 32, "today", header.reveals_at, None, None, results, 14, None, yours)
