"""Waiting: the event and the queue behave like those of asyncio."""

import asyncio
from typing import Any

import pytest

from samedeal_server.net.waiting import Flag, MessageQueue


@pytest.mark.parametrize("kind", [asyncio.Event, Flag])
async def test_everybody_who_waits_continues_once_it_is_set(kind: Any) -> None:
    flag, woken = kind(), list[int]()

    async def wait(number: int) -> None:
        await flag.wait()
        woken.append(number)

    tasks = [asyncio.create_task(wait(number)) for number in range(3)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    assert (woken, flag.is_set()) == ([], False)
    flag.set()
    flag.set()
    await asyncio.wait(tasks)
    assert (woken, flag.is_set()) == ([0, 2], True)
    await flag.wait()
    flag.clear()
    assert not flag.is_set()


async def test_flag_that_was_cleared_again_is_waited_for() -> None:
    flag = Flag(is_set=True)
    flag.clear()
    task = asyncio.create_task(flag.wait())
    await asyncio.sleep(0)
    flag.set()
    flag.clear()
    await asyncio.sleep(0)
    assert not task.done()
    flag.set()
    await task


@pytest.mark.parametrize("kind", [asyncio.Queue, MessageQueue])
async def test_queue_returns_items_in_order_and_loses_none_when_cancelled(kind: Any) -> None:
    queue = kind()
    assert queue.empty()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    waiting.cancel()
    for item in range(3):
        queue.put_nowait(item)
    assert queue.get_nowait() == 0
    assert [await queue.get(), await queue.get()] == [1, 2]
    assert queue.empty()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.put_nowait(3)
    assert not queue.empty()
    assert await waiting == 3
    assert queue.empty()
