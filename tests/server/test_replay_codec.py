"""Packed races: every replay comes back to the byte, whatever is damaged is refused, and plain JSON is still read."""

import tracemalloc
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import product
from random import Random
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import msgpack, structs
from redis import Redis

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof import commitments
from samedeal.proof.signature import holds
from samedeal.race.events import (
    AnyEvent,
    Closed,
    Counting,
    Dealt,
    Entry,
    Header,
    Joined,
    Left,
    Moved,
    Nonce,
    Options,
    Readied,
    Resigned,
    Taken,
    Unreadied,
)
from samedeal.race.race import Race
from samedeal.race.run import RESTART, UNDO
from samedeal.replays.bot_replay import replay_of
from samedeal.replays.replay import MAX_BYTES, MAX_ENTRIES, Replay, read
from samedeal.wire import codec
from samedeal_server.store import replay_codec
from samedeal_server.store.archive import RaceSummary, Search
from support.finished_races import DAY, OPENED_AT, SECRET, SIGNING_KEY, Logged, finished
from support.races_by_hand import closed, running
from support.stores import process

OPTIONS = Options(limit_ms=1_000, max_racers=32)
Kind = Literal["sealed", "friendly", "open", "daily"]
KINDS: tuple[Kind, ...] = ("sealed", "friendly", "open", "daily")
NAMES = ("ada", "Zoë 🂡", 'quote " and \\', "0123456789abcdef", "x" * 48)
PLAYERS = ("player-1", "fedcba9876543210", "FEDCBA9876543210", "0" * 15, "joined")
"""Some of these could be bytes in hexadecimal, and some only look so."""
EARLIER = b64decode(
    "AUo25KWb0QaOk7XJiTm5uvnA8CnSNTECR9Dy5PyiPGBgQuJpJZSnb4g9ZrrPP82Ax0wjasxghOAdBoEW7IG4AkLpGoKDcnFiSmIrqkImNIVGYI"
    "WLkvLBoY5mKjOaYmOI4uRKbPGCnoJRkjgzbWOyERaTTSjZhoncWJ18+DCQPKupc7bEyGDSNEZGuB4mxrPGzdOYmOACDIwMAAAAAAAAAAAAAAAA"
    "AAAAAAAprLrhQbzK8LIuGpTTTQvHNh5SbQv+EsiXlLyTIpZt10RqO38oBUlpwlOmegHngP9kZFa1+LXOiIfNC0A9Mt4rI0ueBvmCvpIA+zTteg"
    "O09K3GbypekGpO6c3NQaeo5gUBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC"
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8xpHvBXxKvrqTtQssZ7fCt86hqjk3tMrLAG1BrS6CGEJtyRObFixdfQIBBRKQjJSTZwo"
    "Z5xfsX7a8nKL94wXCHQYaZmZkRBBgYGIQZuJgZORiZmVi4WNg4mZkZjsgwIAOgKiYYBnJvmqUUJZYrFBkpgGn8BBIbAA=="
)
"""What ``pack(finished("corners", 12))`` was when races were first packed."""


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as redis:
        yield redis


def pack(replay: Replay) -> bytes:
    return replay_codec.pack(replay.header, replay.entries, replay.signature, replay.standings)


def nonce(seat: int, try_: int) -> bytes:
    return bytes([seat, try_]) * 16


def opened(slug: str, kind: Kind, random: Random) -> Logged:
    options = Options(
        limit_ms=random.choice((1_000, 360_000)),
        max_racers=random.choice((1, 3, 8)),
        undo=random.random() < 0.7,
        attempts=random.choice((0, 2)),
        filter="friendly/1" if kind == "friendly" else "any",
        unlisted=random.random() < 0.3,
    )
    race = random.choice(("calm-otter-4217", "0123456789abcdef"))
    daily = kind == "daily"
    header = Header(
        race=race,
        game=slug,
        rules=GAMES[slug].rules,
        seed=random.choice(("1", "0123456789abcdef")) if kind == "open" else None,
        daily=daily,
        commitment=commitments.daily_commitment(slug, DAY, SECRET) if daily else commitments.commitment(race, SECRET),
        salt="" if daily else "5a" * 16,
        opened_at=OPENED_AT,
        options=options,
    )
    return Logged(Race.opened(header, SECRET))


def raced(slug: str, kind: Kind, random: Random) -> tuple[Race, Replay]:
    """A race in which anything happens that may happen: who wants what is not allowed is refused and tries again."""
    log = opened(slug, kind, random)
    for _ in range(random.choice((0, 20, 200))):
        try:
            log.say(anything(log.race, random), random.choice((0, 3, 700, 70_000)))
        except Refused:
            continue
    if log.race.stage == "countdown":
        with suppress(Refused):  # the day of the deal may be over
            log.say(Dealt(k=0 if kind == "open" else random.choice((0, 300))), 5_000)
    end = log.race.expires_at if log.race.ends_at is None else log.race.ends_at
    log.say(Closed(secret=SECRET.hex()), max(0, end - log.race.at))
    return log.race, log.replay()


