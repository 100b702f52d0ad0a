"""The first frame of a full-screen app, shown while the rest of the program loads."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from select import select
from typing import Final

from samedeal_cli.render.canvas import Canvas, Palette, ansi

ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[2J"
WRITABLE_S: Final = 1.0
"""How long to wait for a terminal that is not read (s)."""
MODES: Final = (1000, 1003, 1015, 1006, 1016, 1004, 2004, 2048)
"""What the app switches on: the mouse, focus, bracketed paste and reports of the size."""
RESET: Final = "\x1b[<u" + "".join(f"\x1b[?{mode}l" for mode in MODES) + "\x1b[?7h"
"""Also ends the keyboard protocol of kitty, and wraps lines again."""
LEAVE: Final = "\x1b[?1049l\x1b[?25h"


@contextmanager
def splash_screen(canvas: Canvas, look: Palette) -> Iterator[Callable[[], None]]:
    """Show a canvas on the terminal's alternate screen, and restore the terminal on exit.

    Keys typed meanwhile are not echoed, and the app receives them. Yields a function that restores the terminal in
    the state that the app leaves it in if it cannot do so itself.
    """
    if os.name != "posix":  # Windows shows the app's own first frame
        yield lambda: None
        return
    import termios
    import tty

    before = termios.tcgetattr(0)

    def restore() -> None:
        with suppress(OSError, termios.error):  # the terminal is gone
            termios.tcsetattr(0, termios.TCSANOW, before)
            if select([], [1], [], WRITABLE_S)[1]:
                os.write(1, (RESET + LEAVE).encode())

    try:
        tty.setcbreak(0)
        lines = (f"\x1b[{at};1H{ansi(row, look)}" for at, row in enumerate(canvas.rows(), 1))
        sys.stdout.write(ENTER + "".join(lines))
        sys.stdout.flush()
        yield restore
    finally:
        sys.stdout.write(LEAVE)
        sys.stdout.flush()
        termios.tcsetattr(0, termios.TCSADRAIN, before)
