"""Replays that earlier versions stored: packed ones and plain JSON are read byte for byte."""

import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import msgpack
from redis import Redis

from samedeal.errors import Refused
from samedeal.replays.replay import read
from samedeal.wire import codec
from samedeal.wire.documents import RaceSummary
from samedeal_server.store import old_replay_formats, replay_codec, stored_replays
from samedeal_server.store.archive import Search
from samedeal_server.store.daily_results import DailyRace
from support.finished_races import finished
from support.races_by_hand import closed, running
from support.random_races import random_race
from support.saved_store import FORMS, replay_file, saved
from support.stores import process

pytestmark = pytest.mark.tier(2)

PACKED = b64decode(
    "AUo25KWb0QaOk7XJiTm5uvnA8CnSNTECR9Dy5PyiPGBgQuJpJZSnb4g9ZrrPP82Ax0wjasxghOAdBoEW7IG4AkLpGoKDcnFiSmIrqkImNIVGYI"
    "WLkvLBoY5mKjOaYmOI4uRKbPGCnoJRkjgzbWOyERaTTSjZhoncWJ18+DCQPKupc7bEyGDSNEZGuB4mxrPGzdOYmOACDIwMAAAAAAAAAAAAAAAA"
    "AAAAAAAprLrhQbzK8LIuGpTTTQvHNh5SbQv+EsiXlLyTIpZt10RqO38oBUlpwlOmegHngP9kZFa1+LXOiIfNC0A9Mt4rI0ueBvmCvpIA+zTteg"
    "O09K3GbypekGpO6c3NQaeo5gUBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC"
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8xpHvBXxKvrqTtQssZ7fCt86hqjk3tMrLAG1BrS6CGEJtyRObFixdfQIBBRKQjJSTZwo"
    "Z5xfsX7a8nKL94wXCHQYaZmZkRBBgYGIQZuJgZORiZmVi4WNg4mZkZjsgwIAOgKiYYBnJvmqUUJZYrFBkpgGn8BBIbAA=="
)
"""``finished("corners", 12)`` in the packed format, as written by the version that introduced it."""


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as redis:
        yield redis


def stored_in(number: int, prefix: str) -> dict[str, bytes]:
    """The strings in a saved store whose keys have a prefix, by race id."""
    keys = {key: words[0] for name, key, words in saved(number).commands if name == "SET" and key.startswith(prefix)}
    return {key.removeprefix(prefix).strip("{}"): data for key, data in keys.items()}


def refusal(data: bytes) -> str:
    with pytest.raises(Refused) as error:
        stored_replays.text(data)
    assert error.value.code == "unsupported-version"
    return error.value.text


# Packed.


@pytest.mark.parametrize(
    ("number", "tags"), [(1, {old_replay_formats.TAG: 6, b"{": 2}), (2, {replay_codec.TAG: 9})], ids=["1", "2"]
)
def test_saved_replays_of_every_format_are_read_byte_for_byte(number: int, tags: dict[bytes, int]) -> None:
    store, stored = saved(number), stored_in(number, "replay:")
    names = {race_id: name for name, race_id in store.races.items() if race_id in stored}
    assert Counter(data[:1] for data in stored.values()) == tags
    assert len(names) == len(stored)
    for race_id, data in stored.items():
        for form in FORMS:
            assert stored_replays.render(data, form) == replay_file(number, names[race_id], form).read_bytes()
        replay = read(replay_file(number, names[race_id], "json").read_bytes())
        assert stored_replays.replay(data) == replay
        assert stored_replays.header(data) == replay.header
        if not stored_replays.is_plain(data):
            *_, race = replay.races()
            summary = stored_replays.summary(data)
            assert summary
            assert (summary.header, summary.deal, summary.started_at) == (race.header, race.deal, race.started_at)
            assert (summary.ended_at, [standing for _, standing in summary.racers]) == (race.at, [*race.standings()])
            seats = [race.seat(standing.seat) for standing in race.standings()]
            assert [player for player, _ in summary.racers] == [seat.player for seat in seats]


@pytest.mark.parametrize(
    ("number", "tags"), [(1, {old_replay_formats.TAG, b"{"}), (2, {replay_codec.TAG})], ids=["1", "2"]
)
def test_saved_daily_results_of_every_format_are_read(number: int, tags: set[bytes]) -> None:
    store = saved(number)
    ((_, _, words),) = (command for command in store.commands if command[1].startswith("daily:"))
    results = {words[at].decode(): words[at + 1] for at in range(0, len(words), 2)}
    assert {data[:1] for data in results.values()} == tags
    for race_id, data in results.items():
        name = next(name for name, each in store.races.items() if each == race_id)
        *_, race = read(replay_file(number, name, "json").read_bytes()).races()
        assert stored_replays.decode_record(data, DailyRace) == DailyRace.of(race)


def test_the_first_packed_replay_is_still_read() -> None:
    assert stored_replays.text(PACKED) == codec.encode(finished("corners", 12), "json")


def test_any_changed_byte_of_a_packed_replay_is_detected() -> None:
    for at in range(len(PACKED)):
        for bit in (1, 128):
            damaged = bytearray(PACKED)
            damaged[at] ^= bit
            refusal(bytes(damaged))


