"""Simulated races with faults: no acknowledged move is lost, and planted bugs are found.

``make simulate HISTORIES=10000 SEED=7`` simulates other histories, with the seeds from 7 on. One that is violated is
printed; repeat it with ``make simulate HISTORIES=1 SEED=…``.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from samedeal.race.race import Race
from samedeal_server.live import recovery
from samedeal_server.live.recovery import Recovered
from samedeal_server.live.room import Room
from samedeal_server.socket.participant import Participant
from samedeal_server.store.chained_logs import RaceLog
from samedeal_server.store.guest_tokens import Guest
from samedeal_server.store.race_store import RaceStore
from support.simulated_faults import FAULTS, SINGLE_PROCESS_FAULTS
from support.simulated_world import Slot, World, active
from support.simulation import simulate
from support.store_model import Script, append

HISTORIES = int(os.environ.get("SIMULATION_HISTORIES") or 500)
SEED = int(os.environ.get("SIMULATION_SEED") or 0)
TRACE = "import sys; from support.simulation import simulate; print(*simulate(sys.argv[1]).trace, sep='\\n')"
PLANTED_SEEDS = 400
"""The number of histories within which a planted bug must be found."""

pytestmark = [pytest.mark.timeout(600 + HISTORIES), pytest.mark.tier(3)]


def test_no_acknowledged_move_is_lost() -> None:
    faults = set[str]()
    moves = 0
    for seed in range(SEED, SEED + HISTORIES):
        outcome = simulate(str(seed))
        faults.update(outcome.faults)
        moves += outcome.moves
        if outcome.violations:
            print(*outcome.trace, sep="\n")
        assert not outcome.violations, f"seed {seed}: {outcome.violations}"
    if HISTORIES >= 500:
        assert moves > HISTORIES
        assert faults == {fault.__name__ for fault in (*FAULTS, *SINGLE_PROCESS_FAULTS)}


@pytest.mark.parametrize("seed", ["3", "18", "52"])
def test_same_seed_gives_the_same_history(seed: str) -> None:
    traces = [
        subprocess.run(
            [sys.executable, "-c", TRACE, seed],
            env=os.environ | {"PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt in ("1", "2")
    ]
    assert traces[0] == traces[1]
    assert traces[0].count("\n") > 100
    assert simulate(seed).trace == simulate(seed).trace != simulate(f"{seed}1").trace


def test_tasks_end_although_their_process_is_killed_meanwhile() -> None:
    world = World("0")
    with active(world):
        slot = Slot(world, "A")
        world.loop.run_until_complete(slot.ready())

        async def kill_when_cancelled() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                slot.process.kill()
                await asyncio.sleep(0)

        task = slot.process.call(world.loop.create_task, kill_when_cancelled())
        world.loop.run_until_complete(asyncio.sleep(0.01))
        world.stop([slot.process])
    assert task.cancelled()


# Planted bugs. Each removes something that a guarantee depends on.


def _unfenced(patch: pytest.MonkeyPatch) -> None:
    """A connection that lost its seat continues to act for it."""
    patch.setattr(Participant, "owns_seat", lambda self, race: True)


def _unrepaired(patch: pytest.MonkeyPatch) -> None:
    """Entries that the store lost are not written again."""

    async def nothing(store: RaceStore, host: Guest | None, race: Race, *_: object) -> Recovered:
        return Recovered(race)

    patch.setattr(recovery, "_restore_log", nothing)


def _early(patch: pytest.MonkeyPatch) -> None:
    """Moves are acknowledged before they are in the log."""
    written: Callable[..., Any] = RaceLog.append
    under_way = set[Any]()

    async def append(self: RaceLog, race: str, before: str, entries: Any) -> None:
        writing = asyncio.ensure_future(written(self, race, before, entries))
        if type(entries[0].event).__name__ == "Moved":
            under_way.add(writing)
        else:
            await writing

    patch.setattr(RaceLog, "append", append)


def _trusting(patch: pytest.MonkeyPatch) -> None:
    """After a failure, the log is not read again."""
    patch.setattr(Room, "_needs_resync", property(lambda self: False, lambda self, value: None), raising=False)


PLANTED: dict[str, tuple[Callable[[pytest.MonkeyPatch], None] | None, Script | None]] = {
    "the log takes entries after any predecessor": (None, partial(append, checked=False)),
    "a repeated append is not recognized": (None, partial(append, idle=False)),
    "a connection that lost its seat is not fenced": (_unfenced, None),
    "a lost tail is not written again": (_unrepaired, None),
    "moves are acknowledged before they are written": (_early, None),
    "the memory is trusted after a failure": (_trusting, None),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_bug_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, script = PLANTED[fault]
    if plant:
        plant(monkeypatch)
    scripts = {"append.lua": script} if script else None
    failing = next((seed for seed in range(PLANTED_SEEDS) if simulate(str(seed), scripts).violations), None)
    assert failing is not None
    print(f"{fault}: found with seed {failing}")
