"""The screens of the running app, with its footer and dialogs: every game, at every size and stage.

All of them show what a player needs. Some are also compared with the pictures in tests/screens; each file has pictures
of one game in a terminal of one size. After an intended change, run ``make generate`` to update them, and review the
diff.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from cli.test_cli_race_app import until
from cli.test_cli_table_view import shown_key
from cli.test_cli_text_table import HINT, SCREENS, TABLES
from samedeal.games.catalogue import GAMES
from samedeal_cli.render.phrases import clock
from samedeal_cli.render.text_table import advice, with_cards
from samedeal_cli.render.text_width import cells
from samedeal_cli.screen.race_screen import RaceScreen
from samedeal_cli.screen.replay_screen import ReplayScreen
from samedeal_cli.settings import Settings
from samedeal_cli.state.race_state import RaceState
from support.example_states import LINK, RACE
from support.full_screen import RaceApp, shown
from support.race_story import PLAYERS, DailyStory, Story, analysis, choosing, documents, refused_move
from support.scripted_race import SERVER, ScriptedApi, ScriptedConnection

pytestmark = pytest.mark.tier(2)

MENU = "^P more"
"""The end of the list of keys, with which all commands can be reached."""
SIZES = ((60, 20), (80, 24), (100, 32), (120, 40))
GOLDEN = {
    ("corner-stones", 60, 20): (
        "the countdown",
        "a move is being typed",
        "a move is refused",
        "the help",
        "the connection is lost",
        "how the deal could be won",
    ),
    ("golf", 60, 20): ("your table at the start",),
    ("freecell", 80, 24): ("a pile is selected",),
    ("klondike", 60, 20): ("a pile is selected", "you have won and see all tables"),
    ("corner-stones", 80, 24): ("your table at the start", "the results", "the scores"),
    ("the-edge", 100, 32): ("a pile is selected", "the rivals are hidden", "the replay shows both tables"),
    ("corners", 80, 24): (
        "the lobby",
        "a pile is selected",
        "the replay is paused in the middle",
        "the results of a daily deal",
    ),
    ("kings-in-the-corners", 120, 40): ("a pile is selected", "you have won and wait for the others"),
    ("gallery", 60, 20): ("a pile is selected", "resign?", "the rules", "the results"),
}
"""The pictures in the files, by game, width and height: each game's table, and each other screen once."""


class Tour:
    """Goes through the screens of an app, checks them and takes pictures."""

    def __init__(self, app: RaceApp, pilot: Pilot[None], connection: ScriptedConnection) -> None:
        self.app, self.pilot, self.connection = app, pilot, connection
        self.pictures: dict[str, str] = {}

    @property
    def is_typing(self) -> bool:
        return isinstance(self.app.focused, Input)

    async def picture(self, title: str, *needed: str, reverse: bool = False) -> None:
        """Take a picture once nothing changes any more, with a list of what is in reverse video if needed.

        The screen must have its full height, no line that is too long, and the needed texts, which may be wrapped.
        """
        await self.pilot.pause()
        before = ""
        while before != (before := shown(self.app)):
            await self.pilot.pause()
        lines, words = before.splitlines(), " ".join(before.split())
        assert len(lines) == self.app.size.height
        assert max(map(cells, lines)) <= self.app.size.width
        assert [text for text in needed if " ".join(text.split()) not in words] == [], before
        assert lines[-1].endswith(MENU) or self.app.dialog not in ("", "ReplayScreen") or self.is_typing, before
        if reverse:
            spans = [span.text for row in self.app.widget.canvas.rows() for span in row if span.style.reverse]
            before += f"\nreversed: {' '.join(' '.join(spans).split())}"
        self.pictures[title] = f"=== {title}\n{before}"

    async def picture_of_table(self, title: str, *needed: str, reverse: bool = False) -> None:
        """Take a picture of your table, which shows the clock, the names, the instruction and the key of each place.

        A notice may take the room of the instruction, and the line to type half of it.
        """
        state, view = self.app.state, self.connection.view
        assert view.board
        assert view.clock_ms is not None
        names = () if state.rivals_hidden or state.connection_error else (" you ", " ada ", " cy ")
        instruction = "" if state.notice else advice(view.board)[: 40 if self.is_typing else None]
        facts = clock(view.clock_ms)[:-2], instruction
        await self.picture(title, *facts, *names, *needed, reverse=reverse)
        spots, lines = self.app.widget.canvas.spots, shown(self.app).splitlines()
        for place, key in state.selection.keys.items():
            row, column, width, height = spots[place]
            text = "\n".join(line[column : column + width] for line in lines[row : row + height])
            assert place in text if state.named else shown_key(text, place) == key

    async def press(self, *keys: str, dialog: str = "") -> None:
        """Press keys, after which this dialog is open."""
        await self.pilot.press(*keys)
        await until(lambda: self.app.dialog == dialog)

    async def start_typing(self) -> Input:
        """Open the line to type a move, and return it."""
        await self.press("slash")
        await until(lambda: self.is_typing)
        return self.app.race.query_one(Input)

    async def receive(self, view: Any) -> None:
        """Send a view to the app, and wait until its screen has it."""
        self.connection.send(view)
        await until(lambda: self.app.state.view is self.connection.view)


