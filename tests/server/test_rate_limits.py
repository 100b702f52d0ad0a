"""RateLimits: so many a minute for an address and no more, by a clock of its own and against a real server."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from samedeal.errors import Refused
from samedeal.wire import messages as m
from samedeal_server.access.network import network
from samedeal_server.access.rate_limits import MAX_REMEMBERED, RateLimit, RateLimits
from samedeal_server.settings import Settings
from support.logged_server import Line, LoggedServer, request


class Minutes:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.s = 1000.0

    def __call__(self) -> float:
        return self.s


def taken(allowance: RateLimit, address: str, most: int = 100) -> int:
    """How many can be taken now."""
    for count in range(most):
        try:
            allowance.take(address)
        except Refused as refused:
            return count if refused.code == "too-many" else -1
    return most


def test_an_address_gets_so_many_a_minute() -> None:
    clock = Minutes()
    allowance = RateLimit("races", 6, clock)
    assert taken(allowance, "10.0.0.1") == 6
    assert taken(allowance, "10.0.0.2") == 6
    clock.s += 10
    assert taken(allowance, "10.0.0.1") == 1
    clock.s += 3600
    assert taken(allowance, "10.0.0.1") == 6


def test_nought_is_any_number() -> None:
    assert taken(RateLimit("races", 0, Minutes()), "a") == 100
    assert taken(RateLimits(Settings(races_per_minute=0)).races, "a") == 100
    assert taken(RateLimits(Settings()).races, "a", 1000) < 100


def test_so_many_addresses_are_remembered_and_no_more() -> None:
    allowance = RateLimit("races", 1, Minutes())
    for number in range(MAX_REMEMBERED):
        allowance.take(f"a{number}")
    assert taken(allowance, "a5") == 0
    allowance.take("one more")
    assert taken(allowance, "a1") == 0
    assert taken(allowance, "a0") == 1


@pytest.mark.parametrize(
    ("address", "counts_as"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::1", "2001:db8:1:2::"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::"),
        ("::1", "::"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_an_owner_of_many_addresses_counts_as_one(address: str, counts_as: str) -> None:
    assert network(address) == counts_as


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    log = tmp_path_factory.mktemp("rate_limits") / "log"
    limits = {"races_per_minute": "4", "guests_per_minute": "5", "wrong_tokens_per_minute": "3"}
    with LoggedServer(store_url, log, emptied=True, **limits).start() as running:
        yield running
        assert running.failures() == []


def opened(server: LoggedServer, **fields: object) -> int:
    """The status of the answer to somebody who wants to open a race."""
    answer = request(server, "POST", "/api/v1/races", json.dumps({"game": "corners", **fields}).encode())
    if answer.status != 201:
        assert answer.json["code"] in ("too-many", "bad-request")
    return answer.status


def test_an_address_opens_only_so_many_races_in_a_minute(server: LoggedServer) -> None:
    assert [opened(server, seed="\u202e") for _ in range(10)] == [400] * 10, "what is refused costs nothing"
    assert [opened(server) for _ in range(5)] == [201] * 4 + [429]


@pytest.mark.parametrize("seed", ["a\u202eb", "\u200b", "\x9b31m", "a\u2028", "\ue000", "\ufeff1"])
def test_a_seed_that_deceives_is_refused(server: LoggedServer, seed: str) -> None:
    assert opened(server, seed=seed) == 400


async def test_only_so_many_new_guests_come_from_an_address(server: LoggedServer) -> None:
    async def welcomed(name: str, **known: str) -> m.FromServer:
        async with await Line.open(server) as line:
            return await line.ask("hello", name=name, **known)

    assert isinstance(await welcomed("\n"), m.Problem), "a bad name costs nothing"
    came = [await welcomed("eve") for _ in range(6)]
    first, *_, last = came
    assert isinstance(first, m.Welcome)
    assert isinstance(last, m.Problem)
    assert (last.code, [isinstance(answer, m.Welcome) for answer in came]) == ("too-many", [True] * 5 + [False])
    async with await Line.open(server) as line:  # who was there before may come
        assert isinstance(await line.ask("hello", token=first.token), m.Welcome)


async def test_only_so_many_tokens_are_tried(server: LoggedServer) -> None:
    async def tried(number: int) -> str:
        async with await Line.open(server) as line:
            answer = await line.ask("hello", token=f"sd_{number}")
            assert isinstance(answer, m.Problem)
            return answer.code

    codes = await asyncio.gather(*(tried(number) for number in range(8)))
    assert sorted(codes) == ["bad-token"] * 3 + ["too-many"] * 5


def test_only_so_many_races_are_open(store_url: str, tmp_path: Path) -> None:
    with LoggedServer(store_url, tmp_path / "log", open_races="3").start() as server:
        assert [opened(server) for _ in range(5)] == [201] * 3 + [429] * 2
