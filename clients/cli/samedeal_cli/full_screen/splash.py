"""The first frame of a full-screen app, shown while the rest of the program loads."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from samedeal_cli.render.canvas import Canvas, Palette, ansi

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[2J", "\x1b[?1049l\x1b[?25h"


@contextmanager
def splash_screen(canvas: Canvas, look: Palette) -> Iterator[None]:
    """Show a canvas on the terminal's alternate screen, and restore the terminal on exit.

    Keys typed meanwhile are not echoed, and the app receives them.
    """
    if os.name != "posix":  # Windows shows the app's own first frame
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(0)
    try:
        tty.setcbreak(0)
        lines = (f"\x1b[{at};1H{ansi(row, look)}" for at, row in enumerate(canvas.rows(), 1))
        sys.stdout.write(ENTER + "".join(lines))
        sys.stdout.flush()
        yield
    finally:
        sys.stdout.write(LEAVE)
        sys.stdout.flush()
        termios.tcsetattr(0, termios.TCSADRAIN, before)
