"""Verifies the data of a backup: every stored replay, and the log of every live race."""

import asyncio
import os
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from samedeal.codec import decoder
from samedeal.errors import Refused
from samedeal.race.events import Header
from samedeal.race.race import Race
from samedeal_server.live.opening import secret_of
from samedeal_server.net.supervised import cancelled
from samedeal_server.store import stored_replays
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.checks import fingerprint, used_master_key
from samedeal_server.store.connection import Store
from samedeal_server.store.group_commits import GroupCommits
from samedeal_server.work.pool import JobFailed, Jobs

MOST_PROCESSES: Final = 4
OnProgress = Callable[[int, int], object]
"""Called with the number of verified races and of all races."""


class Verified(Struct, frozen=True):
    """The result of a verification."""

    replays: int
    """How many stored replays were read."""
    live_races: int
    """How many logs of races without a stored replay were read."""
    failures: tuple[str, ...]
    """What is wrong, one text for each race, sorted."""
    without_rules: bool
    """Whether the logs of live races were not checked against the rules, because the store's master key is missing."""


async def verify_store(store: Store, master_key: bytes | None, on_progress: OnProgress) -> Verified:
    """Verify all races in a store that nobody writes to. Replays are verified in bounded processes. Raises Refused."""
    replays = sorted(
        [stored_replays.race_of(key) async for keys in store.keys(stored_replays.key("*")) for key in keys]
    )
    heads = store.keys(RaceLog.key("*", "head"))
    logs = {key.decode().partition("{")[2].partition("}")[0] async for keys in heads for key in keys}
    live = sorted(logs.difference(replays))  # logs of finished races remain for a while
    if master_key and fingerprint(master_key) != await used_master_key(store):
        master_key = None
    failures, log = dict[str, str](), RaceLog(GroupCommits(store))
    pending = [(race_id, True) for race_id in reversed(replays)] + [(race_id, False) for race_id in reversed(live)]
    total = len(pending)

    async def verify_some() -> None:
        jobs = Jobs(1, 1, "")
        try:
            while pending:
                race_id, finished = pending.pop()
                if finished:
                    wrong = await _wrong_with_replay(jobs, race_id, await stored_replays.data(store, race_id))
                else:
                    wrong = await _wrong_with_log(log, race_id, master_key)
                if wrong:
                    failures[race_id] = f"{race_id}: {wrong}"
                on_progress(total - len(pending), total)
        finally:
            await jobs.stop()

    tasks = [asyncio.create_task(verify_some()) for _ in range(min(MOST_PROCESSES, os.cpu_count() or 1))]
    try:
        await asyncio.gather(*tasks)
    finally:
        await cancelled(tasks)
    return Verified(
        replays=len(replays),
        live_races=len(live),
        failures=tuple(failures[race_id] for race_id in sorted(failures)),
        without_rules=master_key is None and bool(live),
    )


async def _wrong_with_replay(jobs: Jobs, race_id: str, data: bytes | None) -> str:
    """Return what is wrong with the bytes of a stored replay, or an empty text, also for one that has expired."""
    if data is None:
        return ""
    try:
        answer = await jobs.run_now("stored-replay", data)
        stored_id, notes = decoder("msgpack", tuple[str, tuple[str, ...]]).decode(answer)
    except JobFailed as failure:
        return f"{failure}"
    except Refused as refused:
        return "" if refused.code == "withdrawn" else refused.text  # a tombstone has nothing to verify
    return "; ".join(notes) or ("" if stored_id == race_id else f"it is the replay of {stored_id}")


async def _wrong_with_log(log: RaceLog, race_id: str, master_key: bytes | None) -> str:
    """Return what is wrong with the log of a live race, or an empty text. The rules are checked only with the key."""
    try:
        header, head = await log.field(race_id, "header", Header), await log.head(race_id)
        entries = await log.read(race_id)
        if header is None:
            return "the log has no header"
        if [entry.n for entry in entries] != list(range(1, head[0] + 1)):
            return f"the log has {len(entries)} entries, and its head says {head[0]}"
        if entries and entries[-1].h != head[1]:
            return "the log ends with another entry than its head says"
        if master_key is not None:
            secret = secret_of(master_key, header)
            await asyncio.to_thread(lambda: Race.opened(header, secret).after_all(entries))
    except Refused as refused:
        if refused.code == "store-unavailable":
            raise
        return refused.text
    return ""
