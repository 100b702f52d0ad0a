"""Replays and players over HTTP: pages of results, records and downloads."""

import asyncio
import json
from io import BytesIO
from typing import Any

import pytest

from samedeal import codec
from samedeal.proof.verification import verify
from samedeal.replays.replay import ReplayLines, read
from samedeal.wire import messages as m
from support.http_api import FORMS, MSGPACK, NDJSON, finish_race, problem, race_of_two
from support.logged_server import Answer, Line, LoggedServer, request
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)


async def test_replay_form_is_selected_by_suffix_and_accept(server: LoggedServer) -> None:
    race_id, _ = await finish_race(server)
    by_name = {form: request(server, "GET", f"/api/v1/replays/{race_id}.{form}") for form in FORMS}
    assert [by_name[form].headers["content-type"] for form in FORMS] == ["application/json", MSGPACK, NDJSON]
    replay = read(by_name["json"].body)
    assert read(by_name["msgpack"].body) == replay
    assert codec.encode(replay, "json") == by_name["json"].body
    assert b"".join(replay.lines()) == by_name["ndjson"].body
    assert tuple(ReplayLines(BytesIO(by_name["ndjson"].body)).entries) == replay.entries
    assert len({answer.headers["etag"] for answer in by_name.values()}) == len(FORMS)
    assert all(fact.holds for fact in verify(replay))
    for accept, form in ACCEPTS:
        answer = request(server, "GET", f"/api/v1/replays/{race_id}", Accept=accept)
        if form is None:
            assert problem(answer, "not-acceptable", MSGPACK), accept
            continue
        assert (answer.status, answer.body) == (200, by_name[form].body), accept
        assert answer.headers["etag"] == by_name[form].headers["etag"]
        assert answer.headers["vary"] == "Accept"
    assert request(server, "GET", f"/api/v1/replays/{race_id}").body == by_name["json"].body


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


async def test_replay_is_cached_for_an_hour_and_revalidated_by_etag(server: LoggedServer) -> None:
    race_id, _ = await finish_race(server)
    form = "msgpack"
    full = request(server, "GET", f"/api/v1/replays/{race_id}.{form}")
    tag = full.headers["etag"]
    assert full.headers["cache-control"] == "public, max-age=3600"
    for etag in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = request(server, "GET", f"/api/v1/replays/{race_id}.{form}", If_None_Match=etag)
        assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", tag)
        assert answer.headers["cache-control"] == full.headers["cache-control"]
    for unknown in ('"other"', tag.strip('"'), tag[:-2] + '"', f"{tag[:-1]}-gzip{tag[-1]}"):
        assert request(server, "GET", f"/api/v1/replays/{race_id}.{form}", If_None_Match=unknown).body == full.body
    head = request(server, "HEAD", f"/api/v1/replays/{race_id}.{form}")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["etag"] == tag
    assert head.headers["content-length"] == str(len(full.body))
    part = request(server, "GET", f"/api/v1/replays/{race_id}.{form}", Range="bytes=0-9")
    assert (part.status, part.body) == (200, full.body)


async def test_steps_are_cached_for_an_hour_and_revalidated_by_etag(server: LoggedServer) -> None:
    race_id, _ = await finish_race(server)
    target = f"/api/v1/replays/{race_id}/steps"
    full = request(server, "GET", target)
    assert full.headers["cache-control"] == "public, max-age=3600"
    again = request(server, "GET", target, If_None_Match=full.headers["etag"])
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", full.headers["etag"])
    assert request(server, "GET", target, If_None_Match='"other"').body == full.body


async def test_unknown_replay_suffix_is_not_found(server: LoggedServer) -> None:
    race_id, _ = await finish_race(server)
    for suffix in (".txt", ".JSON", ".json.msgpack", ".", ".json%00", ".html", ".jsonl", ".ndjson.json"):
        assert problem(request(server, "GET", f"/api/v1/replays/{race_id}{suffix}"), "not-found"), suffix


async def test_replays_are_searched_by_game_player_and_deal(server: LoggedServer) -> None:
    player = ""
    race_ids = []
    for seed in ("find-1", "find-2", "find-3"):
        race, player = await finish_race(server, "the-edge", seed)
        race_ids.append(race)
    hidden, _ = await finish_race(server, "the-edge", "find-1", unlisted=True)

    def found(query: str) -> list[dict[str, Any]]:
        replays: list[dict[str, Any]] = request(server, "GET", f"/api/v1/replays?{query}").json["replays"]
        return replays

    assert [replay["race"] for replay in found("")[:3]] == race_ids[::-1]
    assert [replay["race"] for replay in found("game=the-edge")] == race_ids[::-1]
    assert [replay["race"] for replay in found(f"player={player}")] == race_ids[-1:]
    (only,) = found("deal=the-edge:find-1")
    replay = await server.replay(race_ids[0])
    assert (only["race"], only["game"], only["deal"]) == (race_ids[0], "the-edge", "the-edge:find-1")
    assert only["ended_at"] == replay.entries[-1].at
    assert only["standings"] == json.loads(codec.encode(replay.standings, "json"))
    assert hidden not in [replay["race"] for replay in found("limit=100")]
    assert found("game=chess") == found("player=nobody") == found("deal=%00") == found(f"deal={'x' * 4000}") == []
    assert found("player=*") == found("game=%7b") == []


