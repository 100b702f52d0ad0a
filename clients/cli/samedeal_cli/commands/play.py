"""The commands ``join``, ``watch`` and ``solo``."""

import os
import shutil
import sys
from typing import TYPE_CHECKING, get_args

import click

from samedeal_cli.commands.mode import Boards, Mode, choose_mode, current_environment, mode_option
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

# Imported later, so that the full screen shows its first frame sooner.
if TYPE_CHECKING:
    from samedeal.wire.messages import FromServer
    from samedeal_cli.race_app.app import FullScreen

as_option = click.option(
    "--as",
    "name",
    type=NAME,
    metavar="NAME",
    help="Your name; each name is a separate player.  [default: your account name]",
)
board_option = click.option(
    "--board",
    "boards",
    type=click.Choice(get_args(Boards)),
    help="How line mode shows the table.  [default: picture on a terminal, otherwise words]",
)


@click.command(
    epilog=examples(
        "samedeal join http://192.168.1.20:8640/r/calm-otter-42",
        "samedeal join calm-otter-42 --as bo --ready < moves.txt",
    )
)
@click.argument("race", type=RACE)
@as_option
@click.option("--ready/--no-ready", default=None, help="Be ready at once, or wait.  [default: ask]")
@board_option
@mode_option
@click.pass_obj
def join(
    settings: Settings, race: Link, name: str | None, ready: bool | None, boards: Boards | None, mode: Mode | None
) -> int:
    """Join a race by its link or id and play. If you already have a seat, you return to it."""
    server = race.server or settings.address
    return play(settings, server, race.race_id, name=name, ready=ready, boards=boards, mode=mode)


@click.command(
    epilog=examples("samedeal watch calm-otter-42", "samedeal watch http://192.168.1.20:8640/r/calm-otter-42 --json")
)
@click.argument("race", type=RACE)
@as_option
@board_option
@mode_option
@click.pass_obj
def watch(settings: Settings, race: Link, name: str | None, boards: Boards | None, mode: Mode | None) -> int:
    """Watch a race until it is over."""
    server = race.server or settings.address
    return play(settings, server, race.race_id, name=name, boards=boards, watching=True, mode=mode)


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
    """Play alone against the clock: a secret shuffle, the daily deal, or the deal of a code."""
    from samedeal_cli.net.http_api import Api

    game, seed = what
    if daily:
        check_daily({"a deal code": seed, "--limit": limit, "--undo": undo, "--variant": variants})
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
    race_id: str,
    *,
    name: str | None = None,
    ready: bool | None = None,
    boards: Boards | None = None,
    watching: bool = False,
    mode: Mode | None = None,
    link: str | None = None,
) -> int:
    """Play or watch a race. Returns the exit code. `link` is the race's link, if the caller has printed it."""
    chosen, why = choose_mode("line" if boards and mode is None else mode, settings, current_environment())
    if why:
        settings.say(f"samedeal: {why}")
    if name is None and "SAMEDEAL_TOKEN" in os.environ:
        from samedeal_cli.net.guests import warn_if_token_unused

        warn_if_token_unused(settings, server, name)
    if chosen == "tui":
        return _run_full_screen(settings, server, race_id, name, ready, watching, link)
    from samedeal_cli.running import run

    run(_run_line_mode(settings, server, race_id, name, ready, boards, watching))
    return 0


# The full screen.


def _run_full_screen(
    settings: Settings,
    server: str,
    race_id: str,
    name: str | None,
    ready: bool | None,
    watching: bool,
    link: str | None,
) -> int:
    from samedeal_cli.race_app.race_view import draw_screen
    from samedeal_cli.race_app.splash import splash_screen
    from samedeal_cli.render.themes import look
    from samedeal_cli.state.race_state import RaceState

    if link is None:
        # The link stays above the full screen, where it can be selected with the mouse.
        settings.say(f"{server}/r/{race_id}")
    size = shutil.get_terminal_size()
    state = RaceState(
        race_id,
        server.partition("://")[2],
        link or f"{server}/r/{race_id}",
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
        from samedeal_cli.net.connect import connect
        from samedeal_cli.net.http_api import Api
        from samedeal_cli.race_app.app import FullScreen
        from samedeal_cli.running import run

        screen = FullScreen(
            state,
            lambda race_id: connect(settings, server, race_id, name, watching=watching and race_id == state.race_id),
            Api(server),
            colored=settings.colored,
            ready=bool(ready),
        )
        run(screen.run_async(mouse=settings.mouse))
    return _print_end(settings, screen, name)


def _print_end(settings: Settings, screen: "FullScreen", name: str | None) -> int:
    """Print the result, or how to rejoin, after the full screen has closed. Returns the exit code."""
    from samedeal_cli.render.phrases import seat_phrase
    from samedeal_cli.render.text_table import standings_lines

    state = screen.state
    if state.stage == "over":
        for line in standings_lines(state.standings, seat=state.seat, ascii=settings.plain):
            click.echo(line)
        settings.say(f"To watch the replay: {program()} replay {state.link}")
    elif screen.left:
        settings.say("You left your seat.")
    elif state.stage not in ("connecting", "cancelled"):
        settings.say(state.link)
        if state.seat is not None and not state.finished:
            back = f" --as {name}" if name else ""
            settings.say(f"{seat_phrase(state.stage, state.away_s)}. To rejoin: {program()} join {state.link}{back}")
    if screen.failure:
        raise screen.failure
    return INTERRUPTED if screen.interrupted else 0


# Line mode.


async def _run_line_mode(
    settings: Settings,
    server: str,
    race_id: str,
    name: str | None,
    ready: bool | None,
    boards: Boards | None,
    watching: bool,
) -> None:
    import asyncio

    from samedeal_cli.line.line_mode import LineMode
    from samedeal_cli.net.connect import connect
    from samedeal_cli.net.http_api import Api

    interactive = sys.stdin.isatty() and sys.stdout.isatty() and not settings.json
    on_message = _print_json if settings.json else None
    async with connect(settings, server, race_id, name, watching=watching, on_message=on_message) as line:
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
            rejoin=f"{program()} join {server}/r/{race_id}{f' --as {name}' if name else ''}",
        )
        await mode.run(ready=ready)


def _print_json(message: "FromServer") -> None:
    """Print a message as a line of JSON, without the secret token."""
    from samedeal.wire import codec
    from samedeal.wire.messages import Welcome

    if isinstance(message, Welcome) and message.token:
        message = Welcome(re=message.re, player=message.player, name=message.name, server=message.server)
    sys.stdout.write(f"{codec.encode(message, 'json').decode()}\n")
    sys.stdout.flush()
