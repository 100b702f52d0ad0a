"""The admin log is a chain that several processes extend, follow and trim."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from redis import Redis

from samedeal.errors import Refused
from samedeal_server.store.admin_log import DAYS, ID, Action, AdminLog, Logged, LogPage
from samedeal_server.store.clock import Clock
from samedeal_server.store.connection import Store
from support.faulty_proxy import Proxy
from support.stores import KEY

LOG, HEAD = AdminLog.key(ID, "log"), AdminLog.key(ID, "head")
EVERYTHING = LogPage(limit=1000)
DAY_MS = 86_400_000
Open = Callable[[], AdminLog]


class Past(Clock):
    """A clock that is behind by more than the retention period of entries."""

    def now(self) -> int:
        return super().now() - (DAYS + 1) * DAY_MS


@pytest.fixture
async def open_log(redis_url: str) -> AsyncIterator[Open]:
    """Return the log as new processes have it."""
    stores = list[Store]()

    def open_() -> AdminLog:
        stores.append(Store(redis_url))
        return AdminLog(stores[-1], Clock(stores[-1]), KEY)

    yield open_
    for store in stores:
        await store.close()


def hiding(number: int) -> Action:
    return Action("key", "hide", f"race-{number}")


def rewrite(redis: Redis, change: Callable[[bytes], bytes]) -> None:
    """Change the texts of all entries, but not their digests."""
    lines: Any = redis.xrange(LOG)
    redis.delete(LOG)
    for id_, fields in lines:
        redis.xadd(LOG, {**fields, b"e": change(fields[b"e"])}, id=id_)


async def test_processes_that_append_at_the_same_time_lose_nothing(
    open_log: Open, caplog: pytest.LogCaptureFixture
) -> None:
    here, there, later = open_log(), open_log(), open_log()
    await asyncio.gather(*((here, there)[number % 2].log(hiding(number)) for number in range(20)))
    for each in (here, there, later):
        await each.update()
        assert each.hidden == {f"race-{number}" for number in range(20)}
    page = await later.page(EVERYTHING)
    assert [each.id for each in page] == [f"{n}-0" for n in range(20, 0, -1)]
    assert sorted((each.at for each in page), reverse=True) == [each.at for each in page]
    assert await here.page(LogPage(limit=2, before="3-0")) == page[-2:]
    assert not caplog.messages


async def test_altered_entry_is_reported_once_and_the_rest_still_counts(
    open_log: Open, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    here, later = open_log(), open_log()
    for number in range(4):
        await here.log(hiding(number))
    rewrite(redis, lambda text: text.replace(b"race-1", b"race-9"))
    await later.update()
    await later.log(hiding(4))
    await later.update()
    assert later.hidden == {"race-0", "race-9", "race-2", "race-3", "race-4"}
    assert caplog.messages == ["entries of the admin log were altered or have another master key: [2]"]


async def test_unreadable_entry_is_reported_and_skipped(
    open_log: Open, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    here, later = open_log(), open_log()
    for number in range(3):
        await here.log(hiding(number))
    rewrite(redis, lambda text: b"\xff" if b"race-2" in text else text)
    await later.log(hiding(3))
    assert later.hidden == {"race-0", "race-1", "race-3"}
    assert [each.subject for each in await later.page(EVERYTHING)] == ["race-3", "race-1", "race-0"]
    assert [message[-3:] for message in caplog.messages] == ["[3]"]


async def test_old_entries_are_deleted_unless_they_are_in_force(
    open_log: Open, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(redis_url)
    past, now = AdminLog(store, Past(store), KEY), Clock(store).now()
    for action in (
        Action("key", "ban", "name:gone", until=now - DAYS * DAY_MS),
        Action("key", "ban", "name:kept", until=now + DAY_MS),
        Action("key", "hide", "calm-otter-1"),
        Action("key", "hide", "calm-otter-2"),
        Action("key", "unhide", "calm-otter-2"),
        Action("key", "later"),
    ):
        await past.log(action)
    here, later = open_log(), open_log()
    await here.update()
    await here.log(Action("key", "kick", "name:x"))
    await later.update()
    for each in (past, here, later):
        assert [entry.subject for entry in await each.page(EVERYTHING)] == ["name:x", "calm-otter-1", "name:kept"]
    assert later.hidden == {"calm-otter-1"}
    assert [ban.subject for ban in later.bans] == ["name:kept"]
    await later.log(hiding(1))
    await store.close()
    assert not caplog.messages


async def test_entries_in_place_of_lost_ones_are_followed(
    open_log: Open, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    here, there, heard = open_log(), open_log(), list[Logged]()
    there.listeners.append(heard.append)
    await here.log(hiding(0))
    log, head = redis.dump(LOG) or b"", redis.dump(HEAD) or b""
    for number in (1, 2):
        await here.log(hiding(number))
    await there.update()
    redis.restore(LOG, 0, log, replace=True)
    redis.restore(HEAD, 0, head, replace=True)
    await here.log(hiding(3))
    await there.update()
    assert [each.subject for each in await there.page(EVERYTHING)] == ["race-3", "race-0"]
    redis.flushall()
    await here.log(hiding(4))
    await there.update()
    assert [each.subject for each in heard] == [f"race-{number}" for number in range(5)]
    assert there.hidden == here.hidden == {f"race-{number}" for number in range(5)}
    assert not caplog.messages


async def test_log_without_its_last_entry_can_be_continued(open_log: Open, redis: Redis) -> None:
    here, later = open_log(), open_log()
    for number in range(3):
        await here.log(hiding(number))
    redis.xdel(LOG, "3-0")
    await later.log(hiding(3))
    assert [each.id for each in await later.page(EVERYTHING)] == ["4-0", "2-0", "1-0"]


@pytest.mark.parametrize("fail", [Proxy.cut, Proxy.stall])
async def test_append_can_be_repeated_after_an_outage(redis_url: str, fail: Callable[[Proxy], None]) -> None:
    async with Proxy(redis_url) as proxy:
        store = Store(proxy.url)
        log = AdminLog(store, Clock(store), KEY)
        await log.log(hiding(0))
        fail(proxy)
        with pytest.raises(Refused) as refused:
            await log.log(hiding(1))
        assert refused.value.code == "store-unavailable"
        proxy.mend()
        await log.log(hiding(1))
        assert log.hidden == {"race-0", "race-1"}
        await store.close()


async def test_lost_reply_does_not_repeat_an_action(redis_url: str) -> None:
    async with Proxy(redis_url) as proxy:
        store = Store(proxy.url)
        log = AdminLog(store, Clock(store), KEY)
        await log.log(hiding(0))
        lost = asyncio.create_task(proxy.lose_answer(b"race-1"))
        await asyncio.sleep(0)
        await log.log(hiding(1))
        await lost
        assert [each.subject for each in await log.page(EVERYTHING)] == ["race-1", "race-0"]
        await store.close()
