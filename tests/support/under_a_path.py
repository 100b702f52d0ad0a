"""Servers whose public URL has a path, reached directly or through a proxy configured as documented."""

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from support.clusters import free_ports
from support.proxies import Proxy, run_proxy
from support.servers import Server

PATH: Final = "/cards"
OPERATIONS = Path(__file__).parents[2] / "docs" / "operate" / "operations.md"
EXAMPLES: Final = {
    "caddy": ("caddyfile", "example.org {", ":PORT {"),
    "nginx": ("nginx", "listen 80;", "listen PORT;"),
    "haproxy": ("haproxy", "bind :80\n", "bind :PORT\n"),
}
"""For each proxy, the language of its example in the documentation, where that has its address, and with which port."""


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
            example = documented_example(self._proxy, self._public_port, self.port)
            self._stack.enter_context(run_proxy(self._proxy, example, self._folder))
        self.url = self._public_url
        while not Proxy(self.url).answers():
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        super().__exit__()


def documented_example(proxy: str, port: int, server_port: int) -> str:
    """Return the configuration of a proxy in the documentation, for these ports."""
    language, address, changed = EXAMPLES[proxy]
    section = OPERATIONS.read_text().partition("\n### Under a path\n")[2]
    text = section.partition(f"```{language}\n")[2].partition("```")[0]
    assert text.count(address) == text.count("127.0.0.1:8640") == 1
    text = text.replace("127.0.0.1:8640", f"127.0.0.1:{server_port}")
    return text.replace(address, changed.replace("PORT", f"{port}"))
