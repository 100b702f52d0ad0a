"""The output of ``samedeal`` without a command: the server, open races and suggested commands."""

from collections.abc import Iterator
from typing import Final

from samedeal.version import VERSION
from samedeal.wire.documents import RaceList
from samedeal_cli.addresses import DEFAULT_SERVER
from samedeal_cli.failure import Failure, Unreachable
from samedeal_cli.net import guests
from samedeal_cli.net.http_api import Api
from samedeal_cli.settings import Settings, program

SHOWN: Final = 5
"""Maximum number of open races to show."""
TIMEOUT_S: Final = 1.0


def start_lines(settings: Settings) -> Iterator[str]:
    """The lines to print. Contacts the server first."""
    server, state = settings.address, ""
    facts = [("you", guests.default_name(settings, server))]
    try:
        api = Api(server, timeout=TIMEOUT_S)
        races = api.read(api.fetch("/races", query={"stage": "open"}), RaceList).races
    except Unreachable:
        state = f"{server} cannot be reached" if server != DEFAULT_SERVER else "not running on this machine"
        commands = {
            "demo": "try it: a server, racing bots and a seat for you",
            "serve --lan": "run a server for friends on your network",
            "join LINK": "join the race that someone sent you",
        }
    except Failure as failure:
        state, commands = f"{server}: {failure.format_message()}", {"doctor": "find out what is wrong"}
    else:
        seats = ((race, f"{race.racers} of {race.max_racers} seats taken") for race in races[:SHOWN])
        facts += [("open", f"{race.race}: {race.game}, {taken}") for race, taken in seats]
        commands = {f"join {race.race}": "join this race" for race in races[:1]} | {
            "new corners --join": "open a race, get a link to share, and join",
            "solo corners --daily": "play the daily deal alone",
            "daily": "today's deals and results",
            "games": "list the games; rules GAME explains one",
        }
    yield f"samedeal {VERSION} · race your friends at patience on the same shuffled deck"
    yield ""
    yield from (f"  {name:<10} {text}" for name, text in [("server", state or server), *facts])
    yield ""
    width = max(map(len, commands))
    yield from (f"  {program()} {command:<{width}}   {text}" for command, text in commands.items())
    yield f"  {program()} {'--help':<{width}}   every command"
