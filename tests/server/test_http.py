"""Every URL, with valid and invalid requests, gets a response without an internal error."""

import base64
import gzip
import hashlib
import re

import pytest
from msgspec import json
from starlette.types import Message

from samedeal.cards import BACK
from samedeal.computer.deal_filters import filters
from samedeal.errors import CODES
from samedeal.games.catalogue import GAMES
from samedeal.games.lessons import PRACTICE
from samedeal_server.app import create_app
from samedeal_server.settings import Keys, Settings
from samedeal_server.store.live_races import LiveRaces
from support.http_api import UNKNOWN, create, problem
from support.logged_server import Answer, LoggedServer, request
from support.servers import racers

CURL = {"User_Agent": "curl/8.17.0", "Accept": "*/*"}


def test_games_are_described(server: LoggedServer) -> None:
    answer = request(server, "GET", "/api/v1/games")
    zipped = request(server, "GET", "/api/v1/games", Accept_Encoding="gzip")
    assert zipped.headers["content-encoding"] == "gzip"
    assert gzip.decompress(zipped.body) == answer.body
    games = answer.json["games"]
    assert [game["slug"] for game in games] == list(GAMES)
    for described in games:
        game = GAMES[described["slug"]]
        assert request(server, "GET", f"/api/v1/games/{game.slug}").json == described
        assert described == {
            "slug": game.slug,
            "title": game.title,
            "rules": game.rules,
            "layout": game.layout,
            "fanned": sorted(game.fanned),
            "labels": game.labels,
            "foundations": sorted(game.foundations),
            "hidden": [game.stock] * bool(game.stock),
            "goal": game.goal,
            "limit_ms": game.limit_ms,
            "options": {name: list(values) for name, values in game.options.items()},
            "filters": list(filters(game)),
            "practice": json.decode(json.encode(PRACTICE[game.slug])),
            "pitch": game.pitch,
            "counted": game.counted,
            "example": described["example"],
            "how": list(game.how),
            "attempts": game.attempts,
            "collection": game.collection,
            "film": described["film"],
        }
        assert described["film"][0] == json.decode(json.encode(game.from_seed(PRACTICE[game.slug].seed).view()))
        assert len(described["film"]) == len(PRACTICE[game.slug].steps) + 1
        assert set(described["example"]) == set(game.layout.split()) - {"."}
        assert {*described["example"].get(game.stock, ())} <= {BACK}


@pytest.mark.parametrize(
    "slug", ["chess", "Corners", "corners%00", "%2e%2e", "corners.json", "\x7e", "%ff", "x" * 3000]
)
def test_unknown_game_is_not_found(server: LoggedServer, slug: str) -> None:
    assert problem(request(server, "GET", f"/api/v1/games/{slug}"), "not-found")


def test_health_and_readiness_are_reported(server: LoggedServer) -> None:
    assert request(server, "GET", "/healthz").body == b"ok\n"
    assert request(server, "GET", "/readyz").body == b"ready\n"


def test_every_problem_code_is_described_at_its_url(server: LoggedServer) -> None:
    for code, (status, title) in CODES.items():
        answer = request(server, "GET", f"/problems/{code}")
        assert (answer.status, answer.body.decode()) == (200, f"{code} ({status}): {title}.\n")
    for code in ("unknown", "%00", "MALFORMED", "bad-request%0a"):
        assert problem(request(server, "GET", f"/problems/{code}"), "not-found")


def test_invitation_contains_the_join_command(server: LoggedServer) -> None:
    created = create(server, game="corners", options={"max_racers": 3}).json
    page = request(server, "GET", f"/r/{created['race']}", None, **CURL)
    assert page.headers["content-type"] == "text/plain; charset=utf-8"
    text = page.body.decode()
    assert text.startswith("Corners: 0 of 3 seats taken.\n")
    assert f"samedeal join {created['link']}" in text


def test_front_page_contains_the_command_for_a_new_race(server: LoggedServer) -> None:
    assert f"samedeal --server {server.url} new corners" in request(server, "GET", "/", None, **CURL).body.decode()


def test_verify_page_names_the_command_for_other_clients(server: LoggedServer) -> None:
    assert request(server, "GET", "/verify", None, **CURL).body == b"samedeal verify FILE\n"


