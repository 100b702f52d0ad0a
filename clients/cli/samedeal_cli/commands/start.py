"""``samedeal`` without a command: the home screen or, without a full screen, the server and what to do there."""

import asyncio
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from samedeal.version import VERSION
from samedeal.wire.documents import PlayerPage, Today
from samedeal_cli.addresses import DEFAULT_SERVER, is_local
from samedeal_cli.commands.first_use import create_player, open_race
from samedeal_cli.commands.mode import choose_mode, run_full_screen
from samedeal_cli.commands.play import Session, quick_race
from samedeal_cli.failure import Failure, Unreachable
from samedeal_cli.net import guests
from samedeal_cli.net.connect import running_race
from samedeal_cli.net.http_api import Api, quick_request, race_request
from samedeal_cli.render.themes import look
from samedeal_cli.settings import Settings, program
from samedeal_cli.state.home_state import QUICK_GAME, HomeState, title_of

if TYPE_CHECKING:
    from samedeal_cli.screen.canvas_widget import CanvasScreen
    from samedeal_cli.screen.home_screen import HomeScreen, What

SHOWN: Final = 5
"""Maximum number of open races to show."""
TIMEOUT_S: Final = 2.0


def start(settings: Settings) -> int:
    """Show the home screen until the user quits, or print what to do. Return the exit code."""
    if choose_mode(None, settings) == "line":
        from samedeal_cli.commands.output import print_line

        for line in start_lines(settings):
            print_line(settings, line)
        return 0
    from samedeal_cli.screen.home_view import draw_home

    size, front = shutil.get_terminal_size(), Front(settings)
    state = HomeState(front.host, front.name, width=size.columns, height=size.lines, ascii=settings.plain)

    def make_screen() -> "HomeScreen":
        from samedeal_cli.screen.home_screen import HomeScreen

        return HomeScreen(state, front, look(settings.theme, settings.suits, colored=settings.colored))

    screen, code = run_full_screen(settings, draw_home(state), make_screen)
    race = screen.race.state if screen.race else None
    if race and race.stage in ("open", "countdown", "running") and race.seat is not None and not front.is_temporary:
        settings.say(f"Your seat in {race.race_id} is reserved. To return to it: {program()} resume")
    return code


class Front:
    """Connects the home screen with the user's server or, without one, with a temporary server on this machine."""

    def __init__(self, settings: Settings) -> None:
        self.server = settings.address
        self._settings = replace(settings, server=self.server, quiet=True)  # the screen shows what happens
        self.suggested_name = guests.account_name()
        self.is_temporary = False

    @property
    def host(self) -> str:
        """The server's address without the scheme."""
        return self.server.partition("://")[2]

    @property
    def reaches_others(self) -> bool:
        """Whether people on other machines can open the server's links."""
        return not is_local(self.server)

    @property
    def name(self) -> str:
        """The name that the user has chosen; empty if there is none."""
        return guests.chosen_name(self._settings, self.server)

    async def serve(self, servers: AsyncExitStack) -> None:
        """Start a temporary server if there is none on this machine, until `servers` is closed."""
        if self.server != DEFAULT_SERVER or self.is_temporary:
            return
        with suppress(Unreachable):
            await asyncio.to_thread(Api(self.server, timeout=TIMEOUT_S).live_races)
            return
        from samedeal_cli.local_server import PORT, check_installed
        from samedeal_cli.net.temporary_server import advertised, temporary_server

        check_installed()
        server = await servers.enter_async_context(temporary_server(PORT))
        servers.enter_context(advertised(server))
        self.server, self.is_temporary = server.url, True
        self._settings = replace(self._settings, server=server.url)

    def look(self) -> dict[str, Any]:
        """Return the fields of the home screen that depend on the server."""
        api, found = Api(self.server, timeout=TIMEOUT_S), dict[str, Any]()
        credentials = guests.credentials_of(self._settings, self.server, None)
        guest = guests.find(self.server, self.name)
        try:
            found["races"] = api.live_races("open")
            found["daily"] = api.read(api.fetch("/daily", token=credentials.token), Today).daily
            scores = api.scores(guest.player, guest.token) if guest else None
            found["scores"] = scores if scores and scores.races else None
        except Failure:
            is_own = self.server == DEFAULT_SERVER
            return {"name": self.name, "server": "on this machine" if is_own else f"{self.host} cannot be reached"}
        with suppress(Failure):
            found["running"] = ""
            if running := running_race():
                last, view = running
                game = f"{title_of(view.header.game)} · " if view.header else ""
                found["running"] = f"{game}{last.race}"
        return {"name": self.name, "server": self.host, **found}

    def create_player(self, name: str) -> None:
        """Create the user's player, and remember the name. Raises NameRefused."""
        create_player(self.server, name)
        self._settings = replace(self._settings, name=name)

    def start(self, what: "What", which: str) -> Callable[[], "CanvasScreen"]:
        """Prepare something, such as a race of the game `which`. Return what makes its screen."""
        settings, server = self._settings, self.server
        match what:
            case "practice":
                from samedeal_cli.commands.practice import practice_of, random_deal

                return partial(practice_of, settings, random_deal(which))
            case "resume":
                last = running_race()
                if last is None:
                    raise Failure("The race is over.")
                return Session(settings, last[0].server, last[0].race, last[0].name).screen
            case "play":
                return quick_race(settings, server, None).screen
            case "join" | "watch":
                from samedeal_cli.commands.parameters import RACE

                link = RACE.convert(which, None, None)
                return Session(settings, link.server or server, link.race_id, watching=what == "watch").screen
            case "open":
                body = quick_request(which) if which == QUICK_GAME else race_request(which, None, {})
            case "daily":
                body = race_request(which, None, {"max_racers": 1, "unlisted": True}, daily=True)
        _, opened, _ = open_race(settings, server, None, body)
        return Session(settings, server, opened.race, ready=what == "daily", link=opened.link).screen

    def results(self) -> Sequence[str]:
        """Return the user's scores and newest races in lines."""
        from samedeal_cli.commands.me import SHOWN, lines_of

        guest, api = guests.find(self.server, self.name), Api(self.server)
        if guest is None:
            raise Failure("No races yet.")
        data = api.fetch(f"/players/{guest.player}", query={"limit": SHOWN}, token=guest.token)
        return list(lines_of(api.read(data, PlayerPage)))


def start_lines(settings: Settings) -> Iterator[str]:
    """The lines to print. Contacts the server first."""
    server, state = settings.address, ""
    facts = [("you", guests.default_name(settings, server))]
    try:
        races = Api(server, timeout=TIMEOUT_S).live_races("open")
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
            "play": "race at once, against whoever is here or a bot",
            "new the-edge --join": "open a race, get a link to share, and join",
            "solo the-edge --daily": "play the daily deal alone",
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
