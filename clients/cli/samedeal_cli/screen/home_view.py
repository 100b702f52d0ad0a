"""The view of the home screen."""

from functools import partial
from typing import Final

from samedeal_cli.render.canvas import BOLD, DIM, Canvas, Spot, Style
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.screen.drawing import SUITS, draw_button, draw_frame
from samedeal_cli.state.home_state import HomeState

WIDTH: Final = 76
"""The width of the entries, which are in the middle of wider screens."""
LETTER: Final = Style("letter", bold=True)


def draw_home(state: HomeState) -> Canvas:
    """Draw what the user can do, each with its key; the first is also done by Enter."""
    return draw_frame(state.width, state.height, partial(_draw, state), plain=state.ascii)


def _draw(state: HomeState, canvas: Canvas) -> None:
    for at, (suit, style) in enumerate(SUITS):
        canvas.write(0, 1 + at, suit, style)
    canvas.write(0, 6, "Same Deal", BOLD)
    where = f"{state.name} · {state.server}" if state.name else state.server
    canvas.write(0, canvas.width - cells(where) - 1, where)
    bottom = canvas.height - 2
    canvas.line(1)
    canvas.line(bottom)
    (first, *others), width = state.offers, min(WIDTH, canvas.width - 4)
    column, step = (canvas.width - width) // 2, 3 if 3 * len(others) + 4 <= bottom - 2 else 2
    row = 2 + max(0, bottom - 6 - step * len(others)) // 2
    draw_button(canvas, Spot(row, column, width, 3), first.key, first.title, first.text)
    row += 4
    for offer in others:
        canvas.write(row, column, offer.key, LETTER)
        canvas.write(row, column + 3, offer.title, BOLD)
        canvas.write(row + 1, column + 3, fitted(offer.text, width - 3, "…"), DIM)
        canvas.spots[f"key:{offer.key}"] = Spot(row, column, width, 2)
        row += step
