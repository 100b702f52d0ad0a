"""A proxy that does not pass WebSockets, as many examples of configurations do not: the page and doctor say so."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.test_server_doctor import doctor
from support.browser import launch_browser, needs_browser, open_page
from support.clusters import free_ports
from support.logged_server import request
from support.proxies import Proxy, run_proxy
from support.servers import Server
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)
NGINX = """
server {
    listen 127.0.0.1:PORT;
    location / {
        proxy_pass TARGET;
        LINES
    }
}
"""
WITHOUT_UPGRADE = "proxy_set_header Host $http_host;"
WITH_ANOTHER_HOST = """
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection upgrade;
        proxy_set_header Host cards.example;
"""


@contextmanager
def blocking_proxy(server: Server, folder: Path, lines: str = WITHOUT_UPGRADE) -> Iterator[Proxy]:
    (port,) = free_ports(1)
    text = NGINX.replace("PORT", f"{port}").replace("TARGET", server.url).replace("LINES", lines)
    folder.mkdir()
    with run_proxy("nginx", text, folder):
        proxy = Proxy(f"http://127.0.0.1:{port}")
        while not proxy.answers():
            time.sleep(0.01)
        yield proxy


@needs_browser
async def test_page_says_that_websockets_are_blocked(redis_url: str, tmp_path: Path) -> None:
    with Server(redis_url) as server, blocking_proxy(server, tmp_path / "nginx") as proxy:
        async with launch_browser() as chromium, open_page(chromium) as tab:
            page, tries = tab.page, asyncio.Semaphore(0)
            page.on("websocket", lambda _: tries.release())
            await page.goto(f"{proxy.url}/r/{server.create('corners')}")
            await page.fill("#name", "ada")
            await page.click("button:text-is('Take a seat')")
            async with asyncio.timeout(LIMIT_S):
                for _ in range(5):
                    await tries.acquire()
            assert "WebSocket" in await page.inner_text("main")


def test_request_without_upgrade_is_refused_with_a_hint_for_operators(redis_url: str) -> None:
    with Server(redis_url) as server:
        answer = request(server, "GET", f"/ws/{server.create('corners')}")
    assert (answer.status, answer.headers["upgrade"]) == (426, "websocket")
    assert "proxy" in answer.json["detail"]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (WITHOUT_UPGRADE, "a proxy removed its Upgrade header"),
        (WITH_ANOTHER_HOST, "only if that is its public URL"),
    ],
)
def test_doctor_on_the_server_finds_that_pages_cannot_open_websockets(lines: str, why: str, tmp_path: Path) -> None:
    with (
        Server(data_dir=tmp_path / "data", master_key="", signing_key="") as server,
        blocking_proxy(server, tmp_path / "nginx", lines) as proxy,
    ):
        (wrong,) = doctor(tmp_path / "data", code=1, port=f"{server.port}", public_url=proxy.url)["wrong"]
    assert "nobody can play" in wrong
    assert why in wrong
