"""Erasing a player: the name leaves the store, and the replays of all the player's races are withdrawn."""

import re
from typing import Any

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.events import Closed, Joined, Left, Options
from samedeal.race.race import OPEN_MS
from samedeal_server.live.fields import Fields
from samedeal_server.live.lobby_changes import Change, LobbyChanges
from samedeal_server.live.opening import Quotas
from samedeal_server.net.limits import RateLimits
from samedeal_server.settings import Settings
from samedeal_server.store import stored_replays
from samedeal_server.store.archive import Search
from samedeal_server.store.erasure import Erasure
from samedeal_server.store.guest_tokens import Guest, Guests
from samedeal_server.store.live_races import RaceFilter
from samedeal_server.store.login_codes import LoginCodes
from samedeal_server.store.player_reports import Reports
from samedeal_server.store.revocations import Revocations
from support.archived_races import archive, guest, race_of
from support.finished_races import SECRET
from support.races_by_hand import opened
from support.stores import Process, holds, process, seat_for, until

pytestmark = pytest.mark.tier(2)

ADA, BO = guest(1).player, guest(2).player


def erasure_of(parts: Process) -> Erasure:
    reports, clubs = Reports(parts.store, parts.clock), parts.registry.clubs
    return Erasure(parts.store, parts.archive, Guests(parts.store), Revocations(parts.store), reports, clubs)


async def erase(parts: Process, player: str) -> tuple[int, int]:
    """Erase a player. Return how many devices were logged out and how many replays were withdrawn."""
    erasure = erasure_of(parts)
    tokens, withdrawn = await erasure.start(player, parts.clock.now()), 0
    after: str | None = None
    while True:
        step = await erasure.step(player, after)
        withdrawn, after = withdrawn + step.withdrawn, step.next
        assert step.unreadable == 0
        if after is None:
            return tokens + await erasure.log_out(player), withdrawn


async def withdrawn(parts: Process, race_id: str) -> str:
    """Return the text with which the replay of a race is refused, or nothing if it is not withdrawn."""
    try:
        await parts.archive.render_input(race_id, parts.clock.now())
    except Refused as refused:
        return refused.text if refused.code == "withdrawn" else ""
    return ""


async def some_races(parts: Process) -> None:
    await archive(parts, "of-both", 1, 2)
    await archive(parts, "of-others", 2, 3, at=1)
    await archive(parts, "unlisted-of-both", 1, 2, at=2, unlisted=True)
    await archive(parts, "daily-of-both", 1, 2, at=3, daily=True)
    await archive(parts, "daily-alone", 1, at=4, daily=True)
    log = opened("corners", "225", race_id="cancelled")
    log.say(Joined(seat=1, player=ADA, name="Name 1"))
    log.say(Left(seat=1))
    log.say(Closed(secret=SECRET.hex()), OPEN_MS)
    await parts.archive.add(log.race, log.entries)


MINE = ("of-both", "unlisted-of-both", "daily-of-both", "daily-alone", "cancelled")


async def assert_erased(parts: Process, redis: Redis) -> None:
    """Check that nothing in the store has the name, and that everything of others is still there."""
    now = parts.clock.now()
    for race_id in MINE:
        assert re.fullmatch(
            rf"The replay of {race_id} was withdrawn on \d{{4}}-\d\d-\d\d\. Its digest is [0-9a-f]{{64}}\.",
            await withdrawn(parts, race_id),
        )
        with pytest.raises(Refused, match="was withdrawn"):
            await parts.registry.room(race_id)
        with pytest.raises(Refused, match="was withdrawn"):
            await parts.registry.summary(race_id)
        assert await parts.archive.has(race_id), "the id of a withdrawn race can be used again"
    assert not holds(redis, "Name 1")
    for search in (Search(), Search(game="corners"), Search(player=BO), Search(deal="corners:225")):
        assert [race.race for race in await parts.archive.search(search, now)] == ["of-others"]
    assert redis.zrange("replays:deal:corners:225", 0, -1) == [b"of-others"]
    assert await parts.archive.search(Search(player=ADA), now) == []
    for unlisted in (False, True):
        assert await parts.archive.players.common([ADA], now, unlisted=unlisted) == []
    assert await parts.archive.players.common([BO], now, unlisted=True) == []
    field = await Fields(parts.archive.fields).results(race_of("x", 1, daily=True).race.header.commitment)
    assert [row.name for row in field.table()] == ["Name 2"]
    assert field.unlinked == {row.deals[0].race for row in field.table() if row.deals[0]}
    kept = await parts.archive.replay("of-others")
    assert kept is not None
    assert [racer.name for racer in kept.standings] == ["Name 2", "Name 3"]


