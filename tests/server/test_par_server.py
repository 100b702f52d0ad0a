"""Par on real servers over a real store: found out beside the play, kept, told when nobody races the deal any more."""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from redis import Redis

from conftest import kept_store
from samedeal.computer import par_chart
from samedeal.computer.bots import play
from samedeal.computer.par import PLAYS, Compared, Par, compared, par
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.signature import public_key
from samedeal.proof.verification import verify
from samedeal.race.events import Moved, Options
from samedeal.race.race import OPEN_MS
from samedeal.replays.replay import Replay, read
from samedeal.wire import messages as m
from samedeal_server.jobs.par_service import MAX_PENDING, ParProgress, ParService
from samedeal_server.store.clock import Clock
from server.test_http import problem
from support.child_processes import computing, halted, runs
from support.finished_races import finished
from support.logged_server import Answer, LoggedServer, request
from support.servers import Server, racers
from support.stores import Process, process, until

T = TypeVar("T")
SIGNING_KEY = "a5" * 32
ODD = ["a/b", "x/par/3", "..", "/", "?x=1", "#", "%41", "a%2Fb", "béla 7", "漢字 🂡", "a:b", "+", "'\"<&>\\", "s" * 128]


@pytest.fixture(scope="module")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store that no test empties."""
    yield from kept_store(tmp_path_factory.mktemp("par") / "store")


@pytest.fixture(scope="module")
def server(own_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    log = tmp_path_factory.mktemp("par") / "log"
    with LoggedServer(own_store, log, signing_key=SIGNING_KEY).start() as running:
        yield running


def address(code: str, more: str = "") -> str:
    return f"/api/v1/deals/{quote(code, safe='')}/par{more}"


async def found(server: Server, target: str, **headers: str) -> tuple[Answer, list[dict[str, int]]]:
    """What an address says when the computer has played, and what it said before."""
    progress: list[dict[str, int]] = []
    async with asyncio.timeout(100):
        while True:
            answer = await asyncio.to_thread(request, server, "GET", target, None, **headers)
            if answer.status != 202:
                return answer, progress
            assert answer.headers["retry-after"] == "1"
            progress.append(answer.json)
            await asyncio.sleep(0.02)


def told(expected: Par) -> dict[str, Any]:
    """The par as it has to be told."""
    return {
        "game": expected.game,
        "deal": expected.deal,
        "variant": expected.variant,
        "bot": expected.bot,
        "plays": expected.plays,
        "goal": GAMES[expected.game].goal,
        "counted": expected.counted,
        "homes": list(expected.homes),
        "results": list(expected.results),
        "minimum": expected.minimum,
        "median": expected.median,
        "mean": expected.mean,
        "maximum": expected.maximum,
        "solved": expected.solved,
    }


def keys(store_url: str) -> list[bytes]:
    with Redis.from_url(store_url) as redis:
        return [key for key in redis.scan_iter("par:*", count=1000) if isinstance(key, bytes)]


async def race(server: Server, game: str, seed: str | None, **options: Any) -> str:
    """A race that is over: ada makes three moves and resigns, bo resigns at once."""
    id_ = server.create(game, seed=seed, start_delay_ms=0, **options)
    async with racers(server, "ada", "bo") as (ada, bo):
        await asyncio.gather(ada.begin(id_), bo.begin(id_))
        for _ in range(3):
            await ada.move((ada.board.moves or [""])[-1])
        for racer in (ada, bo):
            await racer.ask(m.Resign)
    await server.replay(id_)
    return id_


# A deal.


@pytest.mark.parametrize("slug", GAMES)
async def test_the_par_of_a_deal_is_what_the_library_finds(server: LoggedServer, slug: str) -> None:
    answer, progress = await found(server, address(f"{slug}:a.0"))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == told(par(GAMES[slug], "a.0"))
    assert progress[0] == {"done": 0, "of": PLAYS[slug]}
    assert [step["done"] for step in progress] == sorted(step["done"] for step in progress)
    assert {step["of"] for step in progress} == {PLAYS[slug]}
    again, before = await found(server, address(f"{slug}:a.0"))
    assert (again.body, before) == (answer.body, [])


async def test_progress_is_told_while_the_computer_plays(server: LoggedServer) -> None:
    _, progress = await found(server, address("gallery:told"))
    assert any(0 < step["done"] < 200 for step in progress)


@pytest.mark.parametrize("seed", ODD)
async def test_any_seed_can_stand_in_the_address(server: LoggedServer, seed: str) -> None:
    answer, _ = await found(server, address(f"corners:{seed}"))
    assert answer.json["deal"] == f"corners:{seed}"
    assert answer.json["homes"] == list(par(GAMES["corners"], seed).homes)
    replay = read(request(server, "GET", address(f"corners:{seed}", "/3.json")).body)
    assert replay.header.seed == seed


async def test_the_variant_is_asked_for_by_its_options(server: LoggedServer, own_store: str) -> None:
    waste, _ = await found(server, address("corners:1.2", "?refill=waste"))
    usual, _ = await found(server, address("corners:1.2"))
    assert waste.json == told(par(GAMES["corners"], "1.2", {"refill": "waste"}))
    assert usual.json == told(par(GAMES["corners"], "1.2"))
    assert waste.json["homes"] != usual.json["homes"]
    known = len(keys(own_store))
    for more, same in (("?refill=stock", usual), ("?refill=waste", waste)):
        assert request(server, "GET", address("corners:1.2", more)).body == same.body
    assert len(keys(own_store)) == known
    replay = read(request(server, "GET", address("gallery:1", "/0.json?cap=true")).body)
    assert replay.header.variant == {"cap": False}, "this bot plays without cap"


@pytest.mark.parametrize(
    ("target", "code", "text"),
    [
        (address("chess:1"), "not-found", "There is no game 'chess'"),
        (address("Corners:1"), "not-found", ""),
        (address(":1"), "not-found", ""),
        (address("corners"), "bad-request", "seed"),
        (address("corners:"), "bad-request", "seed"),
        (address("corners:a|b"), "bad-request", "seed"),
        (address("corners:a\x07b"), "bad-request", "seed"),
        (address("corners:a\nb"), "not-found", ""),
        (address("corners:" + "x" * 129), "bad-request", "seed"),
        (address("corners:1", "?refill=never"), "bad-request", "Say refill once, as stock or waste."),
        (address("corners:1", "?refill="), "bad-request", ""),
        (address("corners:1", "?refill=stock&refill=waste"), "bad-request", "once"),
        (address("corners:1", "?cap=false"), "bad-request", "Corners has no option 'cap'."),
        (address("gallery:1", "?cap=False"), "bad-request", "true or false"),
        (address("corners:1", "?seat=1"), "bad-request", ""),
        (address("corners:1", "/60"), "not-found", "from 0 to 59"),
        (address("corners:1", "/999999999"), "not-found", "from 0 to 59"),
        (address("corners:1", "/9999999999"), "not-found", ""),
        (address("corners:1", "/-1"), "not-found", ""),
        (address("corners:1", "/01"), "not-found", ""),
        (address("corners:1", "/x"), "not-found", ""),
        (address("corners:1", "/1.txt"), "not-found", ""),
        (address("corners:1", "/1?refill=never"), "bad-request", "refill"),
        ("/api/v1/deals/par", "not-found", ""),
        ("/api/v1/deals/corners:1", "not-found", ""),
        ("/api/v1/races/no-such-race/par", "not-found", ""),
        ("/api/v1/races/no-such-race/par.svg", "not-found", ""),
    ],
)
def test_what_cannot_be_asked_is_refused(server: LoggedServer, target: str, code: str, text: str) -> None:
    assert problem(request(server, "GET", target), code, text)


# Two servers, a full queue, and failures.


async def test_two_servers_tell_the_same_and_keep_it_once(redis_url: str, tmp_path: Path) -> None:
    with LoggedServer(redis_url, tmp_path / "1").start() as one, LoggedServer(redis_url, tmp_path / "2").start() as two:
        (first, begun), (second, _) = await asyncio.gather(
            *(found(server, address("the-edge:x")) for server in (one, two))
        )
        assert begun
        assert first.body == second.body
        third, _ = await found(one, address("corners:x"))
        assert request(two, "GET", address("corners:x")).body == third.body
        assert len(keys(redis_url)) == 2
        assert one.failures() == two.failures() == []


async def test_one_deal_is_played_at_a_time_and_the_queue_is_short(redis_url: str) -> None:
    async with process(redis_url) as parts:
        pars = ParService(parts.store, parts.registry)
        corners = GAMES["corners"]
        assert await pars.of_deal(GAMES["gallery"], "halted", {}) == ParProgress(0, 200)
        pid = await halted(os.getpid())
        for number in range(1, MAX_PENDING):
            assert await pars.of_deal(corners, f"queued {number}", {}) == ParProgress(0, 60)
        with pytest.raises(Refused, match="enough") as refused:
            await pars.of_deal(corners, "one more", {})
        assert refused.value.code == "too-many"
        assert await pars.of_deal(corners, "queued 1", {}) == ParProgress(0, 60)
        assert computing(os.getpid()) == [pid]
        os.kill(pid, signal.SIGCONT)
        last = await settled(lambda: pars.of_deal(corners, f"queued {MAX_PENDING - 1}", {}))
        assert last == par(corners, f"queued {MAX_PENDING - 1}")
        assert len(keys(redis_url)) == MAX_PENDING
        await pars.stop()


async def test_a_computer_that_is_killed_leaves_nothing_and_the_deal_can_be_asked_for_again(
    redis_url: str, tmp_path: Path
) -> None:
    with LoggedServer(redis_url, tmp_path / "log").start() as server:
        assert request(server, "GET", address("gallery:killed")).status == 202
        assert server.process
        os.kill(await halted(server.process.pid), signal.SIGKILL)
        await until(lambda: "computing the par" in server.log)
        assert keys(redis_url) == []
        answer, begun = await found(server, address("gallery:killed"))
        assert begun
        assert answer.json == told(par(GAMES["gallery"], "killed"))


async def test_a_server_that_is_killed_takes_its_computer_along_and_another_finds_the_par(
    redis_url: str, tmp_path: Path
) -> None:
    first = LoggedServer(redis_url, tmp_path / "1").start()
    assert request(first, "GET", address("gallery:orphan")).status == 202
    assert first.process
    pid = await halted(first.process.pid)
    first.kill()
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    await until(lambda: not runs(pid))
    assert keys(redis_url) == []
    assert "Traceback" not in first.log
    with LoggedServer(redis_url, tmp_path / "2", emptied=False).start() as second:
        answer, _ = await found(second, address("gallery:orphan"))
        assert answer.json == told(par(GAMES["gallery"], "orphan"))


async def test_a_server_that_stops_stops_its_computer(redis_url: str, tmp_path: Path) -> None:
    with LoggedServer(redis_url, tmp_path / "log").start() as server:
        assert request(server, "GET", address("gallery:stopped")).status == 202
        assert server.process
        pid = await halted(server.process.pid)
    await until(lambda: not runs(pid))
    assert server.failures() == []


# A race.


@pytest.mark.parametrize(("slug", "seed"), [("gallery", "race 1"), ("corners", None)])
async def test_after_a_race_each_racer_is_held_against_par(server: LoggedServer, slug: str, seed: str | None) -> None:
    id_ = await race(server, slug, seed)
    replay = await server.replay(id_)
    answer, _ = await found(server, f"/api/v1/races/{id_}/par")
    deal = list(replay.races())[-1].seed
    assert deal
    expected = par(GAMES[slug], deal)
    held = [
        compared(expected, standing.seat, standing.name, standing.home, standing.outcome == "won")
        for standing in replay.standings
    ]
    assert {racer.name for racer in held} == {"ada", "bo"}
    assert answer.json.pop("racers") == json.loads(json.dumps([racer_told(racer) for racer in held]))
    assert {name: value for name, value in answer.json.items() if name != "racers"} == {"race": id_, **told(expected)}
    one = request(server, "GET", f"/api/v1/races/{id_}/par?seat=2").json["racers"]
    assert [racer["seat"] for racer in one] == [2]
    assert request(server, "GET", address(f"{slug}:{deal}")).json == told(expected)


def racer_told(racer: Compared) -> dict[str, Any]:
    names = ("seat", "name", "home", "won", "result", "worse", "equal", "better", "squares")
    return {name: getattr(racer, name) for name in names}


async def test_a_race_in_a_variant_is_held_against_par_in_it(server: LoggedServer) -> None:
    id_ = server.create("corners", seed="1.2", variant={"refill": "waste"}, start_delay_ms=0, max_racers=1)
    async with racers(server, "ada") as (ada,):
        await ada.begin(id_)
        await ada.ask(m.Resign)
    await server.replay(id_)
    answer, _ = await found(server, f"/api/v1/races/{id_}/par")
    assert answer.json["homes"] == list(par(GAMES["corners"], "1.2", {"refill": "waste"}).homes)


async def test_a_racer_who_was_scratched_is_not_held_against_par(server: LoggedServer) -> None:
    id_ = server.create("corners", start_delay_ms=0)
    async with racers(server, "ada", "bo") as (ada, bo):
        await bo.join(id_)
        await asyncio.gather(bo.ask(m.Ready), ada.begin(id_))
        await ada.ask(m.Resign)
    await server.replay(id_)
    answer, _ = await found(server, f"/api/v1/races/{id_}/par")
    assert [racer["name"] for racer in answer.json["racers"]] == ["ada"]
    assert problem(request(server, "GET", f"/api/v1/races/{id_}/par?seat=1"), "not-found", "from seat 1")


async def test_the_strips_are_to_be_had_as_a_picture(server: LoggedServer) -> None:
    id_ = await race(server, "the-edge", "picture")
    target = f"/api/v1/races/{id_}/par"
    document, _ = await found(server, target)
    found_par = par(GAMES["the-edge"], "picture")
    held = [compared(found_par, r["seat"], r["name"], r["home"], r["won"]) for r in document.json["racers"]]
    pictures = [
        request(server, "GET", f"{target}.svg"),
        request(server, "GET", target, Accept="image/svg+xml"),
        request(server, "GET", target, Accept="image/*"),
        request(server, "GET", target, Accept="application/json;q=0.5, image/svg+xml"),
        request(server, "GET", f"{target}.svg", Accept="application/json"),
    ]
    for picture in pictures:
        assert (picture.status, picture.headers["vary"]) == (200, "Accept")
        assert picture.headers["content-type"].startswith("image/svg+xml")
        assert picture.body.decode() == par_chart.svg(found_par, held)
    assert ElementTree.fromstring(pictures[0].body).tag == "{http://www.w3.org/2000/svg}svg"
    one = request(server, "GET", f"{target}.svg?seat={held[1].seat}")
    assert one.body.decode() == par_chart.svg(found_par, held[1:])
    for accept in ("*/*", "application/json", "application/*, image/svg+xml;q=0.1"):
        assert request(server, "GET", target, Accept=accept).body == document.body
    assert problem(request(server, "GET", target, Accept="text/html"), "not-acceptable", "image/svg+xml")
    for more in ("?seat=9", ".svg?seat=9"):
        assert problem(request(server, "GET", target + more), "not-found")
    for more in ("?seat=x", "?seat=0", ".svg?sea=1"):
        assert problem(request(server, "GET", target + more), "bad-request")


class Later(Clock):
    """A clock that is a day and an hour ahead."""

    def now(self) -> int:
        return super().now() + OPEN_MS + 3_600_000


class At(Clock):
    """A clock that stands."""

    at = 0

    def now(self) -> int:
        return self.at


async def settled(ask: Callable[[], Awaitable[T | ParProgress]]) -> T:
    """What is found out in the end."""
    async with asyncio.timeout(100):
        while True:
            if not isinstance(found := await ask(), ParProgress):
                return found
            await asyncio.sleep(0.02)


async def par_of(parts: Process, id_: str) -> tuple[Par, tuple[Compared, ...]] | Refused:
    """The par of a race, or the refusal."""
    pars = ParService(parts.store, parts.registry)
    try:
        return await settled(lambda: pars.of_race(id_))
    except Refused as refused:
        return refused
    finally:
        await pars.stop()


async def test_a_race_that_was_called_off_has_no_par(redis_url: str) -> None:
    async with process(redis_url) as parts:
        id_ = (await parts.registry.create(GAMES["corners"], {}, "off", Options(limit_ms=1_000))).race.id
    async with process(redis_url, clock=Later) as parts:
        room = await parts.registry.room(id_)
        await until(lambda: room.race.stage == "cancelled")
        refused = await par_of(parts, id_)
        assert isinstance(refused, Refused)
        assert (refused.code, "called off" in refused.text) == ("not-found", True)


async def test_the_par_of_a_daily_race_waits_until_its_deal_may_be_told(redis_url: str) -> None:
    replay = finished("corners", daily=True)
    over = list(replay.races())[-1]
    async with process(redis_url, clock=At) as parts:
        await parts.archive.add(over, replay.entries)
        At.at = over.reveals_at - 1
        refused = await par_of(parts, over.id)
        assert isinstance(refused, Refused)
        assert (refused.code, "daily" in refused.text) == ("deal-sealed", True)
        At.at = over.reveals_at
        told = await par_of(parts, over.id)
        assert isinstance(told, tuple)
        assert told[0] == par(GAMES["corners"], over.seed or "")
        assert [racer.name for racer in told[1]] == [
            standing.name for standing in over.standings() if standing.attempts
        ]


async def test_a_daily_race_that_is_over_does_not_tell_its_par_on_its_day(server: LoggedServer) -> None:
    opening = {"game": "gallery", "daily": True, "options": {"max_racers": 1, "start_delay_ms": 0}}
    id_ = request(server, "POST", "/api/v1/races", json.dumps(opening).encode()).json["race"]
    async with racers(server, "ada") as (ada,):
        await ada.join(id_)
        await ada.ask(m.Ready)
        await ada.until(lambda view: view.stage == "running")
        await ada.ask(m.Resign)
        await ada.until(lambda view: view.stage == "over")
    assert await sealed(*((server, f"/api/v1/races/{id_}/par{more}") for more in ("", ".svg", "?seat=1")))


# What is sealed.


async def sealed(*targets: tuple[Server, str]) -> bool:
    answers = [await asyncio.to_thread(request, server, "GET", target) for server, target in targets]
    return all(problem(answer, "deal-sealed") for answer in answers)


async def test_nothing_is_told_of_an_open_deal_while_a_race_on_it_is_announced_or_runs(
    redis_url: str, tmp_path: Path
) -> None:
    with (
        LoggedServer(redis_url, tmp_path / "1").start() as one,
        LoggedServer(redis_url, tmp_path / "2", emptied=False).start() as two,
    ):
        before, _ = await found(one, address("corners:raced"))
        assert before.status == 200
        id_ = one.create("corners", seed="raced", start_delay_ms=2_000)
        own = [f"/api/v1/races/{id_}/par{more}" for more in ("", ".svg", "?seat=1")]
        deal = [address("corners:raced", more) for more in ("", "?refill=waste", "/0", "/0.json", "/59.msgpack")]
        everywhere = [(server, target) for server in (one, two) for target in own + deal]
        assert await sealed(*everywhere)
        async with racers(one, "ada") as (ada,), racers(two, "bo") as (bo,):
            for racer in (ada, bo):
                await racer.join(id_)
                await racer.ask(m.Ready)
            await ada.until(lambda view: view.stage == "countdown")
            assert await sealed(*everywhere)
            assert (await found(one, address("corners:another")))[0].status == 200
            await asyncio.gather(*(racer.dealt() for racer in (ada, bo)))
            assert await sealed(*everywhere)
            await ada.ask(m.Resign)
            assert await sealed(*everywhere)
            await bo.ask(m.Resign)
        await asyncio.gather(one.replay(id_), two.replay(id_))
        for server in (one, two):
            for target in own + deal:
                answer, _ = await found(server, target)
                assert answer.status == 200, answer
        assert one.failures() == two.failures() == []


async def test_a_deal_stays_sealed_while_any_race_on_it_is_live(server: LoggedServer, own_store: str) -> None:
    first, second = (server.create("corners", seed="twice", start_delay_ms=0, max_racers=1) for _ in range(2))
    for id_, other in ((first, second), (second, None)):
        async with racers(server, id_[:20]) as (racer,):
            await racer.begin(id_)
            await racer.ask(m.Resign)
        await server.replay(id_)
        if other:
            assert await sealed((server, address("corners:twice")), (server, f"/api/v1/races/{id_}/par"))
    for id_ in (first, second):
        assert (await found(server, f"/api/v1/races/{id_}/par"))[0].status == 200
    with Redis.from_url(own_store) as redis:
        assert not redis.exists("raced:corners:twice"), "what is noted of live races goes with them"


async def test_the_deal_of_a_sealed_race_is_sealed_again_when_it_is_raced_again(server: LoggedServer) -> None:
    id_ = await race(server, "corners", None)
    answer, _ = await found(server, f"/api/v1/races/{id_}/par")
    server.create("corners", seed=answer.json["deal"].partition(":")[2])
    assert await sealed((server, f"/api/v1/races/{id_}/par"), (server, address(answer.json["deal"])))


async def test_what_is_noted_of_a_race_that_never_came_to_be_seals_nothing(redis_url: str) -> None:
    """A server may die between the note and the race."""
    async with process(redis_url) as parts:
        room = await parts.registry.create(GAMES["corners"], {}, "lost", Options(limit_ms=1_000))
        assert await parts.registry.raced(GAMES["corners"], "lost")
        assert not await parts.registry.raced(GAMES["the-edge"], "lost")
        assert await parts.store.ask("TTL", "raced:corners:lost") > OPEN_MS / 1000
        await parts.store.ask("SADD", "raced:corners:other", "no-such-race-1", room.race.id + "0")
        assert not await parts.registry.raced(GAMES["corners"], "other")


# The computer's plays.


@pytest.mark.parametrize("slug", GAMES)
async def test_each_play_of_the_computer_is_a_replay_that_verifies(server: LoggedServer, slug: str) -> None:
    homes = par(GAMES[slug], "a.0", None, 3).homes
    for k in (0, 2):
        replay = read(request(server, "GET", address(f"{slug}:a.0", f"/{k}.json")).body)
        assert all(fact.holds for fact in verify(replay, [public_key(bytes.fromhex(SIGNING_KEY))]))
        assert moves(replay) == play(GAMES[slug], "a.0", k).moves
        (standing,) = replay.standings
        assert (standing.goal if standing.outcome == "won" else standing.home) == homes[k]
        assert read(request(server, "GET", address(f"{slug}:a.0", f"/{k}.msgpack")).body) == replay
        assert read(request(server, "GET", address(f"{slug}:a.0", f"/{k}")).body) == replay
        assert request(server, "GET", address(f"{slug}:a.0", f"/{k}.ndjson")).body == b"".join(replay.lines())
        assert request(
            server, "POST", "/api/v1/verify", request(server, "GET", address(f"{slug}:a.0", f"/{k}")).body
        ).json["ok"]


def moves(replay: Replay) -> tuple[str, ...]:
    return tuple(entry.event.move for entry in replay.entries if isinstance(entry.event, Moved))


async def test_a_play_comes_in_the_form_and_the_variant_that_is_asked_for(server: LoggedServer) -> None:
    target = address("corners:1", "/0")
    packed = request(server, "GET", target, Accept="application/vnd.msgpack")
    assert packed.headers["content-type"] == "application/vnd.msgpack"
    assert read(packed.body) == read(request(server, "GET", target).body)
    waste = read(request(server, "GET", f"{target}.json?refill=waste").body)
    assert waste.header.variant == {"refill": "waste"}
    assert moves(waste) == play(GAMES["corners"], "1", 0, {"refill": "waste"}).moves
    assert request(server, "GET", target).body == request(server, "GET", f"{target}?refill=stock").body
    assert problem(request(server, "GET", target, Accept="image/svg+xml"), "not-acceptable")


async def test_nothing_of_all_this_went_wrong_on_the_server(server: LoggedServer) -> None:
    assert server.failures() == []
    assert request(server, "GET", "/healthz").status == 200
