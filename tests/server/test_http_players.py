"""Players over HTTP: personal scores, head-to-head records, and who sees unlisted races."""

import asyncio

import pytest

from samedeal.wire import messages as m
from support.http_api import problem, race_of_two
from support.logged_server import Answer, Line, LoggedServer, request

pytestmark = pytest.mark.tier(2)

UNKNOWN = "0123456789abcdef"


async def get(server: LoggedServer, path: str, races: int, token: str | None = None) -> Answer:
    """Return a document once it counts a number of races. Scores are up to a second old."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with asyncio.timeout(50):
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
