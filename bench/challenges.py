"""Challenges: the cost of many open ones for moves, and of one with many results for viewers of its table."""

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from random import Random

from redis import Redis

from bench.load import Drive, Interval, Line, close_all
from bench.racing import begin, guests
from bench.run import Case, Plan, Run
from bench.services import KEYS, Server, Store
from samedeal import commitments
from samedeal.games.catalogue import GAMES
from samedeal.race.challenge import HOUR_MS, ChallengeDeal, ChallengeHeader, Opened
from samedeal.race.events import Options
from samedeal.race.standings import Standing
from samedeal.scores.field import FieldRace
from samedeal_server.store import connection, stored_replays
from samedeal_server.store.announcements import Announcements
from samedeal_server.store.archive import Archive
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.challenge_logs import ChallengeLogs
from samedeal_server.store.clock import Clock
from samedeal_server.store.club_logs import ClubLogs
from samedeal_server.store.group_commits import GroupCommits
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.live_races import LiveRaces
from samedeal_server.store.race_store import RaceStore

MASTER_KEY = bytes.fromhex(KEYS["SAMEDEAL_MASTER_KEY"])


def challenges(plan: Plan) -> Iterator[Case]:
    """Measure moves before and after challenges are opened, and the table of the one with the most results."""
    yield Case("challenges", partial(_challenges, *plan.challenges), timeout_s=300)


async def _challenges(count: int, results: int, run: Run) -> None:
    game = run.plan.games[0]
    with Store() as store, Server(store) as server:
        lines = await guests(server, run.plan.held_to)
        run.note("challenges/none/server-us", (await moves(server, store, lines, run)).cpu_us("server"))
        headers = await _open(store.address, game, count)
        with Redis.from_url(store.address) as redis:
            key, chance = f"field:{{{headers[0].commitment}}}", Random(1)
            redis.hset(key, mapping={f"race-{n}": _result(n, chance) for n in range(results - 1)})
            path = f"/api/v1/challenges/{headers[0].challenge}"
            server.fetch(path)
            redis.hset(key, "newest", _result(results, chance))
        await asyncio.sleep(1.1)  # until the server looks for new results
        for name in ("updated", "cached"):
            began = time.perf_counter()
            server.fetch(path)
            run.note(f"challenges/{results}/{name}-ms", 1000 * (time.perf_counter() - began))
        run.note(f"challenges/{count}/server-us", (await moves(server, store, lines, run)).cpu_us("server"))
        await close_all(lines)


def races_in(store: connection.Store) -> RaceStore:
    """Return the parts of a store that challenges and clubs use."""
    archive = Archive(store, MASTER_KEY)
    return RaceStore(RaceLog(GroupCommits(store)), archive, LiveRaces(store), Clock(store), Announcements(store))


async def moves(server: Server, store: Store, lines: list[Line], run: Run) -> Interval:
    """Make moves for a while."""
    await begin(server, lines, run.plan.games[0])
    return await Drive(lines, {"server": [server], "store": [store]}).flat_out(*run.plan.pace)


async def _open(address: str, game: str, count: int) -> list[ChallengeHeader]:
    """Open challenges whose results everybody sees, directly in the store, and return their headers."""
    store = connection.Store(address)
    races = races_in(store)
    logs = ChallengeLogs(races, MASTER_KEY, ClubLogs(races))
    now, headers = races.clock.now(), list[ChallengeHeader]()
    options = Options(limit_ms=GAMES[game].limit_ms, spectators="progress", finishers="none")
    for number in range(count):
        name, salt = f"challenge-{number}", f"{number:032x}"
        headers.append(
            ChallengeHeader(
                challenge=name,
                creator="0" * 16,
                deals=(ChallengeDeal(game=game, rules=GAMES[game].rules, options=options),),
                commitment=commitments.commitment(name, commitments.secret(MASTER_KEY, name, salt)),
                salt=salt,
                opened_at=now,
                until=now + 24 * HOUR_MS,
            )
        )
        await logs.create(headers[-1], Guest("0" * 16, "ada"))
        await logs.append(name, lambda _: Opened(nonce="0" * 64))
    await store.close()
    return headers


def _result(number: int, chance: Random) -> bytes:
    """Return a race for one with random results."""
    standing = Standing(
        place=1,
        seat=1,
        name=f"racer {number}",
        bot=False,
        outcome="resigned",
        done=True,
        home=chance.randrange(48),
        goal=48,
        progress=0.5,
        attempts=1,
        ms=chance.randrange(360_000),
    )
    race = FieldRace(f"race-{number}", True, "corners:x.0", number, ((f"{number:016x}", standing),))
    return stored_replays.encode_record(race)
