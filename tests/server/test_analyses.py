"""Analysis over HTTP: winning lines, turning points, and advice; all of it sealed while it could help somebody."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from redis import Redis

from conftest import kept_store
from samedeal.analysis.analysis import analysed
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.proof.verification import verify
from samedeal.race.events import Resigned
from samedeal.replays.replay import read
from samedeal.solver.solution import Solution
from samedeal.wire import messages as m
from samedeal_server.live.analyses import SLOW, AnalysisService
from samedeal_server.work.pool import Jobs, LimitExceeded
from samedeal_server.work.stored_results import JobProgress, Question, StoredResults
from support.child_processes import computing
from support.http_api import problem
from support.logged_server import Answer, LoggedServer, request
from support.par_requests import computed, finished_race, progress_of, settled
from support.rooms import opened
from support.servers import Server, racers
from support.sixth_game import sixth_game
from support.stores import Process, run, that, until
from support.waiting import LIMIT_S

pytestmark = pytest.mark.tier(3)

SIGNING_KEY = "a5" * 32
QUICK = {"corner-stones": "t2", "gallery": "t74"}
"""Deals of the slow games whose winning lines are found soon, even after a few moves."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedServer]:
    """A server with a store that no test empties, and a sixth game."""
    folder = tmp_path_factory.mktemp("analysis")
    for url in kept_store(folder / "store"):
        with sixth_game(folder), LoggedServer(url, folder / "log", signing_key=SIGNING_KEY).start() as running:
            yield running
            assert running.failures() == []


def at_deal(code: str, what: str, query: str = "") -> str:
    return f"/api/v1/deals/{quote(code, safe='')}/{what}{query}"


def post(server: Server, target: str, *moves: str) -> Answer:
    return request(server, "POST", target, json.dumps({"moves": moves}).encode())


async def advised(server: Server, code: str, *moves: str) -> Any:
    """Wait for advice and return it."""
    async with asyncio.timeout(LIMIT_S):
        while (answer := await asyncio.to_thread(post, server, at_deal(code, "advice"), *moves)).status == 202:
            assert answer.headers["retry-after"] == "1"
            await asyncio.sleep(0.02)
    return answer.json


@pytest.mark.parametrize("slug", GAMES)
async def test_a_finished_race_is_analysed(server: LoggedServer, slug: str) -> None:
    seed = QUICK.get(slug, "analysis")
    race_id = await finished_race(server, slug, seed)
    answer, _ = await computed(server, f"/api/v1/races/{race_id}/analysis")
    *_, race = (await server.replay(race_id)).races()
    expected = analysed(race)
    assert answer.json == {
        "race": race_id,
        "deal": f"{slug}:{seed}",
        "outcome": expected.outcome,
        "positions": expected.positions,
        "text": expected.text,
        "moves": len(expected.line),
        "racers": [
            {
                "seat": each.seat,
                "step": each.step,
                "is_end": each.is_end,
                "proven": each.proven,
                "text": each.described(),
            }
            for each in expected.racers
        ],
    }
    assert {racer["seat"] for racer in answer.json["racers"]} == {1, 2}
    solution = f"/api/v1/solutions/{race_id}"
    if expected.outcome != "won":
        assert problem(request(server, "GET", solution), "not-found", expected.text)
        return
    replay = read(request(server, "GET", f"{solution}.json").body)
    assert replay.standings[0].outcome == "won"
    assert [entry.event.move for entry in replay.entries if hasattr(entry.event, "move")] == list(expected.line)
    assert all(fact.holds is not False for fact in verify(replay, []))
    assert read(request(server, "GET", solution, None, Accept="application/vnd.msgpack").body) == replay
    steps = request(server, "GET", f"{solution}/steps").json
    assert steps["racers"][0]["steps"][-1]["outcome"] == "won"
    assert steps["racers"][0]["name"] == "Solver"


