"""The load generator: WebSocket connections that send as fast as responses arrive, or on a schedule."""

import asyncio
import ctypes
import gc
import os
import time
from array import array
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from msgspec import msgpack
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from bench.machine import cpu_s
from bench.services import Service

SUBPROTOCOL = {"Sec-WebSocket-Protocol": "samedeal.v1.msgpack"}
TICK_S = 0.0005
"""The resolution of a schedule (s). Frames due within a tick are sent together, and timed from that tick."""
PATIENCE_S = 30.0
"""Timeout without any response (s). The server's own timeout for a move is shorter."""
AGAIN_S = 0.2
"""Delay before repeating a request while the store is unavailable (s)."""
AT_ONCE = 100
"""How many connections are opened concurrently."""
_ANSWER, _CHANGES, _PROGRESS = b"\xa1t\xa4view\xa2re", b"\xa1t\xa7changes\xa2re", b"\xa1t\xa8progress"
"""The start of the frequent messages, after the header with the number of fields."""
_ANSWER_AT, _CHANGES_AT, _PROGRESS_AT = 3, 1, 1
"""Where they start: the header of a type with more than 15 fields has three bytes."""
_BINARY = WSMsgType.BINARY


class LoadError(Exception):
    """An error that makes the measurement invalid."""


@dataclass
class Tally:
    """The responses in one interval."""

    latencies: "array[float]" = field(default_factory=lambda: array("d"))
    """Latency of each response (s), from when the request was sent or due."""
    bytes_out: int = 0
    bytes_in: int = 0
    problems: list[Any] = field(default_factory=list)

    def clear(self) -> None:
        """Reset all counts."""
        del self.latencies[:]
        self.bytes_out = self.bytes_in = 0


class Line(WSListener):
    """One connection."""

    def __init__(self) -> None:
        self.transport: WSTransport | None = None
        self.frames: Sequence[bytes] = ()
        self.at = 0
        """The number of frames sent."""
        self.last = 0
        """The number of frames after which it stops."""
        self.token = ""
        self.news: Callable[[bytes], None] | None = None
        """Receives all messages of a spectator."""
        self.tally = Tally()
        self.echoing = False
        self.running = False
        """Whether to send the next frame when a response arrives."""
        self.view: dict[str, Any] = {}
        """The newest view that was decoded outside a measurement."""
        self.sent_at = deque[float]()
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._changed = asyncio.Event()
        self._id = 0

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        closed = transport.close_handshake
        why = f"{closed.recv.code} {closed.recv.reason}" if closed and closed.recv else "abnormally"
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(LoadError(f"the connection was closed: {why}"))
        if self.sent_at:
            self.sent_at.clear()
            self.tally.problems.append(f"the connection was closed: {why}")

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type != _BINARY:
            return  # the connection is closing
        data = frame.get_payload_as_bytes()
        if self.news:
            self.news(data)
            return
        tally = self.tally
        tally.bytes_in += len(data)
        if self.sent_at and (
            self.echoing or data.startswith(_ANSWER, _ANSWER_AT) or data.startswith(_CHANGES, _CHANGES_AT)
        ):
            now = time.perf_counter()
            tally.latencies.append(now - self.sent_at.popleft())
            if self.running and self.at < self.last:
                self.send_next(now)
        elif not data.startswith(_PROGRESS, _PROGRESS_AT):
            self._heard(msgpack.decode(data))

    def send_next(self, since: float) -> None:
        """Send the next frame, and measure its latency from `since`."""
        data = self.frames[self.at]
        self.at += 1
        self.sent_at.append(since)
        self._send(data)

    def _send(self, data: bytes) -> None:
        self.tally.bytes_out += len(data)
        if self.transport:
            self.transport.send(_BINARY, data)

    async def ask(self, kind: str, **fields: object) -> dict[str, Any]:
        """Send a request, repeating it while the store is unavailable. Raises LoadError if the server refuses it."""
        until = time.perf_counter() + PATIENCE_S
        while True:
            self._id += 1
            asked = self._asked[self._id] = asyncio.get_running_loop().create_future()
            if not self.transport:
                raise LoadError("not connected")
            self.transport.send(_BINARY, msgpack.encode({"t": kind, "id": self._id, **fields}))
            answer: dict[str, Any] = await asked
            if answer["t"] != "problem":
                return answer
            if answer["code"] != "store-unavailable" or time.perf_counter() > until:
                raise LoadError(f"{kind} was refused: {answer['code']}: {answer['detail']}")
            await asyncio.sleep(AGAIN_S)

    async def until_stage(self, stage: str) -> None:
        while self.view.get("stage") != stage:
            self._changed.clear()
            await self._changed.wait()

    def _heard(self, message: dict[str, Any]) -> None:
        if message["t"] == "view":
            self.view = message
            self._changed.set()
        if (asked := self._asked.pop(message.get("re", 0), None)) and not asked.done():
            asked.set_result(message)
        elif message["t"] == "problem":
            if message["code"] == "store-unavailable" and len(self.sent_at) == 1:
                self._send(self.frames[self.at - 1])  # as clients do; the latency counts from the first request
            else:
                self.tally.problems.append(message)


