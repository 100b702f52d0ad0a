"""The full screen: one Textual app, whose screens are races and replays."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, ClassVar, cast

from textual.app import App, SuspendNotSupported, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.events import Key
from textual.message import Message
from textual.screen import Screen

from samedeal_cli.failure import INTERRUPTED
from samedeal_cli.running import WayOut
from samedeal_cli.screen.canvas_widget import CanvasScreen


class _KeyReader(Driver):
    """Sees Ctrl-C before the event loop does: the terminal sends it as a key."""

    def process_message(self, message: Message) -> None:
        """Handle a key, in the thread that reads it."""
        if isinstance(message, Key) and message.key == "ctrl+c" and isinstance(self._app, FullScreen):
            self._app.way_out.request(INTERRUPTED, self._loop)
        super().process_message(message)


class FullScreen(App[None]):
    """Shows a screen, and those that it opens, until the user quits."""

    CSS = """
    Screen, KeyLine, Input, Input:focus, OptionList, OptionList:focus, CommandPalette > Vertical {
        background: $background; background-tint: 0%; color: $foreground;
    }
    CanvasWidget { height: 1fr; }
    KeyLine { dock: bottom; height: 1; text-wrap: nowrap; }
    ModalScreen { align: center middle; background: transparent; }
    .dialog { border: round $foreground; padding: 0 1; width: auto; height: auto;
              max-width: 100%; max-height: 100%; min-width: 36; background: $background; color: $foreground; }
    CommandPalette { background: transparent; }
    CommandPalette #--input { border: hkey $foreground; }
    SearchIcon { display: none; }
    """
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "quit", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(self, first: CanvasScreen, way_out: WayOut | None = None, *, animation: bool = True) -> None:
        """Start with a screen. `animation` is whether Textual may show animations, such as smooth scrolling."""
        if not (no_color := os.environ.get("NO_COLOR")):
            os.environ.pop("NO_COLOR", None)  # if it is empty, it means nothing, except to Textual
        # Without colours, those of the terminal stay: Textual would replace its own by shades of grey.
        super().__init__(ansi_color=True if no_color else None)
        if not animation:
            self.animation_level = "none"
        self._first = first
        self.interrupted = False
        self.way_out = way_out or WayOut()
        """What Ctrl-C uses if the event loop is blocked."""

    def get_driver_class(self) -> type[Driver]:
        """Return the driver for this platform, which reads keys in a thread of its own, with a way out."""
        return cast(type[Driver], type("KeyReader", (_KeyReader, super().get_driver_class()), {}))

    def get_default_screen(self) -> Screen[Any]:
        """Return the first screen."""
        return self._first

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Yield every action that works now for the command palette."""
        return screen.palette() if isinstance(screen, CanvasScreen) else ()

    def action_interrupt(self) -> None:
        """Quit as Ctrl-C does."""
        self.interrupted = True
        self.exit()

    def action_suspend_process(self) -> None:
        """Stop until the shell continues the program, then redraw everything."""
        with suppress(SuspendNotSupported), self.suspend():
            os.kill(os.getpid(), signal.SIGSTOP)
