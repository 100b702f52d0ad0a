"""Startup checks: that the store answers, is safe for races, and belongs to this server."""

import asyncio
import hmac
import logging
from collections.abc import Mapping
from typing import Final

from samedeal.errors import Refused
from samedeal_server.settings import Keys, Settings
from samedeal_server.store.cluster import store_at
from samedeal_server.store.connection import Store, UnfitStoreError
from samedeal_server.store.embedded import diagnosis
from samedeal_server.store.schema import check_schema

logger = logging.getLogger("samedeal_server.store.connection")

MASTER_KEY: Final = "samedeal:master-key"
"""The Redis key of the master key's fingerprint."""
WAIT_S: Final = 60.0
"""How long to wait at startup for a store that is unreachable or has no disk space."""
RETRY_S: Final = 0.5
DURABILITIES: Final = ("none", "everysec", "always")
"""From weakest to strongest."""
OPTIONS: Final = ("appendonly", "appendfsync", "no-appendfsync-on-rewrite")


async def check_store(settings: Settings, redis_url: str, keys: Keys) -> str:
    """Check the store at a URL and return a line about it for the log.

    Waits up to WAIT_S for a store that does not answer. Raises UnfitStoreError if it does not answer in
    time or cannot be used.
    """
    try:
        store = store_at(redis_url, diagnosis(settings.data_dir, redis_url))
    except ValueError as error:
        raise UnfitStoreError(f"The URL of the store cannot be used: {error}.") from error
    loop, waiting = asyncio.get_running_loop(), False
    deadline = loop.time() + WAIT_S
    try:
        while True:
            try:
                return await _check(store, settings, keys)
            except Refused as refused:
                if loop.time() >= deadline:
                    url = settings.redacted()["SAMEDEAL_REDIS_URL"] or redis_url
                    raise UnfitStoreError(f"Gave up waiting for the store {url}: {why(store, refused)}.") from refused
            if not waiting:  # the cause has already been logged
                waiting = True
                logger.warning("waiting up to %g s for the store", WAIT_S)
            await asyncio.sleep(min(RETRY_S, max(0.0, deadline - loop.time())))
    finally:
        await store.close()


async def _check(store: Store, settings: Settings, keys: Keys) -> str:
    """Run all checks; they can be repeated. Raises UnfitStoreError, or Refused if the store does not answer."""
    about = await store.describe()
    await check_schema(store)
    await check_durability(store, settings.store_durability)
    await check_master_key(store, keys.master, settings.accept_master_key)
    return about


async def check_durability(store: Store, weakest: str) -> None:
    """Check that every node of the store is at least as durable as `weakest`, one of DURABILITIES."""
    if weakest == "none":
        return
    for options in await store.configuration(*OPTIONS):
        if options is None:
            raise UnfitStoreError(
                "The store does not allow CONFIG GET, so its durability is unknown: set"
                " SAMEDEAL_STORE_DURABILITY=none if acknowledged writes are safe in some other way."
            )
        actual = durability(options)
        if DURABILITIES.index(actual) < DURABILITIES.index(weakest):
            raise UnfitStoreError(
                f"The store may lose acknowledged moves ({', '.join(f'{name} {options[name]}' for name in options)}): "
                "set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no there,"
                f" or accept it with SAMEDEAL_STORE_DURABILITY={actual}."
            )


def durability(options: Mapping[str, str]) -> str:
    """Return the durability that results from a node's OPTIONS, one of DURABILITIES."""
    if options.get("appendonly") != "yes" or options.get("no-appendfsync-on-rewrite") == "yes":
        return "none"
    fsync = options.get("appendfsync", "")
    return fsync if fsync in DURABILITIES else "none"


async def check_master_key(store: Store, master_key: bytes, accepted: str | None = None) -> None:
    """Check that the store was not used with another master key, unless `accepted` is the fingerprint of this one."""
    ours = fingerprint(master_key)
    await store.ask("SET", MASTER_KEY, ours, "NX")
    stored = await used_master_key(store)
    if stored in (None, ours):
        return
    if accepted != ours:
        raise UnfitStoreError(
            f"The store was used with another master key (fingerprint {stored}): use that key,"
            f" or set SAMEDEAL_ACCEPT_MASTER_KEY={ours} to switch to the new key. Running races are lost."
        )
    await store.ask("SET", MASTER_KEY, ours)
    logger.warning("the store now belongs to the master key with fingerprint %s", ours)


async def used_master_key(store: Store) -> str | None:
    """Return the fingerprint of the master key that a store was last used with, if any."""
    stored: bytes | None = await store.ask("GET", MASTER_KEY)
    return None if stored is None else stored.decode(errors="replace")


def fingerprint(master_key: bytes) -> str:
    """Return 16 hexadecimal digits that identify a key without revealing it."""
    return hmac.digest(master_key, b"samedeal/1/fingerprint", "sha256").hex()[:16]


def why(store: Store, refused: Refused) -> str:
    """Return why a store does not answer."""
    return (store.health.cause or refused.text).rstrip(".")
