"""Two servers on one store forget an erased player, and refuse withdrawn replays in every form."""

import json
import re
from typing import Any

import pytest

from samedeal.wire import messages as m
from support.http_api import problem
from support.logged_server import Answer, LoggedServer, request
from support.servers import Racer, begin_together, racers, resign_all
from support.stores import until

pytestmark = pytest.mark.tier(2)

KEY = "k" * 40
STORE, SETTINGS = "own_store", {"admin_key": KEY, "log_level": "debug", "away_s": "1"}


@pytest.fixture
def servers(server: LoggedServer, other: LoggedServer) -> tuple[LoggedServer, LoggedServer]:
    return server, other


def erase(server: LoggedServer, player: str) -> dict[str, int]:
    """Erase a player, and return the sums of all steps."""
    body: dict[str, Any] = {"player": player, "reason": "asked by mail"}
    sums = {"tokens": 0, "withdrawn": 0, "unreadable": 0}
    while True:
        answer = request(
            server, "POST", "/api/v1/admin/erase", json.dumps(body).encode(), Authorization=f"Bearer {KEY}"
        )
        assert answer.status == 200, answer.body
        sums = {name: total + answer.json[name] for name, total in sums.items()}
        body["after"] = answer.json["next"]
        if body["after"] is None:
            return sums


async def race(server: LoggedServer, one: Racer, other: Racer, **options: Any) -> str:
    """Race and resign. Return the id of the finished race, whose replay is stored."""
    race_id = server.create("corners", seed="225", start_delay_ms=0, **options)
    await begin_together(race_id, (one, other))
    await one.move("draw")
    await resign_all((one, other))
    await server.replay(race_id)
    return race_id


def is_listed(race_id: str, server: LoggedServer) -> bool:
    """Return whether a server lists the replay of a race."""
    return race_id in {each["race"] for each in request(server, "GET", "/api/v1/replays").json["replays"]}


def withdrawn(answer: Answer) -> str:
    """Return the digest in the refusal of a withdrawn replay."""
    assert problem(answer, "withdrawn"), answer
    assert answer.status == 410
    found = re.search(r"was withdrawn on \d{4}-\d\d-\d\d\. Its digest is ([0-9a-f]{64})", answer.json["detail"])
    assert found
    return found[1]


async def test_withdrawn_replay_is_refused_everywhere(servers: tuple[LoggedServer, LoggedServer]) -> None:
    one, two = servers
    async with racers(one, "zadie", "bo") as (ada, bo):
        race_id = await race(one, ada, bo)
        copy = request(one, "GET", f"/api/v1/replays/{race_id}.json").body
        paths = [
            *(f"/api/v1/replays/{race_id}{form}" for form in ("", ".json", ".msgpack", ".ndjson", "/steps")),
            *(f"/api/v1/races/{race_id}{part}" for part in ("", "/evening", "/card.svg", "/card.png", "/card.txt")),
            *(f"/api/v1/races/{race_id}{part}" for part in ("/qr.svg", "/par", "/par.svg", "/analysis", "/events")),
            *(f"/api/v1/solutions/{race_id}", f"/api/v1/solutions/{race_id}/steps"),
            *(f"/{page}/{race_id}" for page in ("r", "w", "o", "replay", "solution")),
        ]
        for server in servers:  # fill all caches
            assert request(server, "GET", f"/api/v1/players/{ada.player}").status == 200
            for path in paths:
                await until(lambda: request(server, "GET", path).status != 202)  # noqa: B023 (called at once)
        await ada.close()
        await bo.close()
        assert erase(one, ada.player) == {"tokens": 1, "withdrawn": 1, "unreadable": 0}
        digest = json.loads(copy)["digest"]
        for server in servers:
            await until(lambda: request(server, "GET", paths[0]).status == 410)  # noqa: B023
            await until(lambda: request(server, "GET", f"/api/v1/races/{race_id}").status == 410)  # noqa: B023
            await until(lambda: request(server, "GET", f"/api/v1/races/{race_id}/evening").status == 410)  # noqa: B023
            for path in paths:
                assert withdrawn(request(server, "GET", path, Accept="application/json, */*;q=0.1")) == digest
            page = request(server, "GET", f"/r/{race_id}", Accept="text/html")
            assert (page.status, digest in page.body.decode()) == (410, True)
            assert not is_listed(race_id, server)
            await until(lambda: request(server, "GET", f"/api/v1/players/{ada.player}").status == 404)  # noqa: B023
            assert problem(request(server, "GET", f"/api/v1/players/{bo.player}"), "not-found")
            versus = request(server, "GET", f"/api/v1/players/{bo.player}/versus/{ada.player}")
            assert problem(versus, "not-found")
            ghosts = json.dumps({"ghosts": [race_id]}).encode()
            withdrawn(request(server, "POST", "/api/v1/races", ghosts))
        # Somebody who has a copy can show that it is the one.
        verified = request(two, "POST", "/api/v1/verify", copy).json
        assert (verified["ok"], verified["known_key"]) == (True, True)
        async with racers(two, "cy") as (cy,):
            answer = await cy.ask(m.Watch, race=race_id)
            assert isinstance(answer, m.Problem)
            assert (answer.code, digest in answer.detail) == ("withdrawn", True)
    erased = request(two, "GET", "/api/v1/admin/erased", Authorization=f"Bearer {KEY}").json
    assert ada.player in erased["players"]
    log = request(two, "GET", "/api/v1/admin/log", Authorization=f"Bearer {KEY}").json["entries"]
    assert [each["command"] for each in log if each["subject"] == ada.player] == ["erased", "erase"]


async def test_erased_player_is_logged_out_and_others_keep_their_races(
    servers: tuple[LoggedServer, LoggedServer],
) -> None:
    one, two = servers
    async with racers(one, "zadie", "bo", "cy") as (ada, bo, cy):
        await race(one, ada, bo)
        kept = await race(one, bo, cy)
        elsewhere = Racer("zadie")
        elsewhere.token = ada.token
        await elsewhere.connect(two)
        erase(one, ada.player)
        for racer in (ada, elsewhere):
            await racer.closed()
        answer = request(two, "GET", f"/api/v1/players/{ada.player}", Authorization=f"Bearer {ada.token}")
        assert problem(answer, "bad-token")
        page = request(two, "GET", f"/api/v1/players/{bo.player}").json
        assert [each["race"] for each in page["races"]] == [kept]


async def test_race_that_is_running_is_withdrawn_when_it_is_over(servers: tuple[LoggedServer, LoggedServer]) -> None:
    one, two = servers
    race_id = one.create("corners", seed="225", start_delay_ms=0, max_racers=2)
    async with racers(one, "zadie", "bo") as (ada, bo):
        for racer in (ada, bo):
            await racer.join(race_id)
        for racer in (ada, bo):
            await racer.ask(m.Ready)
        await bo.dealt()
        erase(two, ada.player)
        await bo.ask(m.Resign)
        view = await bo.until(lambda view: view.stage == "over")
        assert view.stage == "over"
        await until(lambda: request(two, "GET", f"/api/v1/replays/{race_id}").status == 410)
        assert not is_listed(race_id, two)


def test_invalid_ids_are_refused(servers: tuple[LoggedServer, LoggedServer]) -> None:
    for player in ("", "ada", "0" * 15, "0" * 16 + "\n", "*" * 16, 7):
        body = json.dumps({"player": player}).encode()
        answer = request(servers[0], "POST", "/api/v1/admin/erase", body, Authorization=f"Bearer {KEY}")
        assert problem(answer, "bad-request"), player
