"""The home screen: what ``samedeal`` shows without a command. It opens races and practice above itself."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, Protocol

from textual.events import MouseDown, Resize

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.share.headlines import result_headline
from samedeal_cli.failure import TOO_LATE, Declined, Failure, NameRefused
from samedeal_cli.render.canvas import PLAIN, Palette
from samedeal_cli.screen.canvas_widget import CanvasScreen, LineInput
from samedeal_cli.screen.dialogs import Choice, Question, TextDialog
from samedeal_cli.screen.home_view import draw_home
from samedeal_cli.screen.race_screen import RaceScreen
from samedeal_cli.screen.race_tasks import reason
from samedeal_cli.settings import program
from samedeal_cli.state.home_state import QUICK_GAME, HomeState, daily_question, title_of
from samedeal_cli.state.pile_keys import key_meant

WAIT: Final = "One moment…"
REFRESH_S: Final = 30.0
"""How often the home screen asks the server what is going on (s)."""
MAX_RACES: Final = 3
"""How many open races can be chosen."""

What = Literal["resume", "play", "daily", "open", "join", "watch", "practice"]
"""What the home screen starts."""
NAMELESS: Final[tuple[What, ...]] = ("resume", "watch", "practice")
"""What needs no name."""


class Front(Protocol):
    """Connects the home screen with a server. All methods but `serve` block; those that reach it raise Failure."""

    suggested_name: str

    @property
    def reaches_others(self) -> bool:
        """Whether people on other machines can open its links."""

    async def serve(self, servers: AsyncExitStack) -> None:
        """Start a temporary server if there is none on this machine, until `servers` is closed."""

    def look(self) -> Mapping[str, Any]:
        """Return the fields of the state that depend on the server."""

    def create_player(self, name: str) -> None:
        """Create the user's player, and remember the name. Raises NameRefused."""

    def start(self, what: What, which: str) -> Callable[[], CanvasScreen]:
        """Prepare something, such as a race of the game `which`. Return what makes its screen."""

    def results(self) -> Sequence[str]:
        """Return the user's scores and newest races in lines."""


