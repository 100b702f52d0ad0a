"""Every address, with what it is meant for and with everything else: it answers, and nothing is the server's fault."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from io import BytesIO
from typing import Any

import msgspec
import pytest
from msgspec import structs
from starlette.types import Message

from samedeal.errors import CODES
from samedeal.games.catalogue import GAMES
from samedeal.proof.signature import public_key
from samedeal.proof.verification import verify
from samedeal.race.events import Seed
from samedeal.replays.replay import MAX_BYTES, Replay, ReplayLines, read
from samedeal.wire import codec
from samedeal.wire import messages as m
from samedeal_server.app import create_app
from samedeal_server.http.verification import MAX_VERIFICATIONS_OF_ONE
from samedeal_server.races.live_races import LiveRaces
from samedeal_server.settings import Keys, Settings
from support.finished_races import SECRET, finished
from support.logged_server import Answer, Line, LoggedServer, request
from support.servers import SIGNING_KEY

MSGPACK, NDJSON = "application/vnd.msgpack", "application/x-ndjson"
FORMS = ("json", "msgpack", "ndjson")
UNKNOWN = "calm-otter-42"


@pytest.fixture(scope="module")
def server(store_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    log = tmp_path_factory.mktemp("api") / "log"
    with LoggedServer(store_url, log, connections_per_address="0").start() as running:
        yield running


@pytest.fixture(autouse=True)
def _nothing_fails(server: LoggedServer) -> Iterator[None]:
    """After each test, the server has seen no failure of its own."""
    yield
    assert server.failures() == []


async def raced(
    server: LoggedServer, game: str = "corners", seed: str | None = None, **options: Any
) -> tuple[str, str]:
    """A race for one that is over after a move, and the public id of its racer."""
    created = create(server, game=game, seed=seed or "1", options={"max_racers": 1, "start_delay_ms": 0, **options})
    race: str = created.json["race"]
    async with await Line.open(server) as line:
        welcome = await line.ask("hello", name="ada")
        assert isinstance(welcome, m.Welcome)
        await line.ask("join", race=race)
        await line.ask("ready")
        view = await line.ask("join", race=race)
        assert isinstance(view, m.View)
        assert view.board
        assert view.board.moves
        await line.ask("move", move=view.board.moves[0], ply=0)
        assert isinstance(await line.ask("resign"), m.View)
    await server.replay(race)
    while not options.get("unlisted"):  # it is listed a moment after its replay is there
        if request(server, "GET", f"/api/v1/replays?player={welcome.player}").json["replays"]:
            break
        await asyncio.sleep(0.01)
    return race, welcome.player


def create(server: LoggedServer, **opening: Any) -> Answer:
    return request(server, "POST", "/api/v1/races", json.dumps(opening).encode())


def problem(answer: Answer, code: str, text: str = "") -> bool:
    """Whether an answer is the problem of that code as the registry has it, its detail holding a text."""
    status, title = CODES[code]
    assert answer.headers["content-type"] == "application/problem+json"
    if answer.body:
        assert answer.json == {
            "type": f"/problems/{code}",
            "title": title,
            "status": status,
            "code": code,
            "detail": answer.json["detail"],
        }
        assert text in answer.json["detail"]
    assert answer.status == status
    return True


# Games.


def test_every_game_is_described(server: LoggedServer) -> None:
    games = request(server, "GET", "/api/v1/games").json["games"]
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
            "hidden": sorted(game.hidden),
            "goal": game.goal,
            "limit_ms": game.limit_ms,
            "options": {name: list(values) for name, values in game.options.items()},
        }


@pytest.mark.parametrize(
    "slug", ["chess", "Corners", "corners%00", "%2e%2e", "corners.json", "\x7e", "%ff", "x" * 9000]
)
def test_a_game_that_is_not_there_is_not_found(server: LoggedServer, slug: str) -> None:
    assert problem(request(server, "GET", f"/api/v1/games/{slug}"), "not-found")


# Creating races.


def test_a_race_is_created_sealed_and_with_the_defaults_of_its_game(server: LoggedServer) -> None:
    for slug, game in GAMES.items():
        answer = create(server, game=slug)
        assert answer.status == 201
        created = answer.json
        race, header = created["race"], created["header"]
        assert answer.headers["location"] == f"/api/v1/races/{race}"
        assert created["link"] == f"{server.url}/r/{race}"
        friendly = {} if slug in ("corner-stones", "gallery") else {"filter": "friendly/1"}
        assert header["options"] == {"limit_ms": game.limit_ms, **friendly}
        assert (header["race"], header["game"], header["rules"]) == (race, slug, game.rules)
        assert {"seed", "variant"}.isdisjoint(header)
        view = request(server, "GET", answer.headers["location"]).json
        assert (view["stage"], view["header"], view["n"]) == ("open", header, 0)


def test_a_race_is_created_as_it_is_asked_for(server: LoggedServer) -> None:
    options = {
        "limit_ms": 1_000,
        "max_racers": 32,
        "start_delay_ms": 60_000,
        "undo": False,
        "attempts": 1,
        "spectators": "open",
        "unlisted": True,
    }
    header = create(server, game="gallery", seed="Zoë 1", variant={"cap": False}, options=options).json["header"]
    assert (header["seed"], header["variant"], header["options"]) == ("Zoë 1", {"cap": False}, options)
    plain = create(server, game="gallery", seed="1", variant={"cap": True}, options={"undo": True}).json["header"]
    assert "variant" not in plain
    assert plain["options"] == {"limit_ms": GAMES["gallery"].limit_ms}


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[]", b"5", b'"corners"', b"\xff", b"{}{}", b"\xef\xbb\xbf{}"])
def test_a_body_that_is_no_opening_is_refused(server: LoggedServer, body: bytes) -> None:
    assert problem(request(server, "POST", "/api/v1/races", body), "bad-request")


WRONG_OPENINGS: list[tuple[dict[str, Any], str]] = [
    ({}, "`game`"),
    ({"game": None}, "$.game"),
    ({"game": 5}, "$.game"),
    ({"game": ["corners"]}, "$.game"),
    ({"game": "corners", "colour": "red"}, "`colour`"),
    ({"game": "corners", "salt": "00" * 16}, "`salt`"),
    ({"game": "corners", "secret": "00" * 32}, "`secret`"),
    ({"game": "corners", "race": UNKNOWN}, "`race`"),
    ({"game": "corners", "commitment": "00" * 32}, "`commitment`"),
    ({"game": "corners", "seed": ""}, "$.seed"),
    ({"game": "corners", "seed": 5}, "$.seed"),
    ({"game": "corners", "seed": "a|b"}, "$.seed"),
    ({"game": "corners", "seed": "a\nb"}, "$.seed"),
    ({"game": "corners", "seed": "a\n"}, "$.seed"),
    ({"game": "corners", "seed": "\0"}, "$.seed"),
    ({"game": "corners", "seed": "\x7f"}, "$.seed"),
    ({"game": "corners", "seed": "x" * 129}, "$.seed"),
    ({"game": "corners", "seed": "x" * 10_000}, "$.seed"),
    ({"game": "corners", "variant": {"cap": False}}, "cap"),
    ({"game": "gallery", "variant": {"cap": "yes"}}, "cap"),
    ({"game": "gallery", "variant": {"cap": "True"}}, "cap"),
    ({"game": "gallery", "variant": {"cap": 1}}, "$.variant"),
    ({"game": "gallery", "variant": {"cap": None}}, "$.variant"),
    ({"game": "gallery", "variant": {"seed": "1"}}, "seed"),
    ({"game": "gallery", "variant": {"cls": "1"}}, "cls"),
    ({"game": "gallery", "variant": {"": "1"}}, "''"),
    ({"game": "gallery", "variant": {"a b": "1"}}, "a b"),
    ({"game": "gallery", "variant": []}, "$.variant"),
    ({"game": "corners", "options": []}, "$.options"),
    ({"game": "corners", "options": {"colour": "red"}}, "`colour`"),
    ({"game": "corners", "options": {"limit_ms": None}}, "$.options"),
    ({"game": "corners", "options": {"limit_ms": "5000"}}, "$.options.limit_ms"),
    ({"game": "corners", "options": {"limit_ms": 999}}, "$.options.limit_ms"),
    ({"game": "corners", "options": {"limit_ms": -1}}, "$.options.limit_ms"),
    ({"game": "corners", "options": {"limit_ms": 7_200_001}}, "$.options.limit_ms"),
    ({"game": "corners", "options": {"limit_ms": 10**30}}, "$.options"),
    ({"game": "corners", "options": {"limit_ms": 5000.5}}, "$.options"),
    ({"game": "corners", "options": {"limit_ms": True}}, "$.options.limit_ms"),
    ({"game": "corners", "options": {"max_racers": 0}}, "$.options.max_racers"),
    ({"game": "corners", "options": {"max_racers": 33}}, "$.options.max_racers"),
    ({"game": "corners", "options": {"start_delay_ms": -1}}, "$.options.start_delay_ms"),
    ({"game": "corners", "options": {"start_delay_ms": 60_001}}, "$.options.start_delay_ms"),
    ({"game": "corners", "options": {"undo": 1}}, "$.options.undo"),
    ({"game": "corners", "options": {"undo": "no"}}, "$.options.undo"),
    ({"game": "corners", "options": {"attempts": -1}}, "$.options.attempts"),
    ({"game": "corners", "options": {"spectators": "all"}}, "$.options.spectators"),
    ({"game": "corners", "options": {"spectators": False}}, "$.options.spectators"),
    ({"game": "corners", "options": {"spectators": {"deep": []}}}, "$.options"),
]


@pytest.mark.parametrize(("opening", "named"), WRONG_OPENINGS)
def test_an_opening_that_is_wrong_is_refused_by_name(server: LoggedServer, opening: dict[str, Any], named: str) -> None:
    assert problem(create(server, **opening), "bad-request", named)


def test_no_race_is_created_of_a_game_that_is_not_there(server: LoggedServer) -> None:
    for slug in ("chess", "", "Corners", "../corners", "corners\n"):
        assert problem(create(server, game=slug), "not-found", "corner-stones")


def test_a_body_however_deep_or_long_is_refused(server: LoggedServer) -> None:
    deep = b'{"game":"corners","options":' + b"[" * 8_000 + b"]" * 8_000 + b"}"
    assert problem(request(server, "POST", "/api/v1/races", deep), "bad-request")
    assert problem(request(server, "POST", "/api/v1/races", b" " * 16_385), "too-large", "16384")
    chunked = request(server, "POST", "/api/v1/races", _chunks(17_000), Transfer_Encoding="chunked")
    assert problem(chunked, "too-large", "16384")


def _chunks(length: int) -> bytes:
    return f"{length:x}\r\n".encode() + b" " * length + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize("text", ["1", "x" * 128, "Zoë", "a.b c", "%00", "王", '"', "\\", "{}", "😀" * 128])
async def test_whatever_seed_is_taken_can_be_raced_and_found_again(server: LoggedServer, text: str) -> None:
    assert msgspec.convert(text, Seed) == text
    race, _ = await raced(server, seed=text)
    replay = await server.replay(race)
    assert replay.header.seed == text
    assert all(fact.holds for fact in verify(replay))


# RaceFilter and looking at races.


def test_races_are_listed_newest_first_and_can_be_narrowed(server: LoggedServer) -> None:
    unlisted = create(server, game="corners", options={"unlisted": True}).json["race"]
    made = [create(server, game=slug, seed=seed).json for slug in GAMES for seed in (None, "1")]
    races = request(server, "GET", "/api/v1/races?limit=100").json["races"]
    assert [race["race"] for race in races[: len(made)]] == [race["race"] for race in reversed(made)]
    assert races[0] == {
        "race": made[-1]["race"],
        "game": made[-1]["header"]["game"],
        "stage": "open",
        "racers": 0,
        "max_racers": 8,
        "opened_at": made[-1]["header"]["opened_at"],
        "sealed": False,
        "daily": False,
    }
    assert races[1]["sealed"] is True
    assert unlisted not in [race["race"] for race in races]
    assert request(server, "GET", f"/api/v1/races/{unlisted}").status == 200
    of_a_game = request(server, "GET", "/api/v1/races?game=gallery&stage=open").json["races"]
    assert {race["game"] for race in of_a_game} == {"gallery"}
    assert request(server, "GET", "/api/v1/races?stage=running").json == {"races": [], "next": None}
    assert request(server, "GET", "/api/v1/races?limit=1").json["races"] == races[:1]
    assert len(request(server, "GET", "/api/v1/races").json["races"]) <= 20


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "limit=-1",
        "limit=",
        "limit=ten",
        f"limit={'9' * 5000}",
        "limit=%00",
        "limit=1&colour=red",
        "stage=lost",
        "stage=",
        "stage=null",
        "stage=%ff",
        "%00=1",
    ],
)
def test_a_list_is_not_narrowed_to_nonsense(server: LoggedServer, query: str) -> None:
    assert problem(request(server, "GET", f"/api/v1/races?{query}"), "bad-request")


def test_a_race_is_shown_as_an_onlooker_sees_it(server: LoggedServer) -> None:
    created = create(server, game="corners").json
    view = request(server, "GET", f"/api/v1/races/{created['race']}").json
    assert view == {
        "t": "view",
        "race": created["race"],
        "n": 0,
        "h": view["h"],
        "stage": "open",
        "header": created["header"],
    }


@pytest.mark.parametrize("name", [UNKNOWN, "CALM", "%00", "%2e%2e", "a%2fb", "x" * 65, "%7brace%7d", "*", "%ff", "a b"])
@pytest.mark.parametrize("path", ["/api/v1/races/", "/api/v1/replays/", "/r/"])
def test_a_race_that_is_not_there_is_not_found(server: LoggedServer, path: str, name: str) -> None:
    assert problem(request(server, "GET", path + name.replace(" ", "%20")), "not-found")


# Replays.


async def test_a_replay_is_there_in_every_form_by_name_and_by_accept(server: LoggedServer) -> None:
    race, _ = await raced(server)
    by_name = {form: request(server, "GET", f"/api/v1/replays/{race}.{form}") for form in FORMS}
    assert [by_name[form].headers["content-type"] for form in FORMS] == ["application/json", MSGPACK, NDJSON]
    replay = read(by_name["json"].body)
    assert read(by_name["msgpack"].body) == replay
    assert codec.encode(replay, "json") == by_name["json"].body
    assert b"".join(replay.lines()) == by_name["ndjson"].body
    assert tuple(ReplayLines(BytesIO(by_name["ndjson"].body)).entries) == replay.entries
    assert len({answer.headers["etag"] for answer in by_name.values()}) == len(FORMS)
    assert all(fact.holds for fact in verify(replay))
    for accept, form in ACCEPTS:
        answer = request(server, "GET", f"/api/v1/replays/{race}", Accept=accept)
        if form is None:
            assert problem(answer, "not-acceptable", MSGPACK), accept
            continue
        assert (answer.status, answer.body) == (200, by_name[form].body), accept
        assert answer.headers["etag"] == by_name[form].headers["etag"]
        assert answer.headers["vary"] == "Accept"
    assert request(server, "GET", f"/api/v1/replays/{race}").body == by_name["json"].body


ACCEPTS: list[tuple[str, str | None]] = [
    ("*/*", "json"),
    ("application/*", "json"),
    ("application/json", "json"),
    ("Application/JSON", "json"),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "json"),
    (MSGPACK, "msgpack"),
    ("application/msgpack", "msgpack"),
    ("application/x-msgpack;q=0.001", "msgpack"),
    (f"application/json;q=0.5, {MSGPACK}", "msgpack"),
    (f"application/json, {MSGPACK};q=0.5", "json"),
    (f"{MSGPACK}, application/json", "json"),
    (f"*/*;q=0.1,{MSGPACK} ; q=0.2", "msgpack"),
    ("application/json;q=0, */*", "msgpack"),
    (NDJSON, "ndjson"),
    ("application/ndjson;q=0.1", "ndjson"),
    (f"{NDJSON};q=0.5, application/json;q=0.4", "ndjson"),
    (f"{NDJSON}, */*", "json"),
    (f"application/json;q=0, {MSGPACK};q=0", None),
    ("application/json;q=0.0", None),
    ("*/*;q=0", None),
    ("text/html", None),
    ("application/jsonp", None),
    ("json", None),
    ("application/json;q=high", None),
    ("application/json;q=-1", None),
    ("application/json;q=nan", None),
]


@pytest.mark.parametrize("form", FORMS)
async def test_a_replay_is_kept_for_ever_by_those_who_have_it(server: LoggedServer, form: str) -> None:
    race, _ = await raced(server)
    whole = request(server, "GET", f"/api/v1/replays/{race}.{form}")
    tag = whole.headers["etag"]
    assert whole.headers["cache-control"] == "public, max-age=31536000, immutable"
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = request(server, "GET", f"/api/v1/replays/{race}.{form}", If_None_Match=known)
        assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", tag)
        assert answer.headers["cache-control"] == whole.headers["cache-control"]
    for unknown in ('"other"', tag.strip('"'), tag[:-2] + '"', f"{tag[:-1]}-gzip{tag[-1]}"):
        assert request(server, "GET", f"/api/v1/replays/{race}.{form}", If_None_Match=unknown).body == whole.body
    head = request(server, "HEAD", f"/api/v1/replays/{race}.{form}")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["etag"] == tag
    assert head.headers["content-length"] == str(len(whole.body))
    part = request(server, "GET", f"/api/v1/replays/{race}.{form}", Range="bytes=0-9")
    assert (part.status, part.body) == (200, whole.body)


@pytest.mark.parametrize(
    "suffix", [".txt", ".JSON", ".json.msgpack", ".", ".json%00", ".html", ".jsonl", ".ndjson.json"]
)
async def test_a_replay_has_no_other_form(server: LoggedServer, suffix: str) -> None:
    race, _ = await raced(server)
    assert problem(request(server, "GET", f"/api/v1/replays/{race}{suffix}"), "not-found")


async def test_finished_races_are_found_by_game_player_and_deal(server: LoggedServer) -> None:
    player = ""
    made = []
    for seed in ("find-1", "find-2", "find-3"):
        race, player = await raced(server, "the-edge", seed)
        made.append(race)
    hidden, _ = await raced(server, "the-edge", "find-1", unlisted=True)

    def found(query: str) -> list[dict[str, Any]]:
        replays: list[dict[str, Any]] = request(server, "GET", f"/api/v1/replays?{query}").json["replays"]
        return replays

    assert [replay["race"] for replay in found("")[:3]] == made[::-1]
    assert [replay["race"] for replay in found("game=the-edge")] == made[::-1]
    assert [replay["race"] for replay in found(f"player={player}")] == made[-1:]
    (only,) = found("deal=the-edge:find-1")
    replay = await server.replay(made[0])
    assert (only["race"], only["game"], only["deal"]) == (made[0], "the-edge", "the-edge:find-1")
    assert only["ended_at"] == replay.entries[-1].at
    assert only["standings"] == json.loads(codec.encode(replay.standings, "json"))
    assert hidden not in [replay["race"] for replay in found("limit=100")]
    assert found("game=chess") == found("player=nobody") == found("deal=%00") == found(f"deal={'x' * 5000}") == []
    assert found("player=*") == found("game=%7b") == []


async def test_finished_races_come_in_pages(server: LoggedServer) -> None:
    made = [(await raced(server, "kings-in-the-corners", f"page-{number}"))[0] for number in range(5)]
    listed: list[str] = []
    query = "game=kings-in-the-corners&limit=2"
    before = ""
    for _ in range(5):
        page = request(server, "GET", f"/api/v1/replays?{query}{before}").json
        assert len(page["replays"]) <= 2
        listed += [replay["race"] for replay in page["replays"]]
        if page["next"] is None:
            break
        before = f"&before={page['next']}"
    assert listed == made[::-1]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "before=", f"before={'x' * 65}", "since=1", "game=a&player=b", "x=1"],
)
def test_a_search_for_nonsense_is_refused(server: LoggedServer, query: str) -> None:
    assert problem(request(server, "GET", f"/api/v1/replays?{query}"), "bad-request")


@pytest.mark.parametrize("before", ["-1", "calm-otter-1", "%00", "*"])
def test_a_search_from_a_race_that_is_not_listed_is_refused(server: LoggedServer, before: str) -> None:
    assert problem(request(server, "GET", f"/api/v1/replays?before={before}"), "not-found")


# Verification.


def in_form(replay: Replay, form: str) -> bytes:
    if form == "ndjson":
        return b"".join(replay.lines())
    return codec.encode(replay, "json" if form == "json" else "msgpack")


@pytest.mark.parametrize("form", FORMS)
def test_a_good_replay_is_verified_in_every_form(server: LoggedServer, form: str) -> None:
    replay = finished("corners")
    for kind in (
        "application/json",
        "application/octet-stream",
        NDJSON,
    ):  # what is sent tells its form, and nothing else
        answer = request(server, "POST", "/api/v1/verify", in_form(replay, form), Content_Type=kind)
        assert answer.status == 200
        assert answer.json == {
            "ok": True,
            "key": replay.signature.key,
            "known_key": False,
            "facts": [json.loads(codec.encode(fact, "json")) for fact in verify(replay)],
        }


@pytest.mark.parametrize("form", FORMS)
async def test_a_signature_can_be_demanded_to_be_by_a_key(server: LoggedServer, form: str) -> None:
    race, _ = await raced(server)
    body = request(server, "GET", f"/api/v1/replays/{race}.{form}").body
    ours, other = public_key(bytes.fromhex(SIGNING_KEY)), public_key(SECRET)
    for query, holds in ((f"key={ours}", True), (f"key={other}&key={ours}", True), (f"key={other}", False), ("", True)):
        found = request(server, "POST", f"/api/v1/verify?{query}", body).json
        assert (found["ok"], found["key"], found["known_key"]) == (holds, ours, True)
        assert [fact["name"] for fact in found["facts"] if not fact["holds"]] == ([] if holds else ["signature"])
    forged = structs.replace(finished("corners"), signature=read(in_form(await server.replay(race), "json")).signature)
    found = request(server, "POST", f"/api/v1/verify?key={ours}", in_form(forged, form)).json
    assert (found["ok"], found["key"], found["known_key"]) == (False, ours, True)


@pytest.mark.parametrize(
    "query",
    [
        *("key=", "key=00", f"key={'0F' * 32}", f"key={'00' * 33}", f"key={'00' * 32}&key=x", f"key={'0g' * 32}"),
        *(f"keys={'00' * 32}", f"key={'00' * 32}&colour=red", f"key={'00' * 32}%0a", f"key=%20{'00' * 32}"),
        "key=--help",
    ],
)
def test_a_demand_for_what_is_no_key_is_refused(server: LoggedServer, query: str) -> None:
    assert problem(
        request(server, "POST", f"/api/v1/verify?{query}", in_form(finished("corners"), "json")), "bad-request"
    )


def test_a_replay_that_was_tampered_with_is_found_out(server: LoggedServer) -> None:
    for form in ("json", "ndjson"):
        text = in_form(finished("corners"), form).replace(b'"name":"ada"', b'"name":"eve"')
        answer = request(server, "POST", "/api/v1/verify", text)
        assert answer.status == 200
        assert answer.json["ok"] is False
        failed = [fact for fact in answer.json["facts"] if not fact["holds"]]
        assert failed[0] == {"name": "chain", "holds": False, "entry": 1, "note": failed[0]["note"]}


HEAD = next(finished("corners").lines())


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"hello", b"{}", b"null", b"\xc1", b"[" * 100_000, b'{"a":' * 50_000, b"\x91" * 100_000, b"\0" * 100),
        *(HEAD, HEAD + HEAD, HEAD + b"[" * 100_000 + b"\n" + HEAD, HEAD + b" " * 100_000, HEAD + b"\n" * 600_000),
    ],
    ids=lambda body: body[:8].decode(errors="replace") + f" {len(body)}",
)
def test_what_is_no_replay_is_refused(server: LoggedServer, body: bytes) -> None:
    assert problem(request(server, "POST", "/api/v1/verify", body), "bad-replay")


def test_a_replay_that_is_too_long_is_refused_before_it_is_read(server: LoggedServer) -> None:
    for length in (MAX_BYTES + 1, 10**18):
        answer = request(server, "POST", "/api/v1/verify", b"", Content_Length=str(length))
        assert problem(answer, "too-large", str(MAX_BYTES))
    answer = request(server, "POST", "/api/v1/verify", _chunks(MAX_BYTES + 1), Transfer_Encoding="chunked")
    assert problem(answer, "too-large", str(MAX_BYTES))


def test_replays_wait_for_one_another_but_not_too_many(server: LoggedServer) -> None:
    body = in_form(finished("corners"), "ndjson")
    with ExitStack() as stack:

        def begun() -> HTTPConnection:
            slow = stack.enter_context(closing(HTTPConnection("127.0.0.1", server.port, timeout=20)))
            slow.putrequest("POST", "/api/v1/verify")
            slow.putheader("Content-Length", str(len(body)))
            slow.endheaders(body[:100])
            return slow

        waiting = [begun() for _ in range(MAX_VERIFICATIONS_OF_ONE)]
        while (answer := request(server, "POST", "/api/v1/verify", body)).status == 200:
            waiting.append(begun())  # this request took the place of one, or not all have come in
        assert problem(answer, "too-many")
        for slow in waiting:
            slow.send(body[100:])
        assert [slow.getresponse().status for slow in waiting].count(200) >= MAX_VERIFICATIONS_OF_ONE - 1
    assert request(server, "POST", "/api/v1/verify", body).json["ok"] is True


def test_nobody_waits_for_a_replay_that_comes_slowly(server: LoggedServer) -> None:
    body = in_form(finished("corners"), "ndjson")
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=20)) as slow:
        slow.putrequest("POST", "/api/v1/verify")
        slow.putheader("Content-Length", str(len(body)))
        slow.endheaders(body[:100])
        assert request(server, "POST", "/api/v1/verify", body).json["ok"] is True
        slow.send(body[100:])
        assert slow.getresponse().status == 200


# Everything else.


def test_health_and_readiness(server: LoggedServer) -> None:
    assert request(server, "GET", "/healthz").body == b"ok\n"
    assert request(server, "GET", "/readyz").body == b"ready\n"


def test_every_problem_is_explained_at_its_address(server: LoggedServer) -> None:
    for code, (status, title) in CODES.items():
        answer = request(server, "GET", f"/problems/{code}")
        assert (answer.status, answer.body.decode()) == (200, f"{code} ({status}): {title}.\n")
    for code in ("unknown", "%00", "MALFORMED", "bad-request%0a"):
        assert problem(request(server, "GET", f"/problems/{code}"), "not-found")


def test_an_invitation_says_how_to_come(server: LoggedServer) -> None:
    created = create(server, game="corners", options={"max_racers": 3}).json
    page = request(server, "GET", f"/r/{created['race']}")
    assert page.headers["content-type"] == "text/plain; charset=utf-8"
    text = page.body.decode()
    assert f"race {created['race']} is open, 0 of 3 seats are taken" in text
    assert f"samedeal join {created['link']}" in text


def test_the_front_page_says_how_to_begin(server: LoggedServer) -> None:
    assert f"samedeal --server {server.url} new corners" in request(server, "GET", "/").body.decode()


@pytest.mark.parametrize("path", ["/", "/r/{race}", "/w/{race}", "/rules/corners"])
def test_a_browser_gets_the_page_with_a_title_of_its_own(server: LoggedServer, path: str) -> None:
    race = create(server, game="corners").json["race"]
    answer = request(server, "GET", path.format(race=race), Accept="text/html,*/*;q=0.8")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    text = answer.body.decode()
    assert text.count("<title>") == 1
    if path != "/":
        assert "<title>Same Deal</title>" not in text
        assert "Corners" in text.partition("</title>")[0]
    assert not re.search(r"<(script|style)>| style=| on[a-z]+=", text)


@pytest.mark.parametrize("path", ["/page/main.js", "/page/style.css", "/page/rules/gallery.html", "/page/icon.svg"])
def test_the_pages_files_are_asked_about_each_time(server: LoggedServer, path: str) -> None:
    answer = request(server, "GET", path)
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-cache")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert request(server, "GET", path, None, **{"If-None-Match": answer.headers["etag"]}).status == 304


@pytest.mark.parametrize("path", ["/page/../settings.py", "/page/%2e%2e/settings.py", "/page/nothing.js", "/page/"])
def test_the_page_has_no_other_files(server: LoggedServer, path: str) -> None:
    assert request(server, "GET", path).status == 404


def test_links_lead_to_where_the_client_came(server: LoggedServer) -> None:
    answer = request(server, "POST", "/api/v1/races", b'{"game":"corners"}', Host="race.example:81")
    assert answer.json["link"].startswith("http://race.example:81/r/")


@pytest.mark.parametrize("host", ["[", "a b", "[::1", "%00", "a/b", "a@b", "", "a:b", "\u00e9", "x" * 5000])
@pytest.mark.parametrize("path", ["/", "/api/v1/games", "/api/v1/races/"])
def test_a_host_that_is_none_does_no_harm(server: LoggedServer, path: str, host: str) -> None:
    answer = request(server, "GET", path, Host=host)
    assert answer.status in (200, 307, 400, 404)


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
]


@pytest.mark.parametrize("path", READABLE)
def test_what_can_be_read_is_open_to_pages_of_any_site_and_to_head(server: LoggedServer, path: str) -> None:
    whole = request(server, "GET", path)
    assert (whole.status, whole.headers["access-control-allow-origin"]) == (200, "*")
    head = request(server, "HEAD", path, Origin="https://bots.example")
    assert (head.status, head.body) == (200, b"")
    assert head.headers == whole.headers | {"date": head.headers["date"]}


def test_refusals_are_open_too_and_writing_is_not(server: LoggedServer) -> None:
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
def test_a_wrong_method_is_refused_with_the_right_ones(server: LoggedServer, path: str) -> None:
    for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - ALLOWED[path]:
        answer = request(server, method, path, b"" if method in ("POST", "PUT", "PATCH") else None)
        assert problem(answer, "wrong-method")
        assert set(answer.headers["allow"].split(", ")) == ALLOWED[path]


@pytest.mark.parametrize(
    "path",
    ["/nowhere", "/api", "/api/v2/games", "/API/v1/games", "/ws", "/.env", "/%2e%2e/etc/passwd", "/%ff", "//", "/*"],
)
def test_nothing_is_anywhere_else(server: LoggedServer, path: str) -> None:
    assert problem(request(server, "GET", path), "not-found")


async def test_a_failure_of_the_server_is_a_problem_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_: object) -> None:
        raise ZeroDivisionError("hush")

    async def receive() -> Message:
        return {"type": "http.request"}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    monkeypatch.setattr(LiveRaces, "listed", failing)
    app = create_app(Settings(), "unix:///nowhere", Keys(bytes(32), bytes(32)))
    scope = {"type": "http", "method": "GET", "path": "/api/v1/races", "query_string": b"", "headers": []}
    with pytest.raises(ZeroDivisionError):  # for the log
        await app(scope, receive, send)
    start, body = sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    assert problem(Answer(start["status"], headers, body["body"]), "internal")
    assert b"hush" not in body["body"]
