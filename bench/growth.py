"""Growth: what a move costs as there are more races, more racers in one, and more moves behind it."""

import tempfile
from pathlib import Path

from bench.figures import Figures
from bench.load import Drive, close_all
from bench.plan import Plan
from bench.racing import begin, guests
from bench.services import Server, Store

MOVING = 10
"""How many race while the others' races only are there."""
PLIES = (10, 200, 2000)
"""From which move on the cost is measured, over the next hundred moves of each."""
RACERS = (1, 8, 32)


async def growth(figures: Figures, plan: Plan) -> None:
    """Measures the processor time of the server for each move."""
    game = plan.games[0]
    for count in plan.sizes:
        with (
            tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
            Store(Path(folder)) as store,
            Server(store, Path(folder)) as server,
        ):
            lines = await guests(server, count)
            await begin(server, lines, game, racers=1)
            measured = await Drive(lines[:MOVING], {"server": [server], "store": [store]}).flat_out(*plan.pace)
            figures.note(f"growth/races/{count}/server-us", measured.cpu_us("server"))
            figures.note(f"growth/races/{count}/store-us", measured.cpu_us("store"))
            await close_all(lines)
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
    ):
        lines = await guests(server, max(RACERS))
        await begin(server, lines[:MOVING], game, racers=1)
        drive = Drive(lines[:MOVING], {"server": [server]})
        for ply in PLIES[: len(plan.sizes)]:
            await drive.until(ply)
            figures.note(f"growth/plies/{ply}/server-us", (await drive.until(ply + 100)).cpu_us("server"))
        for racers in RACERS:
            await begin(server, lines, game, racers=racers)
            measured = await Drive(lines, {"server": [server]}).flat_out(*plan.pace)
            figures.note(f"growth/racers/{racers}/server-us", measured.cpu_us("server"))
            figures.note(f"growth/racers/{racers}/bytes-out", measured.bytes_in / measured.answers)
        await close_all(lines)
