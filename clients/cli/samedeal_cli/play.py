"""Playing: the commands ``join``, ``watch`` and ``solo``."""

import asyncio
import shutil
import sys
from typing import get_args

import click

from samedeal import wire
from samedeal.messages import FromServer, Welcome
from samedeal_cli import guests
from samedeal_cli.api import Api
from samedeal_cli.connection import Connection
from samedeal_cli.line import Boards, LineMode
from samedeal_cli.nonces import Nonces
from samedeal_cli.parameters import (
    GAME_OR_DEAL,
    NAME,
    RACE,
    Link,
    limit_option,
    race_options,
    undo_option,
    variant_option,
)
from samedeal_cli.settings import Settings, examples, state_dir

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
    help="How to show the table.  [default: picture on a terminal, otherwise words]",
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
@click.pass_obj
def join(settings: Settings, race: Link, name: str | None, ready: bool | None, boards: Boards | None) -> None:
    """Take a seat in a race, by its link or its id, and play. Whoever has a seat comes back to it."""
    play(settings, race.server or settings.address, race.race, name=name, ready=ready, boards=boards)


@click.command(
    epilog=examples("samedeal watch calm-otter-42", "samedeal watch http://192.168.1.20:8640/r/calm-otter-42 --json")
)
@click.argument("race", type=RACE)
@as_option
@board_option
@click.pass_obj
def watch(settings: Settings, race: Link, name: str | None, boards: Boards | None) -> None:
    """Look on at a race until it is over."""
    play(settings, race.server or settings.address, race.race, name=name, boards=boards, watching=True)


@click.command(epilog=examples("samedeal solo corners", "samedeal solo corners:42 --limit 30m"))
@click.argument("what", type=GAME_OR_DEAL, metavar="GAME|DEAL")
@limit_option
@undo_option
@variant_option
@as_option
@board_option
@click.pass_obj
def solo(
    settings: Settings,
    what: tuple[str, str | None],
    limit: int | None,
    undo: str | None,
    variants: tuple[tuple[str, str | bool], ...],
    name: str | None,
    boards: Boards | None,
) -> None:
    """Play alone against the clock: a sealed deal of a game, or the deal that a code names."""
    game, seed = what
    options = race_options(limit, undo, max_racers=1, unlisted=True, start_delay_ms=1000 if seed is None else 0)
    wish: dict[str, object] = {"game": game, "variant": dict(variants), "options": options}
    if seed is not None:
        wish["seed"] = seed
    opened = Api(settings.address).open_race(wish)
    play(settings, settings.address, opened.race, name=name, ready=True, boards=boards)


def play(
    settings: Settings,
    server: str,
    race: str,
    *,
    name: str | None = None,
    ready: bool | None = None,
    boards: Boards | None = None,
    watching: bool = False,
) -> None:
    """Play or look on in line mode until it is enough."""
    asyncio.run(_play(settings, server, race, name, ready, boards, watching))


async def _play(
    settings: Settings,
    server: str,
    race: str,
    name: str | None,
    ready: bool | None,
    boards: Boards | None,
    watching: bool,
) -> None:
    who = guests.who(server, name, unnamed=settings.name)
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and not settings.json

    async with Connection(
        server,
        race,
        name=who.name,
        token=who.token,
        watch=watching,
        nonces=Nonces.kept(state_dir()),
        keep_in=state_dir(),
        on_welcome=guests.keeper(server, who),
        on_message=_print if settings.json else None,
    ) as connection:
        game = await asyncio.to_thread(Api(server).game, connection.header.game)
        mode = LineMode(
            connection,
            game,
            boards=boards or ("picture" if interactive and not settings.screen_reader else "words"),
            interactive=interactive,
            width=min(100, shutil.get_terminal_size().columns),
            ascii=settings.plain,
            color=settings.colored,
            silent=settings.json,
            screen_reader=settings.screen_reader,
        )
        await mode.run(ready=ready)


def _print(message: FromServer) -> None:
    """What the server says as a line of JSON, but for the token, which is nobody else's business."""
    if isinstance(message, Welcome) and message.token:
        message = Welcome(re=message.re, player=message.player, name=message.name, server=message.server)
    sys.stdout.write(f"{wire.encode(message, 'json').decode()}\n")
    sys.stdout.flush()
