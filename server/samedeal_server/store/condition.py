"""The condition of a store, for ``samedeal doctor`` and the metrics. It writes only one key, which expires."""

import time
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from samedeal.errors import Refused
from samedeal_server.net import metrics
from samedeal_server.store import schema
from samedeal_server.store.checks import MASTER_KEY, check_durability
from samedeal_server.store.connection import PROBE, PROBE_S, Store, UnfitStoreError
from samedeal_server.store.signing_keys import KEYS

OPTIONS: Final = ("min-replicas-to-write", "maxmemory", "maxmemory-policy")


class Condition(Struct, frozen=True):
    """What a store says about itself."""

    product: str
    """The program, its version, and whether it has an append-only file."""
    schema: str | None
    """None in an empty store, or one of the first development versions."""
    master_key: str | None
    """The fingerprint of the master key that it is used with."""
    signing_keys: tuple[str, ...]
    """The public keys of all servers that used it."""
    ahead_ms: int
    """How far its clock is ahead of this machine's."""
    info: dict[str, Any]
    """The reply to INFO, of one node."""
    options: dict[str, str]
    """Some of its configuration, of one node; empty if it cannot be read."""
    problems: tuple[str, ...]


async def condition(store: Store, weakest: str) -> Condition:
    """Return the condition of a store that should have at least the durability `weakest`.

    Raises Refused("store-unavailable"), and UnfitStoreError if it is too old or evicts keys.
    """
    product = await store.describe()
    problems = []
    try:
        await check_durability(store, weakest)
    except UnfitStoreError as error:
        problems.append(f"{error}")
    before = time.time()
    seconds, micros = await store.ask("TIME")
    ahead_ms = round(1000 * (int(seconds) + int(micros) / 1e6 - (before + time.time()) / 2))
    number, key = await store.ask("GET", schema.KEY), await store.ask("GET", MASTER_KEY)
    try:
        await store.ask("SET", PROBE, "", "EX", PROBE_S)
    except Refused as refused:
        problems.append(f"The store does not accept writes, so nobody can play: {why(store, refused)}.")
    info, (options, *_) = await store.ask("INFO"), await store.configuration(*OPTIONS)
    return Condition(
        product=product,
        schema=number and number.decode(errors="replace"),
        master_key=key and key.decode(errors="replace"),
        signing_keys=tuple(key.decode(errors="replace") for key in await store.ask("HGETALL", KEYS)),
        ahead_ms=ahead_ms,
        info=info,
        options=dict(options or {}),
        problems=(*problems, *_problems(info, dict(options or {}))),
    )


async def measure(store: Store) -> None:
    """Set the metrics of a store's size. Raises Refused("store-unavailable")."""
    nodes = await store.information("memory", "keyspace")
    sizes = [(node["used_memory"], node.get("maxmemory") or node["total_system_memory"]) for node in nodes]
    used, limit = max(sizes, key=lambda size: size[0] / size[1], default=(0, 0))
    metrics.STORE_BYTES.set(used)
    metrics.STORE_LIMIT.set(limit)
    metrics.STORE_KEYS.set(sum(part["keys"] for node in nodes for name, part in node.items() if name.startswith("db")))


def _problems(info: dict[str, Any], options: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong with a node."""
    if info.get("role") == "slave":
        yield "The store is a replica: REDIS_URL has to lead to the primary."
    if info.get("connected_slaves", 0) and options.get("min-replicas-to-write") == "0":
        yield "The store has replicas, but min-replicas-to-write is 0: a failover can lose moves. Set it to 1."
    if info.get("aof_enabled") and info.get("aof_last_write_status", "ok") != "ok":
        yield "The store's last write to its append-only file failed: check its disk."
    if info.get("aof_last_bgrewrite_status", "ok") != "ok":
        yield "The store cannot rewrite its append-only file, which keeps growing: check its disk."
    if info.get("rdb_last_bgsave_status", "ok") != "ok":
        yield 'The store\'s last snapshot failed. Set save "" there, or it may refuse writes.'
    if (limit := int(info.get("maxmemory", 0))) and int(info.get("used_memory", 0)) > 0.9 * limit:
        yield "The store uses more than 90 % of its maxmemory: raise it, or players will be refused."


def why(store: Store, refused: Refused) -> str:
    """Return why a store does not answer."""
    return (store.health.cause or refused.text).rstrip(".")