@pytest.mark.parametrize("slug", GAMES)
async def test_play_goes_on_from_any_position_of_a_finished_race(server: LoggedServer, slug: str) -> None:
    seed = QUICK.get(slug, "t2")
    race_id = await finished_race(server, slug, seed)
    *_, race = (await server.replay(race_id)).races()
    ada = race.seat(1).run
    assert ada
    code, position = f"{slug}:{seed}", ada.deal
    for count in range(len(ada.moves) + 1):
        board = post(server, at_deal(code, "board"), *ada.moves[:count]).json
        assert board["table"] == json.loads(json.dumps(position.view()))
        assert board["moves"] == list(position.moves())
        if count < len(ada.moves):
            position = position.after(ada.moves[count])
    assert position == ada.game
    advice = await advised(server, code, *ada.moves)
    assert advice["hint"]["move"] in position.moves()
    assert advice["hint"]["rule"] == position.why(advice["hint"]["move"])


async def test_a_game_without_a_solver_has_no_analysis(server: LoggedServer) -> None:
    race_id = await finished_race(server, "aces-up", "1")
    for target in (f"/api/v1/races/{race_id}/analysis", f"/api/v1/solutions/{race_id}/steps"):
        assert problem(request(server, "GET", target), "not-found", "no solver for Aces Up")
    assert problem(post(server, at_deal("aces-up:1", "advice")), "not-found", "no solver")
    assert post(server, at_deal("aces-up:1", "board")).json["ply"] == 0


async def test_an_analysis_is_computed_once(redis_url: str, redis: Redis) -> None:
    with Server(redis_url) as server:
        race_id = await finished_race(server, "the-edge", "once")
        first, _ = await computed(server, f"/api/v1/races/{race_id}/analysis")
        assert first.json["deal"] == "the-edge:once"
        stored: Any = redis.get(f"analysis:{{{race_id}}}")
        redis.set(f"analysis:{{{race_id}}}", stored.replace(b"the-edge:once", b"the-edge:kept"))
        again = request(server, "GET", f"/api/v1/races/{race_id}/analysis")
        assert (again.status, again.json["deal"]) == (200, "the-edge:kept")


async def test_somebody_plays_alone(server: LoggedServer) -> None:
    code = "corners:alone/1"
    deal = GAMES["corners"].from_seed("alone/1")
    board = post(server, at_deal(code, "board")).json
    assert board["moves"] == list(deal.moves())
    assert board["guidance"]["instruction"] == deal.instruction
    assert "undo" not in board
    move = deal.moves()[0]
    after = post(server, at_deal(code, "board"), move).json
    assert after["ply"] == 1
    assert after["undo"]
    assert after["table"] == json.loads(json.dumps(deal.after(move).view()))
    waste = post(server, at_deal(code, "board", "?refill=waste")).json
    assert waste["moves"] == list(GAMES["corners"].from_seed("alone/1", refill="waste").moves())
    refused = post(server, at_deal(code, "board"), "draw", "r9")
    assert problem(refused, "illegal-move", "is not a move in Corners")
    assert problem(post(server, at_deal(code, "advice"), "redeal"), "illegal-move", "only when the stock is empty")


async def test_advice_names_a_move_its_rule_and_the_reason(server: LoggedServer) -> None:
    advice = await advised(server, "kings-in-the-corners:t2")
    assert advice["outcome"] == "won"
    assert "was_mistake" not in advice or advice["was_mistake"] is None
    hint = advice["hint"]
    deal = GAMES["kings-in-the-corners"].from_seed("t2")
    assert hint["move"] in deal.moves()
    assert hint["rule"] == deal.why(hint["move"])
    assert hint["reason"] == "This move starts a winning line."
    after = await advised(server, "kings-in-the-corners:t2", hint["move"])
    assert after["was_mistake"] is False


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "bad-request"),
        (b'{"moves": "draw"}', "bad-request"),
        (b'{"moves": ["draw"], "seed": "1"}', "bad-request"),
        (b'{"moves": [""]}', "bad-request"),
        (json.dumps({"moves": ["draw"] * 1_001}).encode(), "bad-request"),
        (b'{"moves": ["' + b"x" * 140_000 + b'"]}', "too-large"),
    ],
)
def test_bodies_are_validated(server: LoggedServer, body: bytes, code: str) -> None:
    for what in ("board", "advice"):
        assert problem(request(server, "POST", at_deal("corners:1", what), body), code)


