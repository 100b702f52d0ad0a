"""Origins: pages of other sites can neither play nor send anything, not even through a name that they rebind."""

import socket
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from samedeal.errors import Refused
from samedeal.wire import messages as m
from samedeal_server.access.origins import check_origin
from support.logged_server import Line, LoggedServer, request

PUBLIC = "https://Race.Example"
HERE = ["127.0.0.1:8640", "[::1]:8640", "192.168.1.20", "localhost", "a.localhost:1", "cards", "cards.local:8640"]
ELSEWHERE = [
    "evil.example",
    "rebound.evil.example:8640",
    "local.evil.example",
    "127.0.0.1.evil.example",
    "cards.local.",
]


def accepted(origin: str | None, host: str, public_url: str | None = None, method: str | None = None) -> bool:
    """Whether a handshake, or a request with a method, is accepted."""
    headers = [(b"host", host.encode())] + ([] if origin is None else [(b"origin", origin.encode())])
    scope: dict[str, Any] = {"type": "http" if method else "websocket", "headers": headers}
    try:
        check_origin(scope | ({"method": method} if method else {}), public_url)
    except Refused as refused:
        if refused.code != "foreign-page":
            raise
        return False
    return True


@pytest.mark.parametrize("method", [None, "POST", "PUT", "DELETE", "PATCH"])
def test_a_page_is_of_this_server_if_nobody_can_rebind_its_host(method: str | None) -> None:
    for host in [*HERE, socket.gethostname().lower()]:
        assert accepted(f"http://{host}", host, method=method), host
        assert accepted(f"https://{host}", host, PUBLIC, method), host
        assert not accepted("http://evil.example", host, method=method)
    for host in ELSEWHERE:
        assert not accepted(f"http://{host}", host, method=method), host
        assert not accepted(f"http://{host}", host, PUBLIC, method), host


@pytest.mark.parametrize("method", [None, "POST"])
def test_a_page_is_of_this_server_if_it_is_at_the_public_url(method: str | None) -> None:
    assert accepted("https://race.example", "race.example", PUBLIC, method)
    assert accepted("https://race.example", "inside:8640", PUBLIC, method), "a proxy may change the host"
    for origin in ("http://race.example", "https://race.example:81", "https://race.example.evil.example"):
        assert not accepted(origin, "race.example", PUBLIC, method)


@pytest.mark.parametrize("method", [None, "POST"])
def test_odd_origins_are_refused(method: str | None) -> None:
    for origin in ("", "null", "http://", "http://[", "file://", "http://a@localhost", "localhost", "//localhost"):
        for host in ("localhost", ""):
            assert not accepted(origin, host, method=method), origin


def test_programs_send_no_origin_and_pages_of_any_site_may_read() -> None:
    assert accepted(None, "rebound.evil.example")
    for method in ("GET", "HEAD", "OPTIONS"):
        assert accepted("https://evil.example", "race.example", method=method)


@pytest.mark.parametrize("public_url", [None, PUBLIC])
async def test_a_server_refuses_foreign_pages(public_url: str | None, store_url: str, tmp_path: Path) -> None:
    settings = {"public_url": public_url} if public_url else {}
    with LoggedServer(store_url, tmp_path / "log", emptied=True, **settings).start() as server:
        opening = b'{"game":"corners"}'
        for origin, host in [("https://evil.example", f"127.0.0.1:{server.port}"), ("http://rebound.example",) * 2]:
            site = {"Origin": origin, "Host": host.removeprefix("http://")}
            for path in ("/api/v1/races", "/api/v1/verify", "/nowhere"):
                answer = request(server, "POST", path, opening, **site)
                assert (answer.status, answer.json["code"]) == (403, "foreign-page"), path
            with pytest.raises(InvalidStatus) as refused:
                async with connect(server.url.replace("http", "ws") + "/ws", additional_headers={"Origin": origin}):
                    pass
            assert refused.value.response.status_code == 403
        own = {"Origin": public_url.lower()} if public_url else {"Origin": server.url}
        assert request(server, "POST", "/api/v1/races", opening, **own).status == 201
        assert request(server, "POST", "/api/v1/races", opening).status == 201
        async with await Line.open(server, "json", "ada", origin=own["Origin"]) as line:
            assert isinstance(await line.ask("ping"), m.Pong)
