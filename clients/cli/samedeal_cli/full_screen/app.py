"""The full screen: one Textual app, whose screens are races and replays."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, ClassVar

from textual.app import App, SuspendNotSupported, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from samedeal_cli.full_screen.canvas_widget import CanvasScreen


class FullScreen(App[None]):
    """Shows a screen, and those that it opens, until the user quits."""

    CSS = """
    Screen, Footer, FooterKey, Input, Input:focus, OptionList, OptionList:focus, CommandPalette > Vertical {
        background: $background; background-tint: 0%; color: $foreground;
    }
    CanvasWidget { height: 1fr; }
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

    def __init__(self, first: CanvasScreen, *, animation: bool = True) -> None:
        """Start with a screen. `animation` is whether Textual may show animations, such as smooth scrolling."""
        # Without colours, those of the terminal stay: Textual would replace its own by shades of grey.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        if not animation:
            self.animation_level = "none"
        self._first = first
        self.interrupted = False

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
