"""Kills servers and their store all the time, and races on them nevertheless."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http.client import HTTPException
from itertools import cycle
from random import Random
from typing import Any

from support.campaign import Persistent, start_server
from support.contests import bearer
from support.faulty_store import Valkey
from support.logged_server import Answer, request
from support.servers import Server

KILLED = ("server", "store")


@asynccontextmanager
async def kills(servers: Sequence[Server], store: Valkey, chance: Random) -> AsyncIterator[Counter[str]]:
    """Kill servers and the store in turn, until the block ends."""
    killed, is_over = Counter[str](), asyncio.Event()

    async def kill() -> None:
        for what in cycle(KILLED):
            await asyncio.sleep(chance.random() * 0.4)
            if is_over.is_set():
                return
            if what == "store":
                await store.kill()
                await store.start()
            else:
                await restart(chance.choice(servers))
            killed[what] += 1

    killing = asyncio.ensure_future(kill())
    try:
        yield killed
    finally:
        is_over.set()
        await killing


async def restart(server: Server) -> None:
    port = server.port
    await asyncio.to_thread(server.kill)
    await start_server(server, port)


async def insist(servers: Sequence[Server], method: str, path: str, body: object = None, token: str = "") -> Answer:
    """Repeat a request to one server after the other until one answers."""
    data = None if body is None else json.dumps(body).encode()
    for server in cycle(servers):
        try:
            answer = await asyncio.to_thread(request, server, method, f"/api/v1{path}", data, **bearer(token))
        except (OSError, HTTPException):
            await asyncio.sleep(0.02)
            continue
        if answer.status < 500:
            return answer
        await asyncio.sleep(0.02)
    raise AssertionError


async def begin(
    servers: Sequence[Server], opening: Mapping[str, Any], players: Sequence[Persistent], **options: Any
) -> str:
    """Open a race as the first player and let all of them begin it. Return its id.

    Opening it can be repeated, so that there are empty lobbies.
    """
    options = {"max_racers": len(players), "start_delay_ms": 0, **options}
    opened = await insist(servers, "POST", "/races", {**opening, "options": options}, players[0].token or "")
    assert opened.status == 201, opened.body
    race: str = opened.json["race"]
    await asyncio.gather(*(enter(player, race) for player in players))
    await asyncio.gather(*(player.begin(race) for player in players))
    return race


async def enter(player: Persistent, race: str) -> None:
    player.race, player.path, player.view = race, f"/ws/{race}", None
    await player.join(race)
