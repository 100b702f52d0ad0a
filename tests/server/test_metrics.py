"""Each metric counts what it describes, and none identifies a race or player."""

import asyncio
import json
import platform
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from inspect import getclosurevars
from pathlib import Path
from random import Random
from typing import cast, get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis
from starlette.routing import Route
from websockets.exceptions import ConnectionClosed, InvalidStatus

from project.test_architecture import SOURCES, top
from samedeal import codec
from samedeal.errors import CODES, Refused
from samedeal.games.catalogue import GAMES
from samedeal.version import VERSION
from samedeal.wire import messages as m
from samedeal.wire.close_codes import CloseCode
from samedeal_server.api.endpoint import Endpoint
from samedeal_server.app import create_app
from samedeal_server.net import metrics
from samedeal_server.net.limits import LIMITS, Queue, Turns
from samedeal_server.settings import Keys, Settings
from support.campaign import Persistent
from support.logged_server import Line, LoggedServer, request
from support.servers import Server, racers
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

Sample = tuple[str, frozenset[tuple[str, str]]]


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    log = tmp_path_factory.mktemp("metrics") / "log"
    with LoggedServer(store_url, log, metrics="on", connections_per_address="0").start() as running:
        yield running


def measured(server: Server) -> dict[Sample, float]:
    """Return every sample by name and labels, as a monitoring system parses it."""
    status, text = server.get("/metrics")
    assert status == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def value(server: Server, name: str, **labels: str) -> float:
    return measured(server).get((name, frozenset(labels.items())), 0.0)


async def becomes(what: Callable[[], object], wanted: object) -> None:
    """Wait until something has a value; samples are taken once per second."""
    async with asyncio.timeout(LIMIT_S):
        while await asyncio.to_thread(what) != wanted:  # noqa: ASYNC110 - polls over HTTP
            await asyncio.sleep(0.05)


async def test_race_is_counted_until_its_replay_is_archived(server: LoggedServer) -> None:
    before = measured(server)

    def grown(name: str, **labels: str) -> float:
        return value(server, name, **labels) - before.get((name, frozenset(labels.items())), 0.0)

    race_id = server.create("corners", start_delay_ms=0, max_racers=2)
    players = [Persistent(name, race_id, [server], Random(name)) for name in ("ada", "bo")]
    await asyncio.gather(*(player.begin(race_id) for player in players))
    await becomes(lambda: value(server, "samedeal_seats"), 2)
    await becomes(lambda: value(server, "samedeal_races", stage="running"), 1)
    assert value(server, "samedeal_connections") == 2
    for player in players:
        await player.play(5)
    assert isinstance(await players[0].ask(m.Move, move="z9", ply=players[0].board.ply), m.Problem)
    assert isinstance(await players[0].ask(m.Move, move="draw", ply=99), m.Problem)
    moves = sum(len(player.history.acknowledged) for player in players)
    assert grown("samedeal_moves_total", game="corners", result="accepted") == moves > 5
    assert grown("samedeal_moves_total", game="corners", result="illegal-move") == 1
    assert grown("samedeal_moves_total", game="corners", result="stale-move") == 1
    assert grown("samedeal_append_seconds_count") >= moves
    for player in players:
        player.history.resigned = True
        await player.ask(m.Resign)
    await server.replay(race_id)
    assert grown("samedeal_replays_kept_total") == 1
    await asyncio.gather(*(player.close() for player in players))
    await becomes(lambda: value(server, "samedeal_connections"), 0)
    await becomes(lambda: value(server, "samedeal_seats"), 0)
    assert grown("samedeal_closes_total", code="1000") == 2


