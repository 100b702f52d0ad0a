"""The screen of a replay: draws the state, passes it keys, clicks and time, and verifies the replay.

The state and the drawing are elsewhere (``state/replay_state.py``, ``replay_view.py``); this module does the I/O.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from textual.events import MouseDown, MouseScrollDown, MouseScrollUp, Resize

from samedeal.proof.outcomes import Outcome
from samedeal_cli.full_screen.canvas_widget import CanvasScreen, LineInput
from samedeal_cli.full_screen.dialogs import TextDialog
from samedeal_cli.full_screen.replay_view import MARKS, draw_screen
from samedeal_cli.full_screen.texts import help_lines
from samedeal_cli.render.canvas import Palette
from samedeal_cli.state.actions import help_rows
from samedeal_cli.state.replay_state import ACTIONS, Player

FRAME_S: Final = 0.05


class ReplayScreen(CanvasScreen):
    """Shows one replay until the user closes it."""

    def __init__(self, player: Player, look: Palette, verify: Callable[[], Outcome]) -> None:
        """Start from `player`; `verify` returns the outcome of the verification; it runs in a thread."""
        super().__init__()
        self.player = player
        self._look, self._verify = look, verify
        self._drawn_at = time.monotonic()
        self._checking: asyncio.Task[None] | None = None

    def on_mount(self) -> None:
        """Draw the first frame, start the clock and the verification."""
        self._show(self.player)
        self._drawn_at = time.monotonic()
        self.set_interval(FRAME_S, self._tick)
        self._checking = asyncio.create_task(self._check())

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
        elif kind == "racer":
            self._show(self.player.watch_seat(int(what)))

    def on_mouse_scroll_down(self, _event: MouseScrollDown) -> None:
        """Go to the next move."""
        self.press("right")

    def on_mouse_scroll_up(self, _event: MouseScrollUp) -> None:
        """Go to the previous move."""
        self.press("left")

    def press(self, key: str) -> None:
        """Handle a key."""
        match key:
            case "q" | "escape":
                if self.app.screen_stack[0] is self:
                    self.app.exit()
                else:
                    self.dismiss()
            case "?":
                keys = [*help_rows(ACTIONS), ("0-9", "jump to a tenth of the race")]
                sections = ("Keys", keys), ("Marks", [(sign, kind) for kind, (sign, _) in MARKS.items()])
                self.app.push_screen(TextDialog("Replay", lambda width: help_lines(sections, width), self._look))
            case "/":
                self.ask_for_line("a time such as 1:48 or a move such as m35")
            case _:
                self._show(self.player.on_key(key))

    def on_input_submitted(self, event: LineInput.Submitted) -> None:
        """Go to the typed moment."""
        event.input.remove()
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
