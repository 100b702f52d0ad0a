"""Servers sign every replay and publish every key they have ever used."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from samedeal import codec
from samedeal.proof.verification import verify
from samedeal.replays.replay import MAX_BYTES, Replay, read
from samedeal.replays.signature import public_key
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal_server.net.responses import PROGRAM
from samedeal_server.store import stored_replays
from samedeal_server.store.archive import Archive
from samedeal_server.store.connection import Store
from samedeal_server.store.signing_keys import KEYS
from support.races_by_hand import closed, running
from support.servers import SIGNING_KEY, Server, racers

pytestmark = pytest.mark.tier(2)

OTHER_KEY = "c3" * 32


def public(private: str) -> str:
    return public_key(bytes.fromhex(private))


def well_known(server: Server) -> dict[str, Any]:
    status, body = server.get("/.well-known/samedeal")
    assert status == 200
    document: dict[str, Any] = json.loads(body)
    return document


def published(server: Server) -> list[tuple[str, bool]]:
    """Every key that a server publishes, and whether it is the current one."""
    return [(key["key"], key["current"]) for key in well_known(server)["keys"]]


async def finished_replay(server: Server, game: str = "corners") -> Replay:
    """The replay of a race that its only player resigns at once."""
    race_id = server.create(game, max_racers=1, start_delay_ms=0)
    async with racers(server, "ada") as (ada,):
        await ada.begin(race_id)
        assert isinstance(await ada.ask(m.Resign), m.View)
    return await server.replay(race_id)


def verification(server: Server, replay: Replay, *keys: str) -> dict[str, Any]:
    """Return a server's verification of a replay, which must be signed with one of the keys."""
    query = "&".join(f"key={key}" for key in keys)
    status, body = server.get(f"/api/v1/verify?{query}", codec.encode(replay, "json"))
    assert status == 200, body
    verdict: dict[str, Any] = json.loads(body)
    return verdict


def test_the_well_known_document(redis_url: str) -> None:
    limits = {"rate": 2.5, "connections_per_address": 9, "ready_seconds": 61.5}
    constant = {"message_bytes": 4096, "burst": 8, "hello_timeout_ms": 5000, "away_seconds": 30.0}
    before = time.time_ns() // 1_000_000
    with Server(redis_url, None, **{name: str(limit) for name, limit in limits.items()}) as server:
        document = well_known(server)
    after = time.time_ns() // 1_000_000
    (key,) = document["keys"]
    assert document == {
        "server": PROGRAM,
        "subprotocols": list(decoding.SUBPROTOCOLS),
        "limits": {**limits, **constant, "replay_bytes": MAX_BYTES},
        "keys": [{"key": public(SIGNING_KEY), "since": key["since"], "current": True}],
        "time": document["time"],
    }
    slack = 1_000  # the clock is the store's, measured over the network
    assert before - slack <= key["since"] <= document["time"] <= after + slack


async def test_every_stored_replay_is_signed_with_the_published_key(redis_url: str, redis: Any) -> None:
    with Server(redis_url) as server:
        replays = [await finished_replay(server, game) for game in ("corners", "gallery")]
        assert published(server) == [(public(SIGNING_KEY), True)]
    for replay in replays:
        assert all(fact.holds for fact in verify(replay, keys=[public(SIGNING_KEY)]))
    stored = [read(stored_replays.render(redis.get(key), "json")) for key in redis.scan_iter("replay:*")]
    assert len(stored) == len(replays)
    assert {replay.signature.key for replay in stored} == {public(SIGNING_KEY)}


async def test_replays_signed_with_a_rotated_key_still_verify(redis_url: str, tmp_path: Path) -> None:
    """The key is in a file and is rotated as documented for operators."""
    file = tmp_path / "signing.key"
    file.touch(mode=0o600)
    known, replays = dict[str, int](), dict[str, Replay]()
    for key in (SIGNING_KEY, OTHER_KEY, SIGNING_KEY):
        file.write_text(key + "\n")
        with Server(redis_url, tmp_path, signing_key="") as server:
            replays[key] = replay = await finished_replay(server)
            assert replay.signature.key == public(key)
            since = {entry["key"]: entry["since"] for entry in well_known(server)["keys"]}
            assert since.items() >= known.items(), "a key that is used again keeps its time"
            known = since
            order = [OTHER_KEY, SIGNING_KEY] if OTHER_KEY in replays else [SIGNING_KEY]
            assert published(server) == [(public(one), one == key) for one in order]
            for former, signed in replays.items():
                verdict = verification(server, signed, public(former))
                assert (verdict["ok"], verdict["known_key"], verdict["key"]) == (True, True, public(former))
                status, body = server.get(f"/api/v1/replays/{signed.header.race}.json")
                assert (status, body) == (200, codec.encode(signed, "json")), "signed replays do not change"


async def test_two_servers_publish_both_their_keys(redis_url: str) -> None:
    with Server(redis_url) as one, Server(redis_url, signing_key=OTHER_KEY) as other:
        assert published(one) == [(public(OTHER_KEY), False), (public(SIGNING_KEY), True)]
        assert published(other) == [(public(OTHER_KEY), True), (public(SIGNING_KEY), False)]
        for server, key in ((one, SIGNING_KEY), (other, OTHER_KEY)):
            replay = await finished_replay(server)
            assert replay.signature.key == public(key)
            for verifying in (one, other):
                assert verification(verifying, replay, public(SIGNING_KEY), public(OTHER_KEY))["known_key"] is True


async def test_a_replay_that_two_servers_keep_stays_as_the_first_has_signed_it(redis_url: str) -> None:
    log = closed(running())
    store = Store(redis_url)
    archives = [Archive(store, bytes.fromhex(key)) for key in (SIGNING_KEY, OTHER_KEY)]
    for archive in archives:
        await archive.add(log.race, log.entries)
    replays = [await archive.replay(log.race.id) for archive in archives]
    await store.close()
    replay = Replay.of(log.race, tuple(log.entries), bytes.fromhex(SIGNING_KEY))
    assert replays == [replay, replay]


async def test_a_removed_key_is_unknown(redis_url: str) -> None:
    with Server(redis_url) as server:
        replay = await finished_replay(server)
    with Server(redis_url, signing_key=OTHER_KEY) as server, Redis.from_url(redis_url) as redis:
        redis.hdel(KEYS, public(SIGNING_KEY))
        assert published(server) == [(public(OTHER_KEY), True)]
        verdict = verification(server, replay)
        assert (verdict["ok"], verdict["known_key"]) == (True, False)
        assert verification(server, replay, public(OTHER_KEY))["ok"] is False


def test_a_restart_publishes_the_current_key_again(redis_url: str) -> None:
    with Server(redis_url) as server, Redis.from_url(redis_url) as redis:
        redis.delete(KEYS)
        assert published(server) == []
    with Server(redis_url) as server:
        assert published(server) == [(public(SIGNING_KEY), True)]


async def test_who_signs_anew_has_a_key_that_is_not_known(one: Server) -> None:
    replay, forged = await finished_replay(one), bytes.fromhex(OTHER_KEY)
    *_, race = replay.races()
    forgery = Replay.of(race, replay.entries, forged)
    verdict = verification(one, forgery)
    assert (verdict["ok"], verdict["known_key"], verdict["key"]) == (True, False, public_key(forged))
    assert verdict["outcome"] == "key-unknown"
    assert verification(one, forgery, public_key(forged))["outcome"] == "verified"  # the caller knows the key
    with_key = verification(one, forgery, public(SIGNING_KEY))
    assert [fact["name"] for fact in with_key["facts"] if not fact["holds"]] == ["signature"]
