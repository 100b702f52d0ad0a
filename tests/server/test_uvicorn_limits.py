"""Hostile clients exceed each limit of a real server, which stays small and keeps serving others.

docs/operate/security.md lists the threats and these tests.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from conftest import kept_store
from samedeal_server.net.http_connection import LISTS
from samedeal_server.net.limits import REFUSAL_DELAY_S
from support.hostile_client import BINARY, CLOSE, CONT, PING, PONG, TEXT, Hostile, frame, gone, memory, said
from support.logged_server import Line, LoggedServer, request
from support.servers import Server
from support.waiting import LIMIT_S, wait_until

pytestmark = pytest.mark.tier(2)

HELLO = '{"t":"hello","id":1,"name":"eve"}'
SMALL_KB = 12_000
"""How much the server may grow in a test, in kB. An unlimited flood takes many times as much."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    """A server with short timeouts that sends no pings.

    It has a store of its own because other tests empty theirs.
    """
    log = tmp_path_factory.mktemp("uvicorn_limits") / "log"
    timeouts = {"request_s": "0.6", "unread_s": "1", "ping_s": "3600", "away_s": "0.3"}
    for store_url in kept_store(tmp_path_factory.mktemp("store")):
        with LoggedServer(store_url, log, connections_per_address="0", emptied=True, **timeouts).start() as running:
            yield running


@pytest.fixture(autouse=True)
def _server_stays_healthy(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test, the server has logged no error, has not grown, and serves requests."""
    if "server" not in request.fixturenames:
        yield
        return
    server: LoggedServer = request.getfixturevalue("server")
    assert server.get("/healthz") == (200, b"ok\n")
    before = memory(server)
    yield
    assert server.failures() == []
    assert memory(server) - before < SMALL_KB
    assert server.get("/healthz") == (200, b"ok\n")


def test_message_with_too_many_fragments_closes_with_1009(server: LoggedServer) -> None:
    with Hostile.shaken(server) as eve:
        text = b'{"t":"ping","id":1}'
        eve.send(frame(TEXT, text, fin=False) + frame(CONT, fin=False) * 126 + frame(CONT))
        assert eve.frame() == (TEXT, b'{"re":1,"t":"pong"}')
        eve.send(frame(TEXT, text, fin=False) + frame(CONT, fin=False) * 127 + frame(CONT))
        assert eve.close_code() == 1009


def test_endless_fragments_close_the_connection(server: LoggedServer) -> None:
    for opcode in (TEXT, BINARY):
        with Hostile.shaken(server) as eve:
            eve.send(frame(opcode, fin=False))
            assert eve.flood(frame(CONT, fin=False) * 10_000, 1_000) < 1_000


def test_fragmented_message_over_the_frame_limit_closes_with_1009(server: LoggedServer) -> None:
    with Hostile.shaken(server) as eve:
        eve.send(frame(TEXT, b"x" * 40_000, fin=False) + frame(CONT, b"x" * 40_000))
        assert eve.close_code() == 1009
    with Hostile.shaken(server) as eve:
        eve.send(frame(TEXT, b"x" * 70_000)[:20])  # the announced length is enough
        assert eve.close_code() == 1009


def test_close_frame_within_an_incomplete_message_is_answered(server: LoggedServer) -> None:
    with Hostile.shaken(server) as eve:
        eve.send(frame(TEXT, b"half a", fin=False) + frame(CLOSE, b"\x03\xe8"))
        assert eve.close_code() == 1000


@pytest.mark.parametrize("opcode", [PING, PONG])
def test_too_many_control_frames_close_with_1008(server: LoggedServer, opcode: int) -> None:
    with Hostile.shaken(server) as eve:
        eve.send(frame(opcode, b"x") * 20 + said('{"t":"ping","id":1}'))
        if opcode == PING:
            assert [eve.frame() for _ in range(20)] == [(PONG, b"x")] * 20
        assert eve.frame() == (TEXT, b'{"re":1,"t":"pong"}')
        eve.send(frame(opcode, b"x"))
        assert eve.close_code() == 1008


