"""The full screen: shows the pages of a scene, hands it keys, clicks and news, and does what it asks for.

What is shown and what a key means is worked out elsewhere, in pages and scene; here is only what waits and writes.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, ClassVar, Final

import msgspec
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.events import Key, MouseDown, MouseUp, Resize

from samedeal.errors import Refused
from samedeal.proof.receipts import Receipts
from samedeal.proof.verification import verify
from samedeal.race.events import Header
from samedeal.replays.replay import read
from samedeal_cli.failure import Declined, Failure
from samedeal_cli.net.connection import Connection, Lost, Restored
from samedeal_cli.net.http_api import Api
from samedeal_cli.race_app.canvas_widget import Sheet, key_name
from samedeal_cli.race_app.overlays import Finding
from samedeal_cli.race_app.race_view import page
from samedeal_cli.render.themes import look
from samedeal_cli.state import race_state as s

TWICE_S: Final = 0.4
"""How soon after the first the second of two clicks comes."""
TICK_S: Final = 0.1
REPLAY_S: Final = 10.0
"""How long a replay may take to appear after a race."""
PAR_S: Final = 60.0
"""How long par may take to be worked out."""

Enter = Callable[[str], Connection]
"""A line to a race."""


class FullScreen(App[None]):
    """One race after another on the whole terminal, until somebody quits."""

    CSS = "Screen { background: ansi_default; }"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, scene: s.Scene, enter: Enter, api: Api, *, colored: bool, ready: bool = False) -> None:
        """The scene to begin with; how to get a line to a race; with `ready` one is ready at once."""
        super().__init__(ansi_color=True)
        self.scene = scene
        self.failure: BaseException | None = None
        """What ended it, if it was not a key."""
        self.interrupted = False
        self.left = False
        """Whether the seat was given up."""
        self.connection: Connection | None = None
        self._enter, self._api, self._colored, self._be_ready = enter, api, colored, ready
        self._sheet = Sheet()
        self._attending: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        """Whether the race is over, however that was learnt."""
        self._doing: set[asyncio.Task[None]] = set()
        self._held: tuple[str, float] | None = None
        self._clicked: tuple[str, float] | None = None

    # The screen.

    def compose(self) -> ComposeResult:
        """The one widget."""
        yield self._sheet

    def on_mount(self) -> None:
        """Draw, and go into the race."""
        self._sheet.focus()
        self._show(s.told(self.scene, s.Resized(self.size.width, self.size.height)))
        self.set_interval(TICK_S, self._tick)
        self._attending = self._start(self._attend(self.scene.race))

    async def on_unmount(self) -> None:
        """Hang up."""
        for task in tuple(self._doing):
            if task is not asyncio.current_task():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def on_resize(self, event: Resize) -> None:
        """Draw for the new size."""
        self._tell(s.Resized(event.size.width, event.size.height))

    def _show(self, scene: s.Scene) -> None:
        self.scene = scene
        shown = look(scene.theme, scene.suits, colored=self._colored)
        self._sheet.show(page(scene, scene.width, scene.height), shown)

    def _tick(self) -> None:
        """Draw anew when the clock has another second to show."""
        left = self.connection.left_ms if self.connection else None
        known = self.scene.left_ms
        if left is not None and not self.scene.over and (known is None or -(-left // 1000) != -(-known // 1000)):
            self._tell(s.Ticked(left))

    def _tell(self, news: s.News) -> None:
        self._show(s.told(self.scene, news))

    def _tell_now(self) -> None:
        connection = self.connection
        if connection:
            self._tell(s.Now(connection.view, connection.standings, connection.left_ms))
            if connection.over:
                self._ended.set()

    # Keys and clicks.

    async def on_event(self, event: Any) -> None:
        """Keys go to the scene before anybody else takes them for something."""
        if isinstance(event, Key):
            event.stop()
            self._take(s.pressed(self.scene, key_name(event)))
            return
        await super().on_event(event)

    def on_mouse_down(self, event: MouseDown) -> None:
        """Remember where it began: a click or a drag."""
        spot = self._spot(event.screen_x, event.screen_y)
        self._held = (spot, time.monotonic()) if spot and event.button == 1 else None
        if spot and event.button == 3:
            self._take(s.clicked(self.scene, spot, "right"))

    def on_mouse_up(self, event: MouseUp) -> None:
        """A click ends where it began, a drag elsewhere."""
        held, self._held = self._held, None
        spot = self._spot(event.screen_x, event.screen_y)
        if not held or not spot:
            return
        source, now = held[0], time.monotonic()
        if spot != source:
            self._clicked = None
            self._take(s.dragged(self.scene, source, spot))
            return
        twice = self._clicked is not None and self._clicked[0] == spot and now - self._clicked[1] < TWICE_S
        self._clicked = None if twice else (spot, now)
        self._take(s.clicked(self.scene, spot, "twice" if twice else "once"))

    def _spot(self, column: int, row: int) -> str | None:
        return next((name for name, spot in self._sheet.canvas.spots.items() if spot.holds(row, column)), None)

    def _take(self, step: s.Step) -> None:
        scene, command = step
        self._show(scene)
        if command:
            self._do(command)

    # What is asked for.

    def _do(self, command: s.Command) -> None:
        match command:
            case s.Quit(interrupted=interrupted):
                self.interrupted = interrupted
                self.exit()
            case s.CopyLink():
                self._copy_link()
            case s.OpenReplay():
                self._open_replay()
            case s.Rematch():
                self._start(self._rematch())
            case _:
                self._start(self._ask(command))

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._doing.add(task)
        task.add_done_callback(self._did)
        return task

    def _did(self, task: "asyncio.Task[None]") -> None:
        """Whatever goes wrong is told when the terminal is as it was again."""
        self._doing.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.failure = self.failure or error
            self.exit()

    async def _ask(self, command: s.Command) -> None:
        """Ask the server, and show what it answers."""
        connection = self.connection
        if connection is None:
            return
        try:
            match command:
                case s.Play(move=move):
                    await connection.move(move)
                case s.Ready(ready=ready):
                    await connection.ready(ready)
                case s.Resign():
                    await connection.resign()
                case s.Leave():
                    await connection.leave()
                    self.left = True
                    self.exit()
                case _:
                    raise AssertionError(command)
        except (Refused, Declined) as refused:
            text = refused.text if isinstance(refused, Refused) else refused.format_message()
            self._tell(s.Turned(text))
            return
        except Failure:
            return  # the one who listens hears it too, and ends it
        self._tell_now()
        self._take(s.caught_up(self.scene))

    def _copy_link(self) -> None:
        self.copy_to_clipboard(self.scene.link)
        self._tell(s.Said("The link was sent to the terminal's clipboard; it is also printed when you leave."))

    def _open_replay(self) -> None:
        words = (sys.executable, "-m", "samedeal_cli.main", "replay", f"{self._api.server}/r/{self.scene.race}")
        with self.suspend():
            subprocess.run(words, check=False)  # noqa: S603 (our own program)
        self.refresh()

    async def _rematch(self) -> None:
        header = self.scene.header
        if header is None:
            return
        try:
            opened = await asyncio.to_thread(self._api.open_race, again(header))
        except Failure as failure:
            self._tell(s.Said(failure.format_message(), "bad"))
            return
        if self._attending:
            self._attending.cancel()
        self.connection, self._be_ready = None, False
        self._show(s.of_another(self.scene, opened.race, opened.link))
        self._attending = self._start(self._attend(opened.race))
        self._copy_link()

    # What is heard.

    async def _attend(self, race: str) -> None:
        """Be in a race from the beginning to the end, and look back at it."""
        async with self._enter(race) as connection:
            self.connection = connection
            self._ended.clear()
            game = await asyncio.to_thread(self._api.game, connection.header.game)
            away_s = await asyncio.to_thread(self._api.away_s) if connection.view.stage == "open" else None
            self._tell(s.Entered(connection.welcome.name, connection.header, game, away_s))
            self._tell_now()
            if self._be_ready and self.scene.stage == "open":
                self._start(self._ask(s.Ready(True)))
            hearing, ended = asyncio.create_task(self._hear(connection)), asyncio.create_task(self._ended.wait())
            try:
                await asyncio.wait((hearing, ended), return_when=asyncio.FIRST_COMPLETED)
                if hearing.done():
                    hearing.result()
            finally:
                for task in (hearing, ended):
                    task.cancel()
        if self.scene.stage == "over":
            await asyncio.gather(self._check(race, connection), self._compare(race))

    async def _hear(self, connection: Connection) -> None:
        async for news in connection:
            if isinstance(news, Lost):
                self._tell(s.Cut(news.why))
                continue
            if isinstance(news, Restored):
                self._tell(s.Cut(""))
            self._tell_now()
            self._take(s.caught_up(self.scene))

    async def _check(self, race: str, connection: Connection) -> None:
        until = time.monotonic() + REPLAY_S
        while True:
            try:
                data = await asyncio.to_thread(self._api.fetch, f"/replays/{race}.json")
                break
            except Failure as failure:
                if getattr(failure, "code", "") not in ("not-found", "replay-sealed") or time.monotonic() > until:
                    self._tell(s.Checked(why_not=f"not checked: {failure.format_message()}"))
                    return
            await asyncio.sleep(0.2)
        try:
            self._tell(s.Checked(await asyncio.to_thread(findings, data, connection.receipts)))
        except Refused as refused:
            if refused.code == "unsupported-version":
                self._tell(s.Checked(why_not=f"not checked: {refused.text}"))
                return
            self._tell(s.Checked((Finding("replay", False, refused.text),)))

    async def _compare(self, race: str) -> None:
        """Ask for par until it is there; a server that has none is not asked twice."""
        until = time.monotonic() + PAR_S
        while time.monotonic() < until:
            try:
                data = await asyncio.to_thread(self._api.fetch, f"/races/{race}/par", query={"seat": self.scene.seat})
                told = par_of(data, self.scene.seat)
            except (Failure, msgspec.DecodeError):
                return
            if told:
                self._tell(told)
                return
            await asyncio.sleep(1)


def findings(data: bytes, receipts: Receipts) -> tuple[Finding, ...]:
    """What there is to find out about a replay, and whether it is the race that was told while it ran.

    Raises Refused for what is no replay.
    """
    facts = verify(read(data), receipts=receipts)
    return tuple(Finding(fact.name, fact.holds, _with_entry(fact.note, fact.entry)) for fact in facts)


def _with_entry(note: str, entry: int | None) -> str:
    return note if entry is None else f"{note} (entry {entry})"


class _Compared(msgspec.Struct):
    seat: int
    worse: float
    equal: float
    better: float
    squares: tuple[str, ...]


class _Par(msgspec.Struct):
    racers: tuple[_Compared, ...] = ()


def par_of(data: bytes, seat: int | None) -> s.ParTold | None:
    """The own strip in what the server says about par; None while it has nothing to say. Raises DecodeError."""
    par = msgspec.json.decode(data, type=_Par)
    mine = next((racer for racer in par.racers if racer.seat == seat), None)
    if mine is None:
        return None
    shares = [round(100 * share) for share in (mine.worse, mine.equal, mine.better)]
    text = "better than {} % of its plays, level with {} %, worse than {} %".format(*shares)
    return s.ParTold(mine.squares, text)


def again(header: Header) -> dict[str, object]:
    """The request for another race like one: the same game and options, and a new deal."""
    wish: dict[str, object] = {
        "game": header.game,
        "variant": header.variant,
        "options": msgspec.to_builtins(header.options),
    }
    return wish
