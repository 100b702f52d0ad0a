"""Checks of the store: that it answers, is safe for races, and fits this version and its keys."""

from collections.abc import Iterator
from typing import Final

from samedeal.errors import Refused
from samedeal_server.operate.doctor.finding import Finding
from samedeal_server.settings import Settings, SettingsError, existing_keys
from samedeal_server.store.checks import fingerprint
from samedeal_server.store.cluster import store_at
from samedeal_server.store.condition import Condition, condition, why
from samedeal_server.store.connection import UnfitStoreError
from samedeal_server.store.embedded import EmbeddedStore
from samedeal_server.store.schema import SCHEMA, mismatch

MOST_AHEAD_MS: Final = 2000
PART: Final = "store"


async def store(settings: Settings) -> tuple[list[Finding], Condition | None]:
    """Return what was found about the store, and its condition if it answers. An embedded one is not started."""
    shown = settings.redacted()["SAMEDEAL_REDIS_URL"] or "embedded"
    findings = [Finding(PART, "address", shown)]
    embedded = EmbeddedStore(settings.data_dir)
    if not settings.redis_url and not embedded.socket.exists():
        return [*findings, Finding(PART, "answers", "not running: a server starts it")], None
    try:
        checked = store_at(settings.redis_url or embedded.url)
    except ValueError as error:
        return [*findings, Finding(PART, "answers", False, f"the URL of the store cannot be used: {error}")], None
    try:
        found = await condition(checked, settings.store_durability)
    except Refused as refused:
        text = f"the store cannot be used: {why(checked, refused)}"
        return [*findings, Finding(PART, "answers", False, text)], None
    except UnfitStoreError as error:
        return [*findings, Finding(PART, "answers", True, f"{error}")], None
    finally:
        await checked.close()
    return [*findings, *_findings(settings, found)], found


def _findings(settings: Settings, found: Condition) -> Iterator[Finding]:
    yield Finding(PART, "answers", True)
    yield Finding(PART, "program", found.product)
    fits = found.schema == f"{SCHEMA}" or (found.schema is None and not found.signing_keys)
    yield Finding(PART, "schema", found.schema, "" if fits else mismatch(found.schema))
    yield _master_key(settings, found.master_key)
    far = abs(found.ahead_ms) > MOST_AHEAD_MS
    wrong = "the clocks of the store and of this machine differ: set both with NTP" if far else ""
    yield Finding(PART, "clock ahead ms", found.ahead_ms, wrong)
    yield Finding(PART, "used MB", round(int(found.info.get("used_memory", 0)) / 1e6, 1))
    for name, value in found.options.items():
        yield Finding(PART, name, value)
    yield Finding(PART, "replicas", int(found.info.get("connected_slaves", 0)))
    yield Finding(PART, "safe", not found.problems, " ".join(found.problems))


def _master_key(settings: Settings, used: str | None) -> Finding:
    """Check that the server has the master key that the store is used with."""
    try:
        key = existing_keys(settings).get("master.key")
    except SettingsError:
        key = None  # reported as a problem of the data directory
    fits = used is None or (key is not None and used in (fingerprint(key), settings.accept_master_key))
    wrong = f"the store is used with the master key with the fingerprint {used}, which the server does not have"
    return Finding(PART, "master key", fits, "" if fits else wrong)