async def opened(
    address: str,
    count: int,
    greet: Callable[[Line], Awaitable[None]] | None = None,
    *,
    echoing: bool = False,
    races: Sequence[str] = (),
) -> list[Line]:
    """Open connections to a server, AT_ONCE at a time, and call `greet` on each.

    With `races`, connection number n connects for the race with that number.
    """
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(path: str) -> Line:
        async with turns:
            _, line = await ws_connect(
                Line,
                f"ws://{address}{path}",
                extra_headers={} if echoing else SUBPROTOCOL,
                websocket_handshake_timeout=60,
                read_buffer_init_size=4096,
            )
            assert isinstance(line, Line)
            line.echoing = echoing
            if greet:
                await greet(line)
        return line

    paths = [f"/ws/{race}" for race in races] or ["/ws"] * count
    return await asyncio.gather(*map(one, paths))


async def close_all(lines: Sequence[Line]) -> None:
    """Close connections."""
    for line in lines:
        if line.transport:
            line.transport.disconnect()
    await asyncio.gather(*(line.transport.wait_disconnected() for line in lines if line.transport))


@dataclass(frozen=True)
class Interval:
    """The measurements of an interval."""

    seconds: float
    answers: int
    latencies: Sequence[float]
    """Sorted latencies (s)."""
    cpu_s: Mapping[str, float]
    """CPU time used by each party: the services and the load generator (s)."""
    bytes_out: int
    bytes_in: int

    @property
    def rate(self) -> float:
        """Responses per second."""
        return self.answers / self.seconds

    def quantile_ms(self, share: float) -> float:
        """Return the latency that a share of the responses did not exceed (ms)."""
        return 1000 * self.latencies[min(self.answers - 1, int(share * self.answers))]

    def cpu_us(self, party: str) -> float:
        """Return the CPU time of a party per response (µs)."""
        return 1e6 * self.cpu_s[party] / self.answers

    def cpu_share(self, party: str) -> float:
        """Return the share of one core that a party used."""
        return self.cpu_s[party] / self.seconds


