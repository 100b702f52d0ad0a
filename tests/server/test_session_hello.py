"""Sessions identify their guest before anything else."""

import asyncio
from typing import Any

import pytest

from samedeal import codec
from samedeal.wire import messages as m
from support.logged_server import Line, LoggedServer
from support.sessions import alone, form, refused, server, strict, viewed

__all__ = ["form", "server", "strict"]

RACE, HEX = "calm-otter-42", "0f" * 32


async def test_a_connection_without_hello_is_closed(strict: LoggedServer, form: codec.Form) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with await Line.open(strict, form) as line:
        assert await line.close_code() == 4001
    assert loop.time() - began > 0.9


async def test_only_a_valid_hello_stops_the_timeout(strict: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(strict, form) as line:
        assert isinstance(await line.ask("ping"), m.Pong)
        assert refused(await line.ask("hello"), "bad-message", "a name or a token")
        assert refused(await line.ask("hello", name="\u202eada"), "bad-message", "U+202E")
        assert await line.close_code() == 4001


async def test_the_timeout_ends_with_hello(strict: LoggedServer) -> None:
    async with await Line.open(strict, "json", "ada") as line:
        await asyncio.sleep(1.2)  # longer than the timeout
        assert isinstance(await line.ask("ping"), m.Pong)


async def test_a_second_hello_is_refused(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form) as line:
        welcome = await line.ask("hello", name="ada")
        assert isinstance(welcome, m.Welcome)
        assert refused(await line.ask("hello", name="bo"), "bad-message", "once")
        assert refused(await line.ask("hello", token=welcome.token), "bad-message", "once")
        assert viewed(await alone(line, server)).standings[0].name == "ada"


async def test_a_token_in_the_authorization_header_is_accepted(server: LoggedServer, form: codec.Form) -> None:
    async with await Line.open(server, form) as line:
        welcome = await line.ask("hello", name="ada")
    assert isinstance(welcome, m.Welcome)
    async with await Line.open(server, form, additional_headers={"Authorization": f"Bearer {welcome.token}"}) as line:
        again = await line.ask("hello")
        assert isinstance(again, m.Welcome)
        assert (again.player, again.token) == (welcome.player, None)
    async with await Line.open(server, form, additional_headers={"Authorization": "Bearer sd_nobody"}) as line:
        assert refused(await line.ask("hello"), "bad-token")
        assert await line.close_code() == 4003


@pytest.mark.parametrize(
    "asked",
    [
        {"t": "join", "race": RACE},
        {"t": "watch", "race": RACE},
        {"t": "ready"},
        {"t": "nonce", "nonce": HEX},
        {"t": "move", "move": "draw", "ply": 0},
        {"t": "resign"},
        {"t": "leave"},
    ],
)
async def test_requests_before_hello_are_refused(server: LoggedServer, asked: dict[str, Any]) -> None:
    async with await Line.open(server) as line:
        assert refused(await line.ask(**asked), "bad-token", "hello")
        assert await line.close_code() == 4003
