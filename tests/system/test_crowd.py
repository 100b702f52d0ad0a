"""Many people behind one address open links at once, as in a classroom or at a club evening, and race."""

import asyncio
import re
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from samedeal.wire import messages as m
from samedeal_server.settings import Settings
from support.servers import Racer, Server

pytestmark = pytest.mark.tier(3)

RACERS = 30
"""People in a race."""
CONNECTIONS = 6
"""Connections of a browser."""
LIMITS = (
    *("rate", "requests_per_second", "http_connections_per_address", "open_races_per_address"),
    *("guests_per_minute", "races_per_minute", "wrong_tokens_per_minute"),
)
"""The limits that tests lift by default."""
OPERATIONS = Path(__file__).parents[2] / "docs" / "operate" / "operations.md"


async def fetch(port: int, *paths: str) -> bytes:
    """Fetch files over one connection, and return the last one. None of the requests is refused."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for path in paths:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/html, */*\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            assert length
            body = await reader.readexactly(int(length[1]))
            assert (int(head.split()[1]), path) == (200, path), body
        return body
    finally:
        writer.close()


async def together(*all_of_them: Coroutine[Any, Any, object]) -> None:
    """Run coroutines at the same time. If one fails, cancel the others and raise its error."""
    tasks = [asyncio.ensure_future(each) for each in all_of_them]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def load(port: int, paths: Sequence[str]) -> None:
    """Fetch files over as many connections as a browser uses."""
    await together(*(fetch(port, *paths[first::CONNECTIONS]) for first in range(CONNECTIONS)))


async def visit(port: int, race: str) -> None:
    """Request what a browser does at its first visit: the page, its files, the race, and what the worker stores."""
    page = (await fetch(port, f"/r/{race}")).decode()
    files = [file for file in re.findall(r'(?:href|src)="(/page/[^"]+)"', page) if not file.endswith(".png")]
    version = re.findall(r"/page/[0-9a-f]+/", page)[0]
    worker = ["/sw.js", "/", f"{version}all.json"]
    rest = [f"/api/v1/races/{race}", "/api/v1/games", "/.well-known/samedeal", *worker]
    assert 1 + len({*files, *rest}) <= 25
    await load(port, [*files, *rest])
    await fetch(port, f"/api/v1/races/{race}/qr.svg", "/.well-known/samedeal")  # in the lobby


@pytest.mark.parametrize("number", [30, 60])
async def test_many_people_behind_one_address_visit_and_race(number: int, redis_url: str) -> None:
    """Up to thirty with the default settings, and more with the documented ones."""
    settings = {name: f"{getattr(Settings(), name):g}" for name in LIMITS}
    if number > RACERS:
        _, _, chapter = OPERATIONS.read_text().partition("### Many people behind one address\n")
        documented = re.findall(r"^SAMEDEAL_(\w+)=(\S+)$", chapter.partition("\n### ")[0], re.MULTILINE)
        settings |= {name.lower(): value for name, value in documented}
    with Server(redis_url, None, **settings) as server:
        races = [
            server.create("corners", max_racers=RACERS, start_delay_ms=0) for _ in range(number // RACERS)
        ] * RACERS
        await together(*(visit(server.port, race) for race in races))
        people = await asyncio.gather(*(Racer(f"Guest {place}").connect(server) for place in range(1, number + 1)))
        for person, race in zip(people, races, strict=True):
            assert isinstance(await person.join(race), m.View)
        for person in people:
            assert isinstance(await person.ask(m.Ready), m.View)
        await asyncio.gather(*map(play, people))
        await asyncio.gather(*(person.close() for person in people))


async def play(person: Racer) -> None:
    """Get the deal and make a move."""
    await person.dealt()
    assert isinstance(await person.move((person.board.moves or [])[0]), m.View)