async def test_closed_connections_are_counted_by_the_first_code(server: LoggedServer) -> None:
    def closes(code: str) -> float:
        return value(server, "samedeal_closes_total", code=code)

    before = {code: closes(code) for code in ("1000", "4001", "4003", "other")}
    async with await Line.open(server) as line:
        await line.send(b"this is not a message")
        assert await line.close_code() == 4001
    async with await Line.open(server) as line:
        await line.ask("hello", token="wrong")
        assert await line.close_code() == 4003
    for own in (4711, 4712, 4713):
        line = await Line.open(server, "json", "ada")
        await line.socket.close(own)
    for code, more in {"4001": 1.0, "4003": 1.0, "other": 3.0}.items():
        await becomes(partial(closes, code), before[code] + more)
    assert closes("4711") == 0
    assert closes("1000") == before["1000"]


@pytest.mark.tier(3)
async def test_verifications_and_pars_are_counted_by_result(server: LoggedServer) -> None:
    async with racers(server, "ada") as [ada]:
        race_id = server.create("corners", start_delay_ms=0, max_racers=1)
        await ada.begin(race_id)
        await ada.ask(m.Resign)
        replay = json.loads(codec.encode(await server.replay(race_id), "json"))
    before = {result: value(server, "samedeal_verifications_total", result=result) for result in VERDICTS}
    for body in (replay, replay | {"standings": []}, {"format": "none"}):
        request(server, "POST", "/api/v1/verify", json.dumps(body).encode())
    after = {result: value(server, "samedeal_verifications_total", result=result) for result in VERDICTS}
    assert {result: after[result] - before[result] for result in VERDICTS} == dict.fromkeys(VERDICTS, 1)
    assert request(server, "GET", "/api/v1/deals/corners:of-the-metrics/par").status == 202
    await becomes(lambda: value(server, "samedeal_results_total", task="par", result="found"), 1)


VERDICTS = ("holds", "fails", "refused")


async def test_store_errors_and_reconnections_are_counted(server: LoggedServer, store_url: str) -> None:
    errors = value(server, "samedeal_store_errors_total")
    connections = value(server, "samedeal_store_connections_total")
    assert connections > 0
    server.create("corners")  # the server follows it, so a command is always waiting for a reply

    def hung_up_on() -> bool:
        """Break the connections again, and return whether the server has counted a lost command."""
        with Redis.from_url(store_url) as redis:
            redis.client_kill_filter(_type="normal", skipme=True)
        return value(server, "samedeal_store_errors_total") > errors

    await becomes(hung_up_on, True)
    await becomes(lambda: value(server, "samedeal_store_connections_total") > connections, True)


async def test_requests_are_counted_by_endpoint_and_status(server: LoggedServer) -> None:
    def requests(endpoint: str, status: str) -> float:
        return value(server, "samedeal_requests_total", endpoint=endpoint, status=status)

    counted = [
        ("GET /api/v1/races/{race}", "404"),
        ("GET /api/v1/deals/{deal}/par", "404"),
        ("GET /api/v1/games", "200"),
    ]
    counted += [("GET /page/{file}", "200"), ("other", "404"), ("GET /ws", "101"), ("other", "403")]
    before = [requests(*each) for each in counted]
    timed = value(server, "samedeal_request_seconds_count", endpoint="GET /api/v1/games")
    for path in (
        "/api/v1/races/calm-otter-42",
        "/api/v1/deals/poker:one/par",
        "/api/v1/games",
        "/page/main.js",
        "/a/b",
    ):
        server.get(path)
    request(server, "HEAD", "/api/v1/games")
    request(server, "POST", "/api/v1/races", b"{}", Origin="https://elsewhere.example")
    line = await Line.open(server, "json", "ada")
    await line.socket.close()
    await becomes(lambda: [requests(*each) for each in counted], [n + m for n, m in zip(before, MORE, strict=True)])
    assert value(server, "samedeal_request_seconds_count", endpoint="GET /api/v1/games") == timed + 2
    assert value(server, "samedeal_request_seconds_count", endpoint="GET /api/v1/races/{race}") == 0


MORE = (1, 1, 2, 1, 1, 1, 1)


