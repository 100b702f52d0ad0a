"""Parts that several screens of a race share: heading, messages and bars."""

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import Final

from samedeal.race.ghosts import Ghost
from samedeal.race.standings import Standing
from samedeal.share.phrases import achieved
from samedeal_cli.render.canvas import BOLD, DIM, LEAST, PLAIN, Canvas, Spot, Style
from samedeal_cli.render.phrases import clock, evening_phrase
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.screen.texts import GOOD
from samedeal_cli.state.race_state import RaceState

TWO_COLUMNS: Final = 72
"""The minimum width for a second column."""

BUTTON: Final = Style("good", bold=True, reverse=True)
NEWS: Final = Style("news")
SUITS: Final = (("♠", Style("spade")), ("♥", Style("heart")), ("♦", Style("diamond")), ("♣", Style("club")))
TONES: Final = {"": PLAIN, "good": GOOD, "bad": Style("bad"), "news": NEWS}


def draw_heading(state: RaceState, canvas: Canvas, right: str, style: Style = BOLD) -> None:
    """Draw the first two lines: the game and the race, and a text on the right, after who watches if there is room."""
    title = state.game.title if state.game else "Same Deal"
    end = canvas.write(0, 1, title, BOLD)
    start = canvas.width - cells(right) - 1
    canvas.write(0, start, right, style)
    watching = f"{state.view.watching} watching" if state.view and state.view.watching else ""
    if watching and end + cells(watching) + 3 < start:
        start -= cells(watching) + 3
        canvas.write(0, start, watching, DIM)
    race = f" · {state.race_id}"
    alone = state.header is not None and state.header.options.max_racers == 1 and not state.practice
    if end + cells(race) + 2 <= start and not alone:
        canvas.write(0, end, race)
    canvas.line(1)
    if state.evening and state.evening.table:
        text = f"This evening: {evening_phrase(state.evening, state.header.options.best_of if state.header else 1)}"
        canvas.write(1, 2, f" {fitted(text, canvas.width - 6, '…')} ", NEWS)


def draw_messages(
    state: RaceState, canvas: Canvas, row: int, lines: int, advice: tuple[str, Style] = ("", BOLD)
) -> None:
    """Draw the advice, below it the notice or the pending move, and at the end the latest news."""
    width, running = canvas.width - 2, state.stage == "running"
    notice, style = state.pending_text, DIM
    if state.notice:
        notice = {"bad": "✗ ", "good": "✓ "}.get(state.notice.tone, "") + state.with_keys(state.notice.text)
        style = TONES[state.notice.tone]
    notices = wrap(notice, width, break_on_hyphens=False)
    room = min(2, lines - len(notices))
    texts = wrap(advice[0], width, break_on_hyphens=False, max_lines=room, placeholder="…") if room > 0 else []
    shown = [*((text, advice[1]) for text in texts), *((text, style) for text in notices)][:lines]
    for line, (text, ink) in enumerate(shown, start=row):
        canvas.cards(line, 1, text, ink)
    room = lines - len(texts) - max(len(notices), int(running))
    news = state.news[-room:] if room > 0 and not (running and state.rivals_hidden) else ()
    for line, item in enumerate(news, start=row + lines - len(news)):
        time = f"{clock(item.ms)[:-2]:>5}  " if item.ms is not None else ""
        canvas.write(line, 1, fitted(time + item.text, width, "…"), NEWS)


def draw_button(canvas: Canvas, area: Spot, key: str, text: str, below: str = "") -> None:
    """Draw the one big action of a screen over the whole width, with a line below it."""
    for row in range(area.row, area.row + area.height):
        canvas.write(row, area.column, " " * area.width, BUTTON)
    lines = [f"{key}  {text}", below] if below else [f"{key}  {text}"]
    for row, line in enumerate(lines, start=area.row + (area.height - len(lines)) // 2):
        shown = fitted(line, area.width, "…")
        canvas.write(row, area.column + (area.width - cells(shown)) // 2, shown, BUTTON)
    canvas.spots[f"key:{key}"] = area


def draw_frame(width: int, height: int, draw: Callable[[Canvas], None], *, plain: bool) -> Canvas:
    """Return what `draw` draws on a canvas or, if that is too small, how large the terminal must be."""
    canvas = Canvas(width, height)
    if width >= LEAST[0] and height >= LEAST[1]:
        draw(canvas)
    else:
        canvas.center(max(0, height // 2 - 1), f"needs {LEAST[0]}×{LEAST[1]}, has {width}×{height}", BOLD)
        canvas.center(height - 1, "q quit", DIM)
        canvas.spots["key:q"] = Spot(height - 1, 0, width)
    if plain:
        canvas.in_ascii()
    return canvas


def draw_bar(canvas: Canvas, row: int, column: int, width: int, share: float) -> None:
    """Draw a progress bar; any progress fills at least one cell."""
    full = min(width, max(int(share > 0), int(share * width)))
    canvas.bar(row, column, width, full)


def top_ranking(state: RaceState, most: int) -> Sequence[Standing | Ghost]:
    """Return the first racers and ghosts, and always your own standing."""
    shown = state.ranking[:most]
    if state.me and state.me not in shown:
        shown = (*shown[:-1], state.me)
    return shown


def result_of(state: RaceState, racer: Standing | Ghost) -> str:
    """Return a racer's result in a few characters."""
    game = state.header.game if state.header else ""
    return achieved(game, racer.home, racer.goal, racer.outcome, short=True)
