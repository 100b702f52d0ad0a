"""The screen of a replay: draws the state, passes it keys, clicks and time, and verifies the replay.

The state and the drawing are elsewhere (``state/replay_state.py``, ``replay_view.py``); this module does the I/O.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from textual.events import MouseDown, MouseScrollDown, MouseScrollUp, Resize

from samedeal.analysis.analysis import Analysis
from samedeal.proof.outcomes import Outcome
from samedeal_cli.failure import Failure
from samedeal_cli.render.canvas import PANE, Palette
from samedeal_cli.screen.canvas_widget import CanvasScreen, LineInput
from samedeal_cli.screen.dialogs import TextDialog
from samedeal_cli.screen.replay_view import MARKS, draw_screen
from samedeal_cli.screen.texts import help_lines
from samedeal_cli.state.actions import help_rows
from samedeal_cli.state.pile_keys import key_meant
from samedeal_cli.state.replay_state import ACTIONS, Player

FRAME_S: Final = 0.05


class ReplayScreen(CanvasScreen):
    """Shows one replay until the user closes it."""

    def __init__(
        self,
        player: Player,
        look: Palette,
        verify: Callable[[], Outcome],
        analyse: Callable[[], Awaitable[Analysis]] | None = None,
        practise: Callable[[Player], CanvasScreen] | None = None,
    ) -> None:
        """Start from `player`; `verify` returns the outcome of the verification; it runs in a thread.

        `analyse` searches for the turning points of the race, unless the player has them. `practise` returns a screen
        to play on from the player's position.
        """
        super().__init__()
        self.player = player
        self._look, self._verify, self._analyse, self._practise = look, verify, analyse, practise
        self._drawn_at = time.monotonic()
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    def on_mount(self) -> None:
        """Draw the first frame, start the clock, the verification and the analysis."""
        self._show(self.player)
        self._drawn_at = time.monotonic()
        self.set_interval(FRAME_S, self._tick)
        self._tasks = asyncio.create_task(self._check()), asyncio.create_task(self._find_turning_points())

    async def on_unmount(self) -> None:
        """End the analysis."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def on_resize(self, _event: Resize) -> None:
        """Redraw at the new size."""
        self._show(self.player)

    def on_mouse_down(self, event: MouseDown) -> None:
        """Press a key, seek on the timeline, or watch a racer."""
        name = self.spot_at(event) or ""
        kind, _, what = name.partition(":")
        if kind == "key":
            self.press(what)
        elif kind == "timeline":
            spot = self.widget.canvas.spots[name]
            share = (event.screen_x - spot.column) / (spot.width - 1)
            self._show(self.player.seek(self.player.recording.length * share))
        elif kind == "seat":
            self._show(self.player.watch_seat(int(what)))

    def on_mouse_scroll_down(self, _event: MouseScrollDown) -> None:
        """Go to the next move."""
        self.press("right")

    def on_mouse_scroll_up(self, _event: MouseScrollUp) -> None:
        """Go to the previous move."""
        self.press("left")

    def press(self, key: str) -> None:
        """Handle a key."""
        key = key_meant(key, {name for action in ACTIONS for name in action.keys.split()})
        match key:
            case "q" | "escape":
                self.close()
            case "?":
                keys = [*help_rows(ACTIONS), ("0-9", "jump to a tenth of the race")]
                sections = ("Keys", keys), ("Marks", [(sign, kind) for kind, (sign, _) in MARKS.items()])
                self.app.push_screen(TextDialog("Replay", lambda width: help_lines(sections, width), self._look))
            case "p" if self._practise:
                self._show(replace(self.player, playing=False))
                try:
                    self.app.push_screen(self._practise(self.player))
                except Failure as failure:
                    self._show(replace(self.player, note=failure.format_message()))
            case "/":
                self.ask_for_line("a time such as 1:48 or a move such as m35")
            case "c" if len(self.player.recording.tracks) > 1 and self.size.width < 2 * PANE:
                self._show(replace(self.player, note=f"racers side by side need {2 * PANE} columns"))
            case _:
                self._show(self.player.on_key(key))

    def on_input_submitted(self, event: LineInput.Submitted) -> None:
        """Go to the typed moment."""
        self.action_close_line()
        if event.value:
            self._show(self.player.go_to_text(event.value.strip()))

    def _tick(self) -> None:
        now = time.monotonic()
        passed, self._drawn_at = now - self._drawn_at, now
        if self.player.playing:
            self._show(self.player.advance(passed * 1000))

    def _show(self, player: Player) -> None:
        self.player = player
        *entries, quit_ = (action.entry(player) for action in ACTIONS if action.works(player))
        entries.append(quit_ if self.app.screen_stack[0] is self else quit_._replace(label="back"))
        self.show(draw_screen(player, self.size.width, self.size.height), self._look, entries)

    async def _check(self) -> None:
        outcome = await asyncio.to_thread(self._verify)
        self._show(replace(self.player, outcome=outcome))

    async def _find_turning_points(self) -> None:
        if self._analyse and not self.player.analysis:
            with suppress(Failure):
                analysis = await self._analyse()
                self._show(replace(self.player, analysis=analysis))
