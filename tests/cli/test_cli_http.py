"""HTTP responses: redirects only within a server, and bodies of bounded size."""

import asyncio
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from samedeal.replays.replay import MAX_BYTES
from samedeal_cli.addresses import may_redirect
from samedeal_cli.failure import BadAnswer, Declined, Failure, Unreachable
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import DOCUMENT_BYTES, PROBLEM_BYTES, Api
from samedeal_cli.net.transport import Transport
from support.offline_cli import printed
from support.scripted_server import RACE

Answer = Callable[[BaseHTTPRequestHandler], None]
CHUNK = b" " * 65_536


class Site:
    """An HTTP server with a handler function. Records requested paths and the bytes sent."""

    def __init__(self, answer: Answer) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.sent_bytes = 0
        self.answer = answer


@contextmanager
def site(answer: Answer) -> Iterator[Site]:
    running = Site(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            running.asked.append(self.path)
            with suppress(ConnectionError):
                running.answer(self)
            self.close_connection = True

        do_POST = do_CONNECT = do_GET  # noqa: N815 (named by the library)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        running.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield running
        server.shutdown()
        thread.join()


def redirect(target: str, status: int = 302) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def document(body: bytes) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def endless(site: list[Site], status: int = 200) -> Answer:
    """Send an endless body and count the bytes."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", "/elsewhere")
        handler.end_headers()
        for _ in itertools.count():
            handler.wfile.write(CHUNK)
            site[0].sent_bytes += len(CHUNK)

    return answer


GAMES = b'{"games": []}'


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_to_another_port_is_not_followed(status: int) -> None:
    with site(document(GAMES)) as other, site(redirect(f"{other.url}/api/v1/games", status)) as first:
        with pytest.raises(BadAnswer, match=f"the redirect to {other.url}/api/v1/games is not allowed"):
            Api(first.url).games()
        assert "the redirect to" in printed("ls", "races", "--server", first.url, code=3)[1]
        assert other.asked == []


def test_redirect_within_the_server_is_followed() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        (document(GAMES) if handler.path.startswith("/moved") else redirect("/moved/games", 308))(handler)

    with site(answer) as first:
        assert Api(first.url).games() == []
        assert first.asked == ["/api/v1/games", "/moved/games"]


def test_post_is_never_redirected() -> None:
    with site(redirect("/moved", 302)) as first:
        with pytest.raises(BadAnswer, match="the redirect to"):
            Api(first.url).open_race({"game": "corners"})
        assert first.asked == ["/api/v1/races"]


def test_endless_redirects_fail() -> None:
    with site(redirect("/api/v1/games")) as first, pytest.raises(BadAnswer, match="too many redirects"):
        Api(first.url).games()


@pytest.mark.parametrize(
    ("url", "target", "may"),
    [
        ("http://a/x", "http://a/y", True),
        ("http://a/x", "http://A:80/y", True),
        ("http://a/x", "https://a/x", True),
        ("ws://a/ws", "wss://a/ws", True),
        ("https://a/x", "http://a/x", False),
        ("http://a:8640/x", "https://a:8640/x", False),
        ("http://a/x", "https://a:8443/x", False),
        ("http://a/x", "http://b/x", False),
        ("http://a/x", "http://a:81/x", False),
        ("http://a/x", "http://a@b/x", False),
        ("http://a/x", "file:///etc/passwd", False),
        ("http://a/x", "http://a:port/", False),
        ("http://a/x", "http://[/", False),
    ],
)
def test_only_same_origin_and_https_upgrade_redirects_are_allowed(url: str, target: str, may: bool) -> None:
    assert may_redirect(url, target) is may


@pytest.mark.parametrize(("path", "most_bytes"), [("/games", DOCUMENT_BYTES), (f"/replays/{RACE}.msgpack", MAX_BYTES)])
def test_endless_body_is_not_read_completely(path: str, most_bytes: int) -> None:
    sites: list[Site] = []
    with site(endless(sites)) as first:
        sites.append(first)
        api = Api(first.url)
        ask = api.games if path == "/games" else partial(api.download, path, most_bytes=most_bytes)
        with pytest.raises(BadAnswer, match=f"the response is larger than {most_bytes} bytes"):
            ask()
    assert first.sent_bytes < most_bytes + 2**24  # plus kernel buffers


@pytest.mark.parametrize("status", [409, 302])
def test_bodies_of_errors_and_redirects_are_bounded(status: int) -> None:
    sites: list[Site] = []
    with site(endless(sites, status)) as first:
        sites.append(first)
        with pytest.raises((BadAnswer, Declined)) as raised:
            Api(first.url).games()
    assert first.sent_bytes < 5 * 2**24
    message = "too many redirects" if status == 302 else f"larger than {PROBLEM_BYTES} bytes"
    assert message in str(raised.value)


async def test_websocket_is_not_redirected_to_another_server() -> None:
    with site(document(GAMES)) as other, site(redirect(f"{other.url.replace('http', 'ws')}/ws")) as first:
        with pytest.raises(Unreachable, match="HTTP 302"):
            async with Connection(first.url, RACE, token="secret"):
                pass
        assert first.asked == [f"/ws/{RACE}"]
        assert other.asked == []


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


REMOTE = "http://127.0.0.3:1"
"""A server that is not one of this machine by its name."""


def failures(server: str) -> list[str]:
    """The error messages of a request and of a WebSocket."""
    messages = []
    for connect in (Api(server).games, lambda: asyncio.run(Transport.open(server, RACE))):
        with pytest.raises(Failure) as caught:
            connect()
        messages.append(caught.value.format_message())
    return messages


@pytest.mark.usefixtures("no_proxies")
@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("socks_proxy", "socks5://127.0.0.1:9", "the proxy socks5://127.0.0.1:9 (socks_proxy) is not an HTTP proxy"),
        ("http_proxy", "socks5://me:pw@127.0.0.1:9", "the proxy socks5://127.0.0.1:9 (http_proxy) is not an HTTP pr"),
        ("HTTP_PROXY", "http://:3128", "the proxy http://:3128 (HTTP_PROXY) is not an HTTP proxy"),
        ("http_proxy", "http://127.0.0.1:port", "the proxy http://127.0.0.1:port (http_proxy) is not an HTTP proxy"),
        ("http_proxy", "127.0.0.1:9", "through the proxy http://127.0.0.1:9 (http_proxy): Connection refused"),
        ("http_proxy", "http://me:pw@127.0.0.1:9/", "through the proxy http://127.0.0.1:9/ (http_proxy): Connection"),
        ("http_proxy", "http://proxy.invalid:3128", "through the proxy http://proxy.invalid:3128 (http_proxy): "),
        ("https_proxy", "http://127.0.0.1:9", f"{REMOTE} cannot be reached: Connection refused"),
        ("all_proxy", "socks5://127.0.0.1:9", f"{REMOTE} cannot be reached: Connection refused"),
    ],
)
def test_both_transports_name_the_proxy_and_its_variable(
    variable: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    http, websocket = failures(REMOTE)
    assert says in http
    assert websocket == http
    assert says in printed("doctor", "--server", REMOTE, code=3)[0]
    monkeypatch.setenv("no_proxy", "127.0.0.3")
    assert failures(REMOTE) == [f"{REMOTE} cannot be reached: Connection refused"] * 2


@pytest.mark.usefixtures("no_proxies")
def test_both_transports_use_the_proxy_of_http(monkeypatch: pytest.MonkeyPatch) -> None:
    with site(lambda handler: handler.send_error(502)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removeprefix("http://"))
        monkeypatch.setenv("socks_proxy", "socks5://127.0.0.1:9")
        http, websocket = failures(REMOTE)
    assert proxy.asked == [f"{REMOTE}/api/v1/games", REMOTE.removeprefix("http://")]
    named = f"through the proxy {proxy.url} (http_proxy)"
    assert http == f"{REMOTE} answered with status 502 {named}; try again later"
    assert f"{REMOTE} cannot be reached {named}: cannot open a WebSocket" in websocket


@pytest.mark.usefixtures("no_proxies")
def test_an_error_of_another_program_is_not_shown_as_one_of_ours() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(404)
        handler.end_headers()
        handler.wfile.write(b'{"code":"route_not_found","message":"No route"}')

    with site(answer) as gateway, pytest.raises(Failure, match="answered with status 404; is it a Same Deal server"):
        Api(gateway.url).games()
