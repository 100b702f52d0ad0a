"""HTTP responses: redirects only within a server, and bodies of bounded size."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from samedeal.replays.replay import MAX_BYTES
from samedeal_cli.failure import BadAnswer, Declined, Unreachable
from samedeal_cli.main import main
from samedeal_cli.net.addresses import may_redirect
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import DOCUMENT_BYTES, PROBLEM_BYTES, Api
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

        do_POST = do_GET  # noqa: N815 (named by the library)

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
def test_redirect_to_another_port_is_not_followed(status: int, capsys: pytest.CaptureFixture[str]) -> None:
    with site(document(GAMES)) as other, site(redirect(f"{other.url}/api/v1/games", status)) as first:
        with pytest.raises(BadAnswer, match=f"the redirect to {other.url}/api/v1/games is not allowed"):
            Api(first.url).games()
        assert main.exit_code(["ls", "races", "--server", first.url]) == 3
        assert "the redirect to" in capsys.readouterr().err
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
