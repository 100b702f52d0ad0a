"""The home screen: what ``samedeal`` shows without a command. It opens races and practice above itself."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from textual.events import MouseDown, Resize

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.share.headlines import result_headline
from samedeal.wire.documents import PlayerPage, Today
from samedeal_cli.addresses import DEFAULT_SERVER, is_local
from samedeal_cli.commands.first_use import create_player, open_race
from samedeal_cli.commands.me import SHOWN, lines_of
from samedeal_cli.commands.parameters import RACE
from samedeal_cli.commands.play import Session, quick_race
from samedeal_cli.commands.practice import random_deal
from samedeal_cli.failure import TOO_LATE, Declined, Failure, NameRefused, Unreachable
from samedeal_cli.local_server import PORT, check_installed
from samedeal_cli.net import guests
from samedeal_cli.net.connect import running_race
from samedeal_cli.net.http_api import Api, quick_request, race_request
from samedeal_cli.net.practice_connection import Practice
from samedeal_cli.net.temporary_server import advertised, temporary_server
from samedeal_cli.render.canvas import PLAIN
from samedeal_cli.render.themes import look
from samedeal_cli.screen.canvas_widget import CanvasScreen, LineInput
from samedeal_cli.screen.dialogs import Choice, Question, TextDialog
from samedeal_cli.screen.home_view import draw_home
from samedeal_cli.screen.race_screen import RaceScreen, practice_screen
from samedeal_cli.screen.race_tasks import reason
from samedeal_cli.searches import PublicDeal
from samedeal_cli.settings import Settings, program
from samedeal_cli.state.home_state import QUICK_GAME, HomeState, daily_question, title_of
from samedeal_cli.state.pile_keys import key_meant

REFRESH_S: Final = 30.0
"""How often the screen asks the server what is going on (s)."""
TIMEOUT_S: Final = 2.0
MAX_RACES: Final = 3
"""How many races of others can be chosen."""
WAIT: Final = "One moment…"

Start = Callable[[], Session]
"""Prepares a race. It may block, and raises Failure or Refused."""


class HomeScreen(CanvasScreen):
    """Shows what the user can do, and starts it, until the user quits."""

    def __init__(self, settings: Settings, state: HomeState) -> None:
        """Start from `state`. If there is no server on this machine, the first race starts a temporary one."""
        super().__init__()
        self.server = settings.address
        self.settings = replace(settings, server=self.server, quiet=True, ascii=settings.plain)
        self.state = state
        self.race: RaceScreen | None = None
        """The last race that was opened."""
        self._look = look(settings.theme, settings.suits, colored=settings.colored)
        self._servers = AsyncExitStack()
        self._busy = False
        self._on_line: Callable[[str], None] = self._join

    def on_mount(self) -> None:
        """Draw the first frame, and ask the server what is going on."""
        self._change(width=self.size.width, height=self.size.height)
        self._refresh()
        self.set_interval(REFRESH_S, self._refresh)

    async def on_unmount(self) -> None:
        """Stop the temporary server, if there is one."""
        await self._servers.aclose()

    def on_resize(self, event: Resize) -> None:
        """Redraw at the new size."""
        self._change(width=event.size.width, height=event.size.height)

    def on_mouse_down(self, event: MouseDown) -> None:
        """Press the key of what is under the mouse."""
        if spot := self.spot_at(event):
            self.press(spot.removeprefix("key:"))

    def press(self, key: str) -> None:
        """Handle a key."""
        keys = [offer.key for offer in self.state.offers]
        key = keys[0] if key == "enter" else key_meant(key, [*keys, "q"])
        if key in ("q", "escape"):
            self.close()
        elif self._busy or key not in keys:
            return
        match key:
            case "b":
                self._run(self._open(self._last_race))
            case "p":
                self._start(lambda: quick_race(self.settings, self.server, None))
            case "d":
                self._run(self._choose_daily())
            case "f":
                away = f" · on your network: {program()} serve --lan" if is_local(self.server) else ""
                self._choose(f"Race friends{away}", self._friends)
            case "t":
                self._choose("Practise", {game.title: partial(self._practise, slug) for slug, game in GAMES.items()})
            case "r":
                self._run(self._show_results())

    def on_input_submitted(self, event: LineInput.Submitted) -> None:
        """Use the typed line."""
        event.input.remove()
        if text := event.value.strip():
            self._on_line(text)

    # What can be chosen.

    def _choose(self, title: str, options: Mapping[str, Callable[[], None]]) -> None:
        self.app.push_screen(Choice(title, tuple(options)), lambda name: options[name]() if name else None)

    def _ask(self, question: str, then: Callable[[], None]) -> None:
        self.app.push_screen(Question(question), lambda yes: then() if yes else None)

    def _ask_for_line(self, placeholder: str, then: Callable[[str], None], value: str = "") -> None:
        self._on_line = then
        self.ask_for_line(placeholder, value=value)

    @property
    def _friends(self) -> Mapping[str, Callable[[], None]]:
        quick, others = quick_request(QUICK_GAME), [slug for slug in GAMES if slug != QUICK_GAME]
        options: dict[str, Callable[[], None]] = {
            f"Open a race of {title_of(QUICK_GAME)}, three minutes": partial(self._start, partial(self._opened, quick)),
            "Join a race by its link or name": partial(self._ask_for_line, "the link or name of a race", self._join),
        }
        for race in self.state.races[:MAX_RACES]:
            watching = race.stage != "open"
            label = f"{'Watch' if watching else 'Join'} {race.race}: {title_of(race.game)}"
            options[label] = partial(self._join, race.race, watching=watching)
        for slug in others:
            start = partial(self._opened, race_request(slug, None, {}))
            options[f"Open a race of {title_of(slug)}"] = partial(self._start, start)
        return options

    async def _choose_daily(self) -> None:
        if not self.state.daily:
            await self._serve()
            await self._look_around()
        options = dict[str, Callable[[], None]]()
        for daily in sorted(self.state.daily, key=lambda daily: (daily.yours is not None, daily.game != QUICK_GAME)):
            body = race_request(daily.game, None, {"max_racers": 1, "unlisted": True}, daily=True)
            start, raced = partial(self._start, partial(self._opened, body, ready=True)), daily.yours is not None
            how = GAMES[daily.game].how if daily.game in GAMES and not raced else ()
            question = "\n".join([*how, daily_question(daily.game, raced=raced)])
            options[title_of(daily.game) + " (raced)" * raced] = partial(self._ask, question, start)
        self._choose("Today's deals", options)

    def _join(self, text: str, *, watching: bool = False) -> None:
        session = partial(self._in_race, text, watching=watching)
        if watching:  # this needs no name
            self._run(self._open(session))
        else:
            self._start(session)

    # What is started.

    def _opened(self, body: dict[str, object], *, ready: bool | None = None) -> Session:
        _, opened, _ = open_race(self.settings, self.server, None, body)
        return Session(self.settings, self.server, opened.race, ready=ready, link=opened.link)

    def _in_race(self, text: str, *, watching: bool = False) -> Session:
        link = RACE.convert(text, None, None)
        return Session(self.settings, link.server or self.server, link.race_id, watching=watching)

    def _last_race(self) -> Session:
        if running := running_race():
            last, _ = running
            return Session(self.settings, last.server, last.race, last.name)
        raise Failure("The race is over.")

    def _practise(self, game: str) -> None:
        practice = Practice(PublicDeal(game, random_deal(game).seed), ())
        self.app.push_screen(practice_screen(self.settings, practice, plain=self.state.ascii))

    def _start(self, start: Start) -> None:
        """Start a race. Ask a new user for a name first."""
        if self.state.name or guests.environment_token(self.settings, self.server):
            self._run(self._open(start))
        else:
            self._ask_name(start, "What is your name?", guests.account_name())

    def _ask_name(self, start: Start, notice: str, value: str = "", *, failed: bool = False) -> None:
        self._change(notice=notice, failed=failed)
        self._ask_for_line("your name", lambda name: self._run(self._open(start, name)), value)

    async def _open(self, start: Start, name: str = "") -> None:
        """Prepare a race in the background, perhaps for a new player, and open its screen."""
        await self._serve()
        if name:
            try:
                await asyncio.to_thread(create_player, self.server, name)
            except NameRefused as refused:
                self._ask_name(start, reason(refused), failed=True)
                return
            self.settings = replace(self.settings, name=name)
            self._change(name=name)
        session = await asyncio.to_thread(start)
        self.race = race = session.screen()
        self._change(notice="")
        self.app.push_screen(race, lambda _: self._return_from(race))

    def _return_from(self, race: RaceScreen) -> None:
        """Say how a race ended. If it had started without the user, offer to watch it."""
        self._refresh()
        state, failure = race.state, race.failure
        if isinstance(failure, Declined) and failure.code in TOO_LATE:
            self._ask(f"{reason(failure)}\nWatch the race instead?", partial(self._join, state.link, watching=True))
        elif isinstance(failure, (Failure, Refused)):
            self._change(notice=reason(failure), failed=True)
        elif state.stage == "over":
            game = state.header.game if state.header else ""
            self._change(notice=result_headline(state.standings, state.seat, game), failed=False)

    async def _show_results(self) -> None:
        guest, api = guests.find(self.server, self.state.name), Api(self.server)
        if guest is None:
            raise Failure("No races yet.")
        path, query = f"/players/{guest.player}", {"limit": SHOWN}
        page = api.read(await asyncio.to_thread(api.fetch, path, query=query, token=guest.token), PlayerPage)
        lines = [(line, PLAIN) for line in lines_of(page)]
        self.app.push_screen(TextDialog("Your results", lambda width: lines, self._look, plain=self.state.ascii))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self.run_worker(self._try(work))

    async def _try(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work, during which keys do nothing, and show its failure."""
        self._busy = True
        self._change(notice=WAIT, failed=False)
        try:
            await work
        except (Failure, Refused) as failure:
            self._change(notice=reason(failure), failed=True)
        finally:
            self._busy = False
        if self.state.notice == WAIT:
            self._change(notice="")

    # The server.

    async def _serve(self) -> None:
        """Start a temporary server if there is none on this machine."""
        if self.server != DEFAULT_SERVER:
            return
        with suppress(Unreachable):
            await asyncio.to_thread(Api(self.server, timeout=TIMEOUT_S).live_races)
            return
        check_installed()
        server = await self._servers.enter_async_context(temporary_server(PORT))
        self._servers.enter_context(advertised(server))
        self.server = server.url
        self.settings = replace(self.settings, server=server.url)

    def _refresh(self) -> None:
        self.run_worker(self._look_around(), exclusive=True, group="look")

    async def _look_around(self) -> None:
        self._change(**await asyncio.to_thread(look_around, self.settings))

    def _change(self, **fields: Any) -> None:
        self.state = replace(self.state, **fields)
        self.show(draw_home(self.state), self._look, self.state.entries)


def look_around(settings: Settings) -> dict[str, Any]:
    """Return the fields of the state that depend on the server."""
    server, found = settings.address, dict[str, Any]()
    api, host = Api(server, timeout=TIMEOUT_S), server.partition("://")[2]
    name = guests.chosen_name(settings, server)
    guest, token = guests.find(server, name), guests.credentials_of(settings, server, None).token
    try:
        found["races"] = api.live_races()
        try:
            today = api.fetch("/daily", token=token)
        except Declined:  # the server has forgotten the user
            today = api.fetch("/daily")
        found["daily"] = api.read(today, Today).daily
        scores = api.scores(guest.player, guest.token) if guest else None
        found["scores"] = scores if scores and scores.races else None
        if running := running_race():
            last, view = running
            found["running"] = f"{title_of(view.header.game)} · {last.race}" if view.header else last.race
        else:
            found["running"] = ""
    except Failure:
        return {"name": name, "server": "on this machine" if server == DEFAULT_SERVER else f"{host} cannot be reached"}
    return {"name": name, "server": host, **found}
