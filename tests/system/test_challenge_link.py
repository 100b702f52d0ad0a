"""A whole challenge on a server, and its table: by ``samedeal table`` from the link, in JavaScript and on its page."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.daily_deals import player, stopped
from support.javascript_verifier import FOLDER
from support.logged_server import request
from support.node import NODE, needs_node
from support.offline_cli import run
from support.timed_server import HOUR_MS, TimedServer
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)


@pytest.fixture
def server(store_url: str, tmp_path: Path) -> Iterator[TimedServer]:
    with TimedServer(store_url, tmp_path) as running:
        yield running


def called(server: TimedServer, method: str, path: str, body: object, token: str | None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = request(server, method, f"/api/v1{path}", json.dumps(body).encode() if body else None, **headers)
    assert answer.status < 300, answer.body
    document: dict[str, Any] = answer.json
    return document


@needs_node
async def test_the_link_of_a_revealed_challenge_proves_its_table(server: TimedServer, tmp_path: Path) -> None:
    deals = [{"game": "corners", "options": {"limit_ms": 60_000}}, {"game": "gallery"}]
    async with player(server, "ada") as ada, player(server, "bo") as bo:
        opening = {"deals": deals, "until_ms": HOUR_MS}
        opened = await asyncio.to_thread(called, server, "POST", "/challenges", opening, ada.token)
        challenge = opened["challenge"]
        await asyncio.to_thread(
            called, server, "PUT", f"/challenges/{challenge}/nonce", {"nonce": "a7" * 32}, ada.token
        )
        for racer, deal, moves in ((ada, 1, 6), (bo, 1, 0), (ada, 2, 3), (ada, 1, 20)):
            options = {"max_racers": 1, "start_delay_ms": 0} if moves else {"max_racers": 1}
            heat = {"challenge": challenge, "deal": deal, "options": options}
            race = (await asyncio.to_thread(called, server, "POST", "/races", heat, racer.token))["race"]
            async with player(server, racer.name, racer) as again:
                await again.begin(race)
                await stopped(again, moves)
    refused = run("table", opened["link"])
    assert (refused.exit_code, "replay-sealed" in refused.stderr) == (4, True)
    server.advance(3 * HOUR_MS)
    async with asyncio.timeout(LIMIT_S):
        page: dict[str, Any] = {}
        while page.get("secret") is None:
            await asyncio.sleep(0.1)
            page = await asyncio.to_thread(called, server, "GET", f"/challenges/{challenge}", None, None)
    result = await asyncio.to_thread(run, "table", "--json", opened["link"])
    assert (result.exit_code, result.stderr) == (0, "")
    table = json.loads(result.stdout)
    assert (table["outcome"], table["table"]) == ("verified", page["results"])
    assert [row["name"] for row in table["table"]] == ["ada", "bo"]
    ((key, (_, *heats)),) = table["keys"].items()
    files = [tmp_path / name for name in ("log.json", *heats)]
    for file, path in zip(
        files, (f"challenges/{challenge}/log", *(f"replays/{each}.json" for each in heats)), strict=True
    ):
        file.write_bytes((await asyncio.to_thread(request, server, "GET", f"/api/v1/{path}")).body)
    program = [NODE, str(FOLDER / "table.mjs"), "--key", key, *map(str, files)]
    assert subprocess.run(program, capture_output=True, check=True).stdout == result.stdout_bytes
