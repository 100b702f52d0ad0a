"""The replay player as a Textual app: draws the state, passes it keys, clicks and time, and verifies the replay.

The state and the drawing are elsewhere (``state/replay_state.py``, ``replay_view.py``); this module does the I/O.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.events import Key, MouseDown, MouseScrollDown, MouseScrollUp, Resize

from samedeal_cli.race_app.canvas_widget import CanvasWidget, key_name
from samedeal_cli.render.themes import Look
from samedeal_cli.replay_app.replay_view import draw_screen
from samedeal_cli.state.replay_state import Player

FRAME_S: Final = 0.05


class ReplayApp(App[None]):
    """Shows one replay until the user quits."""

    CSS = "Screen { background: ansi_default; }"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, player: Player, look: Look, verify: Callable[[], bool]) -> None:
        """Start from `player`; `verify` returns whether the replay is valid; it runs in a thread."""
        super().__init__(ansi_color=True)
        self.player = player
        self.interrupted = False
        self._look, self._verify = look, verify
        self._widget = CanvasWidget()
        self._drawn_at = time.monotonic()
        self._checking: asyncio.Task[None] | None = None

    def compose(self) -> ComposeResult:
        """Yield the only widget."""
        yield self._widget

    def on_mount(self) -> None:
        """Draw the first frame, start the clock and the verification."""
        self._widget.focus()
        self._show(self.player)
        self._drawn_at = time.monotonic()
        self.set_interval(FRAME_S, self._tick)
        self._checking = asyncio.create_task(self._check())

    def on_resize(self, _event: Resize) -> None:
        """Redraw at the new size."""
        self._show(self.player)

    async def on_event(self, event: Any) -> None:
        """Handle keys before Textual does."""
        if isinstance(event, Key):
            event.stop()
            self._press(key_name(event))
            return
        await super().on_event(event)

    def on_mouse_down(self, event: MouseDown) -> None:
        """Press a key, seek on the timeline, or watch a racer."""
        row, column = int(event.screen_y), int(event.screen_x)
        spots = self._widget.canvas.spots
        name = next((name for name, spot in spots.items() if spot.contains(row, column)), "")
        kind, _, what = name.partition(":")
        if kind == "key":
            self._press(what)
        elif kind == "timeline":
            spot = spots[name]
            self._show(self.player.seek(self.player.recording.length * (column - spot.column) / (spot.width - 1)))
        elif kind == "racer":
            self._show(self.player.watch_seat(int(what)))

    def on_mouse_scroll_down(self, _event: MouseScrollDown) -> None:
        """Go to the next move."""
        self._press("right")

    def on_mouse_scroll_up(self, _event: MouseScrollUp) -> None:
        """Go to the previous move."""
        self._press("left")

    def _press(self, key: str) -> None:
        if key == "ctrl+c":
            self.interrupted = True
            self.exit()
            return
        self._show(self.player.on_key(key))
        if self.player.left:
            self.exit()

    def _tick(self) -> None:
        now = time.monotonic()
        passed, self._drawn_at = now - self._drawn_at, now
        if self.player.playing:
            self._show(self.player.advance(passed * 1000))

    def _show(self, player: Player) -> None:
        self.player = player
        self._widget.show(draw_screen(player, self.size.width, self.size.height), self._look)

    async def _check(self) -> None:
        verified = await asyncio.to_thread(self._verify)
        self._show(replace(self.player, verified=verified))
