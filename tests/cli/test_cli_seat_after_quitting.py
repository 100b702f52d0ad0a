"""What clients say about the seat of a player who quits, and what the server does."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from samedeal_cli.net.http_api import Api
from samedeal_cli.render.phrases import seat_phrase
from samedeal_cli.screen.race_view import draw_screen
from samedeal_cli.state.race_actions import action_of
from samedeal_cli.state.race_state import RaceState
from samedeal_cli.state.race_update import update
from support.example_states import entered, header, info, lobby, now, racing
from support.hostile_server import raw
from support.program import ran
from support.servers import Server
from support.waiting import wait_until

pytestmark = pytest.mark.tier(2)

AWAY_S = 0.5
OPEN: dict[str, Any] = {"max_racers": 2, "start_delay_ms": 0}
RUNNING: dict[str, Any] = {"max_racers": 1, "start_delay_ms": 0}


@pytest.fixture(scope="module")
def server(store_url: str) -> Iterator[Server]:
    with Server(store_url, away_s=str(AWAY_S)) as running:
        yield running


def quit_race(server: Server, race: str, *options: str) -> list[str]:
    """Join a race and quit, and return the program's lines."""
    return ran("join", f"{server.url}/r/{race}", *options, typed="quit\n").stdout.splitlines()


def seats(server: Server, race: str) -> int:
    status, body = server.get(f"/api/v1/races/{race}")
    assert status == 200
    racers: int = len(json.loads(body).get("standings", ()))
    return racers


def test_seat_is_held_before_the_countdown_as_long_as_published(server: Server) -> None:
    race = server.create("corners", seed="42", **OPEN)
    lines = quit_race(server, race, "--as", "bo", "--no-ready")
    assert lines[-1].startswith(f"your seat is held for {AWAY_S} s. To rejoin: ")
    assert lines[-1].endswith(f" join {server.url}/r/{race} --as bo")
    wait_until(lambda: not seats(server, race))


def test_seat_is_reserved_during_the_race(server: Server) -> None:
    race = server.create("corners", seed="42", **RUNNING)
    lines = quit_race(server, race, "--as", "bo", "--ready")
    assert lines[-1].startswith("your seat is reserved. To rejoin: ")
    assert lines[-1].endswith(f" join {server.url}/r/{race} --as bo")
    again = quit_race(server, race, "--as", "bo")
    assert any("the race is running" in line for line in again)
    assert seats(server, race) == 1


@pytest.mark.parametrize("body", [b'{"limits": {}}', b"{}", b"[", b'{"limits": {"away_seconds": "x"}}'])
def test_missing_hold_time_is_no_error(body: bytes) -> None:
    with raw(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)) as url:
        assert Api(url).away_s() is None


def test_hold_time_is_shown_only_if_known() -> None:
    assert seat_phrase("open", 12.0) == "your seat is held for 12 s"
    assert seat_phrase("open", None) == "your seat is held for a short time"
    assert seat_phrase("countdown", 12.0) == seat_phrase("running", None) == "your seat is reserved"


def drawn(state: RaceState) -> str:
    return "\n".join(draw_screen(state, state.width, state.height).text())


def quit_label(state: RaceState) -> str:
    """Return what the footer says about q."""
    action = action_of(state, "q")
    assert action
    return action.entry(state).label


def test_full_screen_explains_the_seat_at_each_stage() -> None:
    waiting = lobby("corners")
    assert quit_label(waiting) == "quit, your seat is held for 30 s"
    assert "Your seat is held for 30 s." in drawn(replace(waiting, connection_error="the connection broke"))
    unknown = replace(entered("corners"), header=header("corners"), game=info("corners"), away_s=None)
    assert quit_label(update(unknown, *now("corners", "open", "waiting"))) == "quit, your seat is held briefly"
    counting = update(waiting, *now("corners", "countdown", "ready", left_ms=2400))
    assert quit_label(counting) == "quit, your seat is reserved"
    for state in (counting, racing("corners")):
        lost = drawn(replace(state, connection_error="the connection broke"))
        assert "Your seat is reserved, the clock runs." in lost