@asynccontextmanager
async def tour(story: Story, width: int, height: int) -> AsyncIterator[Tour]:
    """Run the app on the first view of a story."""
    connection = ScriptedConnection(story.header, PLAYERS[1], story.lobby())
    connect: Any = lambda _race, _watching: connection  # noqa: E731
    api = ScriptedApi(documents(story.header))
    screen = RaceScreen(RaceState(RACE, SERVER, LINK), connect, api, Settings(color="always"))
    screen.analyse = AsyncMock(return_value=analysis(story.slug))
    app = RaceApp(screen)
    async with app.run_test(size=(width, height)) as pilot:
        await until(lambda: app.state.game)
        yield Tour(app, pilot, connection)
    assert app.failure is None


async def race(slug: str, width: int, height: int) -> dict[str, str]:
    """Return pictures of a race of three, from the lobby to its replay."""
    story = Story(slug)
    async with tour(story, width, height) as screens:
        app, connection = screens.app, screens.connection
        needed = "ada challenges you to", *GAMES[slug].how, "bo (you)", LINK, "r  Ready", "Waiting for you."
        await screens.picture("the lobby", *needed)
        await screens.receive(story.countdown())
        await screens.picture("the countdown", "starts in 3 s", "ada, bo and cy")
        await screens.receive(story.start())
        await screens.picture_of_table("your table at the start")
        await screens.receive(story.middle())
        _, _, key = choosing(slug)
        await screens.press(key)
        await screens.picture_of_table("a pile is selected", reverse=True)
        await screens.press("escape")
        line = await screens.start_typing()
        await screens.press(app.state.typeable[0][0])
        await screens.picture_of_table("a move is being typed", app.state.typeable[0])
        line.value, connection.refusal = refused_move(slug)
        await screens.press("enter")
        await until(lambda: app.state.notice and app.state.notice.tone == "bad")
        await screens.picture_of_table("a move is refused", f"✗ {with_cards(connection.refusal)}")
        await screens.press("exclamation_mark", dialog="Question")
        await screens.picture("resign?", "Resign?", "y yes")
        await screens.press("n")
        await screens.press("ctrl+g", dialog="TextDialog")
        await screens.picture("the rules", f"Rules of {GAMES[slug].title}", "Esc back")
        await screens.press("escape")
        await screens.press("question_mark", dialog="TextDialog")
        await screens.picture("the help", "Keys", "Esc back")
        await screens.press("escape")
        await screens.press("ctrl+b")
        await screens.picture_of_table("the rivals are hidden")
        await screens.press("ctrl+b")
        connection.lose("the connection broke")
        await until(lambda: app.state.connection_error)
        await screens.picture_of_table("the connection is lost", "the connection broke: reconnecting.")
        connection.restore()
        await screens.receive(story.won(visible=False))
        waiting = "Solved in 2:10.0, 1st of 3! Waiting for ada and cy"
        await screens.picture("you have won and wait for the others", waiting, " you ", " ada ", " cy ")
        await screens.receive(story.won(visible=True))
        await screens.picture("you have won and see all tables", waiting, " you ", " ada ", " cy ")
        await screens.receive(story.over())
        await until(lambda: app.state.checks and app.state.par and app.state.evening and len(app.state.records) == 2)
        await until(lambda: app.state.analysis)
        needed = "You beat ada and cy!", "n  Rematch", "1 bo (you)", "Verified", "Press w."
        await screens.picture("the results", *needed)
        await screens.press("e", dialog="TextDialog")
        await screens.picture("the scores", "This evening", "You 3 : 1 ada, 2 tied")
        await screens.press("escape")
        await screens.press("v", dialog="ReplayScreen")
        replay = app.screen
        assert isinstance(replay, ReplayScreen)
        await screens.press("space", "6", "right", dialog="ReplayScreen")
        await until(lambda: replay.player.outcome)
        await screens.picture("the replay is paused in the middle", "VERIFIED ✔", "paused", "ada")
        await screens.press("c", dialog="ReplayScreen")
        await screens.picture("the replay shows both tables", "VERIFIED ✔", "paused", "ada", "bo (bot)")
        await screens.press("escape")
        await screens.press("w", dialog="ReplayScreen")
        solution = app.screen
        assert isinstance(solution, ReplayScreen)
        await screens.press("space", "6", dialog="ReplayScreen")
        await until(lambda: solution.player.outcome)
        await screens.picture("how the deal could be won", "This deal can be solved in", "paused", "Solver (bot)")
        return screens.pictures


