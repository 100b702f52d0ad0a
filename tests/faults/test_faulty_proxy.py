"""The faulty proxy: each fault has its effect."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

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
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            while (line := await reader.readline()).endswith(b"\n"):
                self.lines.append(line)
                writer.write(line)
            self.rest.append(line)
            writer.write(b"bye\n")
        except ConnectionError:
            self.rest.append(b"reset")
        finally:
            writer.close()


@asynccontextmanager
async def running_proxy(folder: Path, *, unix: bool = False) -> AsyncIterator[tuple[Target, Proxy]]:
    """Start a target behind a proxy."""
    target, socket = Target(), folder / "socket"
    if unix:
        server = await asyncio.start_unix_server(target.serve, socket)
        url = f"unix://{socket}"
    else:
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


@pytest.mark.parametrize("unix", [False, True])
async def test_proxy_forwards_data_and_the_end(unix: bool, tmp_path: Path) -> None:
    async with running_proxy(tmp_path, unix=unix) as (target, proxy):
        end = await connected(proxy)
        assert await reply(end, b"one\n") == b"one\n"
        end[1].write_eof()
        assert await end[0].read() == b"bye\n"
        assert (target.lines, target.rest) == ([b"one\n"], [b""])
        end[1].close()


async def test_cut_resets_connections_and_refuses_new_ones_until_mended(tmp_path: Path) -> None:
    async with running_proxy(tmp_path) as (_, proxy):
        end = await connected(proxy)
        assert await reply(end, b"one\n") == b"one\n"
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            await end[0].read()
        with pytest.raises(ConnectionError):
            await reply(await connected(proxy), b"two\n")
        assert proxy.refused == 1
        proxy.mend()
        again = await connected(proxy)
        assert await reply(again, b"three\n") == b"three\n"
        again[1].close()


async def test_cut_within_a_request(tmp_path: Path) -> None:
    async with running_proxy(tmp_path) as (target, proxy):
        end = await connected(proxy)
        cutting = asyncio.ensure_future(proxy.cut_within(b"fatal"))
        assert await reply(end, b"harmless\n") == b"harmless\n"
        with pytest.raises(ConnectionResetError):
            await reply(end, b"a fatal request\n")
        await cutting
        await until(lambda: bool(target.rest))
        assert target.lines == [b"harmless\n"]


async def test_lost_answer_after_a_forwarded_request(tmp_path: Path) -> None:
    async with running_proxy(tmp_path) as (target, proxy):
        end, other = await connected(proxy), await connected(proxy)
        losing = asyncio.ensure_future(proxy.lose_answer(b"append"))
        assert await reply(end, b"read\n") == b"read\n"
        with pytest.raises(ConnectionResetError):
            await reply(end, b"append\n")
        await losing
        assert await reply(other, b"append\n") == b"append\n"
        assert target.lines == [b"read\n", b"append\n", b"append\n"]
        other[1].close()


@pytest.mark.parametrize("answers", [False, True])
async def test_stalled_proxy_forwards_data_when_resumed(answers: bool, tmp_path: Path) -> None:
    async with running_proxy(tmp_path) as (target, proxy):
        end = await connected(proxy)
        assert await reply(end, b"one\n") == b"one\n"
        proxy.stall(answers=answers)
        end[1].write(b"two\n")
        target.writers[0].write(b"news\n")
        reading = asyncio.ensure_future(end[0].readline())
        await asyncio.wait([reading], timeout=0.1 if answers else None)
        assert (reading.done(), target.lines) == (not answers, [b"one\n"])
        proxy.resume()
        assert await reading == b"news\n"
        assert await end[0].readline() == b"two\n"
        end[1].close()


async def test_abandoned_connections_are_silent_and_open_while_new_ones_work(tmp_path: Path) -> None:
    async with running_proxy(tmp_path) as (target, proxy):
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
async def test_half_close_ends_one_direction(answers: bool, tmp_path: Path) -> None:
    async with running_proxy(tmp_path) as (target, proxy):
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


async def test_delay_and_bandwidth(tmp_path: Path) -> None:
    async with running_proxy(tmp_path) as (_, proxy):
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
