"""Instructions: the user instructions that the server executes per move, which hardly depend on the machine."""

import signal
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from redis import Redis

from bench.counters import counter_for
from bench.figures import Figures
from bench.load import Drive
from bench.moves import check_log
from bench.plan import Case, Plan
from bench.racing import begin, guests
from bench.services import Server, Store

WARM_PLIES = 8
"""Moves of each racer before the instructions are counted, so that the interpreter has specialised the code."""
CASE_S = 400.0
"""Timeout of one game under valgrind on a busy machine (s)."""


def instructions(plan: Plan) -> Iterator[Case]:
    """Measure each game, and one of several with changes instead of views."""
    measured = [(game, plan.views) for game in plan.games]
    if len(plan.games) > 1:
        measured.append((plan.games[0], "changes"))
    for game, views in measured:
        name = f"instructions{'' if views == 'full' else '-with-changes'}/{game}/{plan.held_to}"
        yield Case(name, partial(_instructions, plan, name, game, views), CASE_S)


async def _instructions(plan: Plan, name: str, game: str, views: str, figures: Figures) -> None:
    with tempfile.TemporaryDirectory(prefix="samedeal-bench-") as path, Store(folder := Path(path)) as store:
        counter = counter_for(folder)
        with Server(store, folder, counter=counter) as server:
            lines = await guests(server, plan.held_to)
            races = await begin(server, lines, game, legal=plan.legal, views=views)
            drive = Drive(lines, {"server": [server]})
            await drive.until(WARM_PLIES)
            commits = _commits(store)
            counter.start(server.pid)
            measured = await drive.until(WARM_PLIES + plan.counted_plies)
            total = counter.stop()
            commits = _commits(store) - commits
            check_log(store, races, sum(line.at for line in lines))
            server.end(signal.SIGKILL)  # valgrind would take long to end
        figures.note(f"{name}/per-move", total / measured.answers)
        figures.note(f"{name}/moves-per-commit", measured.answers / max(1, commits))


def _commits(store: Store) -> int:
    with Redis.from_url(store.url) as redis:
        calls: int = redis.info("commandstats")["cmdstat_evalsha"]["calls"]
        return calls