def anything(race: Race, random: Random) -> AnyEvent:
    seat = random.choice((1, 1, 2, 3))
    by = random.choice((None, random.randbytes(8).hex()))
    if race.stage == "open":
        player = random.randrange(len(PLAYERS))
        promised = None
        if race.header.sealed or random.random() < 0.5:
            promised = commitments.nonce_commitment(race.id, nonce(race.seat_for(PLAYERS[player]), random.randrange(2)))
        joined = Joined(
            seat=race.seat_for(PLAYERS[player]),
            player=PLAYERS[player],
            name=random.choice(NAMES),
            bot=random.random() < 0.3,
            commitment=promised,
            by=by,
        )
        ready = Readied(seat=seat)
        events: tuple[AnyEvent, ...] = (joined, Left(seat=seat), ready, ready, Unreadied(seat=seat), Counting())
        return random.choice(events)
    if race.stage == "countdown":
        return random.choice(
            (Nonce(seat=seat, nonce=nonce(seat, random.randrange(2)).hex()), Dealt(), Taken(seat=seat))
        )
    run = race.seat(seat).run
    moves = run.game.moves() if run else ()
    move = random.choice((*moves, UNDO, RESTART))
    deeds: tuple[AnyEvent, ...] = (*[Moved(seat=seat, move=move)] * 20, Taken(seat=seat, by=by), Resigned(seat=seat))
    return random.choice(deeds)


@cache
def race_of(slug: str) -> Replay:
    return finished(slug)


def refused(data: bytes) -> str:
    """What is said of something that cannot be read."""
    with pytest.raises(Refused) as error:
        replay_codec.text(data)
    assert error.value.code == "unsupported-version"
    return error.value.text


def checked(data: bytes) -> bytes:
    """A packed race with a checksum that is right."""
    return replay_codec.TAG + zlib.crc32(data).to_bytes(4) + data


# There and back.


@given(slug=st.sampled_from(sorted(GAMES)), kind=st.sampled_from(KINDS), luck=st.integers(0, 2**32))
@settings(deadline=None, max_examples=300)
def test_every_race_comes_back_to_the_byte(slug: str, kind: Kind, luck: int) -> None:
    race, replay = raced(slug, kind, Random(luck))
    data = pack(replay)
    text = replay_codec.text(data)
    assert text == codec.encode(replay, "json")
    back = read(text)
    assert back == replay_codec.replay(data) == replay
    assert holds(back.signature, race.id, race.digest)
    assert replay_codec.header(data) == race.header
    told = replay_codec.summary(data)
    assert told
    assert (told.header, told.deal) == (race.header, race.deal)
    assert (told.started_at, told.ended_at) == (race.started_at, race.at)
    assert tuple(standing for _, standing in told.racers) == race.standings()
    assert [player for player, _ in told.racers] == [race.seat(standing.seat).player for standing in race.standings()]


def test_a_race_that_somebody_wins_comes_back_too() -> None:
    outcomes = set()
    for slug, k in product(GAMES, (0, 1, 17)):
        replay = replay_of(GAMES[slug], "4", k, SIGNING_KEY)
        outcomes.add(replay.standings[0].outcome)
        assert replay_codec.text(pack(replay)) == codec.encode(replay, "json")
    assert outcomes >= {"won", "lost"}


def test_the_races_here_are_of_every_kind() -> None:
    """Or the test above would say little."""
    races = [raced(slug, kind, Random(luck)) for slug in GAMES for kind in KINDS for luck in range(40)]
    assert {race.stage for race, _ in races} == {"over", "cancelled"}
    outcomes = {standing.outcome for _, replay in races for standing in replay.standings}
    assert outcomes >= {"timeout", "resigned", "scratched", "waiting", "ready"}
    kinds = {type(entry.event) for _, replay in races for entry in replay.entries}
    assert kinds == {Joined, Left, Readied, Unreadied, Counting, Nonce, Dealt, Moved, Taken, Resigned, Closed}
    promises = [
        {entry.event.commitment for entry in replay.entries if isinstance(entry.event, Joined)} for _, replay in races
    ]
    assert any(len(made) > 1 for made in promises)


