"""Every key in the store is documented and has the documented lifetime."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from redis import Redis

import samedeal_server
from samedeal.race.events import Moved, Resigned
from samedeal.wire import messages as m
from samedeal_server.store.chained_logs import LINGER_S
from samedeal_server.store.checks import MASTER_KEY
from samedeal_server.store.connection import PROBE
from samedeal_server.store.revocations import KEY as REVOKED
from support.logged_server import LoggedServer, request
from support.rooms import opened
from support.servers import racers
from support.stores import KEY, process, run, that, until

pytestmark = pytest.mark.tier(2)

ADMIN_KEY = "k" * 32
DAY_S = 86_400
FOREVER: Callable[[int], bool] = (-1).__eq__


def at_most(seconds: int) -> Callable[[int], bool]:
    return lambda ttl: 0 < ttl <= seconds


LIFETIMES: dict[str, Callable[[int], bool]] = {
    r"race:\{over-.*\}:(log|head)": at_most(LINGER_S),
    r"race:\{.*\}:(log|head)": FOREVER,  # until the race is over
    "races:due|races:index|races:summaries": FOREVER,  # each race until it is over
    r"races:of:(address:[0-9a-f]{32}|guest:[0-9a-f]{16})": at_most(2 * DAY_S),
    r"raced:[a-z-]+:.*": at_most(2 * DAY_S),
    r"seen:\{.*\}": at_most(120),
    r"removed:\{.*\}": at_most(2 * DAY_S),
    r"replay:\{.*\}": at_most(5 * DAY_S),  # of a daily deal from its reveal on
    r"replays|replays:(game|player|unlisted|deal):.*": at_most(3 * DAY_S),
    r"field:\{[0-9a-f]{64}\}": at_most(5 * DAY_S),
    r"successor:\{.*\}": at_most(3 * DAY_S),
    r"challenge:\{.*\}:(log|head)": FOREVER,  # until some time after the reveal
    "challenges:due|challenges:listed": FOREVER,  # each challenge until its reveal
    r"challenges:of:address:[0-9a-f]{32}": at_most(60 * DAY_S),
    r"challenges:of:guest:[0-9a-f]{16}": FOREVER,
    r"seat:\{[0-9a-f]{64}\}:[0-9]+:[0-9a-f]{16}": at_most(31 * DAY_S),
    r"first:\{[0-9a-f]{64}\}": at_most(33 * DAY_S),
    r"admin:\{log\}:(log|head)": FOREVER,  # entries are deleted after 400 days
    "announcements": at_most(600),
    "erased": FOREVER,
    r"club:\{.*\}:(log|head|names)|clubs:of:.*": FOREVER,
    r"reports|report:[0-9a-f]{12}": at_most(90 * DAY_S),
    r"reports:by:[0-9a-f]{16}": at_most(DAY_S),
    "replays:keys": FOREVER,
    f"{MASTER_KEY}|samedeal:schema": FOREVER,
    r"guest:[0-9a-f]{64}": at_most(180 * DAY_S),
    r"login:(code:[0-9a-f]{64}|player:[0-9a-f]{16})": at_most(600),
    REVOKED: at_most(DAY_S),
    r"par:.*": at_most(30 * DAY_S),
    r"analysis:\{.*\}": at_most(3 * DAY_S),
    r"advice:[0-9a-f]{64}": at_most(DAY_S),
    PROBE: at_most(60),
}
"""The lifetime of each key, by pattern. In the ids of finished races, `over-` is added at the start."""


def lifetime(key: str) -> Callable[[int], bool] | None:
    return next((lifetime for pattern, lifetime in LIFETIMES.items() if re.fullmatch(pattern, key)), None)


@pytest.mark.tier(3)
async def test_keys_have_their_documented_lifetimes(redis_url: str, tmp_path: Path) -> None:
    with (
        Redis.from_url(redis_url) as redis,
        LoggedServer(
            redis_url, tmp_path / "log", replay_days="3", master_key=KEY.hex(), admin_key=ADMIN_KEY
        ).start() as server,
    ):
        async with racers(server, "ada", "bo") as (ada, bo):
            opening = json.dumps({"game": "corners", "seed": "held"}).encode()
            token = {"Authorization": f"Bearer {ada.token}"}
            waiting = request(server, "POST", "/api/v1/races", opening, **token).json["race"]
            for racer in (ada, bo):
                await racer.join(waiting)
            await until(lambda: redis.exists(f"seen:{{{waiting}}}"))
            await ada.ask(m.Remove, seat=2)
        async with process(redis_url, replay_days=3) as parts:
            rooms = [await opened(parts), await opened(parts, seed="open")]
            for room in rooms:
                await run(room)
                for seat in (1, 2):
                    await room.submit(that(Moved(seat=seat, move="draw"), Resigned(seat=seat)))
                await until(partial(getattr, room, "is_archived"))
        await log_in_and_out(server)
        kick = json.dumps({"subject": "nobody"}).encode()
        assert request(server, "POST", "/api/v1/admin/kick", kick, Authorization=f"Bearer {ADMIN_KEY}").status == 200
        daily = await daily_race(server)
        await begin_heat(server)
        await moderated(server, rooms[0].race.id)
        for method, target, body in (
            ("GET", "/api/v1/deals/corners%3Apar/par", None),
            ("GET", f"/api/v1/races/{rooms[0].race.id}/analysis", None),
            ("POST", "/api/v1/deals/the-edge%3Aalone/advice", b"{}"),
        ):
            await until(lambda: request(server, method, target, body).status == 200)  # noqa: B023 (called at once)
        over = {room.race.id for room in rooms} | {daily}
        used = set[str]()
        for key in (name.decode() for name in redis.scan_iter()):
            marked = next((key.replace(race_id, f"over-{race_id}") for race_id in over if race_id in key), key)
            holds = lifetime(marked)
            assert holds is not None, f"{key} is not documented"
            assert holds(redis.ttl(key)), f"{key} expires in {redis.ttl(key)} s"
            used.add(next(pattern for pattern in LIFETIMES if re.fullmatch(pattern, marked)))
        assert used == LIFETIMES.keys() - {PROBE}  # written only by doctor, and while the store refuses writes


async def log_in_and_out(server: LoggedServer) -> None:
    async with racers(server, "di") as (di,):
        token = {"Authorization": f"Bearer {di.token}"}
    code = request(server, "POST", "/api/v1/guests/pass", None, **token).json["code"]
    assert request(server, "POST", "/api/v1/guests/login", json.dumps({"code": code}).encode()).status == 200
    assert request(server, "POST", "/api/v1/guests/logout", None, **token).status == 204


async def moderated(server: LoggedServer, race_id: str) -> None:
    """Report a player, and erase another one."""
    async with racers(server, "eve") as (eve,):
        token = {"Authorization": f"Bearer {eve.token}"}
    report = json.dumps({"race": race_id, "seat": 1, "reason": "name"}).encode()
    assert request(server, "POST", "/api/v1/reports", report, **token).status == 201
    erase = json.dumps({"player": "0" * 16}).encode()
    assert request(server, "POST", "/api/v1/admin/erase", erase, Authorization=f"Bearer {ADMIN_KEY}").status == 200


async def daily_race(server: LoggedServer) -> str:
    opening = {"game": "gallery", "daily": True, "options": {"max_racers": 1, "start_delay_ms": 0}}
    race_id: str = request(server, "POST", "/api/v1/races", json.dumps(opening).encode()).json["race"]
    async with racers(server, "cy") as (cy,):
        await cy.begin(race_id)
        await cy.ask(m.Resign)
        await cy.until(lambda view: view.stage == "over")
        assert isinstance(await cy.ask(m.Again), m.View)
    with Redis.from_url(server._env["REDIS_URL"]) as redis:
        await until(lambda: redis.keys("field:*") and redis.zscore("races:due", race_id) is None)
    return race_id


async def begin_heat(server: LoggedServer) -> None:
    """Open a listed challenge, and start a race on its deal."""
    async with racers(server, "di") as (di,):
        token = {"Authorization": f"Bearer {di.token}"}
        opening = json.dumps({"deals": [{"game": "corners"}], "unlisted": False}).encode()
        club = json.dumps({"name": "Patience"}).encode()
        assert request(server, "POST", "/api/v1/clubs", club, **token).status == 201
        challenge = request(server, "POST", "/api/v1/challenges", opening, **token).json["challenge"]
        nonce = json.dumps({"nonce": "0" * 64}).encode()
        assert request(server, "PUT", f"/api/v1/challenges/{challenge}/nonce", nonce, **token).status == 200
        heat = {"challenge": challenge, "options": {"max_racers": 1, "start_delay_ms": 0}}
        opened = request(server, "POST", "/api/v1/races", json.dumps(heat).encode(), **token)
        await di.begin(opened.json["race"])


def test_documented_keys_are_known() -> None:
    page = (Path(__file__).parents[2] / "docs" / "contribute" / "architecture.md").read_text()
    table = page.partition("## What the store keeps")[2].partition("\n## ")[0]
    documented = re.findall(r"`([^`]+)`", " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)))
    for name in documented:
        example = (
            name.replace("{R}", "{calm-otter-42}")
            .replace("{C}", "{calm-otter-42}")
            .replace("{COMMITMENT}", "{" + "0" * 64 + "}")
        )
        example = (
            example.replace("OWNER", "guest:" + "0" * 16)
            .replace("PLAYER", "0" * 16)
            .replace("DEAL", "1")
            .replace("REPORT", "0" * 12)
            .replace("GAME:SEED", "corners:1")
            .replace("…", "x")
        )
        assert lifetime(example.replace("DIGEST", "0" * 64)), name


def test_only_the_store_package_sends_commands() -> None:
    folder = Path(samedeal_server.__file__).parent
    command = re.compile(r"\.(ask|retry|retry_all)\(\"|\.script\(")
    senders = {file.relative_to(folder).parts[0] for file in folder.rglob("*.py") if command.search(file.read_text())}
    assert senders == {"store"}