async def test_replay_search_is_paginated(server: LoggedServer) -> None:
    race_ids = [(await finish_race(server, "kings-in-the-corners", f"page-{number}"))[0] for number in range(5)]
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
    assert listed == race_ids[::-1]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "before=", f"before={'x' * 65}", "since=1", "game=a&player=b", "x=1"],
)
def test_invalid_search_is_refused(server: LoggedServer, query: str) -> None:
    assert problem(request(server, "GET", f"/api/v1/replays?{query}"), "bad-request")


@pytest.mark.parametrize("before", ["-1", "calm-otter-1", "%00", "*"])
def test_search_before_an_unlisted_race_is_not_found(server: LoggedServer, before: str) -> None:
    assert problem(request(server, "GET", f"/api/v1/replays?before={before}"), "not-found")


UNKNOWN = "0123456789abcdef"


async def get(server: LoggedServer, path: str, races: int, token: str | None = None) -> Answer:
    """Return a document once it counts a number of races. Scores are up to a second old."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with asyncio.timeout(LIMIT_S):
        while True:
            answer = request(server, "GET", f"/api/v1/players/{path}", None, **headers)
            if answer.status == 200 and answer.json.get("scores", answer.json)["races"] == races:
                return answer
            assert answer.status in (200, 404, 503), answer.body
            await asyncio.sleep(0.05)


async def test_scores_and_records_of_two_guests(server: LoggedServer) -> None:
    async with await Line.open(server) as ada, await Line.open(server) as bo:
        lines, players, tokens = {"ada": ada, "bo": bo}, {}, {}
        for name, line in lines.items():
            welcome = await line.ask("hello", name=name)
            assert isinstance(welcome, m.Welcome)
            players[name], tokens[name] = welcome.player, welcome.token
        listed = await race_of_two(server, lines)
        unlisted = await race_of_two(server, lines, unlisted=True)
    document = (await get(server, players["ada"], 1)).json
    assert document["scores"]["name"] == "ada"
    assert [race["race"] for race in document["races"]] == [listed]
    assert [(racer["player"], racer["place"]) for racer in document["races"][0]["racers"]] == [
        (players["ada"], 1),
        (players["bo"], 1),
    ]
    own = (await get(server, players["ada"], 2, tokens["ada"])).json
    assert {race["race"] for race in own["races"]} == {listed, unlisted}
    assert (await get(server, f"{players['ada']}?limit=1", 2, tokens["bo"])).json["races"][0]["race"] == unlisted
    versus = f"{players['ada']}/versus/{players['bo']}"
    record = (await get(server, versus, 1)).json
    assert record == {
        "player": players["ada"],
        "name": "ada",
        "other": players["bo"],
        "other_name": "bo",
        "races": 1,
        "ahead": 0,
        "behind": 0,
        "tied": 1,
        "games": [{"game": "corners", "races": 1, "ahead": 0, "behind": 0, "tied": 1}],
    }
    assert (await get(server, versus, 2, tokens["bo"])).json["tied"] == 2


async def test_a_guest_without_races_has_empty_scores(server: LoggedServer) -> None:
    async with await Line.open(server) as line:
        welcome = await line.ask("hello", name="cy")
    assert isinstance(welcome, m.Welcome)
    assert problem(request(server, "GET", f"/api/v1/players/{welcome.player}"), "not-found", "no finished races")
    headers = {"Authorization": f"bearer {welcome.token}"}
    own = request(server, "GET", f"/api/v1/players/{welcome.player}", None, **headers).json
    assert (own["scores"]["name"], own["scores"]["games"], own["races"]) == ("cy", [], [])


def test_invalid_requests_are_refused(server: LoggedServer) -> None:
    for path in (UNKNOWN, "nobody", f"{UNKNOWN}/versus/{UNKNOWN}", f"{UNKNOWN}/versus/{UNKNOWN[::-1]}"):
        assert problem(request(server, "GET", f"/api/v1/players/{path}"), "not-found")
        assert problem(request(server, "GET", f"/api/v1/players/{path}", Authorization="Bearer wrong"), "bad-token")
    for path in (f"{UNKNOWN}?limit=0", f"{UNKNOWN}?limit=101", f"{UNKNOWN}?skip=1"):
        assert problem(request(server, "GET", f"/api/v1/players/{path}"), "bad-request")
