"""The event stream of a race shows what a spectator sees, as it happens, within the limits of connections."""

import asyncio
import signal

import pytest
from starlette.requests import Request
from starlette.types import Message, Scope
from websockets.exceptions import InvalidStatus

from samedeal.errors import Refused
from samedeal.wire import decoding
from samedeal.wire import messages as m
from samedeal_server.api import events
from samedeal_server.api.events import _Spectator
from samedeal_server.net.limits import Count
from support.event_stream import EventStream
from support.http_api import UNKNOWN, finish_race, problem
from support.logged_server import Line, LoggedServer, request
from support.rooms import opened
from support.servers import Server, racers
from support.stores import Process, process, seat_for, until

pytestmark = pytest.mark.tier(2)

STORE, SETTINGS = "own_store", {"connections_per_address": "3"}


async def test_stream_follows_a_race_from_the_lobby_to_its_end(server: LoggedServer) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, max_racers=1)
    with EventStream(server, race_id) as stream:
        assert stream.response.headers["content-type"] == "application/x-ndjson"
        assert stream.response.headers["cache-control"] == "no-store"
        first = await stream.line()
        assert first == request(server, "GET", f"/api/v1/races/{race_id}").body
        async with racers(server, "ada") as (ada,):
            await ada.join(race_id)
            view = await stream.event()
            assert isinstance(view, m.View)
            assert [standing.name for standing in view.standings] == ["ada"]
            assert view.header is None
            await ada.ask(m.Ready)
            await ada.until(lambda view: view.stage == "running")
            await stream.until_stage("running")
            await ada.move("draw")
            progress = await stream.event()
            assert isinstance(progress, m.Progress)
            assert ada.view
            assert progress.n == ada.view.n
            await ada.ask(m.Resign)
        rest = await stream.rest()
        assert isinstance(rest[-1], m.View)
        assert rest[-1].stage == "over"
        assert [event for event in rest[:-1] if isinstance(event, m.View) and event.stage == "over"] == []
        assert not any(b'"boards"' in packet or b'"board"' in packet for packet in stream.packets)


async def test_stream_of_a_finished_race_is_its_view(server: LoggedServer) -> None:
    race_id, _ = await finish_race(server)
    with EventStream(server, race_id) as stream:
        (view,) = await stream.rest()
    assert isinstance(view, m.View)
    assert (view.stage, view.deal, view.header is not None) == ("over", "corners:1", True)


@pytest.mark.parametrize("spectators", ["after", "open"])
async def test_stream_shows_no_more_than_the_race_permits(server: LoggedServer, spectators: str) -> None:
    race_id = server.create("corners", seed="1", start_delay_ms=0, max_racers=1, spectators=spectators)
    with EventStream(server, race_id) as stream:
        async with racers(server, "ada") as (ada,):
            await ada.begin(race_id)
            view = await stream.until_stage("running")
            await ada.move("draw")
            event = await stream.event()
            assert event
            if spectators == "open":
                assert isinstance(event, m.View)
                assert event.boards
                assert event.boards[1].ply == 1
            else:
                assert (view.standings, event.standings) == ((), ())
            await ada.ask(m.Resign)
        assert (await stream.rest())[-1].standings


async def test_streams_count_as_websocket_connections(server: LoggedServer) -> None:
    race_id = server.create("corners")
    path = f"/api/v1/races/{race_id}/events"
    with EventStream(server, race_id) as one, EventStream(server, race_id):
        async with await Line.open(server, name="ada"):
            assert problem(request(server, "GET", path), "too-many", "connections")
        with EventStream(server, race_id):
            with pytest.raises(InvalidStatus) as refused:
                await Line.open(server)
            assert refused.value.response.status_code == 429
        assert await one.line()

    def is_free() -> bool:
        with EventStream(server, race_id) as stream:
            return stream.response.status == 200

    await until(is_free)  # the server notices that clients have disconnected


def test_head_and_unknown_races_are_answered_at_once(server: LoggedServer) -> None:
    path = f"/api/v1/races/{server.create('corners')}/events"
    head = request(server, "HEAD", path)
    assert (head.status, head.headers["content-type"]) == (200, "application/x-ndjson")
    assert problem(request(server, "GET", f"/api/v1/races/{UNKNOWN}/events"), "not-found")


async def test_stream_ends_when_the_server_drains(redis_url: str) -> None:
    with Server(redis_url, drain_seconds="3600") as server:
        race_id = server.create("corners")
        with EventStream(server, race_id) as stream:
            assert await stream.event()
            assert server.process
            server.process.send_signal(signal.SIGTERM)
            assert await stream.rest() == []
        assert problem(request(server, "GET", f"/api/v1/races/{race_id}/events"), "draining")
        server.kill()


async def test_concurrent_requests_cannot_exceed_the_limit(redis_url: str) -> None:
    async with process(redis_url) as one, process(redis_url) as other:
        race_id = (await opened(one)).race.id  # the other process has to load it, which takes a moment
        streams = events.Events(other.registry, Count("connections_per_address", 1, ""))
        scope: Scope = {"type": "http", "method": "GET", "client": ("127.0.0.1", 1), "headers": []}
        end = asyncio.Event()

        async def receive() -> Message:
            await end.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            pass

        async def get() -> None:
            await (await streams.stream(Request(scope), race_id))(scope, receive, send)

        requests = [asyncio.create_task(get()) for _ in range(2)]
        await until(lambda: any(task.done() for task in requests))
        end.set()
        results = await asyncio.gather(*requests, return_exceptions=True)
        assert [error.code for error in results if isinstance(error, Refused)] == ["too-many"]


async def test_a_quiet_stream_is_kept_alive(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEEP_ALIVE_S", 0.01)
    room = await opened(parts)
    lines = _Spectator(room, parts.registry).lines()
    assert b'"view"' in await anext(lines)
    assert [await anext(lines) for _ in range(3)] == [b"\n"] * 3
    await lines.aclose()


async def test_a_client_that_disconnects_leaves_no_tasks(parts: Process) -> None:
    room = await opened(parts)
    lines = _Spectator(room, parts.registry).lines()
    await anext(lines)
    before = asyncio.all_tasks()
    waiting = asyncio.ensure_future(anext(lines))
    await asyncio.sleep(0)  # it starts to wait
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await until(lambda: asyncio.all_tasks() <= before)


async def test_a_slow_reader_gets_only_the_newest_state(parts: Process) -> None:
    room = await opened(parts)
    spectator = _Spectator(room, parts.registry)
    lines = spectator.lines()
    await anext(lines)
    for player in range(1, 8):
        await room.submit(seat_for(player))
    view = decoding.decode_from_server(await anext(lines), "json")
    assert isinstance(view, m.View)
    assert (view.n, len(view.standings)) == (room.race.n, 7)
    assert room.broadcast.has_listeners
    spectator.leave()
    assert not room.broadcast.has_listeners