@pytest.mark.parametrize("opcode", [PING, PONG, CLOSE])
def test_control_frame_flood_without_reading_is_disconnected(server: LoggedServer, opcode: int) -> None:
    with Hostile.shaken(server, receives=4096) as eve:
        assert eve.flood(frame(opcode, b"\x03\xe8" + b"p" * 100) * 500, 1_000) < 1_000


def test_answers_to_server_pings_are_not_counted(store_url: str, tmp_path: Path) -> None:
    pinging = LoggedServer(store_url, tmp_path / "log", ping_s="0.2", control_frames="1")
    with pinging.start() as server, Hostile.shaken(server) as ada:
        ada.send(said(HELLO))
        assert ada.frame()[0] == TEXT
        for _ in range(3):
            opcode, data = ada.frame()
            assert opcode == PING
            ada.send(frame(PONG, data))
        ada.send(said('{"t":"ping","id":2}'))
        while (got := ada.frame())[0] == PING:
            ada.send(frame(PONG, got[1]))
        assert got == (TEXT, b'{"re":2,"t":"pong"}')


def test_compression_is_not_negotiated(server: LoggedServer) -> None:
    with Hostile.shaken(server, extensions="permessage-deflate") as eve:
        assert b"deflate" not in eve.handshake.lower()
        eve.send(frame(TEXT, b"\xaaV*Q\xb2R*\xc8\xccKW\xd2Q\xcaL\x01\xd2\x86\xb5\x00", rsv=4))
        assert eve.close_code() == 1002


def test_flood_of_tiny_messages_does_not_accumulate_in_memory(server: LoggedServer) -> None:
    with ExitStack() as stack:
        crowd = [stack.enter_context(Hostile.shaken(server, receives=4096)) for _ in range(20)]
        before = peak = memory(server)
        pings = said('{"t":"ping","id":1}') * 5_000
        unsent = {eve: said(HELLO) + pings for eve in crowd}
        while not gone(crowd, 0.02):
            peak = max(peak, memory(server))
            for eve in crowd:
                eve.socket.setblocking(False)
                with suppress(OSError):  # the send buffer is full, or the server has closed the connection
                    unsent[eve] = unsent[eve][eve.socket.send(unsent[eve]) :] or pings
    assert peak - before < SMALL_KB


INCOMPLETE = {
    "nothing": b"",
    "partial request line": b"GET /healthz HT",
    "partial headers": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: ",
    "partial body": b'POST /api/v1/races HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"game":',
    "partial chunk": b'POST /api/v1/races HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"ga',
    "partial handshake": b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ",
    "unexpected body": b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
}


def test_requests_sent_byte_by_byte_time_out(server: LoggedServer) -> None:
    with ExitStack() as stack:
        crowd = {start: stack.enter_context(Hostile(server)) for start in INCOMPLETE}
        for start, eve in crowd.items():
            eve.send(INCOMPLETE[start])
        began = time.monotonic()
        while waiting := [start for start, eve in crowd.items() if not gone([eve], 0.005)]:
            for start in waiting:
                assert crowd[start].flood(b"x", 1) in (0, 1)
            assert time.monotonic() - began < 30, waiting


def answer(server: Server, data: bytes) -> tuple[int, bytes]:
    """Send bytes and return the status of the response and everything after the status line."""
    with Hostile(server) as eve:
        eve.send(data)
        head, _, rest = eve.rest().partition(b"\r\n")
        return int(head.split()[1]), rest


def test_request_with_too_many_headers_is_refused(server: LoggedServer) -> None:
    def status(count: int) -> int:
        return request(server, "GET", "/healthz", None, **{f"X{number}": "x" for number in range(count - 1)}).status

    assert status(100) == 200
    assert status(101) == 413
    upgrade = Hostile.greeting(server)[:-2]
    assert answer(server, upgrade + b"X: x\r\n" * 100 + b"\r\n")[0] == 413


