"""The mode: whether a race is played on the full screen or line by line, and why not the one that was expected."""

import os
import shutil
import sys
from importlib.util import find_spec
from typing import Final, Literal, NamedTuple

import click

from samedeal_cli.failure import Misused
from samedeal_cli.settings import Settings

Mode = Literal["tui", "line"]
Boards = Literal["picture", "words", "none"]
"""How tables are shown line by line."""
LEAST: Final = (60, 20)
"""The smallest full screen: columns and lines."""
STUPID: Final = ("", "dumb", "unknown")
"""What TERM says of a terminal that cannot move its cursor."""

mode_option = click.option(
    "--tui/--line",
    "mode",
    default=None,
    callback=lambda context, parameter, value: None if value is None else "tui" if value else "line",
    help="Use the full screen, or lines of text.  [default: --tui on a terminal]",
)


class Place(NamedTuple):
    """What the program is run in."""

    terminal: bool
    """Whether standard input, output and error all are one: the screen is drawn on the last."""
    term: str
    columns: int
    lines: int
    installed: bool
    """Whether what draws the full screen is."""


def here() -> Place:
    """What this process is run in."""
    size = shutil.get_terminal_size()
    terminal = os.name == "posix" and all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    return Place(terminal, os.environ.get("TERM", ""), *size, find_spec("textual") is not None)


def chosen(requested: Mode | None, settings: Settings, place: Place) -> tuple[Mode, str]:
    """The mode, and what a person should be told who expected the other one. Raises Misused for `tui` where there can
    be none.
    """
    if requested == "line" or settings.json or (settings.screen_reader and requested is None):
        return "line", ""
    why_not = _why_not(place, requested=requested == "tui")
    if requested == "tui" and why_not:
        raise Misused(f"cannot use the full screen: {why_not}")
    if requested == "tui" or not why_not:
        return "tui", ""
    return "line", f"using line mode: {why_not}" if place.terminal else ""


def _why_not(place: Place, *, requested: bool) -> str:
    if not place.terminal:
        return "standard input, output and error must all be terminals"
    if place.term in STUPID:
        return f"TERM={place.term or '(none)'} cannot move the cursor"
    if (place.columns < LEAST[0] or place.lines < LEAST[1]) and not requested:
        return f"the full screen needs {LEAST[0]}x{LEAST[1]}, this terminal is {place.columns}x{place.lines}"
    if not place.installed:
        return "the full screen is not installed (pip install 'samedeal[tui]')"
    return ""
