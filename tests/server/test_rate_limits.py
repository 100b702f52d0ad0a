"""Rate limits of addresses, with a fake clock and with a real server."""

import json

import pytest

from samedeal.errors import Refused
from samedeal.wire import messages as m
from samedeal_server.addresses import network
from samedeal_server.net.limits import MAX_REMEMBERED, RateLimit, RateLimits
from samedeal_server.settings import Settings
from support.logged_server import Line, LoggedServer, request

pytestmark = pytest.mark.tier(2)

SETTINGS = {"races_per_minute": "4", "guests_per_minute": "5", "wrong_tokens_per_minute": "3"}


class ManualClock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.s = 1000.0

    def __call__(self) -> float:
        return self.s


def take_all(bucket: RateLimit, address: str, limit: int = 100) -> int:
    """Take tokens until refused, and return how many were granted."""
    for count in range(limit):
        try:
            bucket.take(address)
        except Refused as refused:
            return count if refused.code == "too-many" else -1
    return limit


def test_rate_limit_refills_per_minute() -> None:
    clock = ManualClock()
    bucket = RateLimit("races_per_minute", "races", 6, clock)
    assert take_all(bucket, "10.0.0.1") == 6
    assert take_all(bucket, "10.0.0.2") == 6
    clock.s += 10
    assert take_all(bucket, "10.0.0.1") == 1
    clock.s += 3600
    assert take_all(bucket, "10.0.0.1") == 6


def test_zero_disables_a_rate_limit() -> None:
    assert take_all(RateLimit("races_per_minute", "races", 0, ManualClock()), "a") == 100
    assert take_all(RateLimits(Settings(races_per_minute=0)).races, "a") == 100
    assert take_all(RateLimits(Settings()).races, "a", 1000) < 100


def test_rate_limit_forgets_the_least_recent_address() -> None:
    bucket = RateLimit("races_per_minute", "races", 1, ManualClock())
    for number in range(MAX_REMEMBERED):
        bucket.take(f"a{number}")
    assert take_all(bucket, "a5") == 0
    bucket.take("one more")
    assert take_all(bucket, "a1") == 0
    assert take_all(bucket, "a0") == 1


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
def test_ipv6_addresses_count_by_their_network(address: str, counts_as: str) -> None:
    assert network(address) == counts_as


def create(server: LoggedServer, **fields: object) -> int:
    """Try to create a race, and return the status."""
    answer = request(server, "POST", "/api/v1/races", json.dumps({"game": "corners", **fields}).encode())
    if answer.status != 201:
        assert answer.json["code"] in ("too-many", "bad-request")
    return answer.status


def test_new_races_are_limited_per_address(server: LoggedServer) -> None:
    assert [create(server, seed="\u202e") for _ in range(10)] == [400] * 10, "invalid requests take no tokens"
    assert [create(server) for _ in range(5)] == [201] * 4 + [429]


async def test_new_guests_are_limited_per_address(server: LoggedServer) -> None:
    async def say_hello(name: str, **known: str) -> m.FromServer:
        async with await Line.open(server) as line:
            return await line.ask("hello", name=name, **known)

    def post(name: str) -> int:
        return request(server, "POST", "/api/v1/guests", json.dumps({"name": name}).encode()).status

    assert isinstance(await say_hello("\n"), m.Problem), "invalid names take no tokens"
    assert [post(name) for name in ("\n", "admin", "eve")] == [400, 403, 201]
    answers = [await say_hello("eve") for _ in range(5)]
    first, *_, last = answers
    assert isinstance(first, m.Welcome)
    assert isinstance(last, m.Problem)
    assert (last.code, [isinstance(answer, m.Welcome) for answer in answers]) == ("too-many", [True] * 4 + [False])
    assert post("eve") == 429
    async with await Line.open(server) as line:  # known guests may return
        assert isinstance(await line.ask("hello", token=first.token), m.Welcome)
