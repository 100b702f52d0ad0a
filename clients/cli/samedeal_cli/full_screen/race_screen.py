"""The full screen of a race as a Textual app: draws the state, passes it keys and messages, and runs its commands.

The state and the drawing are elsewhere (``state/race_*.py``, ``race_view.py``); this module does the I/O.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import msgspec
from textual.events import MouseDown, MouseUp, Resize

from samedeal.computer.par import Compared
from samedeal.errors import Refused
from samedeal.proof.receipts import Receipts
from samedeal.proof.verification import verify
from samedeal.race.events import Header
from samedeal.replays.replay import read
from samedeal.wire.documents import RacePar
from samedeal.wire.messages import Reaction, ReactionName
from samedeal_cli.commands.parameters import race_request, rematch_request
from samedeal_cli.failure import Declined, Failure
from samedeal_cli.full_screen.canvas_widget import CanvasApp
from samedeal_cli.full_screen.race_view import draw_screen
from samedeal_cli.net.connection import Connection, Lost, Restored
from samedeal_cli.net.http_api import Api, ParProgress
from samedeal_cli.net.replay_loader import fetch_archived
from samedeal_cli.render.themes import look
from samedeal_cli.settings import Settings
from samedeal_cli.state import race_keys as keys
from samedeal_cli.state import race_update
from samedeal_cli.state.race_state import Check, Notice, ParSummary, RaceState, state_of_next_race

DOUBLE_CLICK_S: Final = 0.4
TICK_S: Final = 0.1
REPLAY_TIMEOUT_S: Final = 10.0
"""How long to wait for the replay after a race."""
PAR_TIMEOUT_S: Final = 60.0
"""How long to wait for par."""

TOO_LATE: Final = ("untimely", "race-full")
"""The codes with which the server refuses a seat in a race that can still be watched."""

Connect = Callable[[str, bool], Connection]
"""Returns a connection to the race with an id, and whether only to watch it."""


class FullScreen(CanvasApp):
    """Shows one race, and its rematches, until the player quits."""

    def __init__(
        self, state: RaceState, connect: Connect, api: Api, settings: Settings, *, ready: bool = False
    ) -> None:
        """Start from `state`; with `ready`, get ready as soon as the race accepts it."""
        super().__init__(animation=settings.animation)
        self.state = state
        self.failure: BaseException | None = None
        """The error that ended the app, if any."""
        self.left = False
        """Whether the player gave up the seat."""
        self.connection: Connection | None = None
        self._connect, self._api, self._colored, self._ready_at_once = connect, api, settings.colored, ready
        self._race_task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        """Set when the race is over, by a broadcast or by an answer."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._mouse_down: str | None = None
        self._last_click: tuple[str, float] | None = None

    # The screen.

    def on_mount(self) -> None:
        """Draw the first frame and join the race."""
        self._change(width=self.size.width, height=self.size.height)
        self.set_interval(TICK_S, self._tick)
        self._race_task = self._start(self._run_race(self.state.race_id))

    async def on_unmount(self) -> None:
        """Cancel all tasks, which closes the connection."""
        for task in tuple(self._tasks):
            if task is not asyncio.current_task():
                if not task.cancelling():  # a second time would interrupt the closing of a connection
                    task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def on_resize(self, event: Resize) -> None:
        """Redraw at the new size."""
        self._change(width=event.size.width, height=event.size.height)

    def _show(self, state: RaceState) -> None:
        self.state = state
        theme = look(state.theme, state.suits, colored=self._colored)
        self.widget.show(draw_screen(state, state.width, state.height), theme)

    def _change(self, **fields: Any) -> None:
        self._show(replace(self.state, **fields))

    def _update_snapshot(self) -> None:
        connection = self.connection
        if connection:
            now = connection.view, connection.standings, connection.left_ms, connection.ghosts
            rematch = self.state.rematch
            self._show(race_update.update(self.state, *now))
            if self.state.rematch and self.state.rematch != rematch:
                self.bell()
            if connection.over:
                self._ended.set()

    def _tick(self) -> None:
        """Redraw when the clock shows a new second."""
        left = self.connection.left_ms if self.connection else None
        shown = self.state.left_ms
        if left is not None and not self.state.over and (shown is None or -(-left // 1000) != -(-shown // 1000)):
            self._change(left_ms=left)

    # Keys and clicks.

    def press(self, key: str) -> None:
        self._take_step(keys.on_key(self.state, key, time.monotonic()))

    def on_mouse_down(self, event: MouseDown) -> None:
        """Start a click or a drag; the right button acts at once."""
        spot = self.spot_at(event)
        self._mouse_down = spot if event.button == 1 else None
        if spot and event.button == 3:
            self._take_step(keys.on_click(self.state, spot, "right"))

    def on_mouse_up(self, event: MouseUp) -> None:
        """Finish a click on the same spot, or a drag to another."""
        source, self._mouse_down = self._mouse_down, None
        spot = self.spot_at(event)
        if not source or not spot:
            return
        if spot != source:
            self._last_click = None
            self._take_step(keys.on_drag(self.state, source, spot))
            return
        now, last = time.monotonic(), self._last_click
        double = last is not None and last[0] == spot and now - last[1] < DOUBLE_CLICK_S
        self._last_click = None if double else (spot, now)
        self._take_step(keys.on_click(self.state, spot, "double" if double else "left"))

    def _take_step(self, step: keys.Step) -> None:
        state, command = step
        self._show(state)
        if command:
            self._run_command(command)

    # Commands.

    def _run_command(self, command: keys.Command) -> None:
        match command:
            case "quit" | "interrupt":
                self.interrupted = command == "interrupt"
                self.exit()
            case "copy-link":
                self._copy_link()
            case "copy-result":
                self._start(self._copy_result())
            case "open-replay":
                self._open_replay()
            case keys.RaceAgain():
                self._start(self._race_again(command))
            case keys.SendReaction(reaction=reaction):
                self._start(self._react(reaction))
            case _:
                self._start(self._send(command))

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def _on_task_done(self, task: "asyncio.Task[None]") -> None:
        """Quit on an error; the caller reports it after the terminal is restored."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.failure = self.failure or error
            self.exit()

    async def _send(self, command: keys.Command) -> None:
        """Send a command to the server and show the answer."""
        connection = self.connection
        if connection is None:
            return
        try:
            match command:
                case keys.PlayMove(move=move):
                    await connection.move(move)
                case "ready" | "unready":
                    await connection.ready(command == "ready")
                case "start":
                    await connection.start_race()
                case keys.AddBot(level=level):
                    await connection.add_bot(level)
                case keys.RemovePlayer(seat=seat):
                    await connection.remove(seat)
                case "resign":
                    await connection.resign()
                case "leave":
                    await connection.leave()
                    self.left = True
                    self.exit()
                case _:
                    raise AssertionError(command)
        except (Refused, Declined) as refused:
            text = refused.text if isinstance(refused, Refused) else refused.format_message()
            self._show(race_update.move_refused(self.state, text))
            return
        except Failure:
            return  # _receive gets the same error, and ends the app
        self._update_snapshot()
        self._take_step(race_update.handle_queued_key(self.state))

    async def _react(self, reaction: ReactionName) -> None:
        if connection := self.connection:
            try:
                self._show(race_update.reaction_sent(self.state, await connection.react(reaction)))
            except Refused as refused:
                self._change(notice=Notice(refused.text, "bad"))
            except Failure:
                return  # _receive gets the same error, and ends the app

    def _copy_link(self) -> None:
        self.copy_to_clipboard(self.state.link)
        self._change(notice=Notice("The link was sent to the terminal's clipboard. It is also printed when you quit."))

    async def _copy_result(self) -> None:
        try:
            text = await asyncio.to_thread(self._api.share_text, self.state.race_id, self.state.seat)
        except Failure as failure:
            self._change(notice=Notice(failure.format_message(), "bad"))
            return
        self.copy_to_clipboard(text)
        line, _, _ = text.partition("\n")
        self._change(notice=Notice(f"Sent to the terminal's clipboard: {line}"))

    def _open_replay(self) -> None:
        words = (sys.executable, "-m", "samedeal_cli.main", "replay", f"{self._api.server}/r/{self.state.race_id}")
        with self.suspend():
            subprocess.run(words, check=False)  # noqa: S603 (our own program)
        self.refresh()

    async def _race_again(self, command: keys.RaceAgain) -> None:
        """Join the rematch, or open another race like this one if the user has no seat in it."""
        header, rematch, connection = self.state.header, self.state.rematch, self.connection
        if header is None or connection is None:
            return
        race_id, link = (rematch.race, f"{self._api.server}/r/{rematch.race}") if rematch else ("", "")
        if self.state.me or not rematch:
            has_seat = self.state.me is not None and (self.state.stage == "over" or header.follows)
            try:
                opened = await asyncio.to_thread(
                    self._api.open_race,
                    rematch_request(header.race, command.game) if has_seat else request_like(header),
                    connection.token,
                )
            except Failure as failure:
                self._change(notice=Notice(failure.format_message(), "bad"))
                return
            race_id, link = opened.race, opened.link
        if self._race_task:
            self._race_task.cancel()
        self.connection, self._ready_at_once = None, command.ready
        self._show(state_of_next_race(self.state, race_id, link))
        self._race_task = self._start(self._run_next_race(race_id))
        if not rematch:
            self._copy_link()

    # The race.

    async def _run_next_race(self, race_id: str) -> None:
        """Take a seat in another race, or watch it if it has started or is full."""
        try:
            await self._run_race(race_id)
        except Declined as declined:
            if declined.code not in TOO_LATE:
                raise
            self._change(watching=True, notice=Notice("You were too late to take a seat. You are watching.", "bad"))
            await self._run_race(race_id)

    async def _run_race(self, race_id: str) -> None:
        """Follow a race to its end, then verify it and fetch par."""
        async with self._connect(race_id, self.state.watching) as connection:
            self.connection = connection
            self._ended.clear()
            game = await asyncio.to_thread(self._api.game, connection.header.game)
            away_s = await asyncio.to_thread(self._api.away_s) if connection.view.stage == "open" else None
            self._change(header=connection.header, game=game, away_s=away_s)
            self._update_snapshot()
            if connection.header.follows:
                self._start(self._fetch_evening(race_id))
            is_alone = connection.header.options.max_racers == 1
            if (self._ready_at_once or is_alone) and self.state.me and self.state.stage == "open":
                self._start(self._send("ready"))
            receiving, ended = asyncio.create_task(self._receive(connection)), asyncio.create_task(self._ended.wait())
            try:
                await asyncio.wait((receiving, ended), return_when=asyncio.FIRST_COMPLETED)
                if receiving.done():
                    receiving.result()
                if self.state.stage == "over":
                    await asyncio.gather(
                        self._fetch_evening(race_id), self._verify(race_id, connection), self._fetch_par(race_id)
                    )
                with suppress(Failure):  # the race is over: without a connection, only news of a rematch are missing
                    await receiving
            finally:
                for task in (receiving, ended):
                    task.cancel()

    async def _receive(self, connection: Connection) -> None:
        async for news in connection:
            if isinstance(news, Reaction):
                self._show(race_update.reaction_sent(self.state, news))
                continue
            if isinstance(news, Lost):
                self._change(connection_error=news.why)
                continue
            if isinstance(news, Restored):
                self._change(connection_error="")
            self._update_snapshot()
            self._take_step(race_update.handle_queued_key(self.state))

    async def _verify(self, race_id: str, connection: Connection) -> None:
        try:
            data = await fetch_archived(self._api, race_id, REPLAY_TIMEOUT_S)
            keys = await asyncio.to_thread(self._api.keys)
        except Failure as failure:
            self._change(unverified_reason=f"not verified: {failure.format_message()}")
            return
        try:
            checks = await asyncio.to_thread(run_checks, data, keys, connection.receipts)
            self._change(checks=checks, key_known=bool(keys))
        except Refused as refused:
            if refused.code == "unsupported-version":
                self._change(unverified_reason=f"not verified: {refused.text}")
            else:
                self._change(checks=(Check("replay", False, refused.text),))

    async def _fetch_evening(self, race_id: str) -> None:
        with suppress(Failure):  # an older server has no evenings
            evening = await asyncio.to_thread(self._api.evening, race_id)
            if race_id == self.state.race_id:
                self._change(evening=evening)

    async def _fetch_par(self, race_id: str) -> None:
        """Poll par until it is complete; give up at the first error."""
        deadline = time.monotonic() + PAR_TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                data = await asyncio.to_thread(
                    self._api.fetch, f"/races/{race_id}/par", query={"seat": self.state.seat}
                )
                if self._api.read(data, ParProgress).done is None:
                    for racer in self._api.read(data, RacePar).racers:
                        if racer.seat == self.state.seat:
                            self._change(par=par_summary(racer))
                    return
            except Failure:
                return
            await asyncio.sleep(1)


def request_like(header: Header) -> dict[str, object]:
    """Return the body of a request for a race with the same game and options, on another deal."""
    options, variants = msgspec.to_builtins(header.options), tuple(header.variant.items())
    return race_request(header.game, None, options, variants=variants)


def run_checks(data: bytes, keys: tuple[str, ...], receipts: Receipts) -> tuple[Check, ...]:
    """Verify a replay with its server's keys and the receipts of the race. Raises Refused for an invalid replay."""
    facts = verify(read(data), keys, receipts)
    return tuple(
        Check(fact.name, fact.holds, fact.note if fact.entry is None else f"{fact.note} (entry {fact.entry})")
        for fact in facts
    )


def par_summary(racer: Compared) -> ParSummary:
    """Describe a racer's par."""
    shares = [round(100 * share) for share in (racer.worse, racer.equal, racer.better)]
    text = "You did better than {} % of the computer, level with {} %, worse than {} %".format(*shares)
    return ParSummary(racer.squares, text)