def test_truncation_of_a_packed_replay_is_detected() -> None:
    summary, found = stored_replays.summary(PACKED), []
    for count in range(len(old_replay_formats.TAG), len(PACKED)):
        refusal(PACKED[:count])
        found.append(stored_replays.summary(PACKED[:count]))
    refusal(PACKED + b"x")
    complete = found.index(summary)
    assert found == [None] * complete + [summary] * (len(found) - complete)
    assert complete < len(PACKED)


def with_checksum(checked: bytes) -> bytes:
    return old_replay_formats.TAG + zlib.crc32(checked).to_bytes(4) + checked


def deflated(data: bytes, dictionary: bytes = b"") -> bytes:
    deflater = zlib.compressobj(wbits=-zlib.MAX_WBITS, zdict=dictionary)
    return deflater.compress(data) + deflater.flush()


some = st.none() | st.binary() | st.text() | st.integers(-9, 2**63) | st.lists(st.text() | st.integers(0, 300))


@given(data=st.binary(max_size=200) | st.lists(some | st.dictionaries(st.text(), some)).map(msgpack.encode))
@settings(deadline=None)
def test_anything_tagged_as_packed_with_the_right_checksum_is_refused(data: bytes) -> None:
    for checked in (data, deflated(data), deflated(data, old_replay_formats._DICTIONARY)):
        refusal(with_checksum(checked))
        for function in (stored_replays.header, stored_replays.summary):
            with suppress(Refused):
                assert function(with_checksum(checked)) is None


@given(change=st.binary(min_size=1, max_size=4), at=st.integers(0, 400), in_head=st.booleans())
@settings(deadline=None)
def test_tampering_with_a_packed_replay_only_ever_causes_a_refusal(change: bytes, at: int, in_head: bool) -> None:
    """The replay and its summary may be wrong, but reading them raises nothing else."""
    head = old_replay_formats._inflated(PACKED[5:], old_replay_formats._DICTIONARY)
    decoded = old_replay_formats._head(PACKED)
    assert head
    assert decoded
    (body, rest), (_, deflated_log) = head, decoded
    log = old_replay_formats._inflated(deflated_log)
    assert log
    if in_head:
        body = changed(body, change, at)
    else:
        log = (changed(log[0], change, at), b"")
    random_bytes = rest[: len(rest) - len(deflated_log)]
    damaged = with_checksum(deflated(body, old_replay_formats._DICTIONARY) + random_bytes + deflated(log[0]))
    for function in (stored_replays.text, stored_replays.replay, stored_replays.header, stored_replays.summary):
        with suppress(Refused):
            function(damaged)


def changed(data: bytes, change: bytes, at: int) -> bytes:
    at %= len(data)
    return data[:at] + change + data[at + len(change) :]


# Plain JSON.


def test_plain_json_is_returned_unchanged() -> None:
    replay = finished("corners")
    text = codec.encode(replay, "json")
    assert stored_replays.text(text) == text
    assert stored_replays.header(text) == replay.header
    with pytest.raises(Refused):
        stored_replays.header(text[:100])


async def test_an_archive_with_plain_and_packed_races_lists_and_reads_all(redis_url: str, redis: Redis) -> None:
    earlier = finished("corners", 10, seed="42")
    text, header = codec.encode(earlier, "json"), earlier.header
    summary = RaceSummary(header.race, "corners", "corners:42", earlier.entries[-1].at, earlier.standings)
    redis.set(f"replay:{{{header.race}}}", text)
    redis.set(f"ended:{{{header.race}}}", codec.encode(summary, "json"))
    redis.zadd("replays", {header.race: summary.ended_at})
    redis.set("replay:{packed-otter-1}", PACKED)
    redis.zadd("replays", {"packed-otter-1": 1})
    async with process(redis_url) as parts:
        race, replay = random_race("gallery", "open", Random(2))
        assert (race.stage, race.options.unlisted) == ("over", False)
        await parts.archive.add(race, replay.entries)
        assert await parts.archive.render_input(header.race, 0) == text
        assert await parts.archive.replay(header.race) == earlier
        assert await parts.archive.replay("packed-otter-1") == finished("corners", 12)
        newest, *others, packed = await parts.archive.search(Search(), 2**53)
        assert (newest.race, newest.standings) == (race.id, replay.standings)
        assert others == [summary]
        assert (packed.race, packed.standings) == ("packed-otter-1", finished("corners", 12).standings)
        assert (await parts.registry.room(header.race)).race.digest == earlier.digest


async def test_daily_results_include_races_stored_in_plain_json(redis_url: str, redis: Redis) -> None:
    replay = finished("corners", daily=True)
    async with process(redis_url) as parts:
        *_, race = replay.races()
        await parts.archive.add(race, replay.entries)
        ((_, result),) = [each async for each in parts.archive.daily.races(race.header.commitment)]
        redis.hset(f"daily:{{{race.header.commitment}}}", "other-otter-1", codec.encode(result, "json"))
        results = {race_id: each async for race_id, each in parts.archive.daily.races(race.header.commitment)}
        assert results == {race.id: result, "other-otter-1": result}


@pytest.mark.parametrize("damage", [lambda data: data[:50], lambda data: b"\x03" + data[1:], lambda data: b"{"])
async def test_an_unreadable_race_does_not_keep_others_from_being_listed(
    damage: Callable[[bytes], bytes], redis_url: str, redis: Redis
) -> None:
    async with process(redis_url) as parts:
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
            assert error.value.code in ("unsupported-version", "bad-replay")
