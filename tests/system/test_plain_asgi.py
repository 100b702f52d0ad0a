"""The application runs on an ASGI server without our connection classes and extensions."""

import asyncio

import pytest

from samedeal.codec import Form
from samedeal.proof.verification import verify
from samedeal.wire import messages as m
from support.servers import Racer, Server

pytestmark = pytest.mark.tier(2)

PLAIN_UVICORN = """
import os, socket, uvicorn
from samedeal_server.app import create_app
from samedeal_server.settings import Settings, load_keys

settings = Settings.from_env(os.environ)
app = create_app(settings, settings.redis_url, load_keys(settings))
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, http="h11", log_level="warning")).run(sockets=[listener])
"""


class PlainServer(Server):
    """A process that serves the application with uvicorn's own connections."""

    program = ("-c", PLAIN_UVICORN)


@pytest.mark.parametrize("form", ["json", "msgpack"])
async def test_race_on_plain_uvicorn_is_played_and_verified(form: Form, redis_url: str) -> None:
    with PlainServer(redis_url) as server:
        race_id = server.create("corners", start_delay_ms=50, max_racers=2)
        ada, cy = [await Racer(name).connect(server, form) for name in ("ada", "cy")]
        await asyncio.gather(ada.begin(race_id), cy.begin(race_id))
        for _ in range(10):
            for racer in (ada, cy):
                assert racer.board.moves
                assert isinstance(await racer.move(racer.board.moves[0]), m.View)
        await asyncio.gather(ada.ask(m.Resign), cy.ask(m.Resign))
        final = await ada.until(lambda view: view.stage == "over")
        await asyncio.gather(ada.close(), cy.close())
        replay = await server.replay(race_id)
    assert [fact for fact in verify(replay) if not fact.holds] == []
    assert replay.standings == final.standings