async def test_erased_player_leaves_the_store(parts: Process, redis: Redis) -> None:
    await some_races(parts)
    digest = race_of("of-both", 1, 2).race.digest
    assert await erase(parts, ADA) == (0, len(MINE))
    await assert_erased(parts, redis)
    assert digest in await withdrawn(parts, "of-both")
    assert await parts.archive.withdrawals.erased() == [ADA]


async def test_erasing_can_be_repeated(parts: Process, redis: Redis) -> None:
    await some_races(parts)
    await erase(parts, ADA)
    stored = {key: redis.dump(key) for key in redis.scan_iter()}
    assert await erase(parts, ADA) == (0, 0)
    assert {key: redis.dump(key) for key in redis.scan_iter()} == stored


@pytest.mark.tier(3)
async def test_erasing_that_is_interrupted_at_any_write_can_be_repeated(
    redis_url: str, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store fails from a write on; then another process erases the player again."""
    writes_left = 0

    def failing(write: Any) -> Any:
        async def retry(*commands: Any) -> Any:
            nonlocal writes_left
            if not writes_left:
                raise Refused("store-unavailable")
            writes_left -= 1
            return await write(*commands)

        return retry

    allowed, is_complete = 0, False
    while not is_complete:
        redis.flushall()
        async with process(redis_url) as parts:
            await some_races(parts)
            with monkeypatch.context() as patched:
                patched.setattr(parts.store, "retry", failing(parts.store.retry))
                patched.setattr(parts.store, "retry_all", failing(parts.store.retry_all))
                writes_left = allowed
                try:
                    await erase(parts, ADA)
                    is_complete = True
                except Refused:
                    pass
        async with process(redis_url) as parts:
            await erase(parts, ADA)
            await assert_erased(parts, redis)
        allowed += 1
    assert allowed > 20


async def test_race_that_ends_later_is_withdrawn_at_once(parts: Process, redis: Redis) -> None:
    await archive(parts, "of-others", 2, 3, at=1)
    await erase(parts, ADA)
    await some_races(parts)
    await assert_erased(parts, redis)
    await archive(parts, "of-both", 1, 2)  # the process that archived it died before it had removed the live race
    await assert_erased(parts, redis)


async def test_withdrawn_replays_expire_with_the_others(redis_url: str, redis: Redis) -> None:
    async with process(redis_url, replay_days=3) as parts:
        await archive(parts, "of-both", 1, 2)
        redis.expire("replay:{of-both}", 1000)
        await erase(parts, ADA)
        assert 0 < redis.ttl("replay:{of-both}") <= 1000


async def test_tokens_and_login_codes_of_an_erased_player_stop_working(parts: Process, redis: Redis) -> None:
    guests = Guests(parts.store)
    codes = LoginCodes(parts.store, guests)
    (ada, token), (_, others) = await guests.create("Zadie"), await guests.create("Bo")
    await guests.add_token(ada, "a second device")
    code = await codes.create(token)
    stored = redis.dump(f"login:player:{ada.player}")
    assert (await erase(parts, ada.player))[0] == 2
    assert not holds(redis, "Zadie")
    for each in (token, "a second device"):
        with pytest.raises(Refused, match="token"):
            await guests.authenticate(each)
    with pytest.raises(Refused, match="code"):
        await codes.redeem(code)
    # The erasure has just begun when the code is exchanged: the code and a token are still there.
    await guests.add_token(ada, token)
    assert isinstance(stored, bytes)
    redis.restore(f"login:player:{ada.player}", 60_000, stored)
    with pytest.raises(Refused, match="code"):
        await codes.redeem(code)
    assert (await guests.authenticate(others)).name == "Bo"


async def test_host_of_a_live_race_is_forgotten(parts: Process) -> None:
    host = Guest("0123456789abcdef", "Zadie")
    owners = {f"guest:{host.player}": 5}
    room = await parts.registry.create(GAMES["corners"], {}, None, Options(limit_ms=60_000), owners=owners, host=host)
    assert await parts.log.field(room.race.id, "host", Guest) == host
    ((race,), _) = await parts.registry.live.page(RaceFilter())
    assert race.host == host.name
    await erase(parts, host.player)
    assert await parts.registry.live.page(RaceFilter()) == ([], None)
    parts.registry.forget_player(host.player)
    assert await parts.log.field(room.race.id, "host", Guest) is None
    assert room.view(None).host is None
    await room.submit(seat_for(1))
    await until(lambda: (room._schedule._saved or ())[:2] == ("open", 1))
    ((race,), _) = await parts.registry.live.page(RaceFilter())
    assert race.host is None


async def test_a_lobby_that_was_replaced_has_no_name_of_its_host(parts: Process, redis: Redis) -> None:
    host = Guest("0123456789abcdef", "Zadie")
    lobby = await parts.registry.create(GAMES["corners"], {}, None, Options(limit_ms=60_000), host=host)
    changes = LobbyChanges(parts.registry, Quotas(parts.registry.opener, RateLimits(Settings()), Settings()))
    new, is_new = await changes.change(lobby, host, "", Change("gallery"))
    assert (is_new, new.host, lobby.view(None).stage) == (True, host, "cancelled")
    assert await parts.log.field(new.race.id, "host", Guest) == host
    await erase(parts, host.player)
    parts.registry.forget_player(host.player)
    await until(lambda: (new._schedule._saved or ())[3:4] == (None,))
    redis.delete("announcements")  # they expire after ten minutes
    assert not holds(redis, host.name)


async def test_replay_that_cannot_be_read_is_counted_and_stays(parts: Process, redis: Redis) -> None:
    await archive(parts, "of-both", 1, 2)
    redis.set("replay:{damaged}", stored_replays.TAG + bytes(40))
    for tag in (b"\x63", b"\x01", b"{"):
        redis.set(b"replay:{%b}" % tag, tag + ADA.encode())
    step = await erasure_of(parts).step(ADA, None)
    assert (step.withdrawn, step.unreadable, step.next) == (1, 4, None)
    for tag in (b"\x63", b"\x01", b"{"):
        assert redis.get(b"replay:{%b}" % tag) == tag + ADA.encode()


@pytest.mark.parametrize("after", ["", "x", "1", "1 2", "-1 a store", f"{10**30} a store", "0 x another"])
async def test_unknown_positions_are_refused(parts: Process, after: str) -> None:
    with pytest.raises(Refused) as caught:
        await erasure_of(parts).step(ADA, after or " ")
    assert caught.value.code == "bad-request"


async def test_erasing_continues_after_the_store_has_restarted(parts: Process, redis: Redis) -> None:
    await some_races(parts)
    step = await erasure_of(parts).step(ADA, "12345 another-run store")
    assert step.withdrawn == len(MINE)


async def test_digits_of_something_else_are_not_a_player(parts: Process) -> None:
    await archive(parts, "of-both", 1, 2)
    data = await parts.archive.render_input("of-both", parts.clock.now())
    assert data is not None
    secret = SECRET.hex()[:16]
    assert secret.encode() in stored_replays.render(data, "json")
    assert await erase(parts, secret) == (0, 0)
    assert await erase(parts, "0" * 16) == (0, 0)


def test_tombstone_is_refused_in_every_form() -> None:
    stone = stored_replays.encode_tombstone(stored_replays.Tombstone("calm-otter-42", "0f" * 32, "2026-11-23"))
    for read in (
        lambda data: stored_replays.render(data, "json"),
        stored_replays.replay,
        stored_replays.header,
        stored_replays.summary,
        lambda data: stored_replays.has_player(data, ADA),
    ):
        with pytest.raises(Refused, match=r"of calm-otter-42 was withdrawn on 2026-11-23\. Its digest is 0f0f"):
            read(stone)
    with pytest.raises(Refused) as caught:
        stored_replays.header(stored_replays.TOMBSTONE_TAG + b"x")
    assert caught.value.code == "unsupported-version"
