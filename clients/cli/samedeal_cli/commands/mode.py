"""The mode of a race or replay: full screen or lines of text."""

import os
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import click

from samedeal_cli.failure import INTERRUPTED, Misused, how_to_install
from samedeal_cli.render.canvas import LEAST
from samedeal_cli.settings import Settings

if TYPE_CHECKING:
    from samedeal_cli.render.canvas import Canvas
    from samedeal_cli.screen.canvas_widget import CanvasScreen

T = TypeVar("T", bound="CanvasScreen")
Mode = Literal["tui", "line"]
DUMB_TERMS: Final = ("", "dumb", "unknown")
"""Values of TERM for terminals that cannot move the cursor."""

mode_option = click.option(
    "--tui/--line",
    "mode",
    default=None,
    callback=lambda context, parameter, value: None if value is None else "tui" if value else "line",
    help="Use the full screen, or lines of text.  [default: --tui on a terminal]",
)


def choose_mode(requested: Mode | None, settings: Settings) -> Mode:
    """Return the mode. Say so if it is not the default one. Raises Misused if `tui` is not possible."""
    if requested == "line" or settings.json or (settings.screen_reader and requested is None):
        return "line"
    why_not = _why_not(requested=requested == "tui")
    if requested == "tui" and why_not:
        raise Misused(f"cannot use the full screen: {why_not}")
    if why_not:
        if at_terminal():
            settings.say(f"samedeal: no full screen: {why_not}")
        return "line"
    if all(os.get_terminal_size(1)):  # the window can change its size
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)
    return "tui"


def at_terminal() -> bool:
    """Return whether standard input, output and error are all terminals."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def run_full_screen(settings: Settings, first_frame: "Canvas", make_screen: Callable[[], T]) -> tuple[T, int]:
    """Show a frame while the rest of the program loads, then run a screen. Return it and the exit code."""
    # Textual tests whether NO_COLOR is set.
    if settings.colored:
        os.environ.pop("NO_COLOR", None)
    else:
        os.environ["NO_COLOR"] = "1"
    from samedeal_cli.render.themes import look
    from samedeal_cli.screen.splash import splash_screen

    with splash_screen(first_frame, look(settings.theme, settings.suits, colored=settings.colored)) as restore:
        from samedeal_cli.running import WayOut, run
        from samedeal_cli.screen.app import FullScreen

        screen, way_out = make_screen(), WayOut(restore)
        app = FullScreen(screen, way_out, animation=settings.animation)
        run(app.run_async(mouse=settings.mouse), way_out)
    return screen, INTERRUPTED if app.interrupted else 0


def _why_not(*, requested: bool) -> str:
    """Return why the full screen cannot be used; empty if it can."""
    if not at_terminal():
        return "standard input, output and error must all be terminals"
    if os.name == "posix" and (term := os.environ.get("TERM", "")) in DUMB_TERMS:
        return f"TERM={term or '(none)'} cannot move the cursor"
    size = os.get_terminal_size(1)
    columns, lines = size if all(size) else shutil.get_terminal_size()
    if (columns < LEAST[0] or lines < LEAST[1]) and not requested:
        return f"it needs {LEAST[0]}x{LEAST[1]}, this terminal is {columns}x{lines}"
    if find_spec("textual") is None:
        return f"it is not installed: {how_to_install('all')}"
    return ""
