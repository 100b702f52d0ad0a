"""The screens of the running app, with its footer and dialogs, compared with the pictures in tests/screens.

Each file has the pictures of one game in a terminal of one size. After an intended change, run ``make generate`` to
update them, and review the diff.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Footer, Input
from textual.widgets._footer import FooterKey

from cli.test_cli_race_app import until
from cli.test_cli_text_table import HINT
from samedeal.games.catalogue import GAMES
from samedeal_cli.full_screen.race_screen import RaceScreen
from samedeal_cli.full_screen.replay_screen import ReplayScreen
from samedeal_cli.settings import Settings
from samedeal_cli.state.race_state import RaceState
from support.example_states import LINK, RACE
from support.full_screen import RaceApp, shown
from support.race_story import PLAYERS, DailyStory, Story, analysis, choosing, documents, refused_move
from support.scripted_race import SERVER, ScriptedApi, ScriptedConnection

SCREENS = Path(__file__).parents[1] / "screens"
SIZES = ((80, 24), (60, 20), (100, 32))
FIRST = next(iter(GAMES))
"""The game whose pictures include the screens that do not depend on the game."""


class Tour:
    """Goes through the screens of an app and takes pictures."""

    def __init__(self, app: RaceApp, pilot: Pilot[None], connection: ScriptedConnection) -> None:
        self.app, self.pilot, self.connection = app, pilot, connection
        self.pictures: list[str] = []

    async def picture(self, title: str, *, reverse: bool = False) -> None:
        """Take a picture once nothing changes any more, with a list of what is in reverse video if needed."""
        await self.pilot.pause()
        await until(lambda: footer_is_current(self.app.screen))
        before = ""
        while before != (before := shown(self.app)):
            await self.pilot.pause()
        if reverse:
            spans = [span.text for row in self.app.widget.canvas.rows() for span in row if span.style.reverse]
            before += f"\nreversed: {' '.join(' '.join(spans).split())}"
        self.pictures.append(f"=== {title}\n{before}")

    async def press(self, *keys: str, dialog: str = "") -> None:
        """Press keys, after which this dialog is open."""
        await self.pilot.press(*keys)
        await until(lambda: self.app.dialog == dialog)

    async def start_typing(self) -> Input:
        """Open the line to type a move, and return it."""
        await self.press("slash")
        await until(lambda: isinstance(self.app.focused, Input))
        return self.app.race.query_one(Input)

    async def receive(self, view: Any) -> None:
        """Send a view to the app, and wait until its screen has it."""
        self.connection.send(view)
        await until(lambda: self.app.state.view is self.connection.view)


def footer_is_current(screen: Screen[Any]) -> bool:
    """Return whether the footer shows the keys that work now."""
    labels = [key.description for key in screen.query(FooterKey) if not key.has_class("-command-palette")]
    wanted = [each.binding.description for each in screen.active_bindings.values() if each.binding.show]
    return not screen.query(Footer) or labels == list(dict.fromkeys(wanted))


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


async def race(slug: str, width: int, height: int) -> list[str]:
    """Return pictures of a race of three, from the lobby to its replay."""
    story = Story(slug)
    async with tour(story, width, height) as screens:
        app, connection = screens.app, screens.connection
        await screens.picture("the lobby")
        await screens.receive(story.countdown())
        if slug == FIRST:
            await screens.picture("the countdown")
        await screens.receive(story.start())
        await screens.picture("your table at the start")
        await screens.receive(story.middle())
        _, _, key = choosing(slug)
        await screens.press(key)
        await screens.picture("a pile is selected", reverse=True)
        await screens.press("escape")
        line = await screens.start_typing()
        await screens.press(app.state.typeable[0][0])
        await screens.picture("a move is being typed")
        line.value, connection.refusal = refused_move(slug)
        await screens.press("enter")
        await until(lambda: app.state.notice and app.state.notice.tone == "bad")
        await screens.picture("a move is refused")
        await screens.press("exclamation_mark", dialog="Question")
        await screens.picture("resign?")
        await screens.press("n")
        await screens.press("ctrl+g", dialog="TextDialog")
        await screens.picture("the rules")
        await screens.press("escape")
        if slug == FIRST:
            await screens.press("question_mark", dialog="TextDialog")
            await screens.picture("the help")
            await screens.press("escape")
        await screens.press("ctrl+b")
        await screens.picture("the rivals are hidden")
        await screens.press("ctrl+b")
        connection.lose("the connection broke")
        await until(lambda: app.state.connection_error)
        await screens.picture("the connection is lost")
        connection.restore()
        await screens.receive(story.won(visible=False))
        await screens.picture("you have won and wait for the others")
        await screens.receive(story.won(visible=True))
        await screens.picture("you have won and see all tables")
        await screens.receive(story.over())
        await until(lambda: app.state.checks and app.state.par and app.state.evening and len(app.state.records) == 2)
        await until(lambda: app.state.analysis)
        await screens.picture("the results")
        if slug == FIRST:
            await screens.press("e", dialog="TextDialog")
            await screens.picture("the scores")
            await screens.press("escape")
        await screens.press("v", dialog="ReplayScreen")
        replay = app.screen
        assert isinstance(replay, ReplayScreen)
        await screens.press("space", "6", "right", dialog="ReplayScreen")
        await until(lambda: replay.player.outcome)
        await screens.picture("the replay is paused in the middle")
        await screens.press("c", dialog="ReplayScreen")
        await screens.picture("the replay shows both tables")
        if slug == FIRST:
            await screens.press("escape")
            await screens.press("w", dialog="ReplayScreen")
            solution = app.screen
            assert isinstance(solution, ReplayScreen)
            await screens.press("space", "6", dialog="ReplayScreen")
            await until(lambda: solution.player.outcome)
            await screens.picture("how the deal could be won")
        return screens.pictures


async def daily(slug: str, width: int, height: int) -> list[str]:
    """Return a picture of the results of a daily deal."""
    story = DailyStory(slug)
    async with tour(story, width, height) as screens:
        await screens.receive(story.over())
        await until(lambda: screens.app.state.daily and screens.app.state.scores)
        await screens.picture("the results of a daily deal")
        return screens.pictures


async def pictures(slug: str, width: int, height: int) -> str:
    drawn = [*await race(slug, width, height), *await daily(slug, width, height)]
    return "\n\n".join(drawn) + "\n"


def file(slug: str, width: int, height: int) -> Path:
    return SCREENS / f"{slug}-{width}x{height}.txt"


@pytest.mark.parametrize("slug", GAMES)
@pytest.mark.parametrize(("width", "height"), SIZES)
async def test_every_screen_of_the_app_matches_its_picture(slug: str, width: int, height: int) -> None:
    assert file(slug, width, height).exists(), HINT
    assert await pictures(slug, width, height) == file(slug, width, height).read_text(), HINT


if __name__ == "__main__":
    for slug in sys.argv[1:] or GAMES:
        for width, height in SIZES:
            file(slug, width, height).write_text(asyncio.run(pictures(slug, width, height)))
            sys.stdout.write(f"{slug} {width}x{height}\n")