async def test_refusals_are_counted_by_limit(store_url: str, tmp_path: Path) -> None:
    settings = {"metrics": "on", "races_per_minute": "1", "guests_per_minute": "1", "wrong_tokens_per_minute": "1"}
    settings |= {"connections_per_address": "3", "open_races": "2", "message_bytes": "256", "control_frames": "1"}
    settings |= {"fragments_per_message": "2", "rate": "20", "burst_s": "0.25"}

    with LoggedServer(store_url, tmp_path / "log", emptied=True, **settings).start() as server:
        refused = partial(refusals, server)
        server.create("corners")
        opening = json.dumps({"game": "corners", "options": {"filter": "any"}}).encode()
        assert request(server, "POST", "/api/v1/races", opening).status == 429
        assert refused("races_per_minute") == 1
        async with await Line.open(server, "json", "ada") as ada, await Line.open(server) as eve:
            assert isinstance(await eve.ask("hello", name="eve"), m.Problem)
            assert refused("guests_per_minute") == 1
            for number in (1, 2):
                async with await Line.open(server) as other:
                    await other.ask("hello", token=f"wrong {number}")
            assert refused("wrong_tokens_per_minute") == 1
            assert isinstance(await ada.ask("ping", pad="x" * 300), m.Problem)
            assert refused("message_bytes") == 1
            while not value(server, "samedeal_messages_delayed_total"):  # a slow server gains tokens meanwhile
                for number in range(100, 120):
                    await ada.send(ada.written({"t": "ping", "id": number}))
                await ada.answer(119)
            async with await Line.open(server) as third:
                with pytest.raises(InvalidStatus):
                    await Line.open(server)
                assert refused("connections_per_address") == 1
                with suppress(ConnectionClosed):  # the server closes it in the middle of the message
                    await third.socket.send(iter(["a", "b", "c", "d"]))
                await third.socket.wait_closed()
                assert refused("fragments_per_message") == 1
            for _ in range(3):
                await eve.socket.pong(b"unsolicited")
            assert await eve.close_code() == CloseCode.POLICY_VIOLATION
            assert refused("control_frames") == 1


def refusals(server: Server, limit: str) -> float:
    return value(server, "samedeal_refusals_total", limit=limit)


def test_every_refusal_by_a_limit_is_counted() -> None:
    """No module but the one that counts them refuses with `too-many`, except those without a limit of their own."""
    offenders = [name for name in SOURCES if top(name) == "samedeal_server" and 'Refused("too-many"' in source(name)]
    assert offenders == ["samedeal_server.net.limits"]


def source(name: str) -> str:
    return re.sub(r'""".*?"""', "", SOURCES[name].read_text(), flags=re.DOTALL)


async def test_jobs_are_counted_while_they_wait_or_run(server: LoggedServer) -> None:
    def queued(queue: str) -> float:
        return value(server, "samedeal_queued", queue=queue)

    assert request(server, "GET", "/api/v1/deals/kings-in-the-corners:queued/par").status == 202
    await becomes(lambda: queued("par"), 0)
    with pytest.raises(Refused):
        Turns(0, 0, queue="deals").place("a")
    turns = Turns(queue="deals")
    before = REGISTRY("samedeal_queued", {"queue": "deals"})
    with turns.place("a"), turns.place("b") as second:
        assert REGISTRY("samedeal_queued", {"queue": "deals"}) == before + 2
        second.release()
        assert REGISTRY("samedeal_queued", {"queue": "deals"}) == before + 1
    assert REGISTRY("samedeal_queued", {"queue": "deals"}) == before


REGISTRY = cast("Callable[[str, dict[str, str]], float]", metrics._registry.get_sample_value)


