"""Origins: pages of other sites cannot play or change anything, even with DNS rebinding."""

import socket
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from samedeal.errors import Refused
from samedeal.wire import messages as m
from samedeal_server.addresses import normal_url
from samedeal_server.api.admission import check_origin
from samedeal_server.settings import Settings, SettingsError
from support.logged_server import Line, LoggedServer, request

pytestmark = pytest.mark.tier(2)

PUBLIC = "https://Race.Example"
LOCAL = ["127.0.0.1:8640", "[::1]:8640", "192.168.1.20", "localhost", "a.localhost:1", "cards", "cards.local:8640"]
FOREIGN = [
    "evil.example",
    "rebound.evil.example:8640",
    "local.evil.example",
    "127.0.0.1.evil.example",
    "cards.local.",
]


def is_accepted(origin: str | None, host: str, public_url: str | None = None, method: str | None = None) -> bool:
    """Return whether a handshake, or a request with a method, is accepted."""
    headers = [(b"host", host.encode())] + ([] if origin is None else [(b"origin", origin.encode())])
    scope: dict[str, Any] = {"type": "http" if method else "websocket", "headers": headers}
    try:
        check_origin(scope | ({"method": method} if method else {}), public_url and normal_url(public_url))
    except Refused as refused:
        if refused.code != "foreign-page":
            raise
        return False
    return True


@pytest.mark.parametrize("method", [None, "POST", "PUT", "DELETE", "PATCH"])
def test_same_origin_is_accepted_for_hosts_without_public_dns(method: str | None) -> None:
    for host in [*LOCAL, socket.gethostname().lower()]:
        assert is_accepted(f"http://{host}", host, method=method), host
        assert is_accepted(f"https://{host}", host, PUBLIC, method), host
        assert not is_accepted("http://evil.example", host, method=method)
    for host in FOREIGN:
        assert not is_accepted(f"http://{host}", host, method=method), host
        assert not is_accepted(f"http://{host}", host, PUBLIC, method), host


@pytest.mark.parametrize("method", [None, "POST"])
def test_public_url_is_accepted_as_origin(method: str | None) -> None:
    assert is_accepted("https://race.example", "race.example", PUBLIC, method)
    assert is_accepted("https://race.example", "inside:8640", PUBLIC, method), "a proxy may change the host"
    for origin in ("http://race.example", "https://race.example:81", "https://race.example.evil.example"):
        assert not is_accepted(origin, "race.example", PUBLIC, method)


@pytest.mark.parametrize(
    ("public_url", "origin"),
    [
        ("https://Cards.Example/", "https://cards.example"),
        ("https://cards.example/table", "https://cards.example"),
        ("http://[2001:DB8::7]:8640", "http://[2001:db8::7]:8640"),
        ("HTTPS://cards.example.:8640/table/", "https://cards.example:8640"),
        ("http://[2001:db8:0::0:7]:80", "http://[2001:db8::7]"),
        ("https://cards.example:443", "https://cards.example"),
        ("http://cards.example:80/table", "http://cards.example"),
        ("https://spielkärtchen.example", "https://xn--spielkrtchen-lcb.example"),
    ],
)
def test_public_url_is_compared_in_the_form_that_browsers_send(public_url: str, origin: str) -> None:
    settings = Settings.from_env({"SAMEDEAL_PUBLIC_URL": public_url})
    assert is_accepted(origin, origin.partition("//")[2], settings.public_url, "POST")
    assert settings.public_url == origin + settings.root_path


@pytest.mark.parametrize(
    "host", ["cards.example:x", "cards.example:99999", "[1::2::3]", "[::1", "1.2.3.400", "käse%41.de"]
)
def test_public_url_that_browsers_cannot_open_is_refused(host: str) -> None:
    with pytest.raises(SettingsError, match="SAMEDEAL_PUBLIC_URL"):
        Settings.from_env({"SAMEDEAL_PUBLIC_URL": f"https://{host}"})


@pytest.mark.parametrize("method", [None, "POST"])
def test_malformed_origins_are_refused(method: str | None) -> None:
    for origin in ("", "null", "http://", "http://[", "file://", "http://a@localhost", "localhost", "//localhost"):
        for host in ("localhost", ""):
            assert not is_accepted(origin, host, method=method), origin


def test_requests_without_origin_and_safe_methods_are_accepted() -> None:
    assert is_accepted(None, "rebound.evil.example")
    for method in ("GET", "HEAD", "OPTIONS"):
        assert is_accepted("https://evil.example", "race.example", method=method)


async def test_server_refuses_foreign_pages(store_url: str, tmp_path: Path) -> None:
    with LoggedServer(store_url, tmp_path / "log", emptied=True, public_url=PUBLIC).start() as server:
        body = b'{"game":"corners"}'
        for origin, host in [("https://evil.example", f"127.0.0.1:{server.port}"), ("http://rebound.example",) * 2]:
            site = {"Origin": origin, "Host": host.removeprefix("http://")}
            for path in ("/api/v1/races", "/api/v1/guests", "/api/v1/verify", "/nowhere"):
                answer = request(server, "POST", path, body, **site)
                assert (answer.status, answer.json["code"]) == (403, "foreign-page"), path
            with pytest.raises(InvalidStatus) as refused:
                async with connect(server.url.replace("http", "ws") + "/ws", additional_headers={"Origin": origin}):
                    pass
            assert refused.value.response.status_code == 403
        own = {"Origin": PUBLIC.lower()}
        assert request(server, "POST", "/api/v1/races", body, **own).status == 201
        assert request(server, "POST", "/api/v1/races", body).status == 201
        async with await Line.open(server, "json", "ada", origin=own["Origin"]) as line:
            assert isinstance(await line.ask("ping"), m.Pong)
