"""The view of the home screen."""

from typing import Final

from samedeal_cli.render.canvas import BOLD, DIM, LEAST, PLAIN, Canvas, Ink, Spot, Style
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.screen.drawing import draw_too_small
from samedeal_cli.state.home_state import HomeState

WIDTH: Final = 76
"""The width of the entries, which are in the middle of wider screens."""
SUITS: Final[tuple[tuple[str, Ink], ...]] = (("♠", "spade"), ("♥", "heart"), ("♦", "diamond"), ("♣", "club"))
LETTER: Final = Style("letter", bold=True)


def draw_home(state: HomeState) -> Canvas:
    """Draw what the user can do, each with its key; the first is also done by Enter."""
    canvas = Canvas(state.width, state.height)
    if state.width < LEAST[0] or state.height < LEAST[1]:
        draw_too_small(canvas)
    else:
        _draw(state, canvas)
    if state.ascii:
        canvas.in_ascii()
    return canvas


def _draw(state: HomeState, canvas: Canvas) -> None:
    for at, (suit, ink) in enumerate(SUITS):
        canvas.write(0, 1 + at, suit, Style(ink))
    canvas.write(0, 6, "Same Deal", BOLD)
    where = f"{state.name} · {state.server}" if state.name else state.server
    canvas.write(0, canvas.width - cells(where) - 1, where)
    bottom = canvas.height - 2
    canvas.line(1)
    canvas.line(bottom)
    offers, column = state.offers, max(2, (canvas.width - WIDTH) // 2)
    step = 3 if 3 * len(offers) <= bottom - 3 else 2
    row = 2 + max(0, bottom - 3 - step * len(offers)) // 2
    for offer in offers:
        is_first = offer is offers[0]
        canvas.write(row, column, offer.key, LETTER)
        end = canvas.write(row, column + 3, offer.title, BOLD)
        if is_first:
            canvas.write(row, end + 2, "or Enter", DIM)
        text = fitted(offer.text, canvas.width - column - 4, "…")
        canvas.write(row + 1, column + 3, text, PLAIN if is_first else DIM)
        canvas.spots[f"key:{offer.key}"] = Spot(row, column, min(WIDTH, canvas.width - column), 2)
        row += step
