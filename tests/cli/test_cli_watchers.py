"""How many watch a race, in the headings of the full screen and in line mode."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from cli.test_cli_race_app import application, until
from samedeal.wire import messages as m
from samedeal_cli.net.live_view import LiveView
from samedeal_cli.screen.race_view import draw_screen
from samedeal_cli.state.race_state import RaceState
from support.example_states import lobby, racing, view
from support.full_screen import shown
from support.servers import Server, racers

pytestmark = pytest.mark.tier(2)


def heading(state: RaceState, watching: int, width: int) -> str:
    assert state.view
    state = replace(state, view=with_fields(state.view, watching=watching))
    return draw_screen(state, width, 24).text()[0]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_headings_show_the_number_only_if_there_is_one_and_room_for_it(width: int) -> None:
    waiting, running = lobby("corners", width), racing("corners", width)
    assert heading(waiting, 3, width).endswith("   3 watching   open 3/8")
    assert "watching" not in heading(waiting, 0, width)
    assert heading(running, 3, width).startswith(" Corners")
    assert "  3 watching   " in heading(running, 3, width)
    assert heading(running, 3, width).rpartition("3 watching   ")[2] in heading(running, 0, width)
    crowded = heading(running, 10**70, width)
    assert crowded == heading(running, 0, width)


def test_progress_changes_the_number() -> None:
    newest = LiveView()
    newest.apply_view(view("corners", "running", watching=2))
    newest.apply_standings(m.Progress(race="r", n=6, standings=(), watching=3))
    assert (newest.view.watching, newest.view.n) == (3, 5)
    newest.apply_standings(m.Progress(race="r", n=6, standings=()))
    assert newest.view.watching == 0


async def test_the_full_screen_follows_the_number(live: Server) -> None:
    race_id = live.create("corners", seed="1", max_racers=2, start_delay_ms=0)
    app = application(live, race_id, "cy", ready=True)
    async with app.run_test(size=(80, 24)) as pilot, racers(live, "ada", "eve") as (ada, eve):
        await until(lambda: app.state.me)
        assert "watching" not in shown(app)
        await eve.ask(m.Watch, race=race_id)
        await until(lambda: "   1 watching   open 1/2" in shown(app))
        await ada.begin(race_id)
        await until(lambda: app.state.board and "   1 watching   " in shown(app))
        await eve.close()
        await until(lambda: "watching" not in shown(app))
        await pilot.press("exclamation_mark", "y")
