"""The faulty proxy: the effects of faults that no test of a server with it shows."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from support.faulty_proxy import Proxy
from support.waiting import until

pytestmark = pytest.mark.tier(2)

End = tuple[asyncio.StreamReader, asyncio.StreamWriter]
TIMEOUT_S = 50


class Target:
    """Echoes every line and records all received data."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.rest: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (line := await reader.readline()).endswith(b"\n"):
            self.lines.append(line)
            writer.write(line)
        self.rest.append(line)
        writer.write(b"bye\n")
        writer.close()


@asynccontextmanager
async def running_proxy() -> AsyncIterator[tuple[Target, Proxy]]:
    """Start a target behind a proxy."""
    target = Target()
    server = await asyncio.start_server(target.serve, "127.0.0.1", 0)
    url = "redis://{}:{}".format(*server.sockets[0].getsockname())
    try:
        async with asyncio.timeout(TIMEOUT_S), Proxy(url) as proxy:
            yield target, proxy
    finally:
        server.close()


async def connected(proxy: Proxy) -> End:
    host, _, port = proxy.url.rpartition("/")[2].partition(":")
    return await asyncio.open_connection(host, int(port))


async def reply(end: End, line: bytes) -> bytes:
    """Return the reply to a line."""
    end[1].write(line)
    return await end[0].readline()


async def test_abandoned_connections_are_silent_and_open_while_new_ones_work() -> None:
    async with running_proxy() as (target, proxy):
        end = await connected(proxy)
        assert await reply(end, b"one\n") == b"one\n"
        proxy.abandon()
        answer = asyncio.ensure_future(reply(end, b"two\n"))
        other = await connected(proxy)
        assert await reply(other, b"three\n") == b"three\n"
        done, _ = await asyncio.wait([answer], timeout=0.1)
        assert (done, target.lines, target.rest) == (set(), [b"one\n", b"three\n"], [])
        answer.cancel()
        end[1].close()
        done, _ = await asyncio.wait([asyncio.ensure_future(other[0].read())], timeout=0.1)
        assert (done, target.rest) == (set(), [])
        other[1].close()


@pytest.mark.parametrize("answers", [False, True])
async def test_half_close_ends_one_direction(answers: bool) -> None:
    async with running_proxy() as (target, proxy):
        end = await connected(proxy)
        assert await reply(end, b"one\n") == b"one\n"
        proxy.half_close(answers=answers)
        if answers:
            assert await end[0].read() == b""
            end[1].write(b"two\n")
            await until(lambda: len(target.lines) == 2)
        else:
            assert await end[0].read() == b"bye\n"
            assert target.rest == [b""]
        end[1].close()


async def test_delay_and_bandwidth() -> None:
    async with running_proxy() as (_, proxy):
        end = await connected(proxy)
        proxy.delay_s, proxy.jitter_s = 0.05, 0.01
        before = time.monotonic()
        assert await reply(end, b"one\n") == b"one\n"
        assert time.monotonic() - before >= 0.1
        proxy.delay_s, proxy.jitter_s, proxy.bytes_per_s = 0.0, 0.0, 10_000
        before = time.monotonic()
        assert len(await reply(end, 999 * b"x" + b"\n")) == 1000
        assert time.monotonic() - before >= 0.2
        end[1].close()
