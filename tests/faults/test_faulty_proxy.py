"""The faulty proxy: each fault has its effect."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.campaign import true
from support.faulty_proxy import Proxy

End = tuple[asyncio.StreamReader, asyncio.StreamWriter]
PATIENCE_S = 10


class Target:
    """Echoes every line and records all received data."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.rest: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
async def lines(folder: Path, *, unix: bool = False) -> AsyncIterator[tuple[Target, Proxy]]:
    """Start a target behind a proxy."""
    target, socket = Target(), folder / "socket"
    if unix:
        server = await asyncio.start_unix_server(target.serve, socket)
        url = f"unix://{socket}"
    else:
        server = await asyncio.start_server(target.serve, "127.0.0.1", 0)
        url = "redis://{}:{}".format(*server.sockets[0].getsockname())
    try:
        async with asyncio.timeout(PATIENCE_S), Proxy(url) as proxy:
            yield target, proxy
    finally:
        server.close()


async def connected(proxy: Proxy) -> End:
    host, _, port = proxy.url.rpartition("/")[2].partition(":")
    return await asyncio.open_connection(host, int(port))


async def said(end: End, line: bytes) -> bytes:
    """Return the reply to a line."""
    end[1].write(line)
    return await end[0].readline()


@pytest.mark.parametrize("unix", [False, True])
async def test_what_is_said_goes_through_and_so_does_the_end(unix: bool, tmp_path: Path) -> None:
    async with lines(tmp_path, unix=unix) as (target, proxy):
        end = await connected(proxy)
        assert await said(end, b"one\n") == b"one\n"
        end[1].write_eof()
        assert await end[0].read() == b"bye\n"
        assert (target.lines, target.rest) == ([b"one\n"], [b""])
        end[1].close()


async def test_a_line_that_is_cut_is_reset_and_takes_nobody_until_it_is_mended(tmp_path: Path) -> None:
    async with lines(tmp_path) as (_, proxy):
        end = await connected(proxy)
        assert await said(end, b"one\n") == b"one\n"
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            await end[0].read()
        with pytest.raises(ConnectionError):
            await said(await connected(proxy), b"two\n")
        proxy.mend()
        again = await connected(proxy)
        assert await said(again, b"three\n") == b"three\n"
        again[1].close()


async def test_a_request_may_be_cut_within(tmp_path: Path) -> None:
    async with lines(tmp_path) as (target, proxy):
        end = await connected(proxy)
        cutting = asyncio.ensure_future(proxy.cut_within(b"fatal"))
        assert await said(end, b"harmless\n") == b"harmless\n"
        with pytest.raises(ConnectionResetError):
            await said(end, b"a fatal request\n")
        await cutting
        await true(lambda: bool(target.rest))
        assert target.lines == [b"harmless\n"]


async def test_an_answer_may_be_lost_after_the_request_went_through(tmp_path: Path) -> None:
    async with lines(tmp_path) as (target, proxy):
        end, other = await connected(proxy), await connected(proxy)
        losing = asyncio.ensure_future(proxy.lose_answer(b"append"))
        assert await said(end, b"read\n") == b"read\n"
        with pytest.raises(ConnectionResetError):
            await said(end, b"append\n")
        await losing
        assert await said(other, b"append\n") == b"append\n"
        assert target.lines == [b"read\n", b"append\n", b"append\n"]
        other[1].close()


async def test_a_line_that_stalls_takes_everything_and_forwards_it_when_it_is_mended(tmp_path: Path) -> None:
    async with lines(tmp_path) as (target, proxy):
        proxy.stall()
        end = await connected(proxy)
        answer = asyncio.ensure_future(said(end, b"one\n"))
        done, _ = await asyncio.wait([answer], timeout=0.1)
        assert (done, target.lines) == (set(), [])
        proxy.mend()
        assert await answer == b"one\n"
        end[1].close()


@pytest.mark.parametrize("answers", [False, True])
async def test_one_direction_may_end_alone(answers: bool, tmp_path: Path) -> None:
    async with lines(tmp_path) as (target, proxy):
        end = await connected(proxy)
        assert await said(end, b"one\n") == b"one\n"
        proxy.half_close(answers=answers)
        if answers:
            assert await end[0].read() == b""
            end[1].write(b"two\n")
            await true(lambda: len(target.lines) == 2)
        else:
            assert await end[0].read() == b"bye\n"
            assert target.rest == [b""]
        end[1].close()


async def test_a_line_may_be_late_and_narrow(tmp_path: Path) -> None:
    async with lines(tmp_path) as (_, proxy):
        end = await connected(proxy)
        proxy.delay_s = 0.05
        before = time.monotonic()
        assert await said(end, b"one\n") == b"one\n"
        assert time.monotonic() - before >= 0.1
        proxy.delay_s, proxy.bytes_per_s = 0.0, 10_000
        before = time.monotonic()
        assert len(await said(end, 999 * b"x" + b"\n")) == 1000
        assert time.monotonic() - before >= 0.2
        end[1].close()
