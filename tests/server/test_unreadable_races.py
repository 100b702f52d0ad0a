"""Races that this version cannot read are refused and left unchanged; other races continue."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.request import urlopen

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.connection import Store
from samedeal_server.store.group_commits import GroupCommits
from support.logged_server import Line, LoggedServer, request
from support.stores import contents

pytestmark = pytest.mark.tier(2)

RACE = "calm-otter-42"
LOG, HEAD = f"race:{{{RACE}}}:log", f"race:{{{RACE}}}:head"
DIGEST = b"0" * 64
HEADER: dict[str, Any] = {
    "race": RACE,
    "game": "corners",
    "rules": "corners/1",
    "commitment": "0" * 64,
    "salt": "0" * 32,
    "opened_at": 1_700_000_000_000,
    "options": {"limit_ms": 60_000},
}
ENTRY: list[Any] = [1, 1_700_000_000_001, {"t": "readied", "seat": 1}]


def header(**fields: Any) -> bytes:
    return json.dumps(HEADER | fields).encode()


def entry(**fields: Any) -> dict[bytes, bytes]:
    return {b"e": json.dumps([*ENTRY[:2], ENTRY[2] | fields]).encode(), b"h": DIGEST}


HEADERS = {
    "an unknown field": (header(teams=2), "teams"),
    "an unknown option": (header(options={"limit_ms": 60_000, "handicap": 3}), "handicap"),
    "an unknown filter": (header(options={"limit_ms": 60_000, "filter": "certified/9"}), "certified/9"),
    "unknown rules": (header(rules="corners/2"), "needs the rules corners/2; this version knows corners/1"),
    "an unknown game": (header(game="chess", rules="chess/1"), "needs the rules chess/1"),
    "an unknown variant": (header(variant={"jokers": True}), "jokers"),
    "no rules": (json.dumps({"race": RACE, "game": "corners"}).encode(), "rules"),
    "text that is not UTF-8": (header(game="caf\u00e9").replace(b"\\u00e9", b"\xe9"), "damaged"),
    "half a text": (header()[:50], "damaged"),
    "nothing": (b"", "damaged"),
    "another kind of value": (b"[" * 100_000, "damaged"),
}
"""Unreadable headers, and what the refusal names."""
ENTRIES: dict[str, tuple[dict[Any, Any], str]] = {
    "an unknown field": (entry(mood="calm"), "mood"),
    "an unknown event": (entry(t="paused"), "paused"),
    "no event": ({b"h": DIGEST}, "damaged"),
    "no digest": ({b"e": entry()[b"e"]}, "damaged"),
    "a digest that is not UTF-8": (entry() | {b"h": b"\xff" * 64}, "damaged"),
    "a digest that is none": (entry() | {b"h": b'","'}, "damaged"),
    "text that is not UTF-8": ({b"e": b'[1,2,{"t":"moved","seat":1,"move":"\xff"}]', b"h": DIGEST}, "damaged"),
    "half a text": (entry() | {b"e": entry()[b"e"][:20]}, "damaged"),
}
"""Unreadable entries, and what the refusal names."""


@pytest.fixture
async def log(redis_url: str) -> AsyncIterator[RaceLog]:
    store = Store(redis_url)
    yield RaceLog(GroupCommits(store))
    await store.close()


def kept(redis: Redis, race: str) -> dict[bytes, bytes]:
    """Return everything that is stored about a race."""
    return {key: value for key, value in contents(redis).items() if f"{{{race}}}".encode() in key}


@pytest.mark.parametrize("kind", ENTRIES)
async def test_an_unreadable_entry_is_refused(log: RaceLog, redis: Redis, kind: str) -> None:
    fields, named = ENTRIES[kind]
    redis.xadd(LOG, fields, id="1-0")
    with pytest.raises(Refused, match=named) as refused:
        await log.read(RACE)
    assert refused.value.code == "unsupported-version"
    assert await log.follow(lambda: {RACE: 0}) == {RACE: None}


@pytest.mark.parametrize("fields", [{"n": b"\xff", "h": DIGEST}, {"n": b"one", "h": DIGEST}, {"n": b"1", "h": b"\xff"}])
async def test_an_unreadable_head_is_refused(log: RaceLog, redis: Redis, fields: dict[Any, Any]) -> None:
    redis.hset(HEAD, mapping=fields)
    with pytest.raises(Refused) as refused:
        await log.head(RACE)
    assert refused.value.code == "unsupported-version"


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    log = tmp_path_factory.mktemp("unreadable") / "log"
    with LoggedServer(store_url, log, connections_per_address="0").start() as running:
        yield running
        assert "Traceback" not in running.log


@pytest.mark.parametrize(
    ("number", "text", "fields", "named"),
    [
        *((number, text, {}, named) for number, (text, named) in enumerate(HEADERS.values())),
        *((number, header(), fields, named) for number, (fields, named) in enumerate(ENTRIES.values(), 100)),
    ],
    ids=[*(f"header with {kind}" for kind in HEADERS), *(f"entry with {kind}" for kind in ENTRIES)],
)
async def test_an_unreadable_race_is_refused_and_kept_while_others_continue(
    server: LoggedServer, store_url: str, number: int, text: bytes, fields: dict[bytes, bytes], named: str
) -> None:
    race = f"{RACE}-{number}"
    with Redis.from_url(store_url) as redis:
        redis.hset(f"race:{{{race}}}:head", mapping={"header": text, "n": 1, "h": DIGEST})
        if fields:
            redis.xadd(f"race:{{{race}}}:log", {**fields}, id="1-0")
        redis.zadd("races:listed", {race: HEADER["opened_at"]})
        redis.zadd("races:due", {race: 0})  # overdue, so that the sweep handles it at once
        before = kept(redis, race)
        other = server.create("corners")
        async with await Line.open(server, "json", "ada") as line:
            for t in ("join", "watch"):
                answer = await line.ask(t, race=race)
                assert isinstance(answer, m.Problem)
                assert (answer.code, named in answer.detail) == ("unsupported-version", True), answer
            over_http = request(server, "GET", f"/api/v1/races/{race}")
            assert (over_http.status, over_http.json["code"]) == (426, "unsupported-version")
            assert isinstance(await line.ask("watch", race=other), m.View)
        listed = [listed["race"] for listed in request(server, "GET", "/api/v1/races").json["races"]]
        assert other in listed
        assert race not in listed
        assert kept(redis, race) == before


async def test_a_race_that_becomes_unreadable_disconnects_its_clients(server: LoggedServer, store_url: str) -> None:
    """So that they connect again, to another server or to an answer."""
    race = server.create("corners", seed="1")
    async with await Line.open(server, "json", "ada") as line:
        joined = await line.ask("join", race=race)
        assert isinstance(joined, m.View)
        with Redis.from_url(store_url) as redis, urlopen(f"{server.url}/api/v1/races/{race}/events") as events:
            redis.xadd(f"race:{{{race}}}:log", {**entry(mood="calm")}, id=f"{joined.n + 1}-0")
            assert await line.close_code() == CloseCode.TRY_AGAIN_LATER
            assert await asyncio.to_thread(events.read)
