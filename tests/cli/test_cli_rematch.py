"""Rematches from the full screen, and bots that follow."""

import subprocess

import pytest

from cli import test_cli_demo as demos
from cli.test_cli_race_app import application, until
from samedeal.wire import messages as m
from support.full_screen import shown
from support.program import SAMEDEAL, started
from support.servers import Server, racers

pytestmark = pytest.mark.tier(2)

environment, address = demos.environment, demos.address


async def test_racers_and_spectators_meet_in_the_rematch(live: Server) -> None:
    race = live.create("corners", max_racers=3, start_delay_ms=0, undo=False)
    ada, bo, eve = (application(live, race, name, watching=name == "eve") for name in ("ada", "bo", "eve"))
    async with ada.run_test(size=(80, 24)) as hers, bo.run_test(size=(60, 20)) as his, eve.run_test() as watching:
        await until(lambda: len(ada.state.standings) == len(bo.state.standings) == len(eve.state.standings) == 2)
        for pilot in (hers, his):
            await pilot.press("r")
        await until(lambda: ada.state.board and bo.state.board)
        for pilot in (hers, his):
            await pilot.press("exclamation_mark", "y")
        await until(lambda: ada.state.stage == bo.state.stage == eve.state.stage == "over")
        await until(lambda: "n  Rematch" in shown(bo))
        await hers.press("g", "2")
        await until(lambda: bo.state.rematch and eve.state.rematch)
        await until(lambda: "n  Rematch with The Edge" in shown(bo) and "n  Rematch with The Edge" in shown(eve))
        await until(lambda: "ada is in. Waiting for you." in shown(bo) and "ada is in. Waiting for bo." in shown(eve))
        await until(lambda: "Waiting for bo." in shown(ada))
        await hers.press("r")
        await his.press("n")
        await watching.press("n")
        await until(lambda: [len(app.state.standings) for app in (ada, bo, eve)] == [3, 3, 3])
        assert len({app.state.race_id for app in (ada, bo, eve)}) == 1
        assert ada.state.header
        assert (ada.state.header.game, ada.state.header.follows) == ("the-edge", race)
        outcomes = {"ada": "waiting", "bo": "ready", "eve": "ready"}
        await until(lambda: {standing.name: standing.outcome for standing in ada.state.standings} == outcomes)
        assert "ada 0.5 : 0.5 bo" in shown(eve)
        await hers.press("r")
        await until(lambda: all(app.state.board for app in (ada, bo, eve)))
        assert "ada 0.5 : 0.5 bo" in shown(ada)
        for pilot in (watching, his, hers):
            await pilot.press("exclamation_mark", "y")
        await until(lambda: ada.state.evening and len(ada.state.evening.races) == 2)
        await until(lambda: len(ada.state.records) == 2)
        assert {record.other_name: record.races for record in ada.state.records} == {"bo": 2, "eve": 1}
        assert "You 0 : 0 " in shown(ada)
        await hers.press("e")
        assert "1. ada: 1 point, 2 races, 0 won" in shown(ada)
        assert "3. eve: 0.5 points, 1 race, 0 won" in shown(ada)
        for pilot in (hers, his, watching):
            await pilot.press("q")


async def test_bots_follow_to_a_rematch(address: str, environment: dict[str, str]) -> None:
    race = demos.opened(address, attempts=1)
    server = Server()
    server.url = address
    bots: list[subprocess.Popen[str]] = []
    try:
        async with racers(server, "eve") as (eve,):
            for number in range(2):
                await eve.join(race)
                bots = bots or [
                    started(*SAMEDEAL, "bot", race, "--as", name, "--speed", 100, environment=environment)
                    for name in ("ann", "ben")
                ]
                await eve.until(lambda view: len(view.standings) == 3)
                await eve.ask(m.Ready)
                await eve.dealt()
                await eve.ask(m.Resign)
                await eve.until(lambda view: view.stage == "over")
                answer = await eve.ask(m.Again)
                assert isinstance(answer, m.View), number
                assert answer.next
                race = answer.next.race
    finally:
        for process in bots:
            process.kill()
            process.communicate()
