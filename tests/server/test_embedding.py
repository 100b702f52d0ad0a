"""Other sites can embed replays and the overlay if the operator permits it, and nothing else."""

from itertools import product

import pytest

from support.logged_server import request
from support.servers import Server

pytestmark = pytest.mark.tier(2)

PATHS = ("/", "/r/{}", "/w/{}", "/o/{}", "/replay/{}", "/solution/{}", "/rules", "/login", "/page/style.css")


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        ("", "'none'"),
        ("https://example.org https://*.example.net:8443", "https://example.org https://*.example.net:8443"),
        ("*", "*"),
    ],
)
def test_only_replays_and_the_overlay_can_be_embedded(setting: str, allowed: str, redis_url: str) -> None:
    with Server(redis_url, frame_ancestors=setting) as server:
        race = server.create("corners")
        for path, encoding in product(PATHS, ("identity", "gzip")):
            answer = request(server, "GET", path.format(race), Accept="text/html", Accept_Encoding=encoding)
            policy = answer.headers["content-security-policy"].split("; ")
            sources = allowed if path in ("/o/{}", "/replay/{}") else "'none'"
            assert f"frame-ancestors {sources}" in policy, path
            assert "object-src 'none'" in policy
            assert "x-frame-options" not in answer.headers
