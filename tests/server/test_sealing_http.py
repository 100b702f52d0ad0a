"""Nobody learns hidden cards or secrets of a running race over HTTP."""

import asyncio
import json
from hashlib import sha256

import pytest

from samedeal import codec, commitments
from samedeal.computer.par import par
from samedeal.games.catalogue import GAMES
from samedeal_server.app import create_app
from samedeal_server.settings import Keys, Settings
from support.event_stream import EventStream
from support.leak_probes import check_replay_is_sealed, clean, paths, target_url, told, url_suffixes
from support.logged_server import Answer, LoggedServer, request
from support.sealed_race import KEY, REPLAY_FORMS, finish, found, play, sealed_race
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(2)

ADMIN_KEY = "an-admin-key-of-at-least-32-characters"


SETTINGS = {
    "request_burst": "10000",
    "log_level": "debug",
    "log_format": "json",
    "metrics": "on",
    "admin_key": ADMIN_KEY,
    "wrong_tokens_per_minute": "0",
}


async def test_replay_is_not_available_before_the_end(server: LoggedServer) -> None:
    async with sealed_race(server, "corners") as race:
        await play(race, 3)
        check_replay_is_sealed(race, "GET")
        names = [
            race.race_id.upper(),
            race.race_id.replace("-", "%2d"),
            f"%{ord(race.race_id[0]):x}{race.race_id[1:]}.json",
        ]
        for name in names:
            assert told(race, f"/api/v1/replays/{name}").status in (403, 404), name
        for method in ("HEAD", "POST", "PUT", "OPTIONS", "PROPFIND"):
            for suffix in ("", *(f".{form}" for form in REPLAY_FORMS)):
                answer = request(server, method, f"/api/v1/replays/{race.race_id}{suffix}")
                assert clean(answer, race)
                assert answer.status in (403, 405)
                assert "etag" not in answer.headers
        sealed = request(server, "GET", f"/api/v1/replays/{race.race_id}.json")
        assert sealed.json["code"] == "replay-sealed"
        await finish(race)
        assert request(server, "GET", f"/api/v1/replays/{race.race_id}.json").status == 200


async def test_no_url_reveals_a_running_race(server: LoggedServer) -> None:
    async with sealed_race(server, "corners") as race, sealed_race(server, "corners", seed="seven") as opened:
        await play(race, 5)
        await play(opened, 5)
        for running in (race, opened):
            code = f"corners:{running.seed}"
            addresses = url_suffixes(running)
            known = {*addresses, *OF_DEALS, EVENTS, *OF_ADMINISTRATORS}
            assert paths(create_app(Settings(), "unix:///nowhere", Keys(KEY, KEY)).routes) == known
            not_there = ["/openapi.yaml", "/debug", f"/api/v1/deals/{code}"]
            not_there += [
                f"/api/v1/races/{running.race_id}/{more}" for more in ("log", "stream", "boards", "deal", "par/0")
            ]
            for path in [*addresses, *not_there]:
                for end in addresses.get(path, [""]):
                    target = target_url(path, end)
                    for method in ("GET", "HEAD"):
                        for headers in ({}, {"Authorization": f"Bearer {running.tokens['ada']}"}):
                            answer = told(running, target, method, **headers)
                            assert answer.status < 500
                            assert path not in not_there or answer.status == 404
            replays = request(server, "GET", "/api/v1/replays?limit=100").json["replays"]
            assert running.race_id not in [replay["race"] for replay in replays]
            view = request(server, "GET", f"/api/v1/races/{running.race_id}").json
            assert view.pop("watching", 1) == 1  # eve
            assert view.keys() == {"t", "race", "n", "h", "stage", "clock_ms", "standings", "header"} | (
                set() if running.sealed else {"deal"}
            )


OF_DEALS = {f"/api/v1/deals/{{deal:path}}/{what}" for what in ("par", "par/{play}", "board", "advice")}
"""Paths with a deal code, which the next tests cover."""


OF_ADMINISTRATORS = {
    *(f"/api/v1/admin/{what}" for what in ("bans", "erase", "erased", "kick", "log", "races", "reports", "revoke")),
    *("/api/v1/admin/races/{race}/{change}", "/api/v1/admin/settle", "/api/v1/admin/unban"),
}
"""Paths that need the admin key, which the next test covers."""


async def test_administrators_see_nothing_sealed_of_a_running_race(server: LoggedServer) -> None:
    key = {"Authorization": f"Bearer {ADMIN_KEY}"}
    async with sealed_race(server, "corners") as race:
        await play(race, 5)
        report = json.dumps({"race": race.race_id, "seat": 2, "reason": "conduct"}).encode()
        reporter = {"Authorization": f"Bearer {race.tokens['ada']}"}
        assert clean(request(server, "POST", "/api/v1/reports", report, **reporter), race)
        for change in ("hide", "unhide"):
            answer = request(server, "POST", f"/api/v1/admin/races/{race.race_id}/{change}", b"{}", **key)
            assert (answer.status, clean(answer, race)) == (200, True)
        for what in ("races?limit=100", "bans", "reports", "erased", "log"):
            answer = request(server, "GET", f"/api/v1/admin/{what}", None, **key)
            assert (answer.status, clean(answer, race)) == (200, True)
            assert race.race_id.encode() in answer.body or what in ("bans", "erased")
        for path in OF_ADMINISTRATORS:
            for method in ("GET", "POST"):
                for headers in ({}, reporter):
                    answer = request(server, method, path.replace("{race}", race.race_id), None, **headers)
                    assert clean(answer, race)
                    assert answer.status in (401, 404, 405), path


EVENTS = "/api/v1/races/{race}/events"
"""A response that ends with the race, which the next test covers."""