async def daily(slug: str, width: int, height: int) -> dict[str, str]:
    """Return a picture of the results of a daily deal."""
    story = DailyStory(slug)
    async with tour(story, width, height) as screens:
        await screens.receive(story.over())
        await until(lambda: screens.app.state.daily and screens.app.state.scores)
        await screens.picture("the results of a daily deal", "bo (you)", "You are 3rd of 14")
        return screens.pictures


async def pictures(slug: str, width: int, height: int) -> str:
    """Check all screens of a game, and return those with a picture in its file."""
    drawn = await race(slug, width, height) | await daily(slug, width, height)
    return "\n\n".join(drawn[title] for title in GOLDEN.get((slug, width, height), ())) + "\n"


def file(slug: str, width: int, height: int) -> Path:
    return SCREENS / f"{slug}-{width}x{height}.txt"


def in_tier_3(slug: str, *size: int) -> bool:
    """Every game is tested in the smaller terminals that have pictures of it, or else in the smallest one."""
    return size not in ([each for each in SIZES[:2] if (slug, *each) in GOLDEN] or SIZES[:1])


@pytest.mark.parametrize(
    ("slug", "width", "height"),
    [
        pytest.param(slug, *size, marks=[pytest.mark.tier(3)] if in_tier_3(slug, *size) else [])
        for slug, size in product(GAMES, SIZES)
    ],
)
async def test_every_screen_shows_what_a_player_needs_and_matches_its_picture(
    slug: str, width: int, height: int
) -> None:
    drawn = await pictures(slug, width, height)
    if (slug, width, height) in GOLDEN:
        assert file(slug, width, height).exists(), HINT
        assert drawn == file(slug, width, height).read_text(), HINT


def test_every_game_and_size_has_a_picture_and_there_are_no_other_files() -> None:
    assert {slug for slug, _, _ in GOLDEN} == set(GAMES)
    assert {(width, height) for _, width, height in GOLDEN} == set(SIZES)
    assert set(SCREENS.iterdir()) == {TABLES, *(file(*each) for each in GOLDEN)}, HINT


if __name__ == "__main__":
    for each in GOLDEN:
        file(*each).write_text(asyncio.run(pictures(*each)))
        sys.stdout.write(f"{file(*each).stem}\n")
