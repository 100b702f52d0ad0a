"""A game without bot and par is raced like any other, and par requests are refused."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from samedeal.wire import messages as m
from support.http_api import problem
from support.logged_server import LoggedServer, request
from support.servers import racers


class SixthServer(LoggedServer):
    """A server with the additional game."""

    program = ("-m", "support.sixth_server")


@pytest.fixture
def server(redis_url: str, tmp_path: Path) -> Iterator[SixthServer]:
    with SixthServer(redis_url, tmp_path / "log").start() as running:
        yield running


@pytest.mark.parametrize("address", ["/par", "/par/0", "/par/0.json", "/par/999"])
def test_sixth_game_has_no_par(server: SixthServer, address: str) -> None:
    answer = request(server, "GET", f"/api/v1/deals/sixth:1{address}")
    assert problem(answer, "not-found", "The computer does not play Sixth.")
    assert server.failures() == []


@pytest.mark.parametrize("daily", [False, True])
async def test_sixth_game_is_raced_without_par(server: SixthServer, daily: bool) -> None:
    body = {"game": "sixth", "daily": daily, "options": {"max_racers": 1, "start_delay_ms": 0}}
    answer = await asyncio.to_thread(request, server, "POST", "/api/v1/races", json.dumps(body).encode())
    assert answer.status == 201, answer
    race_id = answer.json["race"]
    async with racers(server, "ada") as (ada,):
        await ada.join(race_id)
        await ada.ask(m.Ready)
        await ada.until(lambda view: view.stage != "open")
        if not daily:
            await ada.ask(m.Nonce, nonce=ada.nonce.hex())
        await ada.until(lambda view: view.stage == "running")
        await ada.ask(m.Resign)
        await ada.until(lambda view: view.stage == "over")
    for more in ("", ".svg"):
        refused = await asyncio.to_thread(request, server, "GET", f"/api/v1/races/{race_id}/par{more}")
        assert problem(refused, "not-found", "The computer does not play Sixth.")
    assert server.failures() == []


def test_sixth_game_is_listed_with_a_daily_deal(server: SixthServer) -> None:
    assert "sixth" in {game["slug"] for game in request(server, "GET", "/api/v1/games").json["games"]}
    assert "sixth" in {daily["game"] for daily in request(server, "GET", "/api/v1/daily").json["daily"]}
    assert request(server, "GET", "/api/v1/daily/2026-01-01/sixth").json["deal"].startswith("sixth:")
    assert server.failures() == []