class Drive:
    """Drives connections together and measures them."""

    def __init__(self, lines: Sequence[Line], parties: Mapping[str, Sequence[Service]]) -> None:
        self._lines, self._parties = lines, parties
        self._tally = Tally()
        for line in lines:
            line.tally = self._tally

    async def flat_out(self, seconds: float, warm_s: float) -> Interval:
        """Send each connection's next frame as soon as the previous response arrives."""
        with undisturbed():
            self._go(len(self._lines[0].frames))
            await asyncio.sleep(warm_s)
            with self._measured() as measured:
                await self._interval(seconds)
            for line in self._lines:
                line.running = False
            await self._settled()
        if any(line.at >= len(line.frames) for line in self._lines):
            raise LoadError("a racer ran out of moves: the interval is too long for one race")
        return measured[0]

    async def until(self, ply: int) -> Interval:
        """Like `flat_out`, until each connection has sent `ply` frames."""
        with undisturbed(), self._measured() as measured:
            self._go(ply)
            await self._settled()
        return measured[0]

    async def _interval(self, seconds: float) -> None:
        """Wait for an interval, and on a slow machine until there is at least one response."""
        until = time.perf_counter() + seconds + PATIENCE_S
        await asyncio.sleep(seconds)
        while not self._tally.latencies and time.perf_counter() < until:  # noqa: ASYNC110 (responses set no event)
            await asyncio.sleep(0.01)

    def _go(self, last: int) -> None:
        for line in self._lines:
            line.running, line.last = True, last
            line.send_next(time.perf_counter())

    async def scheduled(self, rate: float, seconds: float, warm_s: float, seed: str) -> Interval:
        """Send frames at random times, `rate` per second on average, whether responses have arrived or not.

        The latency of a response is measured from when its frame was due.
        """
        loop, random, turn = asyncio.get_running_loop(), Random(seed), 0
        for line in self._lines:
            line.running = False
        with undisturbed():  # before the first frame is due, so that it causes no delay
            began = due = time.perf_counter()

            def tick() -> None:
                nonlocal due, turn
                os.read(timer, 8)
                now = time.perf_counter()
                while (tick_due := began + (int((due - began) / TICK_S) + 1) * TICK_S) <= now:
                    self._lines[turn].send_next(tick_due)
                    turn = (turn + 1) % len(self._lines)
                    due += random.expovariate(rate)

            timer = _timer(TICK_S)
            loop.add_reader(timer, tick)
            try:
                await asyncio.sleep(warm_s)
                with self._measured() as measured:
                    await self._interval(seconds)
            finally:
                loop.remove_reader(timer)
                os.close(timer)
            await self._settled()
        return measured[0]

    @contextmanager
    def _measured(self) -> Iterator[list[Interval]]:
        """Measure while the block runs. The list then contains the interval."""
        found: list[Interval] = []
        self._tally.clear()
        before, began = self._cpu_s(), time.perf_counter()
        yield found
        seconds, after = time.perf_counter() - began, self._cpu_s()
        tally, used = self._tally, {party: after[party] - before[party] for party in before}
        latencies = sorted(tally.latencies)
        if not latencies:
            raise LoadError("no response arrived")
        found.append(Interval(seconds, len(latencies), latencies, used, tally.bytes_out, tally.bytes_in))

    def _cpu_s(self) -> dict[str, float]:
        used = {
            party: cpu_s(pid for each in services for pid in each.pids) for party, services in self._parties.items()
        }
        return {**used, "load": time.process_time()}

    async def _settled(self) -> None:
        answers, since = -1, time.perf_counter()
        while any(line.sent_at for line in self._lines) and not self._tally.problems:
            if answers != (answers := len(self._tally.latencies)):
                since = time.perf_counter()
            elif time.perf_counter() - since > PATIENCE_S:
                waiting = sum(bool(line.sent_at) for line in self._lines)
                raise LoadError(f"{waiting} of {len(self._lines)} had no response for {PATIENCE_S:.0f} s")
            await asyncio.sleep(0.01)
        if self._tally.problems:
            raise LoadError(f"refused: {self._tally.problems[0]}")


@contextmanager
def undisturbed() -> Iterator[None]:
    """Disable garbage collection in the load generator."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def _timer(every_s: float) -> int:
    """Return a timerfd that becomes readable at intervals: the event loop's timers are too coarse."""
    libc = ctypes.CDLL(None, use_errno=True)
    timer: int = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK)
    every = int(1e9 * every_s)
    if timer < 0 or libc.timerfd_settime(timer, 0, (ctypes.c_long * 4)(0, every, 0, every), None) < 0:
        raise OSError(ctypes.get_errno(), "could not create a timer")
    return timer
