"""A public URL with a path: every link has it, and requests work with and without it."""

import json
import re
from pathlib import Path

import pytest

from samedeal.wire import messages as m
from samedeal_server.handover import RACE_URL
from samedeal_server.net.requests import below_root_path
from samedeal_server.settings import OWN_PATHS, Settings, SettingsError
from support.http_api import create
from support.logged_server import Line, LoggedServer, request

pytestmark = pytest.mark.tier(2)

PUBLIC = "https://example.org/cards"
STORE, SETTINGS = "own_store", {"public_url": f"{PUBLIC}/", "metrics": "on"}
BROWSER = {"Accept": "text/html", "User_Agent": "Mozilla/5.0"}
PREVIEW = {"Accept": "*/*", "User_Agent": "WhatsApp/2.25"}


def links(html: str) -> list[str]:
    """Return the links of a page that lead to a path."""
    return re.findall(r'(?:href|src)="(/[^"]*)"', html)


def test_public_url_may_have_a_path() -> None:
    for url, root_path in {
        "https://example.org": "",
        "https://example.org/": "",
        PUBLIC: "/cards",
        f"{PUBLIC}/": "/cards",
        "http://[::1]:8640/a/b-c_d.e~f": "/a/b-c_d.e~f",
        "https://example.org/rules-of/cards": "/rules-of/cards",
    }.items():
        assert Settings.from_env({"SAMEDEAL_PUBLIC_URL": url}).root_path == root_path
    assert Settings().root_path == ""


@pytest.mark.parametrize("path", ["//", "/a//b", "/a?b", "/a#b", "/.", "/../a", "/a b", "/a\n", '/a"', "/é", "/%61"])
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(SettingsError, match=r"(?s)SAMEDEAL_PUBLIC_URL is .*; expected .* and perhaps a path"):
        Settings.from_env({"SAMEDEAL_PUBLIC_URL": f"https://example.org{path}"})


def test_paths_that_the_server_uses_are_refused(server: LoggedServer) -> None:
    """Below them, it could not tell requests with the path from requests without it."""
    declared = json.loads(request(server, "GET", "/openapi.json").body)["paths"]
    used = {path.split("/")[1] for path in declared} - {"", ".well-known"} | {"page", "ws"}
    assert set(OWN_PATHS) == used
    for first in used:
        for path in (f"/{first}", f"/{first}/", f"/{first}/cards"):
            with pytest.raises(SettingsError):
                Settings.from_env({"SAMEDEAL_PUBLIC_URL": f"https://example.org{path}"})


@pytest.mark.parametrize("path", ["/", "/r/{race}", "/w/{race}", "/rules/corners", "/daily", "/r/unknown-1", "/docs"])
def test_pages_are_the_same_with_and_without_the_path_and_link_below_it(path: str, server: LoggedServer) -> None:
    path = path.replace("{race}", create(server, game="corners").json["race"])
    answers = [request(server, "GET", prefix + path, None, **BROWSER) for prefix in ("", "/cards")]
    assert answers[0].status == answers[1].status
    assert answers[0].body == answers[1].body
    found = links(answers[0].body.decode())
    assert all(link.startswith("/cards/") for link in found)
    for link in found:
        for target in (link, link.removeprefix("/cards")):
            assert request(server, "GET", target, None, **BROWSER).status in (200, answers[0].status), target


def test_without_a_path_pages_are_unchanged() -> None:
    html = '<a href="/r/x"> <img src="/y"> <a href="#z"> <a href="https://x/y">'
    assert below_root_path(html, "") is html
    assert links(below_root_path(html, "/cards")) == ["/cards/r/x", "/cards/y"]
    assert below_root_path(html, "/cards").replace("/cards", "") == html


def test_documents_and_responses_link_below_the_path(server: LoggedServer) -> None:
    opened = create(server, game="corners")
    race_id = opened.json["race"]
    assert opened.headers["location"] == f"/cards/api/v1/races/{race_id}"
    assert request(server, "GET", opened.headers["location"]).status == 200
    assert opened.json["link"] == f"{PUBLIC}/r/{race_id}"
    assert request(server, "GET", "/cards/openapi.json").json["servers"] == [{"url": "/cards"}]
    here = {"host": "example.org", "pathname": "/cards", "protocol": "wss"}
    assert request(server, "GET", "/cards/asyncapi.json").json["servers"] == {"here": here}
    preview = request(server, "GET", f"/cards/r/{race_id}", None, **PREVIEW).body.decode()
    assert f'<meta property="og:url" content="{PUBLIC}/r/{race_id}">' in preview
    assert f'<meta property="og:image" content="{PUBLIC}/api/v1/races/{race_id}/card.png">' in preview
    text = request(server, "GET", f"/cards/api/v1/races/{race_id}/card.txt").body.decode()
    assert text.endswith(f"\n{PUBLIC}/r/{race_id}\n")
    text = request(server, "GET", f"/cards/r/{race_id}", None, User_Agent="curl/8").body.decode()
    assert f"samedeal join {PUBLIC}/r/{race_id}" in text


def test_redirects_stay_on_the_host_and_below_the_path(server: LoggedServer) -> None:
    for path, target in {
        "/rules/corners/": "/cards/rules/corners",
        "/cards/rules/corners//?a=%20b": "/cards/rules/corners?a=%20b",
        "//evil.example/": "/cards//evil.example",
        "/%5Cevil.example/%0D%0AX:y/": "/cards/%5Cevil.example/%0D%0AX%3Ay",
    }.items():
        for method in ("GET", "POST"):
            answer = request(server, method, path, None, Host="evil.example", **BROWSER)
            assert (answer.status, answer.headers["location"]) == (307, target)


def test_every_path_is_served_with_and_without_the_path(server: LoggedServer) -> None:
    for path in (
        "/healthz",
        "/readyz",
        "/metrics",
        "/.well-known/samedeal",
        "/sw.js",
        "/page/version",
        "/page/main.js",
    ):
        assert request(server, "GET", path).status == request(server, "GET", f"/cards{path}").status == 200
    assert request(server, "GET", "/cards").status == 200
    for path in ("/cardsr", "/card/r", "/cards/cards", "/cards/nothing", "/cards/page/nothing"):
        assert request(server, "GET", path).status == 404, path


@pytest.mark.parametrize("path", ["", "/cards"])
async def test_pages_of_the_public_host_connect_with_and_without_the_path(path: str, server: LoggedServer) -> None:
    reached = LoggedServer("", Path(), emptied=False)
    reached.url = server.url + path
    async with await Line.open(reached, "json", "ada", origin="https://example.org") as line:
        assert isinstance(await line.ask("ping"), m.Pong)
    assert (
        request(server, "POST", f"{path}/api/v1/races", b'{"game":"corners"}', Origin="https://example.org").status
        == 201
    )
    foreign = request(server, "POST", f"{path}/api/v1/races", b'{"game":"corners"}', Origin="https://example.com")
    assert (foreign.status, foreign.json["code"]) == (403, "foreign-page")


def test_workers_hand_over_connections_with_and_without_the_path() -> None:
    for url in (b"/ws/calm-otter-42", b"/cards/ws/calm-otter-42", b"/a/b/ws/calm-otter-42?x=/ws/y"):
        match = RACE_URL.fullmatch(url)
        assert match
        assert match[1] == b"calm-otter-42"
    for url in (b"/ws", b"/ws/", b"/cards/ws", b"/cards?/ws/calm-otter-42", b"/r/calm-otter-42"):
        assert not RACE_URL.fullmatch(url)