def test_alerts_notice_the_first_event_because_counters_start_at_zero(server: LoggedServer) -> None:
    shown = measured(server)
    for name, label, values in (
        ("samedeal_closes_total", "code", map(str, metrics.CLOSE_CODES)),
        ("samedeal_refusals_total", "limit", LIMITS),
    ):
        assert {(name, frozenset({(label, its)})) for its in values} <= shown.keys()
    for game in GAMES:
        labels = {("game", game), ("result", "store-unavailable")}
        assert ("samedeal_moves_total", frozenset(labels)) in shown
    for endpoint in declared_endpoints():
        assert ("samedeal_requests_total", frozenset({("endpoint", endpoint.name), ("status", "500")})) in shown


@pytest.mark.skipif(sys.platform != "linux", reason="platform: only Linux has process metrics")
def test_process_and_build_are_shown(server: LoggedServer) -> None:
    assert server.process
    labels = {"version": VERSION, "python": platform.python_version()}
    assert value(server, "samedeal_build_info", **labels) == 1
    pid = f"{server.process.pid}"
    assert value(server, "process_resident_memory_bytes", pid=pid) > 2**20
    assert 5 < value(server, "process_open_fds", pid=pid) < value(server, "process_max_fds", pid=pid)
    assert value(server, "process_cpu_seconds_total", pid=pid) > 0


def declared_endpoints() -> list[Endpoint]:
    """Return the endpoints of a server, with the names that metrics use."""
    app = create_app(Settings(), "unix:///nowhere", Keys(bytes(32), bytes(32)))
    respond = [route.endpoint for route in app.routes if isinstance(route, Route)]
    return [each for handler in respond for each in getclosurevars(handler).nonlocals["by_method"].values()]


async def test_event_loop_lag_is_sampled(server: LoggedServer) -> None:
    before = value(server, "samedeal_loop_lag_seconds_count")
    await becomes(lambda: value(server, "samedeal_loop_lag_seconds_count") >= before + 3, True)


async def test_labels_have_only_known_values(server: LoggedServer) -> None:
    async with racers(server, "ada", "bo") as both:
        race_id = server.create("gallery", start_delay_ms=0, max_racers=2)
        for racer in both:
            await racer.join(race_id)
            await racer.ask(m.Ready)
        await asyncio.gather(*(racer.dealt() for racer in both))
        for racer in both:
            await racer.ask(m.Move, move=f"{racer.name}{race_id}", ply=0)
    await becomes(lambda: b'code="' in server.get("/metrics")[1], True)
    text = server.get("/metrics")[1].decode()
    for racer in both:
        for value in (race_id, racer.player, racer.token or "", racer.nonce.hex(), racer.view and racer.view.h):
            assert str(value) not in text
    paths = {endpoint.name for endpoint in declared_endpoints()}
    known: dict[str, set[str]] = {
        "game": {*GAMES, "none"},
        "result": {*CODES, "accepted", "found", "failed", *VERDICTS},
        "stage": {*metrics.STAGES},
        "task": {"par"},
        "code": {*map(str, metrics.CLOSE_CODES), "other"},
        "limit": {*LIMITS},
        "queue": {*get_args(Queue)},
        "endpoint": {*paths, "GET /ws", "GET /page/{file}", "other"},
        "status": {*(str(status) for status, _ in CODES.values()), "101", "200", "201", "202", "none"},
        "version": {VERSION},
        "python": {platform.python_version()},
        "pid": {f"{server.process.pid}" if server.process else ""},
    }
    labels = set(re.findall(r'(\w+)="([^"]*)"', text))
    assert {name for name, _ in labels} | {"task"} == {*known, "le"}  # no task before the first par
    assert not {(name, its) for name, its in labels if name != "le" and its not in known[name]}


def test_metrics_are_served_only_if_enabled(redis_url: str) -> None:
    with Server(redis_url) as server:
        assert server.get("/metrics")[0] == 404


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_metrics_are_not_served_through_a_proxy(header: str, server: LoggedServer) -> None:
    for path in ("/metrics", "/%6detrics"):
        assert request(server, "GET", path, None, **{header: "for=192.0.2.1"}).status == 404
    assert request(server, "GET", "/metrics").status == 200
