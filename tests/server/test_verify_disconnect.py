"""Verification when the client disconnects: its process ends and its place is released."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from signal import SIGCONT

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from samedeal.errors import Refused
from samedeal_server.api import verification
from samedeal_server.api.verification import BUFFERED, MAX_VERIFICATIONS_OF_ONE, Uploads, Verifications, VerifyQuery
from support.child_processes import halted, runs
from support.finished_races import finished
from support.hostile_client import Hostile
from support.logged_server import LoggedServer, request
from support.stores import Process, until

pytestmark = pytest.mark.tier(2)

BODY = b"".join(finished("corners").lines())
HEAD, ENTRY, *_, FOOT = finished("corners").lines()
LONG = HEAD + ENTRY * 100_000 + FOOT
"""A replay that takes seconds to verify."""
UPLOAD = b"POST /api/v1/verify HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(LONG) + LONG


@pytest.fixture
def server(store_url: str, tmp_path: Path) -> Iterator[LoggedServer]:
    with LoggedServer(store_url, tmp_path / "log").start() as running:
        yield running
        assert running.failures() == []


async def test_a_verification_ends_when_its_client_leaves(server: LoggedServer) -> None:
    assert server.process
    with Hostile(server) as client:
        client.send(UPLOAD)
        worker = await halted(server.process.pid)
    try:
        await until(lambda: not runs(worker))
    finally:
        with suppress(ProcessLookupError):
            os.kill(worker, SIGCONT)
    assert request(server, "POST", "/api/v1/verify", BODY).json["ok"] is True


class Client:
    """A client that uploads a replay and stays connected until `leaves` is set."""

    def __init__(self) -> None:
        self.leaves, self._sent = asyncio.Event(), False

    async def receive(self) -> Message:
        if not self._sent:
            self._sent = True
            return {"type": "http.request", "body": BODY, "more_body": False}
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    @property
    def request(self) -> Request:
        return Request({"type": "http", "method": "POST", "client": ("192.0.2.1", 1), "headers": []}, self.receive)


async def test_too_many_pending_verifications_are_refused(parts: Process) -> None:
    verifications = Verifications(parts.archive)
    turns = verifications.jobs.turns
    with ExitStack() as stack:
        for _ in range(MAX_VERIFICATIONS_OF_ONE - 1):
            stack.enter_context(turns.place("192.0.2.1"))
        assert (await verifications.verify(Client().request, VerifyQuery())).ok
        stack.enter_context(turns.place("192.0.2.1"))
        with pytest.raises(Refused, match="Too many"):
            await verifications.verify(Client().request, VerifyQuery())
    await verifications.jobs.stop()


def test_uploads_are_bounded_by_the_bytes_received(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "MAX_UPLOADED", 30)
    monkeypatch.setattr(verification, "MAX_UPLOADED_OF_ONE", 20)
    monkeypatch.setattr(verification, "ALWAYS", 5)
    uploads = Uploads()

    def fits(client: str, count: int) -> bool:
        with uploads.file(client) as (_, append), suppress(Refused):
            append(bytes(count))
            return True
        return False

    with uploads.file("a") as (path, append):
        append(b"x" * 10)
        append(b"y" * 5)
        append(b"")
        assert Path(path).read_bytes() == b"x" * 10 + b"y" * 5
        assert [fits("a", 5), fits("a", 6), fits("b", 15), fits("b", 16)] == [True, False, True, False]
        with uploads.file("b") as (_, append_other):
            append_other(bytes(15))
            assert [fits("c", 5), fits("c", 6)] == [True, False]
    assert not Path(path).exists()
    assert [fits("a", 20), fits("a", 21)] == [True, False]


def test_small_pieces_of_an_upload_are_written_together() -> None:
    with Uploads().file("a") as (path, append):
        for _ in range(BUFFERED - 1):
            append(b"x")
        assert not Path(path).exists()
        append(b"yz")
        assert Path(path).stat().st_size == BUFFERED + 1
        append(b"!")
        append(b"")
        assert Path(path).read_bytes() == b"x" * (BUFFERED - 1) + b"yz!"


async def test_a_client_that_leaves_gives_up_its_place_in_the_queue(parts: Process) -> None:
    clients = [Client() for _ in range(MAX_VERIFICATIONS_OF_ONE)]
    verifications = Verifications(parts.archive)
    turns = verifications.jobs.turns
    async with turns._turn(""):
        waiting = [asyncio.create_task(verifications.verify(client.request, VerifyQuery())) for client in clients]
        await until(lambda: turns.places == len(clients))
        for client in clients[1:]:
            client.leaves.set()
        await until(lambda: turns.places == 1)
        left = await asyncio.gather(*waiting[1:], return_exceptions=True)
        assert {type(end) for end in left} == {ClientDisconnect}
    assert (await waiting[0]).ok
    assert turns.places == 0
    await verifications.jobs.stop()
