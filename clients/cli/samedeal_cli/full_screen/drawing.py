"""Parts that several screens of a race share: heading, footer, messages, questions and bars."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Final

from samedeal.race.seat import Standing
from samedeal_cli.full_screen.overlays import BAD, GOOD, Keys
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot, Style
from samedeal_cli.render.phrases import clock, evening_phrase, quit_phrase, reaction_phrase
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.state.race_keys import REACTION_KEYS
from samedeal_cli.state.race_state import RaceState

TWO_COLUMNS: Final = 72
"""The minimum width for a second column."""

KEY: Final = Style("letter", bold=True)
NEWS: Final = Style("news")
BAR: Final = Style("bar")
TONES: Final = {"": PLAIN, "good": GOOD, "bad": Style("bad"), "news": NEWS}
KEY_NAMES: Final = {
    **{name.title(): name for name in ("space", "enter", "backspace", "tab")},
    **{f"^{letter}": f"ctrl+{letter}" for letter in "grq"},
    "Esc": "escape",
    "↑": "up",
    "↓": "down",
}
"""The names of keys by their labels."""


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
    canvas.write(0, end, f" · {state.race_id}", most=max(0, start - end - 2))
    canvas.line(1)
    if state.evening and state.evening.table:
        text = evening_phrase(state.evening, state.header.options.best_of if state.header else 1)
        canvas.write(1, 2, f" {fitted(text, canvas.width - 6, '…')} ", NEWS)


def draw_keys(canvas: Canvas, keys: Keys, lines: int) -> int:
    """Draw the footer in at most `lines` lines; return the line above it. Keys that do not fit still work."""
    rows: list[list[tuple[str, str]]] = [[]]
    used = 1
    for key, label in keys:
        width = cells(key) + 1 + cells(label) + 3
        if used + width - 2 > canvas.width and rows[-1]:
            rows.append([])
            used = 1
        rows[-1].append((key, label))
        used += width
    rows = rows[:lines]
    first = canvas.height - len(rows)
    for line, row in enumerate(rows, start=first):
        column = 1
        for key, label in row:
            end = canvas.write(line, column, key, KEY)
            end = canvas.write(line, end + 1, label)
            if len(key) == 1 or key in KEY_NAMES:
                canvas.spots[f"key:{KEY_NAMES.get(key, key)}"] = Spot(line, column, end - column)
            column = end + 3
    return first - 1


def draw_messages(state: RaceState, canvas: Canvas, row: int, lines: int) -> None:
    """Draw the notice or the pending move, and below it the latest news."""
    width = canvas.width - 2
    used = 0
    if state.pending and state.notice is None:
        canvas.write(row, 1, f"> {state.pending}", DIM)
        used = 1
    elif state.notice:
        mark = {"bad": "✗ ", "good": "✓ "}.get(state.notice.tone, "")
        for text in _wrapped(mark + state.notice.text, width)[:lines]:
            canvas.cards(row + used, 1, text, TONES[state.notice.tone])
            used += 1
    if state.rivals_hidden and state.stage == "running":
        return
    room = max(0, lines - (max(used, 1) if state.stage == "running" else used))
    news = state.news[-room:] if room else ()
    for line, item in enumerate(news, start=row + lines - len(news)):
        time = f"{clock(item.ms)[:-2]:>5}  " if item.ms is not None else ""
        canvas.write(line, 1, fitted(time + item.text, width, "…"), NEWS)


def draw_question(canvas: Canvas, row: int, text: str) -> None:
    """Draw a question that only y confirms."""
    canvas.write(row, 0, " " * canvas.width)
    end = canvas.write(row, 1, f"{text} ", BAD)
    canvas.write(row, end, "[y]", KEY)
    canvas.spots["key:y"] = Spot(row, end, 3)
    canvas.write(row, end + 4, "any other key: no", DIM)


def draw_reaction_keys(state: RaceState, canvas: Canvas) -> None:
    """Draw the choice of reactions over the footer."""
    for row in (canvas.height - 2, canvas.height - 1):
        canvas.write(row, 0, " " * canvas.width)
    canvas.spots = {name: spot for name, spot in canvas.spots.items() if not name.startswith("key:")}
    keys = [(key, reaction_phrase(reaction)) for key, reaction in REACTION_KEYS.items()] if state.me else []
    draw_keys(canvas, [*keys, ("0", "hide reactions" if state.reactions else "show reactions"), ("Esc", "back")], 2)


def draw_bar(canvas: Canvas, row: int, column: int, width: int, share: float) -> None:
    """Draw a progress bar; any progress fills at least one cell."""
    full = min(width, max(int(share > 0), int(share * width)))
    canvas.bar(row, column, width, full)


def quit_label(state: RaceState) -> str:
    """Return what q does."""
    return quit_phrase(state.stage, state.away_s) if state.seat is not None else "quit"


def top_standings(state: RaceState, most: int) -> Sequence[Standing]:
    """Return the first standings, and always your own."""
    shown = state.standings[:most]
    if state.me and state.me not in shown:
        shown = (*shown[:-1], state.me)
    return shown


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width, break_on_hyphens=False) or [""]
