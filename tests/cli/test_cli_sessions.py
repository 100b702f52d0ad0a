"""Sessions: whole games in the full screen, started and won with keys that the previous frame shows."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from cli.test_cli_race_app import application, until
from cli.test_cli_table_view import shown_key
from samedeal.games.catalogue import GAMES
from samedeal_cli.state.race_commands import play
from samedeal_cli.state.selection import Selection
from support.full_screen import RaceApp, shown
from support.servers import Server
from support.vectors import WINS

pytestmark = pytest.mark.tier(3)

ROOT = Path(__file__).parents[1]
BY_KEYS = 15
"""The number of moves at the start, and at the end, that are made with keys; the others are played as such."""
FOOTER_KEYS = {"space": "Space {}", "enter": "Enter best drop"}
SIZES = {
    "corner-stones": (80, 24),
    "the-edge": (60, 20),
    "corners": (100, 32),
    "kings-in-the-corners": (80, 24),
    "gallery": (60, 20),
    "freecell": (80, 24),
    "golf": (60, 20),
    "klondike": (80, 24),
}


def session(slug: str) -> Iterator[tuple[str, ...]]:
    """Yield the moves of a session that plays a known line of a game, each with its keys."""
    game = GAMES[slug].from_seed(WINS[slug]["seed"])
    for move in WINS[slug]["moves"]:
        selection = Selection(game.moves(), game.layout, game.foundations, game.stock)
        keys = [selection.keys[place] for place in selection.parse(move).places] or ["space"]
        played = None
        for key in keys:
            selection, played, _ = replace(selection, played=None).press(key, 0)
        yield move, *keys, *([] if played or keys == ["space"] else ["enter"])
        game = game.after(move)


# What a frame shows.


def frame(app: RaceApp) -> list[str]:
    """Return the lines of the screen."""
    return shown(app).splitlines()


def assert_shown(app: RaceApp, key: str, place: str | None, move: str) -> None:
    """Fail unless the frame shows the key for a place, or in its footer."""
    if place:
        spot = app.widget.canvas.spots[place]
        rows = frame(app)[spot.row : spot.row + spot.height]
        assert shown_key("\n".join(row[spot.column : spot.column + spot.width] for row in rows), place) == key
    else:
        assert FOOTER_KEYS[key].format(move) in "\n".join(frame(app)[-3:])


def has_moves(app: RaceApp, count: int) -> bool:
    return app.state.board is not None and app.state.board.ply == count


async def play_move(app: RaceApp, pilot: Pilot[None], move: str, keys: Iterable[str]) -> None:
    """Press the keys of a move, and a key that the frame says was ignored as a second half again."""
    places = iter(app.state.selection.parse(move).places)
    for key in keys:
        place = next(places, None)
        assert_shown(app, key, place, move)
        await pilot.press(key)
        if place and "was just played." in "\n".join(frame(app)):
            await pilot.press(key)


# Sessions.


@pytest.mark.parametrize("slug", GAMES)
async def test_a_session_wins_a_game_with_keys_that_are_shown(slug: str, live: Server) -> None:
    race = live.create(slug, seed=WINS[slug]["seed"], max_racers=1, start_delay_ms=0)
    app = application(live, race, ready=True)
    async with app.run_test(size=SIZES[slug]) as pilot:
        await until(lambda: app.state.board)
        moves = list(session(slug))
        for ply, (move, *keys) in enumerate(moves):
            await until(partial(has_moves, app, ply))
            if BY_KEYS <= ply < len(moves) - BY_KEYS:
                app.race._take_step(play(app.state, move))
            else:
                await play_move(app, pilot, move, keys)
        await until(lambda: app.state.over)
        assert app.state.me
        assert app.state.me.outcome == "won"
        await pilot.press("q")
    assert app.failure is None
