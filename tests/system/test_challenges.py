"""A challenge of three deals over three days, on two servers, while servers and the store are killed."""

import asyncio
import json
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from samedeal import codec
from samedeal.race.challenge import Cancelled, Finished, HeatOpened, Revealed
from samedeal.wire import messages as m
from support.campaign import Persistent, seeded_random, start_server
from support.challenges import read_challenge
from support.contests import Contest, guest, open_contest, post
from support.faulty_store import Valkey
from support.javascript_verifier import FOLDER
from support.kills import KILLED, begin, enter, insist, kills, restart
from support.node import NODE, needs_node
from support.offline_cli import run
from support.servers import Server
from support.timed_server import HOUR_MS, TimedServer

pytestmark = pytest.mark.tier(3)

GAMES = ("gallery", "corner-stones", "the-edge")
HEATS = ((1, 3), (2, 2), (4,))
"""How many players race together, on each of three days."""
DAY_MS = 20 * HOUR_MS


async def heat(
    servers: Sequence[Server],
    contest: Contest,
    deal: int,
    players: Sequence[Persistent],
    lasts: Callable[[], bool] = lambda: False,
) -> str:
    """Race a heat to its end, as long as it `lasts`."""
    race = await begin(servers, {"challenge": contest.id, "deal": deal}, players)
    await asyncio.gather(*(player.play(player.chance.randrange(1, 20)) for player in players))
    while lasts():
        await asyncio.gather(*(player.play(1) for player in players))
        await asyncio.sleep(0.01)
    await asyncio.gather(*(player.stop() for player in players))
    return race


def has_more(killed: Counter[str]) -> bool:
    """Return whether a heat lasts, because too little has been killed."""
    return min(killed[each] for each in KILLED) < 2


async def table_of(server: Server, contest: Contest, folder: Path) -> tuple[bytes, list[Any]]:
    """Return the table that both verifiers compute from the log and the replays, and the events of the log."""
    folder.mkdir()
    answer = await insist([server], "GET", f"/challenges/{contest.id}/log")
    (folder / "log.json").write_bytes(answer.body)
    log = read_challenge(answer.body)
    finished = [entry.event.heat for entry in log.entries if isinstance(entry.event, Finished)]
    for number in finished:
        replay = await insist([server], "GET", f"/replays/{contest.id}-{number}.json")
        (folder / f"{number}.json").write_bytes(replay.body)
    words = ["--key", log.signature.key, str(folder / "log.json"), *(str(folder / f"{each}.json") for each in finished)]
    found = await asyncio.to_thread(run, "table", "--json", *words)
    assert (found.exit_code, found.stderr) == (0, "")
    program = [NODE, str(FOLDER / "table.mjs"), *words]
    javascript = await asyncio.to_thread(subprocess.run, program, capture_output=True, check=True)
    assert javascript.stdout == found.stdout_bytes
    assert json.loads(found.stdout)["outcome"] == "verified"
    return codec.encode(json.loads(found.stdout)["table"], "json"), [entry.event for entry in log.entries]


@needs_node
@pytest.mark.timeout(300)
async def test_a_challenge_of_three_deals_survives_kills(tmp_path: Path) -> None:
    chance = seeded_random()
    store = Valkey(tmp_path / "store")
    await store.start()
    servers = [
        TimedServer(store.url, tmp_path, emptied=False, connections_per_address="0", open_races_per_guest="0")
        for _ in range(2)
    ]
    players = list[Persistent]()
    try:
        await asyncio.gather(*map(start_server, servers))
        servers[0].noon("2027-05-01")
        creator = guest(servers[0], "dan")[0]
        contest = open_contest(servers[1], GAMES, creator, until_ms=3 * DAY_MS + HOUR_MS, unlisted=False)
        for n in range(12):
            order = servers if n % 2 else servers[::-1]
            players.append(Persistent(f"racer {n:02}", "", order, Random(chance.random())))
            players[n].token, _ = guest(servers[0], players[n].name)
        for day, sizes in enumerate(HEATS):
            async with kills(servers, store, chance) as killed:
                heats, lasts = [], partial(has_more, killed)
                for n in range(3):
                    four, deal = players[4 * n : 4 * n + 4], (n + day) % 3 + 1
                    if len(sizes) > 1:
                        heats.append(heat(servers, contest, deal, four[sizes[0] :]))
                    heats.append(heat(servers, contest, deal, four[: sizes[0]], lasts))
                await asyncio.gather(*heats)
                if day == 1:  # it does not count
                    await heat(servers, contest, 2, players[:1])
            servers[0].advance(DAY_MS)
        await check_deadline(servers, contest, players)
        await asyncio.gather(*(player.close() for player in players))
        await asyncio.gather(*map(restart, servers))
        servers[0].set_clock(contest.header.reveals_at + 60_000)
        await contest.revealed(servers[1])
        table, events = await table_of(servers[0], contest, tmp_path / "one")
        assert await table_of(servers[1], contest, tmp_path / "other") == (table, events)
        for server in servers:
            page = await insist([server], "GET", f"/challenges/{contest.id}", token=players[0].token or "")
            shown = page.json["results"]
            assert codec.encode(shown, "json") == table
            assert [each["race"] for each in page.json["yours"]] == page.json["counts"]
        assert [len(row["deals"]) for row in shown if all(row["deals"])] == 12 * [3]
        counted = Counter(map(type, events))
        assert counted[HeatOpened] == counted[Finished] + counted[Cancelled]
        assert counted[Finished] == 2 * 3 + 2 * 3 + 3 + 1 + 1
        assert counted[Cancelled] >= 1
        assert counted[Revealed] == 1
    finally:
        await asyncio.gather(*(player.close() for player in players))
        for server in servers:
            server.__exit__()
        await store.kill()


async def check_deadline(servers: Sequence[TimedServer], contest: Contest, players: Sequence[Persistent]) -> None:
    """Let the deadline pass while no server is running: a lobby is cancelled, and a race can be played to its end."""
    servers[0].set_clock(contest.header.until - 5 * 60_000)
    options = {"max_racers": 2, "start_delay_ms": 0}
    opening = {"challenge": contest.id, "options": options}
    opened = await insist(servers, "POST", "/races", opening, contest.creator)
    lobby = opened.json["race"]
    await enter(players[1], lobby)
    running = contest.heat(servers[0], 1, players[0].token)
    await enter(players[0], running)
    await players[0].begin(running)
    await asyncio.gather(*(player.close() for player in players))
    for server in servers:
        await asyncio.to_thread(server.kill)
    servers[0].set_clock(contest.header.until + 1_000)
    await asyncio.gather(*(start_server(server, server.port) for server in servers))
    page = await contest.once(servers[0], lambda page: not page.heats)
    assert page.stage == "closed"
    refused = await asyncio.to_thread(post, servers[1], "/races", opening, contest.creator)
    assert refused.json["code"] == "untimely"
    await players[0].resume()
    assert isinstance(await players[0].move((players[0].board.moves or [])[0]), m.View)
    assert (await players[0].stop()).stage == "over"
