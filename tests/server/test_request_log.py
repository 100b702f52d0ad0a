"""Requests have ids, and the log shows who made them and how they were served, in a bounded volume."""

import json
import re
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from samedeal_server.app import create_app
from samedeal_server.settings import Keys, Settings
from support.logged_server import Line, LoggedServer, request
from support.waiting import until

pytestmark = pytest.mark.tier(2)

GENERATED = re.compile(r"[0-9a-f]{16}")
PROXY = "127.0.0.1/32"


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    log = tmp_path_factory.mktemp("requests") / "log"
    settings = {"access_log": "on", "log_format": "json", "trusted_proxies": PROXY}
    with LoggedServer(store_url, log, emptied=True, **settings).start() as running:
        yield running


def lines(server: LoggedServer, **fields: object) -> list[dict[str, Any]]:
    """Return the lines of a server's log that have these fields."""
    parsed = [json.loads(line) for line in server.log.splitlines()]
    return [line for line in parsed if fields.items() <= line.items()]


def test_response_has_a_new_request_id(redis_url: str) -> None:
    with LoggedServer(redis_url, Path("/dev/null")).start() as server:
        ids = {request(server, "GET", "/healthz", X_Request_ID="chosen").headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3
    assert all(GENERATED.fullmatch(each) for each in ids)


@pytest.mark.parametrize("given", ["0b7d-1.A_b:c", "x" * 64])
def test_trusted_proxy_chooses_the_request_id(server: LoggedServer, given: str) -> None:
    for path, status in (("/api/v1/games", 200), ("/nothing", 404)):
        answer = request(server, "GET", path, X_Request_ID=given, X_Forwarded_For="192.0.2.1")
        assert (answer.status, answer.headers["x-request-id"]) == (status, given)


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "é", "a,b", "<b>"])
def test_invalid_request_id_is_replaced(server: LoggedServer, given: str) -> None:
    sent = given.encode().decode("latin-1")
    answer = request(server, "GET", "/healthz", X_Request_ID=sent, X_Forwarded_For="192.0.2.2")
    assert GENERATED.fullmatch(answer.headers["x-request-id"])


async def test_access_log_names_the_client_and_the_endpoint(server: LoggedServer) -> None:
    asked = partial(request, server, X_Forwarded_For="192.0.2.3", Authorization="Bearer hush-hush")
    path = "/api/v1/races/calm-otter-42?token=hush-hush"
    assert asked("GET", path, X_Request_ID="access-1").status == 404
    assert asked("HEAD", "/hush-hush", X_Request_ID="access-2").status == 404
    served = {"level": "info", "message": "served a request", "client": "192.0.2.3"}
    await until(lambda: len(lines(server, **served)) == 2)
    first, second = lines(server, **served)
    assert (
        first.items()
        >= {
            "request": "access-1",
            "method": "GET",
            "path": "/api/v1/races/{race}",
            "status": 404,
        }.items()
    )
    assert first["duration_ms"] >= 0
    assert second.items() >= {"request": "access-2", "method": "HEAD", "path": "other", "status": 404}.items()
    assert "hush" not in server.log


async def test_access_log_has_web_sockets_when_they_end(server: LoggedServer) -> None:
    headers = {"X-Forwarded-For": "192.0.2.4", "X-Request-ID": "socket-1"}
    async with await Line.open(server, "json", "ada", additional_headers=headers):
        assert not lines(server, request="socket-1")
    await until(lambda: bool(lines(server, request="socket-1", path="/ws", status=101, client="192.0.2.4")))


@pytest.mark.tier(3)
async def test_limit_is_logged_with_the_address_and_in_a_bounded_volume(redis_url: str, tmp_path: Path) -> None:
    settings = {"log_format": "json", "trusted_proxies": PROXY, "log_records_per_minute": "7"}
    settings |= {"races_per_minute": "1", "log_level": "info"}
    with LoggedServer(redis_url, tmp_path / "log", emptied=True, **settings).start() as server:
        server.create("corners")
        body = json.dumps({"game": "corners", "options": {"filter": "any"}}).encode()
        for number in range(40):
            status = request(server, "POST", "/api/v1/races", body, X_Forwarded_For="2001:db8::1").status
            assert status == (201 if number == 0 else 429)
        refused = lines(server, message="the limit races_per_minute refused a client")
        assert len(refused) == 7
        assert {line["client"] for line in refused} == {"2001:db8::"}
        server.kill(signal.SIGTERM)
        [summary] = (line for line in lines(server) if line["message"].startswith("…"))
        text = "… 32 more like this within 60 s: the limit races_per_minute refused a client"
        assert summary["message"] == text
        assert "hush" not in server.log


async def test_failed_request_is_logged_once_with_its_id_and_client(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(Settings(), "unix:///nowhere", Keys(bytes(32), bytes(32)))
    monkeypatch.setattr(app, "_admission", _fail)
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "headers": [], "client": ("192.0.2.5", 1)}
    with pytest.raises(ZeroDivisionError):
        await app(scope, _fail, _fail)
    [record] = caplog.records
    assert record.message == "a request failed"
    assert record.exc_info
    assert record.__dict__["client"] == "192.0.2.5"
    assert GENERATED.fullmatch(record.__dict__["request"])


async def _fail(*_: object) -> Any:
    raise ZeroDivisionError