@pytest.mark.parametrize("slug", GAMES)
async def test_a_race_of_five_takes_no_more_than_its_share_of_the_store(
    slug: str, redis_url: str, redis: Redis
) -> None:
    """Twelve bytes for each move and a kilobyte besides, its places in all lists included."""
    async with process(redis_url) as parts:
        await parts.archive.keep(*long(slug, 1, 0))
        before = memory(redis)
        await parts.archive.keep(*long(slug, 2, 30))
        assert memory(redis) - before <= 12 * 5 * 30 + 1024
        await parts.archive.keep(*long(slug, 3, 6))
        assert memory(redis) - before <= 12 * 5 * 36 + 2 * 1024


def long(slug: str, number: int, moves: int) -> tuple[Race, list[Entry]]:
    """A race of five in which each makes so many moves at random, with the pauses that people make."""
    random = Random(number)
    log = running(5, slug=slug, race_id=f"calm-otter-421{number}")
    for turn in range(5 * moves):
        seat = 1 + turn % 5
        run = log.race.seat(seat).run
        assert run
        legal = run.game.moves() or (RESTART,)
        log.say(Moved(seat=seat, move=random.choice(legal)), int(random.expovariate(1 / 300)))
    closed(log)
    return log.race, log.entries


def memory(redis: Redis) -> int:
    """What all takes that stays."""
    return sum(redis.memory_usage(key, samples=0) or 0 for key in redis.scan_iter() if redis.ttl(key) < 0)


# What cannot be read.


def test_any_byte_that_is_another_is_noticed() -> None:
    data = pack(race_of("corners"))
    for at in range(len(data)):
        for bit in (1, 128):
            damaged = bytearray(data)
            damaged[at] ^= bit
            refused(bytes(damaged))


def test_any_end_that_is_missing_is_noticed_and_the_head_is_told_as_soon_as_it_is_there() -> None:
    data = pack(race_of("corners"))
    whole, seen = replay_codec.summary(data), []
    for count in range(len(replay_codec.TAG), len(data)):
        refused(data[:count])
        seen.append(replay_codec.summary(data[:count]))
    refused(data + b"x")
    there = seen.index(whole)
    assert seen == [None] * there + [whole] * (len(seen) - there)
    assert there < len(data)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x02" + pack(finished("corners"))[1:], b"[]", b"\x81"])
def test_a_form_that_is_not_known_is_refused_as_that(data: bytes) -> None:
    assert "not known here" in refused(data)
    for ask in (replay_codec.header, replay_codec.summary):
        with pytest.raises(Refused, match="not known here"):
            ask(data)


some = st.none() | st.binary() | st.text() | st.integers(-9, 2**63) | st.lists(st.text() | st.integers(0, 300))


@given(data=st.binary(max_size=200) | st.lists(some | st.dictionaries(st.text(), some)).map(msgpack.encode))
def test_nothing_that_has_a_right_checksum_does_harm(data: bytes) -> None:
    for pressed in (data, replay_codec._deflated(data), replay_codec._deflated(data, replay_codec._WORDS)):
        refused(checked(pressed))
        for ask in (replay_codec.header, replay_codec.summary):
            with suppress(Refused):
                assert ask(checked(pressed)) is None


@given(change=st.binary(min_size=1, max_size=4), at=st.integers(0, 400), head=st.booleans())
def test_what_was_tampered_with_does_no_harm(change: bytes, at: int, head: bool) -> None:
    """Neither what is told of it nor the replay is to be relied on then, but whoever asks is answered."""
    data = pack(race_of("gallery"))[5:]
    (body, behind), whole = inflated(data, replay_codec._WORDS), replay_codec._head(bytes(5) + data)
    assert whole
    log, _ = inflated(whole[1])
    random = behind[: len(behind) - len(whole[1])]
    if head:
        body = changed(body, change, at)
    else:
        log = changed(log, change, at)
    damaged = checked(replay_codec._deflated(body, replay_codec._WORDS) + random + replay_codec._deflated(log))
    for ask in (replay_codec.text, replay_codec.replay, replay_codec.header, replay_codec.summary):
        with suppress(Refused):
            ask(damaged)


def inflated(data: bytes, words: bytes = b"") -> tuple[bytes, bytes]:
    found = replay_codec._inflated(data, words)
    assert found
    return found


def changed(data: bytes, change: bytes, at: int) -> bytes:
    at %= len(data)
    return data[:at] + change + data[at + len(change) :]


def test_what_would_fill_the_memory_is_refused() -> None:
    zeros = replay_codec._deflated(bytes(4 * MAX_BYTES))
    many = replay_codec._deflated(msgpack.encode((b"", [0] * (MAX_ENTRIES + 1), b"", "")))
    whole = pack(race_of("corners"))
    found = replay_codec._head(whole)
    assert found
    before = whole[5:].removesuffix(found[1])
    for data in (zeros, before + zeros, before + many):
        tracemalloc.start()
        refused(checked(data))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 2.5 * MAX_BYTES


