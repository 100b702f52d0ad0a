"""Client addresses behind trusted proxies, and the limits that apply to them."""

import asyncio
import re
from contextlib import AsyncExitStack, ExitStack
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from samedeal_server.addresses import TrustedProxies
from samedeal_server.settings import Settings, SettingsError
from support.hostile_client import Hostile
from support.logged_server import LoggedServer, request
from support.waiting import LIMIT_S

PROXIES = TrustedProxies("10.0.0.0/8, 127.0.0.1, 2001:db8:ffff::/48")
PEER = "10.0.0.9"


def resolve(*headers: tuple[str, str], peer: str = PEER, kind: str = "http") -> dict[str, Any]:
    """Return the scope of a request with these headers after resolving its client."""
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope: dict[str, Any] = {"type": kind, "client": (peer, 40000), "scheme": "http", "headers": encoded}
    PROXIES.resolve(scope)
    return scope


def client(*headers: tuple[str, str], peer: str = PEER) -> str:
    host: str = resolve(*headers, peer=peer)["client"][0]
    return host


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("2001:db8::7", "2001:db8::7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("192.0.2.66, 192.0.2.1", "192.0.2.1"),
        ("192.0.2.1, 10.1.2.3, 2001:db8:ffff::1", "192.0.2.1"),
        ("192.0.2.1,10.1.2.3", "192.0.2.1"),
        ("not an address, 192.0.2.1", "192.0.2.1"),
        ("10.1.2.3, 10.4.5.6", "10.1.2.3"),
    ],
)
def test_client_is_the_last_untrusted_address_of_the_chain(chain: str, expected: str) -> None:
    assert client(("x-forwarded-for", chain)) == expected
    elements = [f'For="{hop}";proto=https' if ":" in hop else f"by=x; for={hop}" for hop in chain.split(",")]
    assert client(("forwarded", ", ".join(elements).replace("= ", "=").replace('" ', '"'))) == expected


def test_chain_may_span_several_header_lines() -> None:
    assert client(("x-forwarded-for", "192.0.2.66"), ("x-forwarded-for", "192.0.2.1, 10.1.2.3")) == "192.0.2.1"


@pytest.mark.parametrize(
    "chain",
    [
        *("", " ", ",", "unknown", "_hidden", "localhost", "192.0.2.1,", "192.0.2.1, unknown", "192.0.2.256"),
        *(
            "192.0.2.1 192.0.2.2",
            "192.0.2.1:",
            "[2001:db8::7",
            "2001:db8::7]",
            "fe80::1%eth0",
            "1::2::3",
            "\u00b2.0.0.1",
        ),
        *("192.0.2.1, evil, 10.1.2.3", "192.0.2.1\x00", "0x7f.1", "127.1"),
    ],
)
def test_malformed_chain_is_ignored(chain: str) -> None:
    assert client(("x-forwarded-for", chain)) == PEER
    assert client(("forwarded", f"for={chain}")) == PEER


@pytest.mark.parametrize("value", ["proto=https", "for", "for=", 'for="192.0.2.1', "192.0.2.1", "for=192.0.2.1, by=x"])
def test_malformed_forwarded_elements_are_ignored(value: str) -> None:
    expected = "192.0.2.1" if value.startswith('for="') else PEER
    assert client(("forwarded", value)) == expected


def test_headers_that_disagree_are_ignored() -> None:
    """A proxy passes on headers that it does not write, so clients can forge them."""
    honest, forged = ("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=198.51.100.1")
    assert client(honest, forged) == PEER
    assert client(honest, ("forwarded", "for=unknown")) == PEER
    assert client(honest, ("forwarded", "for=192.0.2.1")) == "192.0.2.1"


@pytest.mark.parametrize("peer", ["192.0.2.9", "::1", "2001:db8::1", "testclient", ""])
def test_headers_from_untrusted_peers_are_ignored(peer: str) -> None:
    headers = (("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=192.0.2.1"), ("x-forwarded-proto", "https"))
    scope = resolve(*headers, peer=peer)
    assert (scope["client"], scope["scheme"]) == ((peer, 40000), "http")


def test_proxy_may_have_an_ipv4_mapped_address() -> None:
    assert client(("x-forwarded-for", "192.0.2.1"), peer="::ffff:10.0.0.9") == "192.0.2.1"


def test_forwarded_proto_sets_the_scheme() -> None:
    assert resolve(("x-forwarded-proto", "https"))["scheme"] == "https"
    assert resolve(("x-forwarded-proto", "https"), kind="websocket")["scheme"] == "wss"
    for value in ("", "ftp", "HTTPS ", "https, ftp"):
        assert resolve(("x-forwarded-proto", value))["scheme"] == "http"


