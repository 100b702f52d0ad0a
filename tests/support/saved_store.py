"""Saved stores: written by a server of an earlier commit, for tests of the current server.

``saved/store-N.json`` contains the commands that write every key of a store, and the answers of its server.
``saved/replays-N`` contains the replays of its finished races in each form. Store 1 is from before replays were packed
as they are now, and its races have the first race format; ``stated-default`` is the replay of a later race that states
an option with its default, as servers then wrote it. Store 2 adds what came with the second race format. Saved files
never change. Before a change of the store's format, the last commit adds a ``store-3.json``:

    PYTHONPATH=tests python -m support.saved_store --write 3

The store was saved at ``Saved.at``. The tests set the server's clock to that time or a later one, so they do not depend
on when they run. The keys of the service are those of ``servers.Server``.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from redis import Redis

from conftest import kept_store
from protocol.test_playthroughs import WINS
from samedeal.day import Day
from samedeal.race.events import LONGEST_MS
from samedeal.wire import messages as m
from samedeal_server.store import stored_replays
from support.logged_server import request
from support.servers import Racer, Server
from support.stores import until
from support.timed_server import HOUR_MS, TimedServer

HERE = Path(__file__).parents[1] / "saved"
DATE = "2026-11-20"
GUESTS = ("ada", "bo", "cy", "di")
FORMS: tuple[stored_replays.Form, ...] = ("json", "ndjson", "msgpack")
NUMBERS = (1, 2)
"""The saved stores."""
PATHS = (
    *("races", "replays", "replays?game=corners", "replays?player={ada}", "replays?deal=the-edge:1"),
    *("players/{ada}", "players/{ada}/versus/{bo}", "races/{decider}/evening", f"daily/{DATE}/corner-stones"),
)
"""Paths below ``/api/v1/`` whose answers are saved."""


class Saved(msgspec.Struct, kw_only=True):
    """A store, the guests and races in it, and the answers of the server that wrote it."""

    at: int
    """The service's time when the store was saved, in milliseconds since 1970-01-01 UTC."""
    commands: list[tuple[str, str, list[bytes]]]
    """Name, key and arguments (in base64) of the commands that write the store."""
    tokens: dict[str, str]
    """By guest: ada, bo; in store 2, also cy, whom a host has removed, and di, who has logged out."""
    players: dict[str, str]
    """Public ids, by guest."""
    races: dict[str, str]
    """Race ids, by what is special about the race."""
    digests: dict[str, str]
    """The digest of the newest entry of each unfinished race, by what is special about the race."""
    answers: dict[str, Any]
    """By path below ``/api/v1/``."""
    login_code: str = ""
    """A login code of ada, in stores that have one."""

    def load(self, url: str) -> None:
        """Write the saved keys to an empty store. Lifetimes count from now."""
        with Redis.from_url(url) as redis:
            for name, key, arguments in self.commands:
                redis.execute_command(name, key, *arguments)


def saved(number: int) -> Saved:
    """The saved store of a format."""
    return msgspec.json.decode((HERE / f"store-{number}.json").read_bytes(), type=Saved)


def replay_file(number: int, race: str, form: str) -> Path:
    """Return the path of the saved replay of a finished race, which is named by what is special about it."""
    return HERE / f"replays-{number}" / f"{race}.{form}"


def replayed_races(number: int) -> list[str]:
    """Return the names of all saved replays."""
    return sorted(file.stem for file in (HERE / f"replays-{number}").glob("*.json"))


def saved_replays() -> list[tuple[int, str]]:
    """Return the number of the store and the name of every saved replay."""
    return [(number, race) for number in NUMBERS for race in replayed_races(number)]


def commands_of(redis: "Redis") -> Iterator[tuple[str, str, list[bytes]]]:
    """Yield the commands that write every key of a store, with its lifetime."""
    store: Any = redis
    for key in sorted(store.scan_iter()):
        name = key.decode()
        match store.type(key):
            case b"string":
                yield "SET", name, [store.get(key)]
            case b"hash":
                yield "HSET", name, [word for pair in sorted(store.hgetall(key).items()) for word in pair]
            case b"set":
                yield "SADD", name, sorted(store.smembers(key))
            case b"zset":
                members = store.zrange(key, 0, -1, withscores=True)
                yield "ZADD", name, [word for member, score in members for word in (b"%d" % score, member)]
            case b"stream":
                for id_, fields in store.xrange(key):
                    yield "XADD", name, [id_, *(word for pair in fields.items() for word in pair)]
            case kind:
                raise NotImplementedError(kind)
        if (lifetime_ms := store.pttl(key)) > 0:
            yield "PEXPIRE", name, [b"%d" % lifetime_ms]


# Writing.


