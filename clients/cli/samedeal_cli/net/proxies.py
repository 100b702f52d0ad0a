"""Proxies from variables such as ``http_proxy`` or the system: the same ones for HTTP and WebSockets."""

import os
from contextlib import suppress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from samedeal_cli.addresses import is_local
from samedeal_cli.failure import Unreachable


def proxy_for(url: str) -> str | None:
    """Return the URL of the HTTP proxy for a URL, if any. Raises Unreachable for other proxies."""
    proxy, source = _configured(url)
    if not proxy:
        return None
    with suppress(ValueError):
        parts = urlsplit(proxy)
        if (
            not source.lower().startswith("socks")
            and parts.scheme in ("http", "https")
            and parts.hostname
            and parts.port != 0
        ):
            return proxy
    server = urlsplit(url)
    direct = f"no_proxy={server.hostname} to connect directly"
    raise Unreachable(
        f"{server.scheme}://{server.netloc}",
        f"{_named(proxy, source)} is not an HTTP proxy; set another one, or {direct}",
    )


def through(url: str) -> str:
    """Return through which proxy a server is reached, as `` through the proxy …``; empty if there is none."""
    proxy, source = _configured(url)
    return f" through {_named(proxy, source)}" if proxy else ""


def _named(proxy: str, source: str) -> str:
    scheme, _, rest = proxy.partition("://")
    return f"the proxy {scheme}://{rest.rpartition('@')[2]} ({source})"  # without a password


def _configured(url: str) -> tuple[str, str]:
    """Return the proxy for a URL and the variable that sets it; both are empty without a proxy."""
    parts = urlsplit(url)
    if not is_local(url) and not proxy_bypass(parts.netloc.rpartition("@")[2]):
        proxies = getproxies()
        for kind in (parts.scheme, "socks"):
            if proxy := proxies.get(kind):
                variable = f"{kind}_proxy"
                source = next((name for name in os.environ if name.lower() == variable), f"{variable} of the system")
                return proxy if "://" in proxy else f"http://{proxy}", source
    return "", ""