@pytest.mark.parametrize("text", ["127.0.0.1/33", "10.0.0.1/8", "localhost", "10.0.0.0/8,", "unix", "*"])
def test_invalid_networks_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"SAMEDEAL_TRUSTED_PROXIES .*; expected comma-separated IP networks"):
        Settings.from_env({"SAMEDEAL_TRUSTED_PROXIES": text})


LIMITS = {
    "trusted_proxies": "127.0.0.0/8",
    "connections_per_address": "2",
    "http_connections_per_address": "3",
    "races_per_minute": "2",
    "request_s": "3600",  # clients that send nothing stay connected
}


async def handshake(server: LoggedServer, stack: AsyncExitStack, address: str) -> int:
    """Return the status of a client's handshake. The connection stays open until the stack is closed."""
    try:
        url = server.url.replace("http", "ws") + "/ws"
        await stack.enter_async_context(connect(url, additional_headers={"X-Forwarded-For": address}))
    except InvalidStatus as refused:
        return refused.response.status_code
    return 101


async def test_clients_of_a_proxy_have_separate_limits(store_url: str, tmp_path: Path) -> None:
    with LoggedServer(store_url, tmp_path / "log", emptied=True, **LIMITS).start() as server:

        def create(address: str) -> int:
            return request(server, "POST", "/api/v1/races", b'{"game":"corners"}', X_Forwarded_For=address).status

        async with AsyncExitStack() as stack:
            assert [await handshake(server, stack, "192.0.2.1") for _ in range(3)] == [101, 101, 429]
            assert await handshake(server, stack, "192.0.2.2") == 101
            assert await handshake(server, stack, "198.51.100.9, 192.0.2.1") == 429, (
                "the address added by the client is ignored"
            )
        assert [create("192.0.2.1") for _ in range(3)] == [201, 201, 429]
        assert create("192.0.2.2") == 201
        assert server.failures() == []


async def test_proxy_connections_are_not_limited(store_url: str, tmp_path: Path) -> None:
    """A proxy's connections are not limited; its clients' concurrent requests are."""
    with LoggedServer(store_url, tmp_path / "log", emptied=True, **LIMITS).start() as server, ExitStack() as stack:
        head = b"POST /api/v1/verify HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: %s\r\nContent-Length: 9\r\n\r\n"
        idle = [stack.enter_context(Hostile(server)) for _ in range(10)]
        for number, connection in enumerate(idle[:6]):
            connection.send(head % b"192.0.2.%d" % (number // 3))
        busy = {"X_Forwarded_For": "192.0.2.0"}
        async with asyncio.timeout(LIMIT_S):
            while (await asyncio.to_thread(request, server, "GET", "/api/v1/games", None, **busy)).status != 429:
                pass
        assert request(server, "GET", "/api/v1/games", X_Forwarded_For="192.0.2.7").status == 200
        assert server.failures() == []


def test_links_use_the_scheme_from_the_proxy(store_url: str, tmp_path: Path) -> None:
    with LoggedServer(store_url, tmp_path / "log", trusted_proxies="127.0.0.1").start() as server:
        headers = {"Host": "race.example", "X_Forwarded_For": "192.0.2.1", "X_Forwarded_Proto": "https"}
        opened = request(server, "POST", "/api/v1/races", b'{"game":"corners"}', **headers)
        assert opened.json["link"].startswith("https://race.example/r/")


def test_docker_compose_trusts_only_its_proxy() -> None:
    root = Path(__file__).parents[2]
    compose, caddy = (root / "docker-compose.yml").read_text(), (root / "deploy/Caddyfile").read_text()
    (trusted,) = re.findall(r"SAMEDEAL_TRUSTED_PROXIES: \$\{SAMEDEAL_TRUSTED_PROXIES:-(\S+)\}", compose)
    assert re.findall(r"ipv4_address: (\S+)", compose) == [trusted.removesuffix("/32")]
    (subnet,), (dynamic,) = re.findall(r" subnet: (\S+)", compose), re.findall(r"ip_range: (\S+)", compose)
    address = ip_address(trusted.removesuffix("/32"))
    assert address in ip_network(subnet)
    assert address not in ip_network(dynamic), "no other container can get it"
    assert "header_up -Forwarded" in caddy
    assert "PER_ADDRESS" not in compose, "the limits are the defaults"