async def _write(number: int, url: str, folder: Path) -> None:
    day = Day.of(DATE)
    noon = day.ends_at - 12 * HOUR_MS
    server = TimedServer(url, folder, connections_per_address="0", away_seconds="3600")
    server.set_clock(noon - 25 * HOUR_MS)
    with server.start():
        ada, bo, cy, di = [await Racer(name).connect(server) for name in ("ada", "Zoë 🂡", "cy", "di")]
        races = {"cancelled": server.create("corners", seed="7", best_of=3)}
        await ada.join(races["cancelled"])
        server.set_clock(noon)
        began_s = time.monotonic()
        await server.replay(races["cancelled"])
        races |= await _finished(server, ada, bo)
        live = {"running": await _running(server, ada, bo), "next": _opened(server, ada, again=races["decider"])}
        live["open"] = server.create("gallery", seed="3", token=ada.token, best_of=5)
        digests = {"running": ada.view.h if ada.view else ""}
        await ada.join(live["open"])
        await cy.join(live["open"])
        await ada.ask(m.Remove, seat=2)
        await ada.ask(m.Leave)
        view = await bo.join(live["open"])
        assert isinstance(view, m.View)
        digests["open"] = view.h
        code = request(server, "POST", "/api/v1/guests/pass", None, Authorization=f"Bearer {ada.token}").json["code"]
        status = request(server, "POST", "/api/v1/guests/logout", None, Authorization=f"Bearer {di.token}").status
        assert status == 204
        paths = [path.format(ada=ada.player, bo=bo.player, decider=races["decider"]) for path in PATHS]
        paths += [f"races/{race}" for race in live.values()]
        answers = {path: _answer(server, path) for path in paths}
        with Redis.from_url(url) as redis:
            # As if ten minutes had passed: the logs of finished races have expired.
            redis.delete(*(f"race:{{{race}}}:{key}" for race in races.values() for key in ("log", "head")))
            commands = list(commands_of(redis))
        result = Saved(
            at=noon + round(1000 * (time.monotonic() - began_s)),
            commands=commands,
            tokens={guest: racer.token or "" for guest, racer in zip(GUESTS, (ada, bo, cy, di), strict=True)},
            players={"ada": ada.player, "bo": bo.player},
            races=races | live,
            digests=digests,
            answers=answers,
            login_code=code,
        )
        (HERE / f"store-{number}.json").write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
        server.set_clock(day.ends_at + LONGEST_MS)
        for name, race in races.items():
            for form in FORMS:
                file = replay_file(number, name, form)
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(request(server, "GET", f"/api/v1/replays/{race}.{form}").body)
        await asyncio.gather(*(racer.close() for racer in (ada, bo, cy, di)))


async def _finished(server: Server, ada: Racer, bo: Racer) -> dict[str, str]:
    """Return finished races, by what is special about them."""
    random, races = Random(1), dict[str, str]()
    options: dict[str, Any] = {"start_delay_ms": 0}
    alone = options | {"max_racers": 1}

    async def run(name: str, race: str, moves: dict[Racer, list[str] | int]) -> None:
        """Race until everyone has made moves, or a number of random ones and an undo, and has won or resigned."""
        races[name] = race
        await asyncio.gather(*(racer.join(race) for racer in moves))
        await asyncio.gather(*(racer.ask(m.Ready) for racer in moves))
        await asyncio.gather(*(racer.dealt() for racer in moves))
        for racer, planned in moves.items():
            for planned_move in [None] * planned if isinstance(planned, int) else planned:
                move = planned_move or random.choice(racer.board.moves or [])
                assert isinstance(await racer.move(move), m.View), move
            if racer.board.undo and isinstance(planned, int):
                await racer.move("undo")
            if racer.board.outcome != "won":
                await racer.ask(m.Resign)
        if name == "daily":
            await until(lambda: race in str(_answer(server, f"daily/{DATE}/corner-stones")["results"]))
        else:
            await server.replay(race)

    win = WINS["gallery"]
    moves = ["b2", "c2", "b3", "c3", "a4", "d2", "d3", "a2", "d1", "c1", "a3", "d4", "b1", "c4", "a1"]
    await run("sealed", server.create("kings-in-the-corners", attempts=2, **options), {ada: 4, bo: 6})
    await run("match", server.create("the-edge", seed="1", best_of=3, **options), {ada: moves, bo: moves[:2]})
    await run("rematch", _opened(server, bo, again=races["match"]), {ada: 2, bo: 4})
    await run("decider", _opened(server, ada, again=races["rematch"], game="corners"), {bo: 3, ada: 9})
    await run("ghosts", _opened(server, ada, ghosts=[races["match"]], options=alone), {ada: moves[:4]})
    won = server.create("gallery", seed=win["seed"], finishers="all", **options)
    await run("finishers-all", won, {ada: win["moves"], bo: 2})
    capless = server.create("gallery", variant={"cap": False}, unlisted=True, finishers="none", **alone)
    await run("unlisted", capless, {bo: 4})
    await run("daily", _opened(server, ada, game="corner-stones", daily=True, options=alone), {ada: 5})
    return races


def _opened(server: Server, host: Racer, **body: Any) -> str:
    """Open a race as a guest and return its id."""
    status, answer = server.get("/api/v1/races", body, Authorization=f"Bearer {host.token}")
    assert status == 201, answer
    race: str = msgspec.json.decode(answer)["race"]
    return race


async def _running(server: Server, ada: Racer, bo: Racer) -> str:
    """A race in which both have made a few moves, with the longest time limit."""
    race = server.create("corners", limit_ms=LONGEST_MS, start_delay_ms=0)
    await asyncio.gather(*(racer.join(race) for racer in (ada, bo)))
    await asyncio.gather(*(racer.ask(m.Ready) for racer in (ada, bo)))
    await asyncio.gather(*(racer.dealt() for racer in (ada, bo)))
    for racer in (bo, ada):
        for _ in range(3):
            assert isinstance(await racer.move((racer.board.moves or [])[0]), m.View)
    return race


def _answer(server: Server, path: str) -> Any:
    return request(server, "GET", f"/api/v1/{path}").json


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "--write":
        sys.exit(__doc__)
    with TemporaryDirectory() as directory:
        stores = kept_store(Path(directory))
        asyncio.run(_write(int(sys.argv[2]), next(stores), Path(directory)))
        next(stores, None)
