"""Race formats: a client that cannot read a race gets the format that it needs; other races are not affected.

The server of these tests is made to need format 5, which does not exist, for unlisted races.
"""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest

from samedeal import codec
from samedeal.race.events import RACE_FORMAT, Header
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal_server.__main__ import main
from support.logged_server import Line, LoggedServer

pytestmark = pytest.mark.tier(2)

COMMITMENT = "0f" * 32


class NewerServer(LoggedServer):
    """A server with races in a format that this version does not know."""

    program = (__file__,)


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewerServer]:
    log = tmp_path_factory.mktemp("formats") / "log"
    with NewerServer(store_url, log, connections_per_address="0").start() as running:
        yield running
        assert running.failures() == []


@pytest.fixture
def form() -> codec.Form:
    return "msgpack"


async def test_a_client_that_cannot_read_the_format_is_refused(server: NewerServer, form: codec.Form) -> None:
    usual, newer = server.create("corners"), server.create("corners", unlisted=True)
    async with await Line.open(server, form, "ada") as line:
        asking: list[tuple[str, dict[str, Any]]] = [("join", {"commitment": COMMITMENT}), ("watch", {})]
        for t, fields in asking:
            answer = await line.ask(t, race=newer, **fields)
            assert isinstance(answer, m.Problem)
            assert (answer.code, answer.status) == ("unsupported-version", 426)
            assert "needs race format 5" in answer.detail
            assert f"reads format {RACE_FORMAT}" in answer.detail
        answer = await line.ask("join", race=usual, commitment=COMMITMENT)
        assert isinstance(answer, m.View)
        assert answer.seat == 1
        answer = await line.ask("join", race=newer, commitment=COMMITMENT)
        assert isinstance(answer, m.Problem)
        answer = await line.ask("ready")
        assert isinstance(answer, m.View)
        assert answer.race == usual


@pytest.mark.parametrize("format_", [6])
async def test_a_client_that_reads_the_format_is_accepted(server: NewerServer, form: codec.Form, format_: int) -> None:
    race = server.create("corners", unlisted=True)
    async with await Line.open(server, form) as line:
        assert isinstance(await line.ask("hello", name="ada", format=format_), m.Welcome)
        assert isinstance(await line.ask("join", race=race, commitment=COMMITMENT), m.View)


@pytest.mark.parametrize("format_", [2, 3])
async def test_races_that_end_early_need_the_third_format(server: NewerServer, form: codec.Form, format_: int) -> None:
    race = server.create("corners", end_when_stuck=True)
    async with await Line.open(server, form) as line:
        assert isinstance(await line.ask("hello", name="ada", format=format_), m.Welcome)
        answer = await line.ask("join", race=race, commitment=COMMITMENT)
        if format_ == 3:
            assert isinstance(answer, m.View)
            assert answer.header
            assert answer.header.options.end_when_stuck
        else:
            assert isinstance(answer, m.Problem)
            assert (answer.code, "needs race format 3" in answer.detail) == ("unsupported-version", True)


async def test_unknown_features_are_ignored(server: NewerServer, form: codec.Form) -> None:
    async with await Line.open(server, form) as line:
        for features in ("chat", [1], ["x" * 65], ["chat"] * 33):
            answer = await line.ask("hello", name="ada", features=features)
            assert isinstance(answer, m.Problem)
            assert answer.code == "bad-message"
        for format_ in (0, -1, "1", 1.5):
            answer = await line.ask("hello", name="ada", format=format_)
            assert isinstance(answer, m.Problem)
            assert answer.code == "bad-message"
        answer = await line.ask("hello", name="ada", features=["chat", "never-heard-of/7"])
        assert isinstance(answer, m.Welcome)


async def test_a_refused_hello_can_be_repeated_without_unknown_fields(server: NewerServer, form: codec.Form) -> None:
    async with await Line.open(server, form) as line:
        answer = await line.ask("hello", name="ada", someday=2)
        assert isinstance(answer, m.Problem)
        assert answer.code == "bad-message"
        assert isinstance(await line.ask("hello", name="ada"), m.Welcome)


def test_hello_omits_default_values(form: codec.Form) -> None:
    hello = m.Hello(id=1, name="ada")
    assert codec.encode(hello, form) == codec.encode({"t": "hello", "id": 1, "name": "ada"}, form)
    assert decoding.decode_to_server(codec.encode(hello, form), form) == hello


if __name__ == "__main__":
    usual: Any = Header.format
    with patch.object(Header, "format", property(lambda header: 5 if header.options.unlisted else usual.fget(header))):
        main()
