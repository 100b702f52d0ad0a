"""The output of ``samedeal`` without a command: the server, open races and suggested commands."""

from collections.abc import Iterator
from importlib import metadata
from typing import Final

from samedeal.wire.documents import RaceList
from samedeal_cli.failure import Failure, Unreachable
from samedeal_cli.net import guests
from samedeal_cli.net.addresses import DEFAULT_SERVER
from samedeal_cli.net.http_api import Api
from samedeal_cli.render.transcript import in_ascii
from samedeal_cli.settings import Settings, program

SHOWN: Final = 5
"""Maximum number of open races to show."""
TIMEOUT_S: Final = 1.0


def start_lines(settings: Settings) -> Iterator[str]:
    """The lines to print. Contacts the server first."""
    for line in _lines(settings):
        yield in_ascii(line) if settings.plain else line


def _lines(settings: Settings) -> Iterator[str]:
    name = program()
    server = settings.address
    yield f"samedeal {metadata.version('samedeal')} · race your friends at patience on the same shuffled deck"
    yield ""
    try:
        api = Api(server, timeout=TIMEOUT_S)
        races = api.read(api.fetch("/races", query={"stage": "open"}), RaceList).races
    except Unreachable:
        custom = server != DEFAULT_SERVER
        yield f"  server     {server} cannot be reached" if custom else "  server     not running on this machine"
        yield from _you(settings)
        yield from _next(
            (f"{name} demo", "try it: a server, racing bots and a seat for you"),
            (f"{name} serve --lan", "run a server for friends on your network"),
            (f"{name} join LINK", "join the race that someone sent you"),
        )
    except Failure as failure:
        yield f"  server     {server}: {failure.format_message()}"
        yield from _next((f"{name} doctor", "find out what is wrong"))
    else:
        yield f"  server     {server}"
        yield from _you(settings)
        for race in races[:SHOWN]:
            yield f"  open       {race.race}: {race.game}, {race.racers} of {race.max_racers} seats taken"
        yield from _next(
            *((f"{name} join {race.race}", "join this race") for race in races[:1]),
            (f"{name} new corners --join", "open a race, get a link to share, and join"),
            (f"{name} solo corners --daily", "play the daily deal alone"),
            (f"{name} daily", "today's deals and results"),
            (f"{name} games", "list the games; rules GAME explains one"),
        )


def _you(settings: Settings) -> Iterator[str]:
    yield f"  you        {settings.name or guests.account_name()}"


def _next(*commands: tuple[str, str]) -> Iterator[str]:
    width = max(len(command) for command, _ in (*commands, ("", "")))
    yield ""
    yield from (f"  {command:<{width}}   {text}" for command, text in commands)
    yield f"  {f'{program()} --help':<{width}}   every command"
