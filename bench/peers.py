"""Peers: boardgame.io and Colyseus, with a trivial move in memory, and one player per match."""

import asyncio
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from bench.figures import Figures
from bench.load import LoadError
from bench.machine import LOAD_CORE, SERVER_CORE
from bench.plan import Case, Plan
from bench.services import Service

FOLDER = Path(__file__).parent / "peers"
SERVERS = {"boardgame": "boardgame_server.cjs", "colyseus": "colyseus_server.mjs"}
PACKAGES = FOLDER / "node_modules"


def installed() -> str:
    """Install the peers. Return the reason if that is not possible, or an empty string."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return "there is no Node with npm here"
    if present():
        return ""
    command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"npm could not install them: {done.stderr.strip()[-200:]}"


def present() -> bool:
    """Return whether all their packages are installed."""
    wanted = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["dependencies"]
    return all((PACKAGES / name).exists() for name in wanted)


def peers(plan: Plan) -> Iterator[Case]:
    """Measure both."""
    for kind in SERVERS:
        for count in plan.racers:
            yield Case(f"peers/{kind}/{count}", partial(_peer, plan, kind, count))


async def _peer(plan: Plan, kind: str, count: int, figures: Figures) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        peer(Path(folder), SERVERS[kind]) as service,
    ):
        for name, value in (await driven(plan, kind, count, service)).items():
            figures.note(f"peers/{kind}/{count}/{name}", value)


def peer(folder: Path, program: str, *arguments: str) -> Service:
    """Start one of the programs in FOLDER on the server's core."""
    node = shutil.which("node") or "node"
    return Service([node, str(FOLDER / program), *arguments], (SERVER_CORE,), folder, NODE_ENV="production")


async def driven(plan: Plan, kind: str, count: int, service: Service, *arguments: str) -> Mapping[str, float]:
    """Run the load generator, which uses the peers' own clients or protocols, and return what it measured by name.

    `arguments` are further arguments of the program. Raises LoadError if it fails.
    """
    seconds = f"{plan.pace.measured}", f"{plan.pace.warm}"
    command = ["node", "load.mjs", kind, service.said, f"{count}", *seconds, f"{service.pid}", *arguments]
    load = await asyncio.create_subprocess_exec(
        *("taskset", "-c", f"{LOAD_CORE}", *command), cwd=FOLDER, stdout=asyncio.subprocess.PIPE
    )
    try:
        said, _ = await load.communicate()
    finally:
        if load.returncode is None:
            load.kill()
            await load.wait()
    if load.returncode:
        raise LoadError(f"the load generator exited with status {load.returncode}")
    measured: dict[str, float] = json.loads(said.splitlines()[-1])
    return measured
