"""The model of the store behaves like a real store for the server's commands and scripts."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from redis.exceptions import NoScriptError, ResponseError

from samedeal_server.store.connection import Store, Word
from support.store_model import Model, digest, source

pytestmark = pytest.mark.tier(2)

SCRIPTS = {name: digest(source(name)) for name in ("append.lua", "claim.lua", "create.lua", "delete_empty.lua")}
"""The digests of the scripts, by file name."""
SECONDS = 600
KNOWN: list[list[Word]] = [
    ["EVAL", source("append.lua"), 2, "log9", "head9", "d0", 1, 1, "entry", "d1"],
    ["EVAL", source("create.lua"), 1, "head9", "header", "H", "n", 0, "h", "d0"],
    ["EVAL", source("claim.lua"), 1, "due", 2, 1, "race9", SECONDS],
    ["EVAL", source("delete_empty.lua"), 2, "head8", "log8"],
]
"""Commands that load the scripts."""


def run_of(chance: Random) -> list[Word]:
    """Return entries to append, from one of a few histories that sometimes diverge."""
    history, first, count = chance.choice(("a", "a", "a", "b")), chance.randint(1, 6), chance.randint(1, 4)
    words: list[Word] = [f"d{first - 1}{history if first > 3 else ''}", count]
    for n in range(first, first + count):
        words += [n, f"entry {n} of {history}", f"d{n}{history if n > 3 else ''}"]
    return words


def appended(chance: Random) -> list[Word]:
    races = chance.sample((1, 2, 3), chance.randint(1, 2))
    keys = [key for race in races for key in (f"log{race}", f"head{race}")]
    return ["EVALSHA", SCRIPTS["append.lua"], len(keys), *keys, *(word for _ in races for word in run_of(chance))]


def created(chance: Random) -> list[Word]:
    return [
        "EVALSHA",
        SCRIPTS["create.lua"],
        1,
        f"head{chance.randint(1, 3)}",
        "header",
        chance.choice(("H", "H", "I")),
        *("n", 0, "h", "d0"),
        *chance.choice(((), ("host", "G"), ("host", "G", "replaces", "race0"))),
    ]


def claimed(chance: Random) -> list[Word]:
    race, expire_s = f"race{chance.randint(1, 5)}", chance.choice((0, SECONDS))
    return ["EVALSHA", SCRIPTS["claim.lua"], 1, "due", chance.choice((0, 3)), 10**12, race, expire_s]


def deleted(chance: Random) -> list[Word]:
    race = chance.randint(1, 3)
    return ["EVALSHA", SCRIPTS["delete_empty.lua"], 2, f"head{race}", f"log{race}"]


def read(chance: Random) -> list[Word]:
    logs = chance.sample(("log1", "log2", "log3"), chance.randint(1, 3))
    return ["XREAD", "BLOCK", 1, "STREAMS", *logs, *(f"{chance.randint(0, 6)}-0" for _ in logs)]


COMMANDS: tuple[Callable[[Random], list[Word]], ...] = (
    appended,
    appended,
    appended,
    appended,
    created,
    claimed,
    deleted,
    read,
    lambda chance: ["ZADD", "due", *(word for n in range(1, 3) for word in (chance.randint(1, 3), f"race{n}"))],
    lambda chance: ["ZMSCORE", "due", f"race{chance.randint(1, 5)}", "race1"],
    lambda chance: ["ZCARD", "due"],
    lambda chance: ["HDEL", "guest", chance.choice(("player", "name"))],
    lambda chance: ["HGETALL", "guest"],
    lambda chance: ["XRANGE", f"log{chance.randint(1, 3)}", f"{chance.randint(0, 8)}-0", "+"],
    lambda chance: ["HGET", f"head{chance.randint(1, 3)}", "header"],
    lambda chance: ["HMGET", f"head{chance.randint(1, 3)}", "n", "h"],
    lambda chance: ["EXPIRE", chance.choice(("log1", "guest", "raced", "text")), SECONDS],
    lambda chance: ["PERSIST", chance.choice(("log1", "guest", "raced", "text"))],
    lambda chance: ["HSET", "guest", "player", chance.randint(1, 3), "name", "n"],
    lambda chance: ["HMGET", "guest", "player", "name"],
    lambda chance: ["HSETNX", "keys", f"key{chance.randint(1, 3)}", chance.randint(1, 3)],
    lambda chance: ["HGET", "keys", f"key{chance.randint(1, 3)}"],
    lambda chance: ["SET", f"text{chance.choice(('', 1, 2))}", chance.randint(1, 3), "NX"],
    lambda chance: ["SET", "text", chance.randint(1, 3), "NX", "EX", SECONDS],
    lambda chance: ["GET", f"text{chance.choice(('', 1, 2))}"],
    lambda chance: ["GETRANGE", f"text{chance.choice(('', 1, 2))}", 0, chance.randint(0, 2)],
    lambda chance: ["EXISTS", f"text{chance.choice(('', 1, 2))}"],
    lambda chance: ["SADD", "raced", f"race{chance.randint(1, 3)}"],
    lambda chance: ["SREM", "raced", f"race{chance.randint(1, 3)}"],
    lambda chance: ["ZADD", "due", chance.randint(1, 3) * 10**12, f"race{chance.randint(1, 5)}"],
    lambda chance: ["ZREM", "due", f"race{chance.randint(1, 5)}"],
    lambda chance: ["ZRANGEBYSCORE", "due", "-inf", chance.randint(1, 3) * 10**12, "LIMIT", 0, chance.randint(1, 4)],
)


async def answer(ask: Callable[[], Any]) -> object:
    """Return a store's reply, or the type of its error."""
    try:
        reply = ask()
        return await reply if asyncio.iscoroutine(reply) else reply
    except ResponseError as error:
        return type(error).__name__


