"""Servers whose public URL has a path, reached directly or through a proxy configured as documented."""

import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from support.clusters import free_ports
from support.proxies import Proxy, run_proxy
from support.servers import Server

PATH: Final = "/cards"
OPERATIONS = Path(__file__).parents[2] / "docs" / "operate" / "operations.md"
EXAMPLES: Final = {"caddy": ("caddyfile", "example.org {"), "nginx": ("nginx", "80;"), "haproxy": ("haproxy", ":80\n")}
"""For each proxy, the language of its example in the documentation, and where that has its address."""


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
    language, address = EXAMPLES[proxy]
    (text,) = re.findall(rf"```{language}\n(.*?)```", OPERATIONS.read_text(), re.DOTALL)
    assert text.count(address) == text.count("127.0.0.1:8640") == 1
    listening = address.replace("example.org", f":{port}").replace("80", f"{port}")
    return text.replace(address, listening).replace("127.0.0.1:8640", f"127.0.0.1:{server_port}")