# What was kept before.


def test_what_was_packed_before_is_still_read() -> None:
    assert replay_codec.text(EARLIER) == codec.encode(finished("corners", 12), "json")


def test_plain_json_is_read_as_it_is() -> None:
    text = codec.encode(race_of("corners"), "json")
    assert replay_codec.text(text) == text
    assert replay_codec.header(text) == race_of("corners").header
    with pytest.raises(Refused):
        replay_codec.header(text[:100])


async def test_a_store_with_races_in_plain_json_goes_on_with_them(redis_url: str, redis: Redis) -> None:
    earlier = finished("corners", 10, seed="42")
    text, header = codec.encode(earlier, "json"), earlier.header
    ended = RaceSummary(header.race, "corners", "corners:42", earlier.entries[-1].at, earlier.standings)
    redis.set(f"replay:{{{header.race}}}", text)
    redis.set(f"ended:{{{header.race}}}", codec.encode(ended, "json"))
    redis.zadd("replays", {header.race: ended.ended_at})
    async with process(redis_url) as parts:
        race, replay = raced("gallery", "open", Random(2))
        assert (race.stage, race.options.unlisted) == ("over", False)
        await parts.archive.keep(race, replay.entries)
        assert await parts.archive.told(header.race, 0) == text
        assert await parts.archive.replay(header.race) == earlier
        newest, *others = await parts.archive.search(Search(), 2**53)
        assert (newest.race, newest.standings) == (race.id, replay.standings)
        assert others == [ended]
        assert (await parts.registry.room(header.race)).race.digest == earlier.digest


async def test_the_results_of_a_day_have_races_that_were_kept_in_plain_json(redis_url: str, redis: Redis) -> None:
    replay = finished("corners", daily=True)
    async with process(redis_url) as parts:
        *_, race = replay.races()
        await parts.archive.keep(race, replay.entries)
        ((_, found),) = [each async for each in parts.archive.daily_races(race.header.commitment)]
        redis.hset(f"daily:{{{race.header.commitment}}}", "other-otter-1", codec.encode(found, "json"))
        both = {race: each async for race, each in parts.archive.daily_races(race.header.commitment)}
        assert both == {race.id: found, "other-otter-1": found}


@pytest.mark.parametrize("damage", [lambda data: data[:50], lambda data: b"\x02" + data[1:], lambda data: b"{"])
async def test_a_race_that_cannot_be_read_keeps_no_other_from_being_listed(
    damage: Callable[[bytes], bytes], redis_url: str, redis: Redis
) -> None:
    async with process(redis_url) as parts:
        logs = [closed(running(race_id=f"calm-otter-{number}")) for number in range(4)]
        for log in logs:
            await parts.archive.keep(log.race, log.entries)
        key = "replay:{calm-otter-2}"
        data = redis.get(key)
        assert isinstance(data, bytes)
        redis.set(key, damage(data))
        for limit in (1, 2, 3, 4):
            found = [ended.race for ended in await parts.archive.search(Search(limit=limit), 2**53)]
            assert found == ["calm-otter-3", "calm-otter-1", "calm-otter-0"][:limit]
        for ask in (parts.archive.told("calm-otter-2", 0), parts.archive.replay("calm-otter-2")):
            with pytest.raises(Refused) as error:
                await ask
            assert error.value.code in ("unsupported-version", "bad-replay")


async def test_a_head_that_is_longer_than_usual_is_told_of_too(redis_url: str) -> None:
    log = Logged(
        Race.opened(structs.replace(opened("corners", "sealed", Random(1)).race.header, options=OPTIONS), SECRET)
    )
    names = Random(1)
    for seat in range(1, 33):
        name = "".join(chr(names.randrange(0x4E00, 0x9FFF)) for _ in range(48))
        promise = commitments.nonce_commitment(log.race.id, nonce(seat, 0))
        log.say(Joined(seat=seat, player=names.randbytes(8).hex(), name=name, commitment=promise))
        log.say(Readied(seat=seat))
    log.say(Counting())
    for seat in range(1, 33):
        log.say(Nonce(seat=seat, nonce=nonce(seat, 0).hex()))
    log.say(Dealt(), 5_000)
    log.say(Closed(secret=SECRET.hex()), log.race.options.limit_ms)
    data = pack(log.replay())
    assert replay_codec.summary(data[: replay_codec.START]) is None
    async with process(redis_url) as parts:
        await parts.archive.keep(log.race, log.entries)
        (ended,) = await parts.archive.search(Search(), 2**53)
    assert ended.standings == log.race.standings()
