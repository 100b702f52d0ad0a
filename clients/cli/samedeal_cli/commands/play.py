"""Playing: the commands ``join``, ``watch`` and ``solo``."""

import os
import shutil
import sys
from typing import TYPE_CHECKING, get_args

import click

from samedeal_cli.commands.mode import Boards, Mode, chosen, here, mode_option
from samedeal_cli.commands.parameters import (
    GAME_OR_DEAL,
    NAME,
    RACE,
    Link,
    check_daily,
    daily_option,
    limit_option,
    race_options,
    undo_option,
    variant_option,
)
from samedeal_cli.failure import INTERRUPTED
from samedeal_cli.settings import Settings, examples, program

# The full screen shows its first frame before any of this is loaded.
if TYPE_CHECKING:
    from samedeal.wire.messages import FromServer
    from samedeal_cli.race_app.app import FullScreen

as_option = click.option(
    "--as",
    "name",
    type=NAME,
    metavar="NAME",
    help="Who to be; each name is a player.  [default: your account]",
)
board_option = click.option(
    "--board",
    "boards",
    type=click.Choice(get_args(Boards)),
    help="How to show the table, line by line.  [default: picture on a terminal, otherwise words]",
)


@click.command(
    epilog=examples(
        "samedeal join http://192.168.1.20:8640/r/calm-otter-42",
        "samedeal join calm-otter-42 --as bo --ready < moves.txt",
    )
)
@click.argument("race", type=RACE)
@as_option
@click.option("--ready/--no-ready", default=None, help="Be ready at once, or not yet.  [default: you are asked]")
@board_option
@mode_option
@click.pass_obj
def join(
    settings: Settings, race: Link, name: str | None, ready: bool | None, boards: Boards | None, mode: Mode | None
) -> int:
    """Take a seat in a race, by its link or its id, and play. Whoever has a seat comes back to it."""
    server = race.server or settings.address
    return play(settings, server, race.race, name=name, ready=ready, boards=boards, mode=mode)


@click.command(
    epilog=examples("samedeal watch calm-otter-42", "samedeal watch http://192.168.1.20:8640/r/calm-otter-42 --json")
)
@click.argument("race", type=RACE)
@as_option
@board_option
@mode_option
@click.pass_obj
def watch(settings: Settings, race: Link, name: str | None, boards: Boards | None, mode: Mode | None) -> int:
    """Look on at a race until it is over."""
    server = race.server or settings.address
    return play(settings, server, race.race, name=name, boards=boards, watching=True, mode=mode)


@click.command(
    epilog=examples("samedeal solo corners", "samedeal solo corners --daily", "samedeal solo corners:42 --limit 30m")
)
@click.argument("what", type=GAME_OR_DEAL, metavar="GAME|DEAL")
@daily_option
@limit_option
@undo_option
@variant_option
@as_option
@board_option
@mode_option
@click.pass_obj
def solo(
    settings: Settings,
    what: tuple[str, str | None],
    daily: bool,
    limit: int | None,
    undo: str | None,
    variants: tuple[tuple[str, str | bool], ...],
    name: str | None,
    boards: Boards | None,
    mode: Mode | None,
) -> int:
    """Play alone against the clock: a sealed deal of a game, its daily deal, or the deal that a code names."""
    from samedeal_cli.net.http_api import Api

    game, seed = what
    if daily:
        check_daily({"the deal of a code": seed, "--limit": limit, "--undo": undo, "--variant": variants})
    options = race_options(limit, undo, max_racers=1, unlisted=True, start_delay_ms=1000 if seed is None else 0)
    body: dict[str, object] = {"game": game, "variant": dict(variants), "options": options}
    if seed is not None:
        body["seed"] = seed
    if daily:
        body["daily"] = True
    opened = Api(settings.address).open_race(body)
    return play(settings, settings.address, opened.race, name=name, ready=True, boards=boards, mode=mode)


def play(
    settings: Settings,
    server: str,
    race: str,
    *,
    name: str | None = None,
    ready: bool | None = None,
    boards: Boards | None = None,
    watching: bool = False,
    mode: Mode | None = None,
    link: str | None = None,
) -> int:
    """Play or look on until it is enough; answers with the exit code. `link` is the race's, if it has been printed."""
    used, why = chosen("line" if boards and mode is None else mode, settings, here())
    if why:
        settings.say(f"samedeal: {why}")
    if name is None and "SAMEDEAL_TOKEN" in os.environ:
        from samedeal_cli.net.guests import say_if_token_unused

        say_if_token_unused(settings, server, name)
    if used == "tui":
        return _on_the_screen(settings, server, race, name, ready, watching, link)
    from samedeal_cli.running import run

    run(_line_by_line(settings, server, race, name, ready, boards, watching))
    return 0