def plain(reply: object) -> object:
    """Return a reply without types that differ between the model and the library."""
    if isinstance(reply, list | tuple):
        return [plain(item) for item in reply]
    return reply


async def compared(store: Store, model: Model, commands: list[list[Word]]) -> None:
    for number, command in enumerate(commands):
        theirs = await answer(partial(store._connections.ask, *command))
        ours = await answer(partial(model.execute, *command))
        assert plain(ours) == plain(theirs), (number, commands[max(0, number - 5) : number + 1])


@pytest.mark.parametrize("seed", range(8))
async def test_model_replies_like_the_real_store(seed: int, redis_url: str) -> None:
    store, model, chance = Store(redis_url), Model(lambda: time.time_ns() // 1_000_000), Random(seed)
    try:
        await compared(store, model, KNOWN)
        for _ in range(8):  # many short histories, because most cases occur at the start
            await compared(store, model, [chance.choice(COMMANDS)(chance) for _ in range(60)])
            await store.ask("FLUSHALL")
            model.values.clear()
            model.expires.clear()
    finally:
        await store.close()


async def test_unknown_script_is_refused(redis_url: str) -> None:
    store, model = Store(redis_url), Model(lambda: 0)
    try:
        await compared(store, model, [["EVALSHA", SCRIPTS["create.lua"], 1, "head1", "header", "H", "n", 0, "h", "d0"]])
        with pytest.raises(NoScriptError):
            model.execute("EVALSHA", SCRIPTS["create.lua"], 1, "head1", "header", "H", "n", 0, "h", "d0")
    finally:
        await store.close()


async def test_model_and_store_have_the_same_contents(redis_url: str) -> None:
    store, model, chance = Store(redis_url), Model(lambda: time.time_ns() // 1_000_000), Random("contents")
    try:
        await compared(store, model, KNOWN)
        await compared(store, model, [chance.choice(COMMANDS)(chance) for _ in range(400)])
        keys = await store.ask("KEYS", "*")
        assert sorted(keys) == sorted(model.values)
        for key in sorted(model.values):
            assert (await store.ask("TTL", key) > 0) == (key in model.expires), key
        for race in (1, 2, 3):
            await compared(store, model, [["XRANGE", f"log{race}", "0-0", "+"], ["HMGET", f"head{race}", "n", "h"]])
    finally:
        await store.close()