class HomeScreen(CanvasScreen):
    """Shows what the user can do, and starts it, until the user quits."""

    def __init__(self, state: HomeState, front: Front, look: Palette) -> None:
        super().__init__()
        self.state = state
        self.race: RaceScreen | None = None
        """The last race that was opened."""
        self._front, self._look = front, look
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
                self._start("resume")
            case "p":
                self._start("play")
            case "d":
                self.run_worker(self._try(self._choose_daily()))
            case "f":
                away = "" if self._front.reaches_others else f" · on your network: {program()} serve --lan"
                self._choose(f"Race friends{away}", self._friends)
            case "t":
                games = {game.title: partial(self._start, "practice", slug) for slug, game in GAMES.items()}
                self._choose("Practise", games)
            case "r":
                self.run_worker(self._try(self._show_results()))

    def on_input_submitted(self, event: LineInput.Submitted) -> None:
        """Use the typed line."""
        event.input.remove()
        if text := event.value.strip():
            self._on_line(text)

    # What can be chosen.

    def _choose(self, title: str, options: Mapping[str, Callable[[], None]]) -> None:
        self.app.push_screen(Choice(title, tuple(options)), lambda name: options[name]() if name else None)

    @property
    def _friends(self) -> Mapping[str, Callable[[], None]]:
        free = [race for race in self.state.races if race.racers < race.max_racers][:MAX_RACES]
        others = [slug for slug in GAMES if slug != QUICK_GAME]
        return {
            f"Open a race of {title_of(QUICK_GAME)}, three minutes": partial(self._start, "open", QUICK_GAME),
            "Join a race by its link or name": partial(self._ask, "the link or the name of a race", self._join),
            **{f"Join {race.race}: {title_of(race.game)}": partial(self._start, "join", race.race) for race in free},
            **{f"Open a race of {title_of(slug)}": partial(self._start, "open", slug) for slug in others},
        }

    async def _choose_daily(self) -> None:
        if not self.state.daily:
            await self._front.serve(self._servers)
            await self._look_around()
        games = sorted(self.state.daily, key=lambda daily: (daily.yours is not None, daily.game != QUICK_GAME))
        options = {
            f"{title_of(daily.game)}{' (raced)' if daily.yours else ''}": partial(
                self._ask_daily, daily.game, raced=daily.yours is not None
            )
            for daily in games
        }
        self._choose("Today's deals", options)

    def _ask_daily(self, game: str, *, raced: bool) -> None:
        question = Question(daily_question(game, raced=raced))
        self.app.push_screen(question, lambda yes: self._start("daily", game) if yes else None)

    def _ask(self, what: str, then: Callable[[str], None], value: str = "") -> None:
        self._on_line = then
        self.ask_for_line(what, value=value)

    def _join(self, text: str) -> None:
        self._start("join", text)

    # What is started.

    def _start(self, what: What, which: str = "") -> None:
        """Start something. Ask for a name first if the user needs one and has none."""
        if self.state.name or what in NAMELESS:
            self.run_worker(self._try(self._open(what, which)))
        else:
            self._ask_name(what, which, "What is your name?", self._front.suggested_name)

    def _ask_name(self, what: What, which: str, notice: str, value: str = "", *, failed: bool = False) -> None:
        self._change(notice=notice, failed=failed)
        self._ask("your name", lambda name: self._named(what, which, name), value)

    def _named(self, what: What, which: str, name: str) -> None:
        self.run_worker(self._try(self._open(what, which, name)))

    async def _open(self, what: What, which: str, name: str = "") -> None:
        """Prepare something in the background, and open its screen."""
        if what != "practice":
            await self._front.serve(self._servers)
        if name:
            try:
                await asyncio.to_thread(self._front.create_player, name)
            except NameRefused as refused:
                self._ask_name(what, which, reason(refused), failed=True)
                return
            self._change(name=name)
        screen = (await asyncio.to_thread(self._front.start, what, which))()
        self.race = screen if isinstance(screen, RaceScreen) else self.race
        self.app.push_screen(screen, lambda _: self._return_from(screen))

    async def _show_results(self) -> None:
        lines = [(line, PLAIN) for line in await asyncio.to_thread(self._front.results)]
        self.app.push_screen(TextDialog("Your results", lambda width: lines, self._look, plain=self.state.ascii))

    async def _try(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work, during which keys do nothing, and show its failure."""
        self._busy = True
        self._change(notice=WAIT, failed=False)
        try:
            await work
        except (Failure, Refused) as failure:
            self._change(notice=reason(failure), failed=True)
        else:
            if self.state.notice == WAIT:
                self._change(notice="")
        finally:
            self._busy = False

    def _return_from(self, screen: CanvasScreen) -> None:
        """Say how a race ended. If it had started without the user, offer to watch it."""
        self._refresh()
        if not isinstance(screen, RaceScreen):
            return
        state, failure = screen.state, screen.failure
        if isinstance(failure, Declined) and failure.code in TOO_LATE:
            question = Question(f"{reason(failure)}\nWatch the race instead?")
            self.app.push_screen(question, lambda yes: self._start("watch", state.race_id) if yes else None)
        elif isinstance(failure, (Failure, Refused)):
            self._change(notice=reason(failure), failed=True)
        elif state.stage == "over" and not state.practice:
            game = state.header.game if state.header else ""
            self._change(notice=result_headline(state.standings, state.seat, game))

    # What is shown.

    def _refresh(self) -> None:
        self.run_worker(self._look_around(), exclusive=True, group="look")

    async def _look_around(self) -> None:
        self._change(**await asyncio.to_thread(self._front.look))

    def _change(self, **fields: Any) -> None:
        self.state = replace(self.state, **fields)
        self.show(draw_home(self.state), self._look, self.state.entries)
