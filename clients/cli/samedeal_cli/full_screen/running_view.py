"""The running race: the table, the clock, the standings and the move line."""

from typing import Final

from samedeal.race.ghosts import Ghost
from samedeal.race.seat import Standing
from samedeal_cli.full_screen.drawing import (
    TWO_COLUMNS,
    draw_bar,
    draw_heading,
    draw_messages,
    top_standings,
)
from samedeal_cli.full_screen.texts import BAD
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot, Style
from samedeal_cli.render.phrases import bot_mark, clock
from samedeal_cli.render.table_view import Marks, TableDrawing
from samedeal_cli.render.text_table import advice, facts
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.state.race_state import RaceState

SIDE: Final = 20
"""The width of the standings column."""
LAST_MINUTE_MS: Final = 60_000


def draw_running(state: RaceState, canvas: Canvas) -> None:
    """Draw the table that the state shows, and the standings beside or below it."""
    last_minute = state.left_ms is not None and state.left_ms <= LAST_MINUTE_MS
    draw_heading(state, canvas, _score(state), BAD if last_minute else BOLD)
    small = canvas.height < 24
    bottom = canvas.height - 2
    message_lines = 2 if small else 3 if canvas.height < 30 else 5
    if not small:
        canvas.line(bottom)
    messages = bottom + (1 if small else 0) - message_lines
    beside = canvas.width >= TWO_COLUMNS and not state.rivals_hidden and not _needs_width(state, canvas, messages)
    rule = messages - 1 - (0 if beside or state.rivals_hidden else 1)
    _draw_board(state, canvas, _board_area(canvas, rule, beside=beside))
    _draw_rule(state, canvas, rule)
    if beside:
        _draw_standings(state, canvas, rule)
    elif not state.rivals_hidden:
        canvas.write(rule + 1, 1, fitted(one_line_standings(state), canvas.width - 2, "…"))
    draw_messages(state, canvas, messages, message_lines)


def _board_area(canvas: Canvas, rule: int, *, beside: bool) -> Spot:
    return Spot(2, 1, canvas.width - 2 - (SIDE + 2 if beside else 0), rule - 2)


def _needs_width(state: RaceState, canvas: Canvas, messages: int) -> bool:
    """Return whether the player wants boxed cards and they fit only without the standings column."""
    if state.cards != "boxed" or not state.game:
        return False
    areas = _board_area(canvas, messages - 1, beside=True), _board_area(canvas, messages - 2, beside=False)
    boxed = [TableDrawing(canvas, area, state.game.layout, state.game.fanned, {}).is_boxed for area in areas]
    return boxed == [False, True]


