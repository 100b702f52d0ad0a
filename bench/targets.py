"""The targets: which of them the results of a run meet."""

from collections.abc import Iterator
from math import inf

from bench.found import Found, growing
from samedeal.games.catalogue import GAMES

GRID_GAMES = ("the-edge", "kings-in-the-corners")
GROWS = 1.5
"""The allowed growth of the cost per item at a hundred times as many items, because of CPU caches."""
BUSIEST_LOAD = 0.9
MAX_INSTRUCTIONS = dict.fromkeys(GAMES, 340_000) | dict.fromkeys(("gallery", "corner-stones"), 365_000)
"""The allowed user instructions per move, on an interpreter with profile-guided optimization."""
MAX_WITH_CHANGES = 315_000
MAX_SERVER_US = 60
MAX_ROUTED = 1.1


def targets(found: Found) -> Iterator[tuple[str, str, str]]:
    """Yield each target, what was measured, and whether it is met."""

    def one(target: str, name: str, form: str, least: float = -inf, most: float = inf) -> tuple[str, str, str]:
        if name not in found.figures:
            return target, "–", "not measured"
        return target, found.cell(name, form), verdict(least <= found[name].median <= most)

    held_to, size, most = found.held_to, found.sizes[-1], found.idle[-1]
    for game in found.games:
        name, allowed = f"moves/{game}/{held_to}", MAX_INSTRUCTIONS[game]
        target = f"{game}: ≤ {allowed:,} user instructions per move"
        yield one(target, f"instructions/{game}/{held_to}/per-move", ",.0f", most=allowed)
        yield _server_us(found, game)
        yield one(f"{game}: p99 at half load ≤ 3 ms", f"{name}/half/p99-ms", ".2f", most=3)
    if (name := f"instructions-with-changes/{found.games[0]}/{held_to}/per-move") in found.figures:
        target = f"{found.games[0]} with `views: changes`: ≤ {MAX_WITH_CHANGES:,} user instructions per move"
        yield one(target, name, ",.0f", most=MAX_WITH_CHANGES)
    yield from _routed(found)
    yield one("≤ 18 KiB for an idle connection", f"memory/idle/{most}/kib", ".1f", most=18)
    for game in found.games:
        yield one(f"{game}: ≤ 48 KiB for a live race", f"memory/race/{game}/{found.some_live}/kib", ".1f", most=48)
    yield one(f"{most:,} connections held while {size:,} race", "memory/idle/still-held", ",.0f", most)
    name = f"fanout/{size}"
    yield one(f"{size:,} spectators: ≥ 80,000 messages per second", f"{name}/rate", ",.0f", 80_000)
    target = f"{size:,} spectators, 20 updates per second: p99 ≤ 15 ms"
    yield one(target, f"{name}/steady/p99-ms", ".1f", most=15)
    for game in found.games:
        name = f"store/{game}/bytes"
        yield one(f"{game}: ≤ 12 bytes per move in the store", f"{name}-per-move", ".1f", most=12)
        yield one(f"{game}: ≤ 1 KiB in the store for a race without moves", f"{name}-besides", ",.0f", most=1024)
    for game in (game for game in found.games if game in GRID_GAMES):
        target = f"{game}: ≥ 20,000 entries verified per second"
        yield one(target, f"verify/{game}/{found.plies[1]}/entries-per-s", ",.0f", 20_000)
    yield _steady(found)
    yield _load(found)


def _server_us(found: Found, game: str) -> tuple[str, str, str]:
    """Check the least CPU time per move of all rounds, since other load only ever adds to it."""
    target, name = f"{game}: ≤ {MAX_SERVER_US} µs of the server per move", f"moves/{game}/{found.held_to}/server-us"
    if name not in found.figures:
        return target, "–", "not measured"
    return target, found.cell(name, ".1f"), verdict(found[name].least <= MAX_SERVER_US)


def _routed(found: Found) -> Iterator[tuple[str, str, str]]:
    """Check that a move costs hardly more on two workers than on one, if each race is on one of them."""
    target = f"two workers, each race on one: ≤ {MAX_ROUTED} × the server's CPU time per move on one"
    one, two = (found.figures.get(f"processes/{way}/server-us") for way in ("one", "two-workers-routed"))
    if one and two:
        ratio = two.median / one.median
        yield target, f"{ratio:.2f}", verdict(ratio <= MAX_ROUTED)


def _steady(found: Found) -> tuple[str, str, str]:
    """Check that nothing costs much more per item at a hundred times as many items."""
    target = f"cost per item with a hundred times as many items: ≤ {GROWS:.1f} times"
    ratios = {}
    for kind in growing(found):
        first, last = (found.figures.get(kind.name.format(count)) for count in (kind.counts[0], kind.counts[-1]))
        if first and last and min(first.median, last.median) > 0:
            ratios[kind.what] = first.median / last.median if kind.better == "more" else last.median / first.median
    if not ratios:
        return target, "–", "not measured"
    worst = max(ratios, key=lambda what: ratios[what])
    return target, f"{ratios[worst]:.2f} times: {worst}", verdict(ratios[worst] <= GROWS)


def _load(found: Found) -> tuple[str, str, str]:
    """Check that the load generator was never the bottleneck. Unpinned runs are not checked."""
    shares = {
        name.removesuffix("/load-cpu"): figure.median
        for name, figure in found.figures.items()
        if name.endswith("/load-cpu") and not name.startswith("processes/")
    }
    target = f"CPU share of the load generator ≤ {BUSIEST_LOAD:.0%}"
    if not shares:
        return target, "–", "not measured"
    busiest = max(shares, key=lambda name: shares[name])
    return target, f"{shares[busiest]:.0%}: {busiest}", verdict(shares[busiest] <= BUSIEST_LOAD)


def verdict(holds: bool) -> str:
    """Format the result for a target."""
    return "met" if holds else "**missed**"
