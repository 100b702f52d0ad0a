"""Instructions: the user instructions that the server executes per move, which hardly depend on the machine."""

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from glob import glob

from redis import Redis

from bench.load import Drive, LoadError
from bench.moves import check_log
from bench.racing import begin, guests
from bench.run import Case, Plan, Run
from bench.services import Server, Store

WARM_PLIES = 8
"""Moves of each racer before the instructions are counted, so that the interpreter has specialised the code."""
CASE_S = 400.0
"""Timeout of one game under valgrind on a busy machine (s)."""
VALGRIND = ("valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=callgrind")
FAKETIME = "/usr/lib/*/faketime/libfaketime.so.1"
SLOWDOWN = 50
"""About how many times slower a server runs under valgrind. Its clock runs as much slower, so that group commits are as
large as usual, and that what is done a few times per second does not outweigh the moves."""
CONTROL_S = 60.0
"""Timeout for starting and stopping to count (s)."""


def instructions(plan: Plan) -> Iterator[Case]:
    """Measure each game, and one of several with changes instead of views."""
    for game in plan.games:
        name = f"instructions/{game}/{plan.held_to}"
        yield Case(name, partial(_instructions, name, game, "full"), CASE_S)
    if len(plan.games) > 1:
        name = f"instructions-with-changes/{plan.games[0]}/{plan.held_to}"
        yield Case(name, partial(_instructions, name, plan.games[0], "changes"), CASE_S)


def valgrind_env() -> dict[str, str]:
    """Return the environment of a server under valgrind. Raises LoadError if valgrind or faketime is missing."""
    libraries = glob(FAKETIME)
    if not shutil.which("valgrind") or not libraries:
        raise LoadError("valgrind and faketime are not installed")
    return {"LD_PRELOAD": libraries[0], "FAKETIME": f"+0 x{1 / SLOWDOWN}"}


async def _instructions(name: str, game: str, views: str, run: Run) -> None:
    env = valgrind_env()
    with Store() as store, Server(store, prefix=VALGRIND, env=env) as server:
        lines = await guests(server, run.plan.held_to)
        races = await begin(server, lines, game, views=views)
        drive = Drive(lines, {})
        await drive.until(WARM_PLIES)
        commits = _commits(store)
        _control(server, "--instr=on")
        measured = await drive.until(WARM_PLIES + run.plan.counted_plies)
        _control(server, "--dump")
        (dump,) = server.folder.glob("callgrind.*")
        (total,) = re.findall(r"^totals: (\d+)$", dump.read_text(), re.MULTILINE)
        commits = _commits(store) - commits
        check_log(store, races, sum(line.at for line in lines))
        server.end(signal.SIGKILL)  # valgrind would take long to end
    run.note(f"{name}/per-move", int(total) / measured.answers)
    run.note(f"{name}/moves-per-commit", measured.answers / max(1, commits))


def _control(server: Server, option: str) -> None:
    command = ["callgrind_control", option, f"{server.pid}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=CONTROL_S, check=False)
    if "OK" not in done.stdout:
        raise LoadError(f"{' '.join(command)} failed: {done.stdout}{done.stderr}")


def _commits(store: Store) -> int:
    with Redis.from_url(store.address) as redis:
        calls: int = redis.info("commandstats")["cmdstat_evalsha"]["calls"]
        return calls