@pytest.mark.parametrize("spectators", ["progress", "after"])
async def test_events_do_not_reveal_a_running_race(server: LoggedServer, spectators: str) -> None:
    async with sealed_race(server, "corners", spectators=spectators) as race:
        with EventStream(server, race.race_id) as stream:
            assert await stream.line()
            await play(race, 10)
            for name in ("ada", "bo"):
                await race.lines[name].ask("resign")
            while b'"stage":"over"' not in (line := await stream.line() or b""):
                assert clean(Answer(200, {}, line), race)
                assert (b'"standings"' in line) is (spectators == "progress" or b'"t":"progress"' in line)
            view = json.loads(line)
        assert view["deal"] == f"corners:{race.seed}", "the test searched for the wrong deal"


async def test_par_does_not_reveal_a_running_race(server: LoggedServer) -> None:
    """Par of a race or of an open deal is refused, and par of a guessed sealed deal confirms nothing."""
    async with sealed_race(server, "corners") as race, sealed_race(server, "corners", seed="eight") as opened:
        await play(race, 5)
        await play(opened, 5)
        root = race.seed.partition(".")[0]
        guess = race.seed.replace(root, sha256(root.encode()).hexdigest())
        for headers in ({}, {"Authorization": f"Bearer {race.tokens['cy']}"}, {"Accept": "image/*, */*;q=0.1"}):
            for running in (race, opened):
                for more in ("", ".svg", "?seat=1", ".svg?seat=3"):
                    answer = request(server, "GET", f"/api/v1/races/{running.race_id}/par{more}", None, **headers)
                    assert answer.json["code"] == "deal-sealed"
                    assert clean(answer, running)
            for more in ("", "/0", "/0.json", "/59.msgpack", "?refill=waste"):
                answer = request(server, "GET", f"/api/v1/deals/corners:eight/par{more}", None, **headers)
                assert answer.json["code"] == "deal-sealed"
                assert clean(answer, opened)
                known, unknown = (
                    request(server, "GET", f"/api/v1/deals/corners:{seed}/par{more}", None, **headers)
                    for seed in (race.seed, guess)
                )
                assert {known.status, unknown.status} <= {200, 202}
        answer = await par_of(server, race.seed)
        assert answer.json["homes"] == list(par(GAMES["corners"], race.seed).homes)


async def test_boards_and_advice_do_not_reveal_a_running_race(server: LoggedServer) -> None:
    """Those of an open deal are refused, and those of a guessed sealed deal confirm nothing."""
    async with sealed_race(server, "corners") as race, sealed_race(server, "corners", seed="nine") as opened:
        await play(race, 5)
        await play(opened, 5)
        guess = race.seed.replace(race.seed.partition(".")[0], "a-wrong-guess")
        for what in ("board", "advice"):
            for body in (b"{}", b'{"moves": ["draw"]}', b'{"moves": ["x"]}'):
                for query in ("", "?refill=waste"):
                    address = f"/api/v1/deals/corners:nine/{what}{query}"
                    answer = request(server, "POST", address, body, Authorization=f"Bearer {race.tokens['cy']}")
                    assert answer.json["code"] == "deal-sealed"
                    assert clean(answer, opened)
                    known, unknown = (
                        request(server, "POST", f"/api/v1/deals/corners:{seed}/{what}{query}", body)
                        for seed in (race.seed, guess)
                    )
                    assert {known.status, unknown.status} <= {200, 202, 409, 429}
        for target in (f"/api/v1/races/{race.race_id}/analysis", f"/api/v1/solutions/{race.race_id}/steps"):
            assert request(server, "GET", target).json["code"] == "replay-sealed"


async def par_of(server: LoggedServer, seed: str) -> Answer:
    """Wait for the par of a deal of Corners."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            answer = request(server, "GET", f"/api/v1/deals/corners:{seed}/par")
            if answer.status != 202:
                return answer
            await asyncio.sleep(0.05)


async def test_verification_does_not_confirm_guesses_of_a_running_race(server: LoggedServer) -> None:
    """The verdict on a forged replay with a guessed secret depends only on the replay."""
    async with sealed_race(server, "corners") as race, sealed_race(server, "corners") as over:
        replay = json.loads(codec.encode(await finish(over), "json"))
        header = json.loads(codec.encode(race.header, "json"))
        for secret in ("00" * 32, race.header.commitment, race.header.salt * 2):
            guess = json.loads(json.dumps(replay))
            guess["header"] = header
            guess["entries"][-1][2]["secret"] = secret
            answer = request(server, "POST", "/api/v1/verify", json.dumps(guess).encode())
            assert found(answer.body, race.forbidden()) == []
            assert answer.status == 422 or answer.json["ok"] is False
            if answer.status == 200:
                failed = {fact["name"] for fact in answer.json["facts"] if not fact["holds"]}
                assert {"commitment", "deal", "chain", "standings"} <= failed


async def test_salt_cannot_be_reused_for_another_race(server: LoggedServer) -> None:
    async with sealed_race(server, "corners") as race:
        body = {"game": "corners"}
        for more in ({"salt": race.header.salt}, {"race": race.race_id}, {"commitment": race.header.commitment}):
            answer = request(server, "POST", "/api/v1/races", json.dumps(body | more).encode())
            assert answer.status == 400
            assert clean(answer, race)
        for seed in (race.header.salt, race.header.commitment, race.race_id):
            created = request(server, "POST", "/api/v1/races", json.dumps(body | {"seed": seed}).encode()).json
            assert created["race"] != race.race_id
            assert created["header"]["salt"] != race.header.salt
            assert created["header"]["commitment"] != race.header.commitment
    salts = {commitments.secret(KEY, name, "00" * 16) for name in ("a", "b")} | {
        commitments.secret(KEY, "a", "01" * 16)
    }
    assert len(salts) == 3
