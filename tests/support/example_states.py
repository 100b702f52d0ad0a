"""Example states of the full screen: any game, at any stage."""

from dataclasses import replace
from typing import Any

from cli.test_cli_text_table import after
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Header, Options
from samedeal.race.race import Stage
from samedeal.race.standings import Standing
from samedeal.wire.documents import GameDescription
from samedeal.wire.messages import Board, View
from samedeal.wire.views import guidance_of
from samedeal_cli.state.race_state import RaceState
from samedeal_cli.state.race_update import update

RACE, LINK = "calm-otter-42", "http://192.168.1.20:8640/r/calm-otter-42"
LIMIT_MS = 300_000
STEPS = {"corners": 30}
"""The number of moves of the example, if not twelve, so that a card can be played."""


def info(slug: str) -> GameDescription:
    """Return a game as the server describes it."""
    return GameDescription.of(GAMES[slug])


def board(game: Game, ply: int = 0, **fields: Any) -> Board:
    """Return a position as the server sends it to its owner."""
    content: dict[str, Any] = {
        "table": game.view(),
        "notes": game.notes,
        "outcome": game.outcome,
        "home": game.home,
        "attempt": 1,
        "ply": ply,
        "moves": list(game.moves()),
        "undo": ply > 0,
        "restart": ply > 0,
        "guidance": guidance_of(game),
    }
    return Board(**content | fields)


def standing(seat: int, name: str, outcome: str, home: int = 0, goal: int = 48, **fields: Any) -> Standing:
    """Return a standing with equal seat and place."""
    content: dict[str, Any] = {
        "place": seat,
        "seat": seat,
        "name": name,
        "bot": name == "cy",
        "outcome": outcome,
        "done": outcome not in ("waiting", "ready", "playing", "stuck"),
        "home": home,
        "goal": goal,
        "progress": 1.0 if outcome == "won" else home / goal,
        "attempts": 0 if outcome in ("waiting", "ready") else 1,
        "ms": home * 4000,
    }
    return Standing(**content | fields)


def header(slug: str, **options: Any) -> Header:
    """Return the header of a race with a secret deal."""
    return Header(
        race=RACE,
        game=slug,
        rules=GAMES[slug].rules,
        commitment="9f3c02b1" * 8,
        salt="0" * 32,
        opened_at=0,
        options=Options(**{"limit_ms": LIMIT_MS} | options),
    )


def view(slug: str, stage: Stage, game: Game | None = None, n: int = 5, seat: int | None = 2, **fields: Any) -> View:
    """Return the view of a race at a stage."""
    own = board(game, ply=n) if game and seat else None
    return View(race=RACE, n=n, h="0" * 64, stage=stage, seat=seat, **{"board": own, "clock_ms": 170_000} | fields)


def lobby(slug: str, width: int = 80, height: int = 24, *, watching: bool = False) -> RaceState:
    """Return the lobby, with ada and cy ready and bo not."""
    state = update(entered(slug, width, height, watching=watching), *now(slug, "open", "waiting", watching=watching))
    return update(state, *now(slug, "open", "waiting", cy="ready", watching=watching))


def entered(slug: str, width: int = 80, height: int = 24, *, watching: bool = False) -> RaceState:
    """Return the state right after connecting."""
    state = RaceState(RACE, "192.168.1.20:8640", LINK, watching=watching, width=width, height=height)
    return replace(state, header=header(slug), game=info(slug), away_s=30.0)


def now(
    slug: str,
    stage: Stage,
    mine: str,
    game: Game | None = None,
    n: int = 5,
    *,
    cy: str = "",
    watching: bool = False,
    left_ms: int = 170_000,
    **fields: Any,
) -> tuple[View, tuple[Standing, ...], int | None]:
    """Return a view, the standings and the remaining time.

    ada is first, bo (the own seat unless watching) second, and the bot cy last.
    """
    goal = GAMES[slug].goal
    dealt = stage in ("running", "over")
    ada = standing(1, "ada", "won" if stage == "over" else "playing" if dealt else "ready", goal // 2, goal)
    own = standing(2, "bo", mine, (game.home if game else 0), goal)
    last = standing(3, "cy", cy or mine, 1 if dealt else 0, goal)
    content = view(slug, stage, game, n, None if watching else 2, **fields)
    left = left_ms if stage in ("running", "countdown") else None
    return content, (ada, own, last), left


def racing(slug: str, width: int = 80, height: int = 24, steps: int | None = None, **fields: Any) -> RaceState:
    """Return a running race after some moves."""
    steps = STEPS.get(slug, 12) if steps is None else steps
    game = after(slug, steps)
    state = update(entered(slug, width, height), *now(slug, "countdown", "ready", left_ms=3000))
    state = update(state, *now(slug, "running", "playing", after(slug, 0), 6, left_ms=LIMIT_MS))
    return update(state, *now(slug, "running", "playing", game, 7 + steps, **fields))


def finished(slug: str, width: int = 80, height: int = 24) -> RaceState:
    """Return a finished race."""
    state = racing(slug, width, height)
    return update(
        state, *now(slug, "over", "timeout", after(slug, STEPS.get(slug, 12)), 99, deal=f"{slug}:{'5a' * 32}.3")
    )
