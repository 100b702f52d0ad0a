"""Stored replays: they round-trip byte for byte, stay small, and are refused if damaged."""

import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import msgpack, structs
from redis import Redis

from samedeal import codec, commitments
from samedeal.computer.bots import BOTS
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import (
    Closed,
    Counting,
    Dealt,
    Joined,
    Nonce,
    Options,
    Readied,
)
from samedeal.race.race import Race
from samedeal.replays.bot_replay import replay_of
from samedeal.replays.replay import MAX_BYTES, MAX_ENTRIES, Replay, read
from samedeal.replays.signature import holds, signed
from samedeal.scores.results import RaceResult
from samedeal_server.store import stored_replays
from samedeal_server.store.archive import Search
from support.finished_races import SECRET, SIGNING_KEY, Logged, finished
from support.races_by_hand import closed, running
from support.random_races import KINDS, Kind, nonce, opened, race_of_five, random_race
from support.saved_replays import replay_file, saved_replays
from support.stores import Process, process

pytestmark = pytest.mark.tier(2)


def encode(replay: Replay) -> bytes:
    *_, race = replay.races()
    return stored_replays.encode(race, replay.entries, replay.signature)


@cache
def encoded(slug: str) -> bytes:
    return encode(finished(slug))


def text(data: bytes) -> bytes:
    """The canonical JSON of a stored replay."""
    return stored_replays.render(data, "json")


def refusal(data: bytes) -> str:
    """The text of the refusal to read damaged bytes."""
    with pytest.raises(Refused) as error:
        stored_replays.replay(data)
    assert error.value.code == "unsupported-version"
    return error.value.text


def with_checksum(checked: bytes) -> bytes:
    """A stored replay with the right checksum, from the bytes that the checksum covers."""
    return stored_replays.TAG + zlib.crc32(checked).to_bytes(4) + checked


def parts(data: bytes) -> tuple[bytes, bytes]:
    """The summary and the log of a stored replay, inflated."""
    inflater = zlib.decompressobj()
    return inflater.decompress(data[5:]), zlib.decompress(inflater.unused_data)


@given(slug=st.sampled_from(sorted(GAMES)), kind=st.sampled_from(KINDS), luck=st.integers(0, 2**32))
@settings(max_examples=150)
def test_any_race_round_trips_byte_for_byte(slug: str, kind: Kind, luck: int) -> None:
    race, replay = random_race(slug, kind, Random(luck))
    data = stored_replays.encode(race, replay.entries, replay.signature)
    assert text(data) == codec.encode(replay, "json")
    decoded = read(text(data))
    assert decoded == stored_replays.replay(data) == replay
    assert holds(decoded.signature, race.id, race.digest)
    assert stored_replays.header(data) == race.header
    summary = stored_replays.summary(data)
    assert summary
    assert (summary.header, summary.deal) == (race.header, race.deal)
    assert (summary.started_at, summary.ended_at) == (race.started_at, race.at)
    assert tuple(standing for _, standing in summary.racers) == race.standings()
    assert [player for player, _ in summary.racers] == [
        race.seat(standing.seat).player for standing in race.standings()
    ]


def test_won_and_lost_races_round_trip() -> None:
    outcomes = set()
    for slug, k in product(BOTS, (0, 1, 17)):
        replay = replay_of(GAMES[slug], "4", k, SIGNING_KEY)
        outcomes.add(replay.standings[0].outcome)
        assert text(encode(replay)) == codec.encode(replay, "json")
    assert outcomes >= {"won", "lost"}


@pytest.mark.parametrize(("number", "race"), saved_replays())
def test_saved_replays_round_trip(number: int, race: str) -> None:
    data = replay_file(number, race, "json").read_bytes()
    assert text(encode(read(data))) == data


@pytest.mark.parametrize(
    ("slug", "moves"),
    [
        (slug, moves)
        for slug, game in GAMES.items()
        for moves in (0, 30, 100)
        if moves <= game.goal or not game.attempts
    ],
)
def test_a_race_of_five_takes_5_bytes_per_move_and_1_kb(slug: str, moves: int) -> None:
    race, entries = race_of_five(slug, 1, moves)
    assert len(stored_replays.encode(race, entries, signed(SIGNING_KEY, race.id, race.digest))) <= 5 * 5 * moves + 1024


@pytest.mark.parametrize("slug", GAMES)
async def test_a_race_of_five_takes_12_bytes_per_move_and_1_kb_of_memory(
    slug: str, parts: Process, redis: Redis
) -> None:
    """That includes its places in all lists."""
    await parts.archive.add(*race_of_five(slug, 1, 0))
    before = memory(redis)
    await parts.archive.add(*race_of_five(slug, 2, 30))
    assert memory(redis) - before <= 12 * 5 * 30 + 1024
    await parts.archive.add(*race_of_five(slug, 3, 6))
    assert memory(redis) - before <= 12 * 5 * 36 + 2 * 1024


def memory(redis: Redis) -> int:
    """The memory of all keys that do not expire, in bytes."""
    return sum(redis.memory_usage(key, samples=0) or 0 for key in redis.scan_iter() if redis.ttl(key) < 0)