def test_request_with_long_headers_is_refused(server: LoggedServer) -> None:
    assert request(server, "GET", "/healthz", X="x" * 15_000).status == 200
    for path in ("/healthz", "/ws"):
        code, rest = answer(server, f"GET {path} HTTP/1.1\r\nX: {'x' * 30_000}".encode())
        assert (code, b"too-large" in rest) == (413, True)
    assert answer(server, b"GET /" + b"x" * 30_000)[0] == 413


@pytest.mark.parametrize(
    ("head", "unit", "most"),
    [
        (b"/ HTTP/1.1\r\n%s: x" % max(LISTS).title(), b",", 99),
        (b"/ HTTP/1.1\r\nAccept: x\r\nIf-None-Match: x", b";", 99),
        (b"/ HTTP/1.1\r\nHost: x", b"x", 299),
        (b"/?x", b"&x", 63),
        (b"/", b"%41", 1365),
    ],
)
def test_request_that_would_take_long_to_parse_is_refused(
    server: LoggedServer, head: bytes, unit: bytes, most: int
) -> None:
    rest = (b"" if b"HTTP" in head else b" HTTP/1.1") + b"\r\nConnection: close\r\n\r\n"
    refusals = [b"too-large" in answer(server, b"GET " + head + unit * count + rest)[1] for count in (most, most + 1)]
    assert refusals == [False, True]


@pytest.mark.parametrize(
    "endless",
    [
        b"GET /healthz HTTP/1.1\r\nX: ",
        b"GET /",
        b"POST /api/v1/verify HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;",
        b"POST /api/v1/verify HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: ",
    ],
)
def test_endless_headers_and_trailers_close_the_connection(server: LoggedServer, endless: bytes) -> None:
    with Hostile(server) as eve:
        eve.send(endless)
        assert eve.flood(b"x" * 100_000, 2_000) < 2_000


def test_body_in_one_byte_chunks_is_accepted(server: LoggedServer) -> None:
    body = b'{"game":"corners","options":{"limit_ms":600000}}' + b" " * 10_000
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    head = b"POST /api/v1/races HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert answer(server, head + chunks)[0] == 201


def test_connection_with_pipelined_requests_closes_after_a_response(server: LoggedServer) -> None:
    one = b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"
    with Hostile(server) as ada:
        ada.send(one * 5)
        response = ada.rest()
        assert response.count(b"HTTP/1.1 200") == 1
        assert b"connection: close" in response
        assert response.endswith(b"ready\n")
    with Hostile(server, receives=4096) as eve:
        assert eve.flood(one * 2_000, 1_000) < 1_000


