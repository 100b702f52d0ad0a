"""Peers: a trivial move on boardgame.io and Colyseus, in memory, with one player per match."""

import asyncio
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.figures import Figures
from bench.load import LoadError
from bench.machine import LOAD_CORE, SERVER_CORE
from bench.plan import Case, Plan
from bench.services import Service

FOLDER = Path(__file__).parent / "peers"
SERVERS = {"boardgame": "boardgame_server.cjs", "colyseus": "colyseus_server.mjs"}


def installed() -> str:
    """Install the peers. Return the reason if that is not possible, or an empty string."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return "there is no Node with npm here"
    if (FOLDER / "node_modules").exists():
        return ""
    command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"npm could not install them: {done.stderr.strip()[-200:]}"


def peers(plan: Plan) -> Iterator[Case]:
    """Measure both, with a load generator in Node that uses their own clients or protocols."""
    for kind in SERVERS:
        for count in plan.racers:
            yield Case(f"peers/{kind}/{count}", partial(_peer, plan, kind, count))


async def _peer(plan: Plan, kind: str, count: int, figures: Figures) -> None:
    node = shutil.which("node") or "node"
    server = [node, str(FOLDER / SERVERS[kind])]
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Service(server, (SERVER_CORE,), Path(folder), NODE_ENV="production") as service,
    ):
        seconds = f"{plan.pace.measured}", f"{plan.pace.warm}"
        command = [node, "load.mjs", kind, service.said, f"{count}", *seconds, f"{service.pid}"]
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
        for name, value in json.loads(said.splitlines()[-1]).items():
            figures.note(f"peers/{kind}/{count}/{name}", value)