async def test_a_summary_longer_than_usual_is_read_too(redis_url: str) -> None:
    header = opened("corners", "sealed", Random(1)).race.header
    log = Logged(Race.opened(structs.replace(header, options=Options(limit_ms=1_000, max_racers=32)), SECRET))
    names = Random(1)
    for seat in range(1, 33):
        name = "".join(chr(names.randrange(0x4E00, 0x9FFF)) for _ in range(48))
        commitment = commitments.nonce_commitment(log.race.id, nonce(seat, 0))
        log.say(Joined(seat=seat, player=names.randbytes(8).hex(), name=name, commitment=commitment))
        log.say(Readied(seat=seat))
    log.say(Counting())
    for seat in range(1, 33):
        log.say(Nonce(seat=seat, nonce=nonce(seat, 0).hex()))
    log.say(Dealt(), 5_000)
    log.say(Closed(secret=SECRET.hex()), log.race.options.limit_ms)
    assert stored_replays.summary(encode(log.replay())[: stored_replays.SUMMARY_BYTES]) is None
    async with process(redis_url) as parts:
        await parts.archive.add(log.race, log.entries)
        (summary,) = await parts.archive.search(Search(), 2**53)
        ((_, result),) = [each async for each in parts.archive.players.results([log.race.id])]
    assert summary.standings == log.race.standings()
    assert result == RaceResult.of_log(log.replay())


def test_any_changed_byte_is_detected() -> None:
    data = encoded("corners")
    for at in range(len(data)):
        for bit in (1, 128):
            damaged = bytearray(data)
            damaged[at] ^= bit
            refusal(bytes(damaged))


def test_truncation_is_detected_and_the_summary_is_readable_as_soon_as_it_is_complete() -> None:
    data = encoded("corners")
    summary, found = stored_replays.summary(data), []
    for count in range(len(stored_replays.TAG), len(data)):
        refusal(data[:count])
        found.append(stored_replays.summary(data[:count]))
    refusal(data + b"x")
    complete = found.index(summary)
    assert found == [None] * complete + [summary] * (len(found) - complete)
    assert complete < len(data) // 2


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00", *(tag + encode(finished("corners"))[1:] for tag in (b"\x02", b"\x04")), b"{}", b"[]", b"\x81"],
)
def test_an_unknown_format_is_refused(data: bytes) -> None:
    assert "unknown format" in refusal(data)
    for function in (stored_replays.header, stored_replays.summary):
        with pytest.raises(Refused, match="unknown format"):
            function(data)


some = st.none() | st.binary() | st.text() | st.integers(-9, 2**63) | st.lists(st.text() | st.integers(0, 300))
contents = st.binary(max_size=200) | st.lists(some | st.dictionaries(st.text(), some)).map(msgpack.encode)


@given(first=contents, second=contents)
def test_anything_with_the_right_checksum_is_refused(first: bytes, second: bytes) -> None:
    whole, _ = parts(encoded("corners"))
    for checked in (first, zlib.compress(first), zlib.compress(whole) + zlib.compress(second)):
        refusal(with_checksum(checked))
    for checked in (first, zlib.compress(first)):
        for function in (stored_replays.header, stored_replays.summary):
            with suppress(Refused):
                assert function(with_checksum(checked)) is None


@given(change=st.binary(min_size=1, max_size=4), at=st.integers(0, 2_000))
def test_tampering_only_ever_causes_a_refusal(change: bytes, at: int) -> None:
    """The replay and its summary may be wrong, but reading them raises nothing else."""
    for number, content in enumerate(contents_of := parts(encoded("gallery"))):
        place = at % len(content)
        changed = [*contents_of]
        changed[number] = content[:place] + change + content[place + len(change) :]
        damaged = with_checksum(b"".join(map(zlib.compress, changed)))
        for function in (text, stored_replays.replay, stored_replays.header, stored_replays.summary):
            with suppress(Refused):
                function(damaged)


@pytest.mark.parametrize("damage", [lambda data: data[:50], lambda data: b"\x02" + data[1:], lambda data: b"{"])
async def test_an_unreadable_race_does_not_keep_others_from_being_listed(
    damage: Callable[[bytes], bytes], parts: Process, redis: Redis
) -> None:
    logs = [closed(running(race_id=f"calm-otter-{number}")) for number in range(4)]
    for log in logs:
        await parts.archive.add(log.race, log.entries)
    key = "replay:{calm-otter-2}"
    data = redis.get(key)
    assert isinstance(data, bytes)
    redis.set(key, damage(data))
    for limit in (1, 2, 3, 4):
        race_ids = [summary.race for summary in await parts.archive.search(Search(limit=limit), 2**53)]
        assert race_ids == ["calm-otter-3", "calm-otter-1", "calm-otter-0"][:limit]
    for reading in (parts.archive.render_input("calm-otter-2", 0), parts.archive.replay("calm-otter-2")):
        with pytest.raises(Refused) as error:
            await reading
        assert error.value.code == "unsupported-version"
    assert redis.get(key) == damage(data)
    redis.set(key, data)
    assert len(await parts.archive.search(Search(limit=4), 2**53)) == 4


def test_a_decompression_bomb_is_refused() -> None:
    summary, _ = parts(encoded("corners"))
    many = msgpack.encode((finished("corners").signature, [0] * (MAX_ENTRIES + 1), [], "", []))
    bombs = [zlib.compress(bytes(4 * MAX_BYTES))]
    bombs += [zlib.compress(summary) + zlib.compress(content) for content in (bytes(4 * MAX_BYTES), many)]
    for bomb in map(with_checksum, bombs):
        tracemalloc.start()
        refusal(bomb)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2.5 * MAX_BYTES
