"""Practice: on the full screen by keys, in line mode, and from a replay."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from cli.test_cli_race_app import until
from samedeal.errors import Refused
from samedeal_cli.net.practice_connection import Practice
from samedeal_cli.render.themes import look
from samedeal_cli.screen.app import FullScreen
from samedeal_cli.screen.race_screen import RaceScreen, practice_screen, practise_from
from samedeal_cli.screen.replay_screen import ReplayScreen
from samedeal_cli.searches import PublicDeal, advice, analysis_of_deal
from samedeal_cli.settings import Settings
from samedeal_cli.state.recording import Recording
from samedeal_cli.state.replay_state import Player, position_of
from support.finished_races import finished
from support.full_screen import RaceApp, shown
from support.offline_cli import run, written
from support.program import ran

WON = PublicDeal("the-edge", "2")


pytestmark = [pytest.mark.usefixtures("offline"), pytest.mark.tier(2)]


@asynccontextmanager
async def practising(deal: PublicDeal = WON, moves: tuple[str, ...] = ()) -> AsyncIterator[tuple[RaceApp, Any]]:
    app = RaceApp(practice_screen(Settings(color="always"), Practice(deal, moves), plain=False))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state.game)
        yield app, pilot
    assert app.failure is None


def ply(app: RaceApp) -> int:
    assert app.state.board
    return app.state.board.ply


def has_moves(app: RaceApp, count: int) -> bool:
    return ply(app) == count


async def test_a_hint_names_the_move_and_its_rule_and_marks_the_pile() -> None:
    async with practising() as (app, pilot):
        await pilot.press("full_stop")
        await until(lambda: app.state.hinted)
        assert app.state.notice
        assert app.state.notice.text.startswith("b1: Queens go to the middle cells")
        assert set(app.state.hinted) == {"b1"}
        marked = [span.text for row in app.widget.canvas.rows() for span in row if span.style.reverse]
        assert marked
        await pilot.press("2")  # the key of b1
        await until(lambda: ply(app) == 1)
        assert not app.state.hinted


async def test_a_verdict_judges_the_last_move() -> None:
    async with practising(moves=("b1",)) as (app, pilot):
        await pilot.press("colon")
        await until(lambda: app.state.notice and "not a mistake" in app.state.notice.text)


async def test_moves_can_be_undone_as_far_as_the_deal() -> None:
    line = (await analysis_of_deal(WON)).line
    async with practising(moves=line) as (app, pilot):
        await until(lambda: "You solved it!" in shown(app))
        for left in reversed(range(len(line))):
            await pilot.press("backspace")
            await until(partial(has_moves, app, left))
        await pilot.press("backspace")
        await until(lambda: app.state.notice and "No move has been made yet" in app.state.notice.text)


async def test_a_restart_asks_nothing_and_returns_to_the_deal() -> None:
    async with practising(moves=("b1",)) as (app, pilot):
        await pilot.press("ctrl+r")
        await until(lambda: ply(app) == 0)
        await until(lambda: "Back to the deal." in shown(app))


async def test_there_is_no_clock_no_rival_and_no_link() -> None:
    async with practising() as (app, pilot):
        text = shown(app)
        assert "The Edge · practice" in text
        assert "left" not in text.splitlines()[0]
        assert {". hint", ": mistake?"} <= {f"{entry.key} {entry.label}" for entry in app.race.keys.entries}
        assert not {"tab", "ctrl+l", "ctrl+e", "ctrl+b"} & {entry.key for entry in app.race.keys.entries}
        await pilot.press("exclamation_mark")
        await until(lambda: not app.is_running or app._exit)


async def test_play_goes_on_from_the_moment_of_a_replay() -> None:
    player = Player.of(Recording.of(finished("the-edge", 60)))
    screen = ReplayScreen(player, look("terminal"), lambda: "verified", None, lambda at: practise_from(Settings(), at))
    app = FullScreen(screen)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: screen.player.outcome)
        await pilot.press("right", "right", "right", "p")
        await until(lambda: isinstance(app.screen, RaceScreen) and app.screen.state.board)
        practice = app.screen
        assert isinstance(practice, RaceScreen)
        assert practice.state.board
        assert practice.state.board.table == screen.player.step.game.view()
        await pilot.press("exclamation_mark")
        await until(lambda: app.screen is screen)


def test_a_position_leaves_out_what_was_undone() -> None:
    player = Player.of(Recording.of(finished("the-edge", 60))).on_key("end")
    for at in (player, player.on_key("5"), player.watch_next(1)):
        deal, moves = position_of(at)
        game = deal.game
        for move in moves:
            game = game.after(move)
        assert game == at.step.game
        assert not {"undo", "restart"} & set(moves)


# Line mode.


def lines_of(*arguments: object, typed: str) -> list[str]:
    """Return what the program prints while these lines are typed."""
    return ran(*arguments, typed=typed).stdout.splitlines()


def test_lines_play_and_advise() -> None:
    lines = lines_of("practice", "the-edge:2", typed="hint\nb1\nverdict\nundo\nundo\nresign\n?\nquit\n")
    assert lines[0] == "The Edge, practice; type ? for help"
    for line in (
        "b1: Queens go to the middle cells of the top and bottom rows. This move starts a winning line.",
        "The game can be won from here. The last move was not a mistake.",
        "no: No move has been made yet.",
        "no: You cannot do that in practice.",
    ):
        assert line in lines
    assert "hint       show a move, and why" in "\n".join(lines)
    assert "react" not in "\n".join(lines)


def test_solo_practises_on_a_random_deal() -> None:
    first, second = (lines_of("solo", "corners", "--practice", typed="quit\n") for _ in range(2))
    assert first[0] == second[0] == "Corners, practice; type ? for help"
    assert first != second
    assert run("solo", "the-edge", "--practice", "--daily").exit_code == 2
    assert lines_of("practice", "corners", typed="quit\n")[0] == first[0]


def test_practice_starts_at_a_move_of_a_replay(tmp_path: Path) -> None:
    file = written(tmp_path / "race.json", finished("the-edge", 60))
    assert "stock: 51 face down" in lines_of("practice", file, typed="quit\n")
    assert "stock: 48 face down" in lines_of("practice", file, "--seat", 1, "--move", 3, typed="quit\n")
    assert run("practice", file, "--move", "500").exit_code == 2
    assert run("practice", file, "--variant", "cap=off").exit_code == 2
    assert run("practice", "the-edge:2", "--move", "3").exit_code == 2
    assert run("practice", "no-such-file.json").exit_code == 2


# Searches.


async def test_advice_on_an_earlier_position_is_dropped() -> None:
    practice = Practice(WON)
    searching = asyncio.create_task(practice.advice())
    await asyncio.sleep(0)
    await practice.move("b1")
    assert await searching is None
    with pytest.raises(Refused):
        await practice.resign()


@pytest.mark.parametrize("cancellations", [1, 2])
async def test_a_cancelled_search_ends_its_process(monkeypatch: pytest.MonkeyPatch, cancellations: int) -> None:
    started = list[Popen[bytes]]()

    def remembering(*arguments: Any, **options: Any) -> Popen[bytes]:
        started.append(Popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr("samedeal_cli.searches.Popen", remembering)
    task = asyncio.create_task(advice(PublicDeal("corner-stones", "1"), ()))
    await until(lambda: started)
    for _ in range(cancellations):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: started[0].returncode not in (0, None))
