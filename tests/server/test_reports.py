"""Players report others to the administrators, who read and settle the reports."""

import json
from typing import Any

import pytest

from samedeal.wire import messages as m
from samedeal_server.store import player_reports as stored
from samedeal_server.store.player_reports import Person, ReportPage, Reports
from support.http_api import problem
from support.logged_server import Answer, LoggedServer, request
from support.servers import Racer, racers
from support.stores import Process

pytestmark = pytest.mark.tier(2)

KEY = "k" * 40
PATH = "/api/v1/reports"
STORE, SETTINGS = "own_store", {"admin_key": KEY, "log_level": "debug"}


def report(server: LoggedServer, racer: Racer, **body: Any) -> Answer:
    return request(server, "POST", PATH, json.dumps(body).encode(), Authorization=f"Bearer {racer.token}")


def admin(server: LoggedServer, method: str, path: str, **body: Any) -> Answer:
    data = json.dumps(body).encode() if method == "POST" else None
    return request(server, method, f"/api/v1/admin/{path}", data, Authorization=f"Bearer {KEY}")


def reports_of(server: LoggedServer, race_id: str) -> list[dict[str, Any]]:
    """Return the listed reports from a race, newest first."""
    reports = admin(server, "GET", "reports").json["reports"]
    return [each for each in reports if each["race"] == race_id]


async def test_report_is_listed_until_it_is_settled(server: LoggedServer) -> None:
    race_id = server.create("corners")
    async with racers(server, "ada", "bo", "eve") as (ada, bo, eve):
        await ada.join(race_id)
        await bo.join(race_id)
        answer = report(server, eve, race=race_id, seat=2, reason="name", text="  It is\n rude. ")
        assert answer.status == 201
        made = answer.json
        assert made == {"id": made["id"], "race": race_id, "seat": 2, "name": "bo", "reason": "name"}
        by_id = report(server, ada, race=race_id, player=bo.player, reason="conduct")
        assert by_id.status == 201
        newest, oldest = reports_of(server, race_id)
        assert (newest["id"], newest["by"]["name"], newest["text"]) == (by_id.json["id"], "ada", "")
        assert (oldest["about"], oldest["by"]) == (
            {"player": bo.player, "name": "bo"},
            {"player": eve.player, "name": "eve"},
        )
        assert (oldest["race"], oldest["seat"], oldest["reason"], oldest["text"]) == (race_id, 2, "name", "It is rude.")
        assert [each["id"] for each in admin(server, "GET", "reports?limit=1").json["reports"]] == [newest["id"]]
        settled = admin(server, "POST", "settle", id=oldest["id"], reason="renamed")
        assert settled.json == oldest
        assert problem(admin(server, "POST", "settle", id=oldest["id"]), "not-found")
        assert reports_of(server, race_id) == [newest]
        (logged,) = admin(server, "GET", "log").json["entries"]
        assert (logged["command"], logged["subject"], logged["reason"]) == ("settle", oldest["id"], "renamed")


async def test_second_report_about_the_same_player_replaces_the_first(server: LoggedServer) -> None:
    race_id = server.create("corners")
    async with racers(server, "ada", "eve") as (ada, eve):
        await ada.join(race_id)
        first = report(server, eve, race=race_id, seat=1, reason="name").json
        second = report(server, eve, race=race_id, seat=1, reason="cheating", text="two accounts").json
        assert first["id"] == second["id"]
        (only,) = reports_of(server, race_id)
        assert (only["reason"], only["text"]) == ("cheating", "two accounts")


async def test_player_who_has_left_can_be_reported(server: LoggedServer) -> None:
    race_id = server.create("corners")
    async with racers(server, "ada", "eve") as (ada, eve):
        await ada.join(race_id)
        await ada.ask(m.Leave)
        assert report(server, eve, race=race_id, seat=1, reason="conduct").status == 201


async def test_reports_that_make_no_sense_are_refused(server: LoggedServer) -> None:
    race_id = server.create("corners")
    async with racers(server, "ada", "eve") as (ada, eve):
        await ada.join(race_id)
        await ada.ask(m.Bot)
        for body in (
            {"race": race_id, "reason": "name"},
            {"race": race_id, "reason": "name", "seat": 1, "player": ada.player},
            {"race": race_id, "reason": "rude", "seat": 1},
            {"race": race_id, "reason": "name", "seat": 0},
            {"race": race_id, "reason": "name", "seat": 1, "text": "x" * 501},
            {"race": race_id, "reason": "name", "seat": 1, "text": "\u202e\x07"},
            {"race": race_id, "reason": "name", "seat": 1, "more": 1},
        ):
            assert problem(report(server, eve, **body), "bad-request")
        assert problem(report(server, eve, race="no-such-race", seat=1, reason="name"), "not-found")
        assert problem(report(server, eve, race=race_id, seat=9, reason="name"), "not-found")
        assert problem(report(server, eve, race=race_id, player="0" * 16, reason="name"), "not-found")
        assert problem(report(server, ada, race=race_id, seat=1, reason="name"), "not-allowed")
        assert problem(report(server, eve, race=race_id, seat=2, reason="name"), "not-allowed")
        eve.token = "wrong"
        assert problem(report(server, eve, race=race_id, seat=1, reason="name"), "bad-token")
        assert problem(request(server, "POST", PATH, b'{"race": "a", "reason": "name", "seat": 1}'), "bad-token")
        assert reports_of(server, race_id) == []


async def made(reports: Reports, about: int, by: int = 0) -> str:
    report = await reports.add(
        f"race-{about}", 1, Person(f"player-{about}", "A"), Person(f"player-{by}", "B"), "name", ""
    )
    return report.id


async def test_reports_of_a_guest_are_limited_per_day(parts: Process, redis: Any) -> None:
    reports = Reports(parts.store, parts.clock)
    for number in range(1, stored.PER_DAY + 1):
        await made(reports, number)
    with pytest.raises(Exception, match="made 10 reports in the last 24 hours"):
        await made(reports, 99)
    assert await made(reports, 1), "a report that is replaced counts again"
    assert await made(reports, 99, by=1), "another guest is refused"
    for report_id in redis.zrange("reports:by:player-0", 0, 0):
        redis.zadd("reports:by:player-0", {report_id: parts.clock.now() - 86_400_001})
    assert await made(reports, 99), "the limit does not end after a day"


async def test_oldest_reports_are_dropped(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MAX_REPORTS", 3)
    reports = Reports(parts.store, parts.clock)
    ids = [await made(reports, number) for number in range(1, 6)]
    assert {report.id for report in await reports.page(ReportPage())} <= set(ids[1:])
    assert len(await reports.page(ReportPage())) == 3


async def test_reports_expire(parts: Process, redis: Any) -> None:
    reports = Reports(parts.store, parts.clock)
    old, new = await made(reports, 1), await made(reports, 2)
    redis.zadd("reports", {old: parts.clock.now() - stored.DAYS * 86_400_000 - 1})
    redis.set("report:" + new, b"{damaged")
    assert await reports.page(ReportPage()) == []


async def test_reports_about_and_by_an_erased_player_are_removed(parts: Process, redis: Any) -> None:
    reports = Reports(parts.store, parts.clock)
    await made(reports, 1)
    await made(reports, 2, by=1)
    kept = await made(reports, 3)
    await reports.remove_person("player-1")
    assert [report.id for report in await reports.page(ReportPage())] == [kept]
    assert sorted(redis.keys("report*")) == [b"report:" + kept.encode(), b"reports", b"reports:by:player-0"]
