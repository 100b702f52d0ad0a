"""Servers and answers for the tests of WebSocket sessions."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from samedeal import codec
from samedeal.wire import messages as m
from support.logged_server import Line, LoggedServer

FORMS: tuple[codec.Form, ...] = ("json", "msgpack")


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    """A server with generous limits. It must not log any failure."""
    log = tmp_path_factory.mktemp("session") / "log"
    with LoggedServer(store_url, log, away_s="0.3", request_s="20", connections_per_address="0").start() as running:
        yield running
        assert running.failures() == []


@pytest.fixture(scope="module")
def strict(store_url: str, server: LoggedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    """A server with tight limits over the same store. It must not log any failure."""
    limits = {
        "away_s": "0.3",
        "request_s": "1",
        "rate": "100",
        "burst_s": "0.2",
        "connections_per_address": "3",
    }
    log = tmp_path_factory.mktemp("strict") / "log"
    with LoggedServer(store_url, log, emptied=False, public_url="https://Race.Example", **limits).start() as running:
        yield running
        assert running.failures() == []


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> codec.Form:
    """Each encoding of the messages."""
    form: codec.Form = request.param
    return form


def refused(answer: m.FromServer, code: str, text: str = "") -> bool:
    """Check that the answer is a problem with a code and with a text in its detail."""
    assert isinstance(answer, m.Problem), answer
    assert answer.type == f"/problems/{answer.code}"
    assert answer.code == code, answer
    assert text in answer.detail
    return True


def viewed(answer: m.FromServer) -> m.View:
    assert isinstance(answer, m.View), answer
    return answer


async def next_view(line: Line, true: Callable[[m.View], bool]) -> m.View:
    """Return the next view that satisfies a condition. A slow server also sends Progress before it."""
    while not (isinstance(message := await line.hear(), m.View) and true(message)):
        continue
    return message


def boarded(answer: m.FromServer) -> m.Board:
    board = viewed(answer).board
    assert board
    return board


async def alone(line: Line, server: LoggedServer, game: str = "corners", **options: Any) -> m.View:
    """Start a race for one on an open deal."""
    race = server.create(game, seed="1", max_racers=1, start_delay_ms=0, **options)
    await line.ask("join", race=race)
    await line.ask("ready")
    return viewed(await line.ask("join", race=race))
