"""Guidance: only clients that ask for it get it, also when they share encodings with others."""

import pytest

from samedeal.games.catalogue import GAMES
from samedeal.wire import messages as m
from support.servers import Racer, Server

pytestmark = pytest.mark.tier(2)


async def test_only_clients_with_the_feature_get_guidance(server: Server) -> None:
    features = {"ada": (m.GUIDANCE,), "bo": ("another",), "eve": (m.GUIDANCE,), "fay": ()}
    ada, bo, eve, fay = [await Racer(name, features=those).connect(server) for name, those in features.items()]
    race_id = server.create("the-edge", seed="1", start_delay_ms=0, spectators="open")
    for spectator in (eve, fay):
        await spectator.ask(m.Watch, race=race_id)
    for racer in (ada, bo):
        await racer.join(race_id)
        await racer.ask(m.Ready)
    for racer in (ada, bo):
        await racer.dealt()
    start = GAMES["the-edge"].from_seed("1")
    assert ada.board.guidance
    assert ada.board.guidance.instruction == start.instruction
    assert ada.board.guidance.facts == ("face cards 0/12",)
    assert bo.board.guidance is None
    await ada.move(move := start.moves()[0])
    assert ada.board.guidance.instruction == start.after(move).instruction
    for spectator, guided in ((eve, True), (fay, False)):
        view = await spectator.until(lambda view: view.boards is not None and view.boards[1].ply == 1)
        assert view.boards
        assert [board.guidance is not None for board in view.boards.values()] == [guided, guided]
    for racer in (ada, bo, eve, fay):
        await racer.close()