def _draw_board(state: RaceState, canvas: Canvas, area: Spot) -> None:
    game = state.game
    if not state.board or not game:
        canvas.write(area.row + area.height // 2, area.column, _no_table(state).center(area.width), DIM)
        return
    table, faint = state.predicted
    selection = state.selection
    marks = Marks(faint=faint)
    if state.can_play:
        picks = selection.picks
        marks = Marks(selection.keys, selection.choices, bool(picks), picks, selection.cursor, faint)
    drawing = TableDrawing(canvas, area, game.layout, game.fanned, table, marks, labels=game.labels, cards=state.cards)
    drawing.draw()


def _score(state: RaceState) -> str:
    left = clock(state.left_ms)[:-2] if state.left_ms is not None else ""
    board = state.board
    if not board or not state.game:
        return f"{left} left" if left else ""
    attempt = f"attempt {board.attempt}   " if board.attempt > 1 else ""
    return f"{attempt}{left}   {board.home}/{state.game.goal}   {board.ply} {'move' if board.ply == 1 else 'moves'}"


def _no_table(state: RaceState) -> str:
    if state.me and state.me.outcome == "scratched":
        return "You are not in this race: your nonce did not reach the server in time."
    return "Spectators cannot see the tables of this race."


def _draw_rule(state: RaceState, canvas: Canvas, row: int) -> None:
    """Draw the line below the table, with the game's notes."""
    canvas.line(row)
    notes = [advice(state.board), *facts(state.board)] if state.board else []
    if state.shown_seat is not None and state.shown_seat != state.seat:
        owner = next((standing.name for standing in state.standings if standing.seat == state.shown_seat), "")
        notes = [f"{owner}'s table", *notes]
    if text := " · ".join(filter(None, notes)):
        canvas.write(row, 2, f" {fitted(text, canvas.width - 6, '…')} ")


def _draw_standings(state: RaceState, canvas: Canvas, end: int) -> None:
    left = canvas.width - SIDE
    for row in range(2, end):
        canvas.write(row, left - 2, "│", DIM)
    canvas.write(end, left - 2, "┴", DIM)
    canvas.write(1, left - 2, "┬", DIM)
    room = end - 2
    lines = 2 if 2 * len(state.standings) + 3 <= room else 1
    most = max(1, (room - 3) // lines)
    row = 2
    for standing in top_standings(state, most):
        _draw_standing(state, canvas, row, standing, lines)
        row += lines
    if len(state.standings) > most:
        canvas.write(row, left, f"of {len(state.standings)} racers", DIM)
        row += 1
    row = _draw_ghosts(state, canvas, row, end)
    watched = next((standing for standing in state.standings if standing.seat == state.watched_seat), None)
    if watched and end - row >= 4:
        for line, text in enumerate(_details(watched, state.levels.get(watched.seat))):
            canvas.write(end - 3 + line, left, fitted(text, SIDE - 1, "…"), DIM if line else BOLD)


def _draw_ghosts(state: RaceState, canvas: Canvas, row: int, end: int) -> int:
    """Draw the ghosts below the racers, as many as there is room for; return the line after them."""
    left = canvas.width - SIDE
    shown = state.ghosts[: max(0, end - row - 1)]
    if shown:
        canvas.write(row, left, "ghosts", DIM)
        row += 1
    for ghost in shown:
        result = _result(ghost)
        canvas.write(row, left, " ~ ", DIM)
        canvas.write(row, left + 3, fitted(ghost.name, SIDE - 5 - cells(result), "…"), DIM)
        canvas.write(row, canvas.width - cells(result) - 1, result, DIM)
        row += 1
    return row


def _draw_standing(state: RaceState, canvas: Canvas, row: int, standing: Standing, lines: int) -> None:
    left, own = canvas.width - SIDE, standing.seat == state.seat
    result = _result(standing)
    name = "you" if own else standing.name + (" bot" if standing.bot else "")
    canvas.write(row, left, f"{standing.place:>2} ", BOLD if own else PLAIN)
    style = Style(bold=own, reverse=standing.seat == state.watched_seat)
    canvas.write(row, left + 3, fitted(name, SIDE - 5 - cells(result), "…"), style)
    canvas.write(row, canvas.width - cells(result) - 1, result, BOLD if own else PLAIN)
    if lines == 2:
        draw_bar(canvas, row + 1, left + 3, SIDE - 4, standing.progress)
    canvas.spots[f"seat:{standing.seat}"] = Spot(row, left, SIDE, lines)


def _result(standing: Standing | Ghost) -> str:
    """Return the score or the outcome."""
    if standing.outcome in ("playing", "ready", "waiting", "stuck"):
        mark = "!" if standing.outcome == "stuck" else ""
        return f"{mark}{standing.home}/{standing.goal}"
    if standing.outcome == "won":
        return f"won {clock(standing.ms)[:-2]}"
    return f"{standing.outcome} {standing.home}" if standing.outcome != "scratched" else "scratched"


def _details(standing: Standing, level: str | None) -> list[str]:
    attempts = "" if standing.attempts < 2 else f", attempt {standing.attempts}"
    best = f"best at {clock(standing.ms)}" if standing.home else "no cards home yet"
    return [standing.name + bot_mark(standing.bot, level), f"{standing.outcome}{attempts}", best]


def one_line_standings(state: RaceState) -> str:
    """Return the standings on one line, with a mark on yours."""
    parts = []
    for standing in state.standings:
        name = "you" if standing.seat == state.seat else standing.name
        mark = "▸" if standing.seat in (state.watched_seat, state.seat) else ""
        parts.append(f"{mark}{standing.place} {name} {_result(standing)}")
    parts += [f"~ {ghost.name} {_result(ghost)}" for ghost in state.ghosts]
    return "   ".join(parts) or "no racers"
