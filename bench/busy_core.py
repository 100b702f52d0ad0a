"""A busy core: how long a race waits for its deal while another program uses the server's only core."""

import sys
import time
from collections.abc import Iterator

from bench.load import Line, close_all
from bench.machine import SERVER_CORE
from bench.racing import guests
from bench.run import Case, Plan, Run
from bench.services import Server, Service, Store
from samedeal.commitments import nonce_commitment

NONCE = bytes(32)
TIMEOUT_S = 300.0
BUSY = (sys.executable, "-c", "print('busy', flush=True)\nwhile True: pass")


def busy_core(plan: Plan) -> Iterator[Case]:
    """Start a race of The Edge with a certified deal, with a free core and next to a busy program."""
    yield Case("busy-core", _busy_core, TIMEOUT_S)


async def _busy_core(run: Run) -> None:
    with Store() as store, Server(store) as server:
        (line,) = await guests(server, 1)
        await _delay_s(server, line)  # starts the process that searches
        run.note("busy-core/free/deal-ms", 1000 * await _delay_s(server, line))
        with Service(BUSY, (SERVER_CORE,)):
            run.note("busy-core/busy/deal-ms", 1000 * await _delay_s(server, line))
        await close_all([line])


async def _delay_s(server: Server, line: Line) -> float:
    """Race alone, without a countdown, and return how long the deal takes (s)."""
    options = {"filter": "certified/1", "max_racers": 1, "start_delay_ms": 0}
    race = server.ask("/api/v1/races", {"game": "the-edge", "options": options})["race"]
    line.view = {}
    await line.ask("join", race=race, commitment=nonce_commitment(race, NONCE))
    await line.ask("ready")
    await line.until_stage("countdown")
    began = time.monotonic()
    await line.ask("nonce", nonce=NONCE.hex())
    await line.until_stage("running")
    await line.ask("resign")
    return time.monotonic() - began
