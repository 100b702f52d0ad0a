"""Par of deals over HTTP: computed in a worker process, stored, and served with the computer's plays."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from samedeal.computer.bots import BOTS, play
from samedeal.computer.par import par
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import Moved
from samedeal.replays.replay import Replay, read
from samedeal.replays.signature import public_key
from samedeal_server.live.pars import ParService
from samedeal_server.work.stored_results import MAX_PENDING, MAX_PENDING_PER_ADDRESS, JobProgress, StoredResults
from support.child_processes import computing, halted, runs
from support.http_api import problem
from support.logged_server import LoggedServer, request
from support.par_requests import SIGNING_KEY, address, computed, par_json, par_keys, progress_of, settled
from support.servers import Server, racers
from support.stores import Process, until

pytestmark = pytest.mark.tier(3)

STORE, SETTINGS = "own_store", {"signing_key": SIGNING_KEY}

ODD = ["a/b", "x/par/3", "..", "/", "?x=1", "#", "%41", "a%2Fb", "béla 7", "漢字 🂡", "a:b", "+", "'\"<&>\\", "s" * 128]


@pytest.mark.parametrize("slug", BOTS)
async def test_par_of_a_deal_equals_the_library_result(server: LoggedServer, slug: str) -> None:
    answer, progress = await computed(server, address(f"{slug}:a.2"))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == par_json(par(GAMES[slug], "a.2"))
    assert progress[0] == {"done": 0, "of": BOTS[slug].par_plays}
    assert [step["done"] for step in progress] == sorted(step["done"] for step in progress)
    assert {step["of"] for step in progress} == {BOTS[slug].par_plays}
    again, before = await computed(server, address(f"{slug}:a.2"))
    assert (again.body, before) == (answer.body, [])


async def test_progress_is_reported_during_the_computation(server: LoggedServer) -> None:
    _, progress = await computed(server, address("gallery:told"))
    assert any(0 < step["done"] < 200 for step in progress)


@pytest.mark.parametrize("seed", ODD)
async def test_any_seed_works_in_the_path(server: LoggedServer, seed: str) -> None:
    answer, _ = await computed(server, address(f"the-edge:{seed}"))
    assert answer.json["deal"] == f"the-edge:{seed}"
    assert answer.json["homes"] == list(par(GAMES["the-edge"], seed).homes)
    replay = read(request(server, "GET", address(f"the-edge:{seed}", "/3.json")).body)
    assert replay.header.seed == seed


async def test_query_options_choose_the_variant(server: LoggedServer, own_store: str) -> None:
    waste, _ = await computed(server, address("corners:1.2", "?refill=waste"))
    usual, _ = await computed(server, address("corners:1.2"))
    assert waste.json == par_json(par(GAMES["corners"], "1.2", {"refill": "waste"}))
    assert usual.json == par_json(par(GAMES["corners"], "1.2"))
    assert waste.json["homes"] != usual.json["homes"]
    known = len(par_keys(own_store))
    for more, same in (("?refill=stock", usual), ("?refill=waste", waste)):
        assert request(server, "GET", address("corners:1.2", more)).body == same.body
    assert len(par_keys(own_store)) == known
    replay = read(request(server, "GET", address("gallery:1", "/0.json?cap=true")).body)
    assert replay.header.variant == {"cap": False}, "this bot plays without cap"


@pytest.mark.parametrize(
    ("target", "code", "text"),
    [
        (address("chess:1"), "not-found", "Unknown game 'chess'"),
        (address("Corners:1"), "not-found", ""),
        (address(":1"), "not-found", ""),
        (address("corners"), "bad-request", "seed"),
        (address("corners:"), "bad-request", "seed"),
        (address("corners:a|b"), "bad-request", "seed"),
        (address("corners:a\x07b"), "bad-request", "seed"),
        (address("corners:a\nb"), "not-found", ""),
        (address("corners:" + "x" * 129), "bad-request", "seed"),
        (address("corners:1", "?refill=never"), "bad-request", "refill must be given once, as stock or waste."),
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
def test_invalid_requests_are_refused(server: LoggedServer, target: str, code: str, text: str) -> None:
    assert problem(request(server, "GET", target), code, text)


async def test_deals_are_computed_one_at_a_time_from_a_bounded_queue(redis_url: str, parts: Process) -> None:
    results = StoredResults(parts.store)
    service = ParService(results, parts.registry)
    edge = GAMES["the-edge"]
    assert await progress_of(service.of_deal(GAMES["gallery"], "halted", {})) == JobProgress(0, 200)
    pid = await halted(os.getpid())
    for number in range(1, MAX_PENDING):
        assert await progress_of(service.of_deal(edge, f"queued {number}", {})) == JobProgress(0, 60)
    with pytest.raises(Refused, match="Too many") as refused:
        await service.of_deal(edge, "one more", {})
    assert refused.value.code == "too-many"
    assert await progress_of(service.of_deal(edge, "queued 1", {})) == JobProgress(0, 60)
    assert computing(os.getpid()) == [pid]
    os.kill(pid, signal.SIGCONT)
    last = await settled(lambda: service.of_deal(edge, f"queued {MAX_PENDING - 1}", {}))
    assert last == par(edge, f"queued {MAX_PENDING - 1}")
    assert len(par_keys(redis_url)) == MAX_PENDING
    await results.stop()


async def test_a_race_gets_its_deal_while_par_is_computed(redis_url: str) -> None:
    with Server(redis_url) as server:
        for number in range(MAX_PENDING_PER_ADDRESS):
            assert server.get(address(f"gallery:{number}"))[0] == 202
        assert server.process
        pid = await halted(server.process.pid)
        race_id = server.create("the-edge", max_racers=1, start_delay_ms=0, filter="certified/1")
        async with racers(server, "ada") as (ada,):
            await ada.begin(race_id)
        os.kill(pid, signal.SIGCONT)


async def test_par_can_be_requested_again_after_the_worker_is_killed(redis_url: str, tmp_path: Path) -> None:
    with LoggedServer(redis_url, tmp_path / "log").start() as server:
        assert request(server, "GET", address("gallery:killed")).status == 202
        assert server.process
        os.kill(await halted(server.process.pid), signal.SIGKILL)
        await until(lambda: "computing par:" in server.log)
        assert par_keys(redis_url) == []
        answer, begun = await computed(server, address("gallery:killed"))
        assert begun
        assert answer.json == par_json(par(GAMES["gallery"], "killed"))


async def test_killing_a_server_ends_its_worker_and_another_server_computes_the_par(
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
    assert par_keys(redis_url) == []
    assert "Traceback" not in first.log
    with LoggedServer(redis_url, tmp_path / "2", emptied=False).start() as second:
        answer, _ = await computed(second, address("gallery:orphan"))
        assert answer.json == par_json(par(GAMES["gallery"], "orphan"))


@pytest.mark.parametrize("slug", BOTS)
async def test_every_play_of_the_computer_is_a_verifiable_replay(server: LoggedServer, slug: str) -> None:
    homes = par(GAMES[slug], "a.2", None, 3).homes
    for k in (0, 2):
        replay = read(request(server, "GET", address(f"{slug}:a.2", f"/{k}.json")).body)
        assert all(fact.holds for fact in verify(replay, [public_key(bytes.fromhex(SIGNING_KEY))]))
        assert moves(replay) == play(GAMES[slug], "a.2", k).moves
        (standing,) = replay.standings
        assert (standing.goal if standing.outcome == "won" else standing.home) == homes[k]
        assert read(request(server, "GET", address(f"{slug}:a.2", f"/{k}.msgpack")).body) == replay
        assert read(request(server, "GET", address(f"{slug}:a.2", f"/{k}")).body) == replay
        assert request(server, "GET", address(f"{slug}:a.2", f"/{k}.ndjson")).body == b"".join(replay.lines())
        assert request(
            server, "POST", "/api/v1/verify", request(server, "GET", address(f"{slug}:a.2", f"/{k}")).body
        ).json["ok"]


def moves(replay: Replay) -> tuple[str, ...]:
    return tuple(entry.event.move for entry in replay.entries if isinstance(entry.event, Moved))
