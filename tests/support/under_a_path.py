"""Servers whose public URL has a path, reached directly or through a proxy configured as in `deploy/path`."""

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from support.clusters import free_ports
from support.proxies import Proxy, run_proxy
from support.servers import Server

PATH: Final = "/cards"
FOLDER = Path(__file__).parents[2] / "deploy" / "path"
EXAMPLES: Final = {
    "caddy": ("Caddyfile", "example.org {", ":PORT {"),
    "nginx": ("nginx.conf", "listen 80;", "listen PORT;"),
    "haproxy": ("haproxy.cfg", "bind :80\n", "bind :PORT\n"),
}
"""For each proxy, the file with its configuration, where that has its address, and with which port."""


class ServerUnderPath(Server):
    """A server with its own store. Its `url` is the public URL, which has a path.

    Without a proxy, requests arrive with the path; the proxies remove it.
    """

    def __init__(self, folder: Path, proxy: str | None = None, **settings: str) -> None:
        """`folder` is for the data of the server and the files of the proxy."""
        (self._public_port,) = free_ports(1)
        self._public_url = f"http://127.0.0.1:{self._public_port}{PATH}"
        settings |= {"public_url": self._public_url, "trusted_proxies": "127.0.0.1/32"}
        super().__init__(None, folder / "data", **settings)
        self._folder, self._proxy, self._stack = folder, proxy, ExitStack()

    def start(self, port: int = 0) -> Self:
        super().start(0 if self._proxy else self._public_port)
        if self._proxy:
            text = configuration(self._proxy, self._public_port, self.port)
            self._stack.enter_context(run_proxy(self._proxy, text, self._folder))
        self.url = self._public_url
        while not Proxy(self.url).answers():
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        super().__exit__()


def configuration(proxy: str, port: int, server_port: int) -> str:
    """Return the configuration of a proxy in `deploy/path`, for these ports."""
    name, address, changed = EXAMPLES[proxy]
    text = (FOLDER / name).read_text()
    assert text.count(address) == text.count("127.0.0.1:8640") == 1
    text = text.replace("127.0.0.1:8640", f"127.0.0.1:{server_port}")
    return text.replace(address, changed.replace("PORT", f"{port}"))