@pytest.mark.parametrize(
    "junk", [b"\0" * 100, b"\x16\x03\x01\x02\x00\x01", b"HELO there\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]
)
def test_invalid_http_is_refused(server: LoggedServer, junk: bytes) -> None:
    code, rest = answer(server, junk)
    assert (code, b"bad-request" in rest) == (400, True)


def test_a_client_cannot_cause_refusals_without_delay(server: LoggedServer) -> None:
    began = time.monotonic()
    assert answer(server, b"GET /" + b"x" * 30_000)[0] == 413
    assert answer(server, b"junk\r\n\r\n")[0] == 400
    assert time.monotonic() - began >= 2 * REFUSAL_DELAY_S[0]


@pytest.mark.parametrize("path", [b"/ws\xff", b"*", b"", b"http://x/ws"])
def test_handshake_at_an_invalid_url_is_refused(server: LoggedServer, path: bytes) -> None:
    greeting = Hostile.greeting(server).replace(b"GET /ws", b"GET " + path, 1)
    assert answer(server, greeting)[0] in (400, 403, 404)


def test_websocket_client_that_does_not_read_is_disconnected_despite_pings(server: LoggedServer) -> None:
    race_id = server.create("gallery", seed="1", spectators="open")
    with Hostile.shaken(server, receives=4096) as eve:
        eve.send(said(HELLO))
        eve.socket.settimeout(0.1)
        eve.flood(said(f'{{"t":"watch","id":2,"race":"{race_id}"}}') * 50 + frame(PING), 15)
        assert gone([eve], 50)


def test_slow_websocket_reader_closes_with_4008(store_url: str, tmp_path: Path) -> None:
    slow_server = LoggedServer(store_url, tmp_path / "log", unread_s="600", emptied=True, queue_bytes="20000")
    with slow_server.start() as server:
        race_id = server.create("gallery", seed="1")
        with Hostile.shaken(server, receives=4096) as slow:
            slow.send(said(HELLO))
            slow.socket.settimeout(0.5)
            flood = said(f'{{"t":"watch","id":2,"race":"{race_id}"}}') * 400
            assert slow.flood(flood, 2_000) < 2_000  # until the server stops reading
            slow.socket.settimeout(LIMIT_S)
            assert slow.close_code() == 4008


def test_http_client_that_does_not_read_is_disconnected(server: LoggedServer) -> None:
    with Hostile(server, receives=4096) as eve:
        began = time.monotonic()
        while not gone([eve], 0.002):
            eve.flood(b"GET /api/v1/games HTTP/1.1\r\nHost: a\r\n\r\n", 1)
            assert time.monotonic() - began < 60


def test_connections_beyond_the_server_limit_are_refused(store_url: str, tmp_path: Path) -> None:
    with LoggedServer(store_url, tmp_path / "log", connections="5").start() as server, ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(Hostile.shaken(server))
        code, rest = answer(server, b"GET /healthz HTTP/1.1\r\n\r\n")
        assert (code, b"too-many" in rest) == (429, True)


def test_http_connections_beyond_the_address_limit_are_refused(store_url: str, tmp_path: Path) -> None:
    limits = {"http_connections_per_address": "4", "connections_per_address": "10"}
    with LoggedServer(store_url, tmp_path / "log", emptied=True, **limits).start() as server, ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(Hostile.shaken(server))  # WebSockets are not counted
        waiting = [stack.enter_context(Hostile(server)) for _ in range(4)]
        assert answer(server, b"GET /healthz HTTP/1.1\r\n\r\n")[0] == 429
        waiting[0].socket.close()
        while request(server, "GET", "/healthz").status != 200:
            time.sleep(0.01)


def test_many_short_connections_leave_no_open_files(server: LoggedServer) -> None:
    assert server.process
    files = Path(f"/proc/{server.process.pid}/fd")
    before = len(os.listdir(files)) if files.exists() else 0
    for number in range(600):
        with Hostile(server) as eve:
            eve.send((b"", b"GET / HT", Hostile.greeting(server))[number % 3])
    wait_until(lambda: not files.exists() or len(os.listdir(files)) <= before + 5)


async def test_clients_cannot_forge_log_lines(store_url: str, tmp_path: Path) -> None:
    evil = "\r\n2026-01-01 00:00:00,000 ERROR samedeal_server: \x1b[31mforged\x85\u2028forged"
    with LoggedServer(store_url, tmp_path / "log", log_level="debug").start() as server:
        async with await Line.open(server) as line:
            await line.ask("hello", name=evil)
            await line.ask("hello", name="eve", client=evil[:64])
            await line.ask("join", race=evil[:64])
            await line.send(b"{" + evil.encode())
            await line.close_code()
        for method in ("GET", "POST"):
            request(server, method, "/api/v1/races?game=%0d%0aforged%1b%5b31mforged", b"{}")
            request(server, method, "/api/v1/races/%0d%0aforged", b"{}")
        answer(server, b"GET /\x1b[31mforged HTTP/1.1\r\nX: forged\x0bforged\r\n\r\n")
        answer(
            server,
            b"GET /ws?%0aforged HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade\r\nOrigin: \x1bforged\r\n\r\n",
        )
        log = server.log
    stamped = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO|WARNING) [a-z_.]+: [ -~…]*")
    assert "says hello with" in log
    for text in log.splitlines():
        assert stamped.fullmatch(text), text
        assert not text.startswith("2026-01-01 00")


def test_invalid_requests_are_not_logged(server: LoggedServer) -> None:
    before = server.log
    for _ in range(5):
        answer(server, b"\0\r\n\r\n")
        answer(server, b"GET /healthz HTTP/1.1\r\nConnection: close, upgrade\r\nUpgrade: h2c\r\n\r\n")
    assert server.log == before
