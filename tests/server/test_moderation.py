"""Administrators close and hide races, kick and ban players and revoke tokens, at servers that share a store."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from samedeal.proof.verification import verify
from samedeal.wire import messages as m
from support.contests import guest, open_contest
from support.http_api import problem
from support.logged_server import Answer, Line, LoggedServer, request
from support.servers import racers
from support.sessions import refused
from support.stores import until

pytestmark = pytest.mark.tier(2)

ADMIN_KEY = "k" * 32
SETTINGS = {"admin_key": ADMIN_KEY, "trusted_proxies": "127.0.0.1"}


def admin(server: LoggedServer, method: str, path: str, **body: object) -> Answer:
    data = json.dumps(body).encode() if method == "POST" else None
    return request(server, method, f"/api/v1/admin/{path}", data, Authorization=f"Bearer {ADMIN_KEY}")


def change(server: LoggedServer, path: str, **body: object) -> dict[str, Any]:
    answer = admin(server, "POST", path, **body)
    assert answer.status == 200, answer.body
    changed: dict[str, Any] = answer.json
    return changed


def is_closed(race: str, server: LoggedServer) -> bool:
    races = admin(server, "GET", "races?limit=100").json["races"]
    return any(each["race"] == race and each["closed"] for each in races)


def listed(server: LoggedServer, path: str) -> list[str]:
    answer = request(server, "GET", f"/api/v1/{path}").json
    return [race["race"] for race in answer.get("races", answer.get("replays", answer.get("results", ())))]


async def hello(server: LoggedServer, **fields: Any) -> m.FromServer:
    async with await Line.open(server) as line:
        return await line.ask("hello", **fields)


async def test_banned_player_is_disconnected_and_refused_everywhere(server: LoggedServer, other: LoggedServer) -> None:
    async with racers(other, "eve") as (eve,), racers(server, "ada") as (ada,):
        waiting = server.create("corners")
        await eve.join(waiting)
        changed = change(server, "bans", subject=eve.player, reason="insults", seconds=3600)
        assert (changed["command"], changed["subject"], changed["by"]) == ("ban", f"player:{eve.player}", "key")
        code, reason = await eve.closed()
        assert code == 4010
        assert reason.startswith("You are banned until 2")
        assert reason.endswith("UTC: insults")
        await until(lambda: request(server, "GET", f"/api/v1/races/{waiting}").json.get("standings", []) == [])
        for each in (server, other):
            assert refused(await hello(each, token=eve.token), "banned", "insults")
            header = {"Authorization": f"Bearer {eve.token}"}
            opening = json.dumps({"game": "corners"}).encode()
            assert problem(request(each, "POST", "/api/v1/races", opening, **header), "banned", "insults")
            assert problem(request(each, "POST", "/api/v1/guests/pass", None, **header), "banned")
            assert problem(request(each, "GET", f"/api/v1/players/{eve.player}", None, **header), "banned")
        assert isinstance(await ada.join(waiting), m.View)
        change(other, "unban", subject=eve.player)
        await eventually_welcome(server, token=eve.token)
        await eventually_welcome(other, token=eve.token)


async def eventually_welcome(server: LoggedServer, **fields: Any) -> None:
    """Say hello until it is accepted."""
    while True:
        if isinstance(await hello(server, **fields), m.Welcome):
            return
        await asyncio.sleep(0.02)


async def test_banned_name_is_refused_in_every_spelling(server: LoggedServer, other: LoggedServer) -> None:
    async with racers(other, "MALLORY") as (mallory,):
        assert change(server, "bans", subject=" Mallory ")["subject"] == "name:mallory"
        assert (await mallory.closed())[0] == 4010
        for name in ("mallory", "Mallory", "ｍallory"):
            assert refused(await hello(server, name=name), "banned", "until")
            assert refused(await hello(other, name=name), "banned")
            new = json.dumps({"name": name}).encode()
            assert problem(request(server, "POST", "/api/v1/guests", new), "banned", "until")
        assert isinstance(await hello(server, name="mallory2"), m.Welcome)
    (ban,) = [ban for ban in admin(other, "GET", "bans").json["bans"] if ban["subject"] == "name:mallory"]
    week_ms = 7 * 86_400_000
    logged = admin(server, "GET", "log?limit=1").json["entries"][0]
    assert ban["until"] == logged["until"]
    assert abs(logged["at"] + week_ms - ban["until"]) < 600_000
    change(server, "unban", subject="MALLORY")


async def test_banned_network_is_refused_at_admission(server: LoggedServer, other: LoggedServer) -> None:
    inside, outside = {"X-Forwarded-For": "203.0.113.7"}, {"X-Forwarded-For": "203.0.114.7"}
    async with await Line.open(other, name="eve", additional_headers=inside) as line:
        assert change(server, "bans", subject="203.0.113.99/24", reason="flood")["subject"] == "address:203.0.113.0/24"
        assert await line.close_code() == 4010
    for each in (server, other):
        for method, path in (("GET", "/api/v1/races"), ("GET", "/"), ("POST", "/api/v1/races")):
            assert problem(request(each, method, path, None, X_Forwarded_For="203.0.113.8"), "banned", "flood")
        assert request(each, "GET", "/api/v1/races", X_Forwarded_For="203.0.114.8").status == 200
        with pytest.raises(InvalidStatus) as refusal:
            await connect(each.url.replace("http", "ws") + "/ws", additional_headers=inside)
        assert refusal.value.response.status_code == 403
        assert json.loads(refusal.value.response.body or b"")["code"] == "banned"
        async with await Line.open(each, name="bo", additional_headers=outside):
            pass
    lifting = json.dumps({"subject": "203.0.113.0/24"}).encode()  # administrators may have banned themselves
    headers = {"Authorization": f"Bearer {ADMIN_KEY}", "X_Forwarded_For": "203.0.113.8"}
    assert request(server, "POST", "/api/v1/admin/unban", lifting, **headers).status == 200


async def test_ban_ends_by_itself(server: LoggedServer, other: LoggedServer) -> None:
    change(server, "bans", subject="brief", seconds=1)
    await eventually_welcome(server, name="brief")
    await eventually_welcome(other, name="brief")
    assert all(ban["subject"] != "name:brief" for ban in admin(server, "GET", "bans").json["bans"])


async def test_ban_survives_a_restart(store_url: str, server: LoggedServer, tmp_path: Path) -> None:
    change(server, "bans", subject="trudy", reason="again")
    with LoggedServer(store_url, tmp_path / "log", emptied=False).start() as fresh:
        assert refused(await hello(fresh, name="Trudy"), "banned", "again")
    change(server, "unban", subject="trudy")


@pytest.mark.parametrize(("name", "is_away"), [("oscar", False), ("olga", True)])
async def test_banned_racer_resigns(name: str, is_away: bool, server: LoggedServer, other: LoggedServer) -> None:
    async with racers(server, "ada") as (ada,), racers(other, name) as (oscar,):
        race = server.create("corners", start_delay_ms=0)
        await asyncio.gather(ada.join(race), oscar.join(race))
        await asyncio.gather(ada.ask(m.Ready), oscar.ask(m.Ready))
        await asyncio.gather(ada.dealt(), oscar.dealt())
        if is_away:
            await oscar.close()
        change(server, "bans", subject=name)
        view = await ada.until(lambda view: any(each.outcome == "resigned" for each in view.standings))
        assert [each.name for each in view.standings if each.outcome == "resigned"] == [name]
        if not is_away:
            assert (await oscar.closed())[0] == 4010
        change(server, "unban", subject=name)


async def test_banned_racer_resigns_from_a_race_that_no_server_has_in_memory(
    store_url: str, server: LoggedServer, tmp_path: Path
) -> None:
    with LoggedServer(store_url, tmp_path / "log", emptied=False).start() as gone:
        async with racers(gone, "ada", "oscar") as (ada, oscar):
            race = gone.create("corners", start_delay_ms=0)
            for racer in (ada, oscar):
                await racer.join(race)
            for racer in (ada, oscar):
                await racer.ask(m.Ready)
            await oscar.dealt()
    change(server, "bans", subject=oscar.player)

    def resigned() -> list[str]:
        standings = request(server, "GET", f"/api/v1/races/{race}").json["standings"]
        return [each["name"] for each in standings if each["outcome"] == "resigned"]

    await until(lambda: resigned() == ["oscar"])
    change(server, "unban", subject=oscar.player)


async def test_kicked_player_loses_an_open_seat_and_may_return(server: LoggedServer, other: LoggedServer) -> None:
    async with racers(other, "carol") as (carol,):
        race = server.create("corners")
        await carol.join(race)
        change(server, "kick", subject="carol", reason="please change your name")
        code, reason = await carol.closed()
        assert (code, reason) == (4010, "An administrator has closed your connection: please change your name")
        await until(lambda: request(server, "GET", f"/api/v1/races/{race}").json.get("standings", []) == [])
        await carol.connect(server)
        assert isinstance(await carol.join(race), m.View)


async def test_kicked_racer_keeps_playing_after_reconnecting(server: LoggedServer) -> None:
    async with racers(server, "dave") as (dave,):
        race = server.create("corners", max_racers=1, start_delay_ms=0)
        await dave.begin(race)
        change(server, "kick", subject=dave.player)
        assert (await dave.closed())[0] == 4010
        await dave.connect(server)
        view = await dave.join(race)
        assert isinstance(view, m.View)
        assert view.stage == "running"


async def test_long_reason_is_cut_in_the_close_frame(server: LoggedServer) -> None:
    async with racers(server, "wordy") as (wordy,):
        change(server, "kick", subject=wordy.player, reason="é" * 200)
        code, reason = await wordy.closed()
        assert code == 4010
        assert reason.endswith("éé")
        assert len(reason.encode()) in (122, 123)


async def test_open_race_is_emptied_and_closed_to_new_players(server: LoggedServer, other: LoggedServer) -> None:
    async with racers(server, "ada") as (ada,), racers(other, "bo") as (bo,):
        race = server.create("corners")
        await asyncio.gather(ada.join(race), bo.join(race))
        change(other, f"races/{race}/close", reason="spam")
        await until(lambda: request(server, "GET", f"/api/v1/races/{race}").json.get("standings", []) == [])
        for each in (server, other):
            await until(lambda: race not in listed(each, "races"))  # noqa: B023 (called at once)
            await until(lambda: is_closed(race, each))  # noqa: B023 (each process hears of it in its own time)
        for racer in (ada, bo):
            await racer.close()
            await racer.connect(server)
            assert refused(await racer.join(race), "not-allowed", "An administrator has closed this race: spam")


@pytest.mark.parametrize("stage", ["countdown", "running"])
async def test_closed_race_ends_and_its_replay_holds(stage: str, server: LoggedServer, other: LoggedServer) -> None:
    async with racers(server, "ada") as (ada,), racers(other, "bo") as (bo,):
        race = server.create("corners", start_delay_ms=1000 if stage == "countdown" else 0)
        await asyncio.gather(ada.join(race), bo.join(race))
        await asyncio.gather(ada.ask(m.Ready), bo.ask(m.Ready))
        if stage == "countdown":
            await ada.until(lambda view: view.stage == "countdown")
            change(server, f"races/{race}/close")
        await asyncio.gather(*(racer.ask(m.Nonce, nonce=racer.nonce.hex()) for racer in (ada, bo)))
        if stage == "running":
            await ada.until(lambda view: view.stage == "running")
            change(server, f"races/{race}/close")
        view = await ada.until(lambda view: view.stage == "over")
        outcomes = {each.outcome for each in view.standings}
        assert "resigned" in outcomes
        assert outcomes <= {"resigned", "scratched"}  # a nonce may arrive too late
        assert all(fact.holds is not False for fact in verify(await server.replay(race)))
        assert problem(admin(server, "POST", f"races/{race}/close"), "race-over")


async def test_hidden_race_is_in_no_list_but_its_link_works(server: LoggedServer, other: LoggedServer) -> None:
    async with racers(server, "hilda") as (hilda,):
        race = server.create("gallery", max_racers=1, start_delay_ms=0)
        await hilda.begin(race)
        lists = ["races", "replays", "replays?game=gallery", f"replays?player={hilda.player}"]
        assert race in listed(server, "races")
        change(server, f"races/{race}/hide", reason="name")
        await until(lambda: race not in listed(other, "races"))
        assert race not in listed(server, "races")
        await hilda.ask(m.Resign)
        view = await hilda.until(lambda view: view.stage == "over")
        lists.append(f"replays?deal={view.deal}")
        await server.replay(race)
        for each in (server, other):
            assert all(race not in listed(each, path) for path in lists)
            assert problem(request(each, "GET", f"/api/v1/players/{hilda.player}"), "not-found")
            assert request(each, "GET", f"/api/v1/replays/{race}").status == 200
            assert request(each, "GET", f"/r/{race}").status == 200
        change(other, f"races/{race}/unhide")
        for each in (server, other):
            await until(lambda: all(race in listed(each, path) for path in lists[1:]))  # noqa: B023 (called at once)
            await until(lambda: race in listed(each, f"players/{hilda.player}"))  # noqa: B023 (called at once)


async def test_hidden_race_counts_in_no_daily_results(server: LoggedServer) -> None:
    async with racers(server, "ivan") as (ivan,):
        opening = {"game": "corners", "daily": True, "options": {"max_racers": 1, "start_delay_ms": 0}}
        race = request(server, "POST", "/api/v1/races", json.dumps(opening).encode()).json["race"]
        await ivan.begin(race)
        await ivan.ask(m.Resign)
        await ivan.until(lambda view: view.stage == "over")
        today = next(
            each for each in request(server, "GET", "/api/v1/daily").json["daily"] if each["game"] == "corners"
        )
        path = f"daily/{today['date']}/corners"
        await until(lambda: race in listed(server, path))
        change(server, f"races/{race}/hide")
        await until(lambda: race not in listed(server, path))
        change(server, f"races/{race}/unhide")
        await until(lambda: race in listed(server, path))


async def test_hidden_challenge_is_not_listed_but_its_link_works(server: LoggedServer) -> None:
    challenge = open_contest(server, ["corners"], guest(server, "kim")[0], unlisted=False).id

    def is_listed() -> bool:
        return challenge in [
            each["challenge"] for each in request(server, "GET", "/api/v1/challenges").json["challenges"]
        ]

    assert is_listed()
    change(server, f"races/{challenge}/hide", reason="name")
    await until(lambda: not is_listed())
    assert request(server, "GET", f"/api/v1/challenges/{challenge}").status == 200
    change(server, f"races/{challenge}/unhide")
    await until(is_listed)


async def test_races_are_listed_with_players_but_without_cards(server: LoggedServer) -> None:
    async with racers(server, "judy") as (judy,):
        race = server.create("corners", max_racers=1, start_delay_ms=0, unlisted=True)
        await judy.begin(race)
        change(server, f"races/{race}/hide")
        found = dict[str, dict[str, Any]]()
        page: dict[str, Any] = {"next": ""}
        while page["next"] is not None:
            page = admin(server, "GET", f"races?limit=2&after={page['next']}").json
            assert len(page["races"]) <= 2
            found |= {each["race"]: each for each in page["races"]}
        mine = found[race]
        assert mine.pop("opened_at") > 0
        assert mine == {
            "race": race,
            "game": "corners",
            "stage": "running",
            "unlisted": True,
            "hidden": True,
            "closed": False,
            "players": [{"seat": 1, "player": judy.player, "name": "judy", "bot": False}],
        }


async def test_all_tokens_of_a_player_are_revoked(server: LoggedServer, other: LoggedServer) -> None:
    async with racers(server, "peggy") as (peggy,), racers(server, "bo") as (bo,):
        header = {"Authorization": f"Bearer {peggy.token}"}
        code = request(server, "POST", "/api/v1/guests/pass", None, **header).json["code"]
        phone = request(server, "POST", "/api/v1/guests/login", json.dumps({"code": code}).encode()).json["token"]
        async with await Line.open(other) as line:
            await line.ask("hello", token=phone)
            assert change(server, "revoke", subject=peggy.player, reason="lost") == {"tokens": 2}
            assert await line.close_code() == 4004
        assert (await peggy.closed())[0] == 4004
        for token in (peggy.token, phone):
            assert refused(await hello(other, token=token), "bad-token")
        assert isinstance(await hello(other, token=bo.token), m.Welcome)
        assert change(server, "revoke", subject=peggy.player) == {"tokens": 0}


def test_log_shows_who_did_what_and_why(server: LoggedServer) -> None:
    for number in range(3):
        change(server, "kick", subject=f"nobody {number}", reason=f"reason {number}")
    first = admin(server, "GET", "log?limit=2").json["entries"]
    assert [(each["by"], each["command"], each["subject"], each["reason"]) for each in first] == [
        ("key", "kick", "name:nobody 2", "reason 2"),
        ("key", "kick", "name:nobody 1", "reason 1"),
    ]
    (next_entry,) = admin(server, "GET", f"log?limit=1&before={first[-1]['id']}").json["entries"]
    assert next_entry["subject"] == "name:nobody 0"
    assert first[0]["at"] >= first[1]["at"] >= next_entry["at"] > 0


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("bans", {"subject": ""}, "bad-request"),
        ("bans", {"subject": "eve", "seconds": 0}, "bad-request"),
        ("bans", {"subject": "eve", "seconds": 10**10}, "bad-request"),
        ("bans", {"subject": "eve", "until": 1}, "bad-request"),
        ("bans", {"subject": "eve", "until": 2**60}, "bad-request"),
        ("bans", {"subject": "eve", "until": 2**52, "seconds": 1}, "bad-request"),
        ("bans", {"subject": "eve", "reason": "a\nb"}, "bad-request"),
        ("bans", {"subject": "eve", "reason": "x" * 201}, "bad-request"),
        ("bans", {"subject": "eve", "other": 1}, "bad-request"),
        ("kick", {}, "bad-request"),
        ("kick", {"subject": "x", "reason": "x" * 20_000}, "too-large"),
        ("unban", {"subject": "nobody at all"}, "not-found"),
        ("revoke", {"subject": "eve"}, "bad-request"),
        ("races/calm-otter-1/close", {}, "not-found"),
        ("races/calm-otter-1/hide", {}, "not-found"),
        ("races/calm-otter-1/open", {}, "not-found"),
    ],
)
def test_invalid_changes_are_refused_and_not_logged(
    path: str, body: dict[str, object], code: str, server: LoggedServer
) -> None:
    newest = admin(server, "GET", "log?limit=1").json
    assert problem(admin(server, "POST", path, **body), code)
    assert admin(server, "GET", "log?limit=1").json == newest
