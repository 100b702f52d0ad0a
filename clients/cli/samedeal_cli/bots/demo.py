"""The command ``demo``."""

from contextlib import suppress
from typing import Any

import click

from samedeal_cli.bots.demo_races import NAMES, BotRace, Plan
from samedeal_cli.bots.demo_show import Show
from samedeal_cli.commands.mode import choose_mode, mode_option
from samedeal_cli.commands.output import show
from samedeal_cli.commands.parameters import FILE, KNOWN_GAME, SEED, Number
from samedeal_cli.failure import Misused
from samedeal_cli.local_server import PORT, check_installed
from samedeal_cli.net.temporary_server import advertised, temporary_server
from samedeal_cli.render.phrases import standing_sentences
from samedeal_cli.running import run
from samedeal_cli.settings import Settings, command
from samedeal_cli.state.home_state import QUICK_GAME

ONCE_MOVES = 120
"""Maximum moves of a bot with ``--once``, to keep the race short."""


@command("samedeal demo", "samedeal demo --game gallery --bots 3 --speed 4")
@click.option("--bots", type=Number(1, len(NAMES)), default=2, help="Number of bots.")
@click.option("--speed", type=click.FloatRange(0, min_open=True), default=1.0, help="Speed of the bots.")
@click.option("--game", type=KNOWN_GAME, default=QUICK_GAME, help="The game to race.")
@click.option("--port", type=Number(1, 65535), default=PORT, help="The first port to try.")
@click.option("--seed", type=SEED, metavar="TEXT", help="Race open deals with this seed.")
@click.option("--save", type=FILE, help="Save the replay.")
@click.option("--once", is_flag=True, help="Run one race of bots, print the result, and exit.")
@click.option("--lan", is_flag=True, help="Allow connections from your network.")
@mode_option
def demo(settings: Settings, /, port: int, once: bool, lan: bool, **choices: Any) -> int:
    """Start a local server and a race against bots.

    On a terminal, this opens the home screen; elsewhere, Ctrl-C stops it. In the end, the server's data is deleted.
    --once needs no terminal and checks that everything works. --save takes the format from the extension
    of FILE, .json or .msgpack.
    """
    check_installed()
    plan = Plan(**choices)
    if once and plan.bots < 2:
        raise Misused("--once needs at least two bots")
    if settings.json and not once:
        raise Misused("--json needs --once")
    if plan.save and not plan.save.parent.is_dir():
        raise Misused(f"{plan.save.parent}: no such directory")
    if once:
        return run(_once(settings, plan, port))
    with suppress(KeyboardInterrupt, SystemExit):  # the usual end of a demo
        run(_live(settings, plan, port, lan=lan, has_screen=choose_mode(plan.mode, settings) == "tui"))
    settings.say("Stopped; all data of the demo is deleted.")
    return 0


async def _once(settings: Settings, plan: Plan, port: int) -> int:
    async with temporary_server(port) as server:
        delay, limit = min(3_000, round(3_000 / plan.speed)), 30 * 60_000
        race = await BotRace.open(server, plan, start_delay_ms=delay, limit_ms=limit, max_racers=plan.bots)
        async with race.seated(NAMES[: plan.bots]):
            settings.say(f"{race.title}: {race.id} at {server.url}, {plan.bots} bots")
            replay = await race.run(max_moves=ONCE_MOVES)
        for line in (*standing_sentences(replay.standings, plan.game), f"verified: {len(replay.entries)} entries"):
            settings.say(line)
    document = {"race": race.id, "game": plan.game, "standings": replay.standings, "verified": True}
    show(settings, document | {"replay": plan.save and str(plan.save)}, ())
    return 0


async def _live(settings: Settings, plan: Plan, port: int, *, lan: bool, has_screen: bool) -> None:
    async with temporary_server(port, lan=lan) as server:
        with advertised(server):
            if server.port != port:
                settings.say(f"port {port} is in use; using {server.port}")
            await Show(settings, plan, server, lan=lan, has_screen=has_screen).run()