# On the full screen.


def _on_the_screen(
    settings: Settings, server: str, race: str, name: str | None, ready: bool | None, watching: bool, link: str | None
) -> int:
    from samedeal_cli.race_app.race_view import draw_screen
    from samedeal_cli.race_app.splash import splash_screen
    from samedeal_cli.render.themes import look
    from samedeal_cli.state.race_state import RaceState

    if link is None:
        # It stays above the screen: a terminal that gives the mouse away lets nobody select what it shows.
        settings.say(f"{server}/r/{race}")
    size = shutil.get_terminal_size()
    state = RaceState(
        race,
        server.partition("://")[2],
        link or f"{server}/r/{race}",
        watching=watching,
        width=size.columns,
        height=size.lines,
        theme=settings.theme,
        suits=settings.suits,
        cards=settings.cards,
        auto_drop=settings.auto_drop,
        ascii=settings.plain,
    )
    theme = look(state.theme, state.suits, colored=settings.colored)
    with splash_screen(draw_screen(state, state.width, state.height), theme):
        from samedeal_cli.net.connect import connection
        from samedeal_cli.net.http_api import Api
        from samedeal_cli.race_app.app import FullScreen
        from samedeal_cli.running import run

        screen = FullScreen(
            state,
            lambda race_id: connection(settings, server, race_id, name, watching=watching and race_id == state.race_id),
            Api(server),
            colored=settings.colored,
            ready=bool(ready),
        )
        run(screen.run_async(mouse=settings.mouse))
    return _part(settings, screen, name)


def _part(settings: Settings, screen: "FullScreen", name: str | None) -> int:
    """What stays on the terminal when the screen is gone: the result, or how to come back."""
    from samedeal_cli.render.phrases import seat_phrase
    from samedeal_cli.render.text_table import standings_lines

    state = screen.state
    if state.stage == "over":
        for line in standings_lines(state.standings, seat=state.seat, ascii=settings.plain):
            click.echo(line)
        settings.say(f"to look at it: {program()} replay {state.link}")
    elif screen.left:
        settings.say("your seat is given up")
    elif state.stage not in ("connecting", "cancelled"):
        settings.say(state.link)
        if state.seat is not None and not state.finished:
            back = f" --as {name}" if name else ""
            settings.say(f"{seat_phrase(state.stage, state.away_s)}. To rejoin: {program()} join {state.link}{back}")
    if screen.failure:
        raise screen.failure
    return INTERRUPTED if screen.interrupted else 0


# Line by line.


async def _line_by_line(
    settings: Settings,
    server: str,
    race: str,
    name: str | None,
    ready: bool | None,
    boards: Boards | None,
    watching: bool,
) -> None:
    import asyncio

    from samedeal_cli.line.line_mode import LineMode
    from samedeal_cli.net.connect import connection
    from samedeal_cli.net.http_api import Api

    interactive = sys.stdin.isatty() and sys.stdout.isatty() and not settings.json
    on_message = _print if settings.json else None
    async with connection(settings, server, race, name, watching=watching, on_message=on_message) as line:
        api = Api(server)
        game = await asyncio.to_thread(api.game, line.header.game)
        away_s = await asyncio.to_thread(api.away_s) if line.view.stage == "open" else None
        mode = LineMode(
            line,
            game,
            boards=boards or ("picture" if interactive and not settings.screen_reader else "words"),
            interactive=interactive,
            width=min(100, shutil.get_terminal_size().columns),
            ascii=settings.plain,
            color=settings.colored,
            silent=settings.json,
            screen_reader=settings.screen_reader,
            away_s=away_s,
            rejoin=f"{program()} join {server}/r/{race}{f' --as {name}' if name else ''}",
        )
        await mode.run(ready=ready)


def _print(message: "FromServer") -> None:
    """What the server says as a line of JSON, but for the token, which is nobody else's business."""
    from samedeal.wire import codec
    from samedeal.wire.messages import Welcome

    if isinstance(message, Welcome) and message.token:
        message = Welcome(re=message.re, player=message.player, name=message.name, server=message.server)
    sys.stdout.write(f"{codec.encode(message, 'json').decode()}\n")
    sys.stdout.flush()
