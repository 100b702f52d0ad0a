"""The page: Lighthouse's scores of four pages on a throttled phone, and what a user waits for."""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.figures import Figures
from bench.finished import finish_race
from bench.load import LoadError, close_all
from bench.machine import LOAD_CORE, SERVER_CORE
from bench.plan import Case, Plan
from bench.racing import RACERS, guests
from bench.services import Server, Store
from samedeal.race.events import Joined
from samedeal.replays.replay import read

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = "--headless=new --no-sandbox"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
LEAST_SCORE = 98
METRICS = {
    "first-contentful-paint": "first-paint-ms",
    "largest-contentful-paint": "largest-paint-ms",
    "cumulative-layout-shift": "layout-shift",
    "total-byte-weight": "bytes",
}
"""The audits whose values are recorded, and the names of the figures."""
MOST = {"largest-paint-ms": 1000, "layout-shift": 0.02}
"""The targets, besides the scores."""


def page(plan: Plan) -> Iterator[Case]:
    """Measure the front page, a lobby, a replay and a player."""
    for name in ("front", "lobby", "replay", "player"):
        yield Case(f"page/{name}", partial(_page, plan, name))


async def _page(plan: Plan, name: str, figures: Figures) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="samedeal-bench-") as folder,
        Store(Path(folder)) as store,
        Server(store, Path(folder)) as server,
    ):
        lines = await guests(server, RACERS)
        game = plan.games[0]
        replay = read((await finish_race(server, store, lines, game, plan.plies[0]))[0])
        lobby = server.ask("/api/v1/races", {"game": game, "options": {"filter": "any"}})["race"]
        player = next(entry.event.player for entry in replay.entries if isinstance(entry.event, Joined))
        paths = {"front": "/", "lobby": f"/r/{lobby}", "replay": f"/replay/{replay.header.race}"}
        report = await _lighthouse(f"http://{server.address}{paths.get(name, f'/p/{player}')}", Path(folder))
        await close_all(lines)
    for category in CATEGORIES:
        figures.note(f"page/{name}/{category}", 100 * report["categories"][category]["score"])
    for audit, figure in METRICS.items():
        figures.note(f"page/{name}/{figure}", report["audits"][audit]["numericValue"])


def misses(figures: Figures) -> Iterator[str]:
    """Yield the figures of pages that miss their target."""
    for name in figures.by_name():
        part, figure, value = name.partition("/")[0], name.rpartition("/")[2], figures.now(name) or 0
        if part == "page" and figure in CATEGORIES and value < LEAST_SCORE:
            yield f"{name} is {value:.0f}, expected at least {LEAST_SCORE}"
        if part == "page" and value > MOST.get(figure, value):
            yield f"{name} is {value:g}, expected at most {MOST[figure]}"


async def _lighthouse(url: str, folder: Path) -> dict[str, Any]:
    """Return Lighthouse's report, on both cores, at the speed of a slow phone on a slow network."""
    lighthouse, browser = shutil.which("lighthouse"), next(filter(None, map(shutil.which, BROWSERS)), None)
    if not lighthouse or not browser:
        raise LoadError("it needs Chromium and Lighthouse in the PATH (npm install --global lighthouse)")
    file = folder / "lighthouse.json"
    options = (
        "--quiet",
        "--throttling-method=devtools",
        "--output=json",
        f"--output-path={file}",
        f"--chrome-flags={FLAGS}",
    )
    run = await asyncio.create_subprocess_exec(
        *("taskset", "-c", f"{SERVER_CORE},{LOAD_CORE}", lighthouse, url, *options),
        env=os.environ | {"CHROME_PATH": browser},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, problem = await run.communicate()
    finally:
        if run.returncode is None:
            run.kill()
            await run.wait()
    if run.returncode:
        raise LoadError(f"Lighthouse failed: {problem.decode().strip()[-200:]}")
    report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return report
