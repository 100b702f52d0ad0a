"""Races over HTTP: creating, listing and viewing them."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import asdict

from samedeal.computer.deal_filters import GRADES, has_grades, usual_filter
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import Options, Seed
from support.http_api import UNKNOWN, chunked, create, finish_race, problem
from support.logged_server import LoggedServer, request


def test_created_race_is_sealed_with_the_defaults_of_its_game(server: LoggedServer) -> None:
    for slug, game in GAMES.items():
        answer = create(server, game=slug)
        assert answer.status == 201
        created = answer.json
        race_id, header = created["race"], created["header"]
        assert answer.headers["location"] == f"/api/v1/races/{race_id}"
        assert created["link"] == f"{server.url}/r/{race_id}"
        usual = {"filter": usual_filter(game), "attempts": game.attempts}
        others = {name: value for name, value in usual.items() if value not in ("any", 0)}
        assert header["options"] == {"limit_ms": game.limit_ms, **others}
        assert (header["race"], header["game"], header["rules"]) == (race_id, slug, game.rules)
        assert {"seed", "variant"}.isdisjoint(header)
        view = request(server, "GET", answer.headers["location"]).json
        assert (view["stage"], view["header"], view["n"]) == ("open", header, 0)


@pytest.mark.parametrize("grade", GRADES)
def test_graded_deals_are_refused_only_where_there_are_no_grades(server: LoggedServer, grade: str) -> None:
    for slug, game in GAMES.items():
        answer = create(server, game=slug, options={"filter": grade})
        if has_grades(game):
            assert answer.json["header"]["options"]["filter"] == grade
        else:
            assert problem(answer, "bad-request", f"The deals of {game.title} have no grades.")


def test_created_race_has_the_requested_options(server: LoggedServer) -> None:
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


def test_requested_defaults_are_omitted(server: LoggedServer) -> None:
    usual = Options(limit_ms=GAMES["gallery"].limit_ms)
    header = create(server, game="gallery", seed="1", variant={"cap": True}, options=asdict(usual)).json["header"]
    assert "variant" not in header
    assert header["options"] == {"limit_ms": usual.limit_ms}


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[]", b"5", b'"corners"', b"\xff", b"{}{}", b"\xef\xbb\xbf{}"])
def test_invalid_body_is_refused(server: LoggedServer, body: bytes) -> None:
    assert problem(request(server, "POST", "/api/v1/races", body), "bad-request")


INVALID_BODIES: list[tuple[dict[str, Any], str]] = [
    ({}, "`game`"),
    ({"game": None}, "$.game"),
    ({"game": "corners", "colour": "red"}, "`colour`"),
    ({"game": "corners", "secret": "00" * 32}, "`secret`"),
    ({"game": "corners", "seed": ""}, "$.seed"),
    ({"game": "corners", "seed": "a|b"}, "$.seed"),
    ({"game": "corners", "seed": "a\n"}, "$.seed"),
    ({"game": "corners", "seed": "x" * 129}, "$.seed"),
    ({"game": "corners", "variant": {"cap": False}}, "cap"),
    ({"game": "corners", "variant": {"refill": "bin"}}, "refill"),
    ({"game": "gallery", "variant": {"cap": "yes"}}, "cap"),
    ({"game": "gallery", "variant": {"cap": 1}}, "$.variant"),
    ({"game": "gallery", "variant": {"seed": "1"}}, "seed"),
    ({"game": "gallery", "variant": {"cls": "1"}}, "cls"),
    ({"game": "gallery", "variant": {"a b": "1"}}, "a b"),
    ({"game": "gallery", "variant": []}, "$.variant"),
    ({"game": "corners", "options": []}, "$.options"),
    ({"game": "corners", "options": {"colour": "red"}}, "`colour`"),
    ({"game": "corners", "options": {"limit_ms": "5000"}}, "$.options.limit_ms"),
    ({"game": "corners", "options": {"limit_ms": 999}}, "$.options.limit_ms"),
    ({"game": "corners", "options": {"limit_ms": 7_200_001}}, "$.options.limit_ms"),
    ({"game": "corners", "options": {"max_racers": 0}}, "$.options.max_racers"),
    ({"game": "corners", "options": {"max_racers": 33}}, "$.options.max_racers"),
    ({"game": "corners", "options": {"start_delay_ms": -1}}, "$.options.start_delay_ms"),
    ({"game": "corners", "options": {"start_delay_ms": 60_001}}, "$.options.start_delay_ms"),
    ({"game": "corners", "options": {"undo": 1}}, "$.options.undo"),
    ({"game": "corners", "options": {"attempts": -1}}, "$.options.attempts"),
    ({"game": "corners", "options": {"spectators": "all"}}, "$.options.spectators"),
]


@pytest.mark.parametrize(("body", "named"), INVALID_BODIES)
def test_invalid_field_is_refused_by_name(server: LoggedServer, body: dict[str, Any], named: str) -> None:
    assert problem(create(server, **body), "bad-request", named)


def test_race_of_an_unknown_game_is_not_found(server: LoggedServer) -> None:
    for slug in ("chess", "", "Corners", "../corners", "corners\n"):
        assert problem(create(server, game=slug), "not-found", "corner-stones")


def test_deep_and_long_bodies_are_refused(server: LoggedServer) -> None:
    deep = b'{"game":"corners","options":' + b"[" * 8_000 + b"]" * 8_000 + b"}"
    assert problem(request(server, "POST", "/api/v1/races", deep), "bad-request")
    assert problem(request(server, "POST", "/api/v1/races", b" " * 16_385), "too-large", "16384")
    answer = request(server, "POST", "/api/v1/races", chunked(17_000), Transfer_Encoding="chunked")
    assert problem(answer, "too-large", "16384")


@pytest.mark.parametrize("text", ["1", "x" * 128, "Zoë", "a.b c", "%00", "王", '"', "\\", "{}", "😀" * 128])
async def test_accepted_seeds_can_be_raced_and_verified(server: LoggedServer, text: str) -> None:
    assert msgspec.convert(text, Seed) == text
    race_id, _ = await finish_race(server, seed=text)
    replay = await server.replay(race_id)
    assert replay.header.seed == text
    assert all(fact.holds for fact in verify(replay))


def test_races_are_listed_newest_first_with_filters(server: LoggedServer) -> None:
    unlisted = create(server, game="corners", options={"unlisted": True}).json["race"]
    created = [create(server, game=slug, seed=seed).json for slug in GAMES for seed in (None, "1")]
    races = request(server, "GET", "/api/v1/races?limit=100").json["races"]
    assert [race["race"] for race in races[: len(created)]] == [race["race"] for race in reversed(created)]
    assert races[0] == {
        "race": created[-1]["race"],
        "game": created[-1]["header"]["game"],
        "stage": "open",
        "racers": 0,
        "max_racers": 8,
        "opened_at": created[-1]["header"]["opened_at"],
        "sealed": False,
        "daily": False,
        "host": None,
        "challenge": None,
        "follows": None,
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
        f"limit={'9' * 3000}",
        "limit=%00",
        "limit=1&colour=red",
        "stage=lost",
        "stage=",
        "stage=null",
        "stage=%ff",
        "%00=1",
    ],
)
def test_invalid_filter_is_refused(server: LoggedServer, query: str) -> None:
    assert problem(request(server, "GET", f"/api/v1/races?{query}"), "bad-request")


@pytest.mark.parametrize("name", [UNKNOWN, "CALM", "%00", "%2e%2e", "a%2fb", "x" * 65, "%7brace%7d", "*", "%ff", "a b"])
@pytest.mark.parametrize("path", ["/api/v1/races/", "/api/v1/replays/", "/r/"])
def test_unknown_race_is_not_found(server: LoggedServer, path: str, name: str) -> None:
    target = path + name.replace(" ", "%20")
    assert problem(request(server, "GET", target, Accept="application/json"), "not-found")