async def test_nothing_is_said_about_a_deal_while_a_race_on_it_is_live(server: LoggedServer) -> None:
    code = "corners:sealed by a race"
    over = await finished_race(server, "corners", "sealed by a race")
    targets = [f"/api/v1/races/{over}/analysis", f"/api/v1/solutions/{over}", f"/api/v1/solutions/{over}/steps"]
    for target in targets:
        await computed(server, target)
    assert post(server, at_deal(code, "board")).status == 200
    live = server.create("corners", seed="sealed by a race", start_delay_ms=0, max_racers=1)

    def all_sealed() -> bool:
        answers = [request(server, "GET", target) for target in targets]
        answers += [post(server, at_deal(code, what), *moves) for what in ("board", "advice") for moves in ((), ("x",))]
        return all(problem(answer, "deal-sealed") for answer in answers)

    assert all_sealed()
    async with racers(server, "ada") as (ada,):
        await ada.begin(live)
        assert all_sealed()
        for target in (f"/api/v1/races/{live}/analysis", f"/api/v1/solutions/{live}/steps"):
            assert problem(request(server, "GET", target), "replay-sealed")
        await ada.ask(m.Resign)
        await server.replay(live)
    assert post(server, at_deal(code, "board")).status == 200


async def test_a_question_that_takes_too_long_is_refused(parts: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    async def exceed(*args: object) -> bytes:
        raise LimitExceeded("it took too long")

    monkeypatch.setattr(Jobs, "run_now", exceed)
    results = StoredResults(parts.store)
    question = Question("advice:slow", "advice", b"", None)
    assert await progress_of(results.result(question)) == JobProgress(0)
    await until(lambda: not results._done)
    with pytest.raises(Refused, match="more computing") as refused:
        await results.result(question)
    assert refused.value.code == "too-large"
    await results.stop()


async def test_slow_deals_are_searched_while_they_are_raced_and_kept_in_memory(redis: Redis, parts: Process) -> None:
    results = StoredResults(parts.store)
    service = AnalysisService(results, parts.registry, replay_days=None)
    for slug in (*SLOW, "corners"):
        await run(await opened(parts, slug, seed=QUICK.get(slug, "t2"), limit_ms=3_600_000))
    before = set(redis.scan_iter())
    await service.prepare()
    assert set(redis.scan_iter()) == before, "nothing about a live race is stored"
    prepared = dict(service._prepared)
    assert {slug for slug, _, _ in prepared} == set(SLOW)
    assert all(solution and solution.nodes for solution in prepared.values())
    await service.prepare()
    assert service._prepared == prepared
    await asyncio.gather(service.stop(), results.stop())


async def test_operators_can_turn_off_searches_during_races(redis_url: str) -> None:
    with Server(redis_url, search_ahead="on") as on, Server(redis_url, search_ahead="off") as off:
        race_id = on.create("gallery", seed="t2", max_racers=2, start_delay_ms=0)
        async with racers(on, "ada") as (ada,), racers(off, "bo") as (bo,):
            await asyncio.gather(ada.begin(race_id), bo.begin(race_id))
            await until(lambda: on.process and computing(on.process.pid))
            assert off.process
            assert computing(off.process.pid) == []


async def test_a_prepared_solution_is_used(parts: Process) -> None:
    results = StoredResults(parts.store)
    service = AnalysisService(results, parts.registry, replay_days=None)
    room = await opened(parts, "gallery", seed="t3", limit_ms=3_600_000)
    await run(room)
    await service.prepare()
    (deal,) = service._prepared
    service._prepared[deal] = Solution("open", 12_345)
    for seat in (1, 2):
        await room.submit(that(Resigned(seat=seat)))
    await until(lambda: room.is_archived)
    replay = await parts.archive.render_input(room.race.id, parts.clock.now())
    assert replay
    analysis = await settled(lambda: service.of_race(room.race.id, replay))
    assert analysis.positions == 12_345
    await asyncio.gather(service.stop(), results.stop())
