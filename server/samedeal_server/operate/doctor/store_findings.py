"""Checks of the store: that it answers, is safe for races, and fits this version and its keys. One key is written."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from samedeal.errors import Refused
from samedeal_cli.findings import Finding
from samedeal_server.settings import Settings, SettingsError, existing_keys
from samedeal_server.store import schema
from samedeal_server.store.checks import check_durability, fingerprint, used_master_key, why
from samedeal_server.store.clock import ahead_ms
from samedeal_server.store.cluster import store_at
from samedeal_server.store.connection import Store, UnfitStoreError
from samedeal_server.store.embedded import EmbeddedStore
from samedeal_server.store.signing_keys import published_keys

MOST_AHEAD_MS: Final = 2000
OPTIONS: Final = ("min-replicas-to-write", "maxmemory", "maxmemory-policy")
PART: Final = "store"


async def store(settings: Settings) -> tuple[list[Finding], list[str]]:
    """Return what was found about the store, and the public keys of all servers that used it, if it answers.

    An embedded store is not started.
    """
    findings = [Finding(PART, "address", settings.redacted()["SAMEDEAL_REDIS_URL"] or "embedded")]
    embedded = EmbeddedStore(settings.data_dir)
    if not settings.redis_url and not embedded.socket.exists():
        return [*findings, Finding(PART, "answers", "not running: a server starts it")], []
    try:
        checked = store_at(settings.redis_url or embedded.url)
    except ValueError as error:
        return [*findings, Finding(PART, "answers", False, f"the URL of the store cannot be used: {error}")], []
    try:
        more, keys = await _findings(settings, checked)
        return [*findings, *more], keys
    except Refused as refused:
        text = f"the store cannot be used: {why(checked, refused)}"
        return [*findings, Finding(PART, "answers", False, text)], []
    except UnfitStoreError as error:
        return [*findings, Finding(PART, "answers", True, f"{error}")], []
    finally:
        await checked.close()


async def _findings(settings: Settings, store: Store) -> tuple[list[Finding], list[str]]:
    """Like ``store``, for one that answers. Raises Refused, and UnfitStoreError if it is too old or evicts keys."""
    findings, problems = [Finding(PART, "answers", True), Finding(PART, "program", await store.describe())], []
    keys = [*await published_keys(store)]
    try:
        await check_durability(store, settings.store_durability)
    except UnfitStoreError as error:
        problems.append(f"{error}")
    found = await schema.found(store)
    fits = found == f"{schema.SCHEMA}" or (found is None and not keys)
    findings.append(Finding(PART, "schema", found, "" if fits else schema.mismatch(found)))
    findings.append(_master_key(settings, await used_master_key(store)))
    ahead = await ahead_ms(store)
    wrong = "the clocks of the store and of this machine differ: set both with NTP"
    findings.append(Finding(PART, "clock ahead ms", ahead, wrong if abs(ahead) > MOST_AHEAD_MS else ""))
    try:
        await store.probe()
    except Refused as refused:
        problems.append(f"The store does not accept writes, so nobody can play: {why(store, refused)}.")
    (info, *_), (options, *_) = await store.information(), await store.configuration(*OPTIONS)
    problems += _problems(info, options or {})
    findings.append(Finding(PART, "used MB", round(int(info.get("used_memory", 0)) / 1e6, 1)))
    findings += [Finding(PART, name, value) for name, value in (options or {}).items()]
    findings.append(Finding(PART, "replicas", int(info.get("connected_slaves", 0))))
    findings.append(Finding(PART, "safe", not problems, " ".join(problems)))
    return findings, keys


def _master_key(settings: Settings, used: str | None) -> Finding:
    """Check that the server has the master key that the store is used with."""
    try:
        key = existing_keys(settings).get("master.key")
    except SettingsError:
        key = None  # reported as a problem of the data directory
    fits = used is None or (key is not None and used in (fingerprint(key), settings.accept_master_key))
    wrong = f"the store is used with the master key with the fingerprint {used}, which the server does not have"
    return Finding(PART, "master key", fits, "" if fits else wrong)


def _problems(info: Mapping[str, Any], options: Mapping[str, str]) -> Iterator[str]:
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