@pytest.mark.parametrize("path", ["/", "/r/{race}", "/w/{race}", "/rules/corners", "/verify"])
def test_browser_gets_the_page_with_a_specific_title(server: LoggedServer, path: str) -> None:
    race_id = create(server, game="corners").json["race"]
    answer = request(server, "GET", path.format(race=race_id), Accept="text/html,*/*;q=0.8")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    text = answer.body.decode()
    assert text.count("<title>") == 1
    if path != "/":
        assert "<title>Same Deal</title>" not in text
        assert ("Verify a replay" if path == "/verify" else "Corners") in text.partition("</title>")[0]
    assert not re.search(r"<script>| style=| on[a-z]+=", text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert answer.headers["content-security-policy"].endswith(f"; style-src 'self' 'sha256-{digest}'")


async def test_page_begins_with_what_it_is_about(server: LoggedServer) -> None:
    def first(path: str) -> str:
        body = request(server, "GET", path, Accept="text/html").body.decode()
        return " ".join(re.sub("<[^>]*>", " ", body.partition("<main")[2].partition(">")[2]).split())

    race_id = create(server, game="corners").json["race"]
    assert first("/").startswith("Race your friends at patience on the same shuffled deck")
    assert first("/rules/corners").startswith("Rules of Corners How Corners is played")
    assert first("/nonsense").startswith("Not found This page does not exist.")
    assert first(f"/r/{race_id}").startswith("Corners This page")
    async with racers(server, "<b>&ada") as (ada,):
        race_id = server.create("corners", token=ada.token)
        assert first(f"/r/{race_id}").startswith("&lt;b&gt;&amp;ada challenges you to Corners")
        for path in ("/w", "/o", "/replay"):
            assert first(f"{path}/{race_id}").startswith("This page needs JavaScript."), path


IMAGE = "image/avif,image/webp,*/*;q=0.8"
PREVIEWS: list[dict[str, str]] = [
    {"User_Agent": "WhatsApp/2.25.37.70 A", "Accept": "*/*"},
    {"User_Agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "Accept": "*/*"},
    {"User_Agent": "TelegramBot (like TwitterBot)", "Accept": "text/html,application/xhtml+xml,*/*;q=0.8"},
    {"User_Agent": "facebookexternalhit/1.1", "Accept": "*/*"},
    {"User_Agent": "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)"},
    {"User_Agent": "Synapse (bot; +https://github.com/matrix-org/synapse)", "Accept": "*/*"},
    {"User_Agent": "Signal-Android/7.62", "Accept": IMAGE},
    {"User_Agent": "curl/8.17.0", "Accept": "text/html"},
    {},
]
TERMINALS: list[dict[str, str]] = [
    CURL,
    {"User_Agent": "curl/8.17.0"},
    {"User_Agent": "Wget/1.25.0", "Accept": "*/*"},
    {"User_Agent": "HTTPie/3.2.4", "Accept": "*/*"},
    {"User_Agent": "python-requests/2.34", "Accept": "application/json"},
    {"User_Agent": "Mozilla/5.0", "Accept": "text/plain, text/html;q=0.5"},
]


@pytest.mark.parametrize("path", ["/r/{race}", "/w/{race}", "/o/{race}", "/replay/{race}"])
def test_every_client_gets_tags_for_previews_except_in_terminals(server: LoggedServer, path: str) -> None:
    race_id = create(server, game="corners").json["race"]
    for headers, media in [(each, "text/html") for each in PREVIEWS] + [(each, "text/plain") for each in TERMINALS]:
        answer = request(server, "GET", path.format(race=race_id), None, **headers)
        assert answer.headers["content-type"] == f"{media}; charset=utf-8", headers
        assert answer.headers["vary"] == "Accept, Accept-Encoding, User-Agent"
        title = '<meta property="og:title" content="Corners · Same Deal">'
        assert (title in answer.body.decode()) is (media == "text/html")


def test_pages_of_solutions_practice_and_clubs_name_commands_in_terminals(server: LoggedServer) -> None:
    race_id = create(server, game="corners").json["race"]
    texts = {
        f"/solution/{race_id}": f"samedeal solve {server.url}/r/{race_id}\n",
        "/g/calm-otter-42": f"samedeal club {server.url}/g/calm-otter-42\n",
        "/practice/corners:a%2Fb%20c?refill=waste": f"samedeal --server {server.url} practice 'corners:a/b c'\n",
    }
    for path, text in texts.items():
        assert request(server, "GET", path, None, **CURL).body.decode() == text
        assert request(server, "GET", path, Accept="text/html").headers["content-type"].startswith("text/html")
    codes = {
        f"/solution/{UNKNOWN}": "not-found",
        "/g/%1B": "not-found",
        "/practice/whist:1": "not-found",
        "/practice/corners": "bad-request",
        "/practice/corners:1?refill=none": "bad-request",
        "/practice/corners:1?speed=1": "bad-request",
    }
    for path, code in codes.items():
        refused = request(server, "GET", path, None, **CURL)
        assert problem(refused, code)
        page = request(server, "GET", path, Accept="text/html")
        assert (page.status, page.headers["content-type"]) == (refused.status, "text/html; charset=utf-8")
    assert "corners:42" in request(server, "GET", "/practice/corners", None, **CURL).json["detail"]


@pytest.mark.parametrize("hidden", ["%C2%9B31mRED", "%E2%80%AEnur", "%0A", "%1B%5B2J", "%EE%80%80", "%E2%80%8B"])
def test_answers_write_no_control_characters_to_a_terminal(server: LoggedServer, hidden: str) -> None:
    """Neither in a text that quotes the deal of a link, nor in a problem that quotes the request."""
    deals = f"/api/v1/deals/corners:{hidden}a/par", f"/practice/corners:1{hidden}2"
    for path in (*deals, f"/practice/corners:1?{hidden}=1", f"/api/v1/replays?{hidden}=1", f"/api/v1/games/{hidden}a"):
        refused = request(server, "GET", path, None, **CURL)
        assert refused.status in (400, 404), path
        assert refused.body.decode().isprintable(), path


def test_unknown_race_is_a_page_for_previews_and_a_problem_in_terminals(server: LoggedServer) -> None:
    page = request(server, "GET", f"/r/{UNKNOWN}", Accept="*/*")
    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert problem(request(server, "GET", f"/r/{UNKNOWN}", None, **CURL), "not-found")


PAGE_FILES = {
    "/page/main.js": "text/javascript; charset=utf-8",
    "/page/style.css": "text/css; charset=utf-8",
    "/page/rules/gallery.html": "text/html; charset=utf-8",
    "/page/icon.svg": "image/svg+xml",
    "/page/icon-192.png": "image/png",
    "/page/app.webmanifest": "application/manifest+json",
    "/sw.js": "text/javascript; charset=utf-8",
    "/page/verify/proof.mjs": "text/javascript; charset=utf-8",
    "/page/verify/games/gallery.mjs": "text/javascript; charset=utf-8",
}


@pytest.mark.parametrize("path", PAGE_FILES)
def test_page_files_are_revalidated(server: LoggedServer, path: str) -> None:
    answer = request(server, "GET", path)
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-cache")
    assert answer.headers["content-type"] == PAGE_FILES[path]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert request(server, "GET", path, None, **{"If-None-Match": answer.headers["etag"]}).status == 304


def test_page_files_of_this_version_never_change(server: LoggedServer) -> None:
    version = request(server, "GET", "/page/version").body.decode()
    assert f'src="/page/{version}/main.js"' in request(server, "GET", "/", None, Accept="text/html").body.decode()
    for name in ("main.js", "style.css", "verify/proof.mjs", "app.webmanifest"):
        answer = request(server, "GET", f"/page/{version}/{name}")
        assert (answer.status, answer.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
        assert answer.body == request(server, "GET", f"/page/{name}").body


def test_page_files_of_another_version_are_the_current_ones_and_revalidated(server: LoggedServer) -> None:
    answer = request(server, "GET", f"/page/{'0' * 16}/main.js")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-cache")
    assert request(server, "GET", f"/page/{'0' * 16}/nothing.js").status == 404
    assert request(server, "GET", f"/page/{'0' * 15}/main.js").status == 404


UNSERVED = ["../settings.py", "%2e%2e/settings.py", "nothing.js", "", "verify", "verify/../../verify.mjs"]
UNSERVED += [
    f"verify/{name}" for name in ("", "verify.mjs", "play.mjs", "table.mjs", "club.mjs", "README.md", "../main.js")
]


@pytest.mark.parametrize("path", [f"/page/{name}" for name in UNSERVED])
def test_other_files_are_not_served(server: LoggedServer, path: str) -> None:
    assert request(server, "GET", path).status == 404


def test_links_use_the_host_of_the_request(server: LoggedServer) -> None:
    answer = request(server, "POST", "/api/v1/races", b'{"game":"corners"}', Host="race.example:81")
    assert answer.json["link"].startswith("http://race.example:81/r/")


@pytest.mark.parametrize("path", ["//evil.example/", "///evil.example//", "/evil.example/"])
def test_redirects_stay_on_the_host(server: LoggedServer, path: str) -> None:
    answer = request(server, "GET", path, Host="evil.example")
    assert (answer.status, answer.headers["location"]) == (307, "/evil.example")


@pytest.mark.parametrize("host", ["[", "a b", "[::1", "%00", "a/b", "a@b", "", "a:b", "\u00e9", "x" * 300])
@pytest.mark.parametrize("path", ["/", "/api/v1/games", "/api/v1/races/"])
def test_invalid_host_causes_no_internal_error(server: LoggedServer, path: str, host: str) -> None:
    answer = request(server, "GET", path, Host=host)
    assert answer.status in (200, 307, 400, 404, 413)


READABLE = [
    "/",
    "/healthz",
    "/readyz",
    "/problems/internal",
    "/api/v1/games",
    "/api/v1/games/corners",
    "/api/v1/races",
    "/api/v1/replays",
    "/.well-known/samedeal",
    "/verify",
]


@pytest.mark.parametrize("path", READABLE)
def test_get_is_allowed_from_any_origin_and_matches_head(server: LoggedServer, path: str) -> None:
    response = request(server, "GET", path)
    assert (response.status, response.headers["access-control-allow-origin"]) == (200, "*")
    head = request(server, "HEAD", path, Origin="https://bots.example")
    assert (head.status, head.body) == (200, b"")
    assert head.headers == response.headers | {name: head.headers[name] for name in ("date", "x-request-id")}


def test_refused_get_is_allowed_from_any_origin_but_post_is_not(server: LoggedServer) -> None:
    assert request(server, "GET", "/nowhere", Origin="null").headers["access-control-allow-origin"] == "*"
    for answer in (
        request(server, "POST", "/api/v1/races", b'{"game":"corners"}', Origin="https://bots.example"),
        request(server, "OPTIONS", "/api/v1/races", Origin="https://a.example", Access_Control_Request_Method="POST"),
    ):
        assert "access-control-allow-origin" not in answer.headers


ALLOWED = {path: {"GET", "HEAD"} for path in READABLE} | {
    "/api/v1/races": {"GET", "HEAD", "POST"},
    "/api/v1/races/calm-otter-42": {"GET", "HEAD"},
    "/api/v1/replays/calm-otter-42": {"GET", "HEAD"},
    "/api/v1/verify": {"POST"},
    "/r/calm-otter-42": {"GET", "HEAD"},
}


@pytest.mark.parametrize("path", ALLOWED)
def test_wrong_method_is_refused_with_the_allowed_methods(server: LoggedServer, path: str) -> None:
    for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - ALLOWED[path]:
        answer = request(server, method, path, b"" if method in ("POST", "PUT", "PATCH") else None)
        assert problem(answer, "wrong-method")
        assert set(answer.headers["allow"].split(", ")) == ALLOWED[path]


@pytest.mark.parametrize(
    "path",
    ["/nowhere", "/api", "/api/v2/games", "/API/v1/games", "/.env", "/%2e%2e/etc/passwd", "/%ff", "//", "/*"],
)
def test_unknown_path_is_not_found(server: LoggedServer, path: str) -> None:
    assert problem(request(server, "GET", path), "not-found")


BROWSER = {"User_Agent": "Mozilla/5.0", "Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_unknown_path_is_a_page_for_browsers_and_a_problem_for_programs(server: LoggedServer) -> None:
    answer = request(server, "GET", "/nonsense", None, **BROWSER)
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "<title>Not found · Same Deal</title>" in answer.body.decode()
    for path in ("/api/v1/nonsense", "/page/nonsense.js"):
        assert problem(request(server, "GET", path, None, **BROWSER), "not-found")
    assert problem(request(server, "GET", "/nonsense", None, Accept="application/json"), "not-found")
    assert problem(request(server, "GET", "/nonsense", None, Accept="*/*"), "not-found")


def test_page_of_an_invalid_date_is_refused(server: LoggedServer) -> None:
    assert (
        b"<title>Deals of 2026-11-21 \xc2\xb7 Same Deal"
        in request(server, "GET", "/daily/2026-11-21", None, **BROWSER).body
    )
    assert request(server, "GET", "/daily/yesterday", None, **BROWSER).status == 400
    assert problem(request(server, "GET", "/daily/yesterday", None, **CURL), "bad-request")


async def test_internal_error_is_a_problem_without_details(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_: object) -> None:
        raise ZeroDivisionError("hush")

    async def receive() -> Message:
        return {"type": "http.request"}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    monkeypatch.setattr(LiveRaces, "page", failing)
    app = create_app(Settings(), "unix:///nowhere", Keys(bytes(32), bytes(32)))
    scope = {"type": "http", "method": "GET", "path": "/api/v1/races", "query_string": b"", "headers": []}
    with pytest.raises(ZeroDivisionError):  # for the log
        await app(scope, receive, send)
    start, body = sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    assert problem(Answer(start["status"], headers, body["body"]), "internal")
    assert b"hush" not in body["body"]
