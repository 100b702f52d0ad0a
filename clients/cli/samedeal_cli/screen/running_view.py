"""The running race: the table, the clock, the standings and the move line."""

from textwrap import wrap
from typing import Final

from samedeal.race.ghosts import Ghost
from samedeal.race.standings import Standing
from samedeal.share.phrases import achieved, duration, ordinal, outcome_phrase
from samedeal.wire.messages import Board
from samedeal_cli.render.canvas import BOLD, DIM, PANE, PLAIN, Canvas, Spot, Style, panes
from samedeal_cli.render.phrases import bot_mark, clock, counted, waiting_phrase
from samedeal_cli.render.table_view import Marks, TableDrawing
from samedeal_cli.render.text_table import advice, facts
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.screen.drawing import (
    NEWS,
    TWO_COLUMNS,
    draw_bar,
    draw_heading,
    draw_messages,
    result_of,
    top_ranking,
)
from samedeal_cli.screen.texts import BAD, GOOD
from samedeal_cli.state.race_state import RaceState

SIDE: Final = 20
"""The width of the standings column."""
LAST_MINUTE_MS: Final = 60_000


def draw_running(state: RaceState, canvas: Canvas) -> None:
    """Draw the table that the state shows, and the standings beside or below it."""
    last_minute = state.left_ms is not None and state.left_ms <= LAST_MINUTE_MS
    draw_heading(state, canvas, _score(state), BAD if last_minute and state.clock else BOLD)
    if state.flash:
        canvas.paint(Spot(0, 0, canvas.width), reverse=True)
    small = canvas.height < 24
    bottom = canvas.height - 2
    message_lines = 2 if small else 4 if canvas.height < 30 else 6  # with those of the instruction
    if not small:
        canvas.line(bottom)
    messages = bottom + (1 if small else 0) - message_lines
    beside = canvas.width >= TWO_COLUMNS and not state.rivals_hidden and not _needs_width(state, canvas, messages)
    rule = messages - 1
    area = _board_area(canvas, rule, beside=beside)
    tables = _tables_at_once(state, area)
    if tables > 1:
        _draw_tables(state, canvas, area, tables)
    else:
        _draw_board(state, canvas, area)
    end = _draw_rule(state, canvas, rule, area.width, tables)
    if small and state.news and not state.rivals_hidden:  # there is no other line for them
        text = fitted(f" {state.news[-1].text} ", canvas.width - end - 2, "… ")
        canvas.write(rule, canvas.width - cells(text) - 1, text, NEWS)
    if beside:
        _draw_standings(state, canvas, rule)
    elif not state.rivals_hidden:
        canvas.line(1)
        canvas.write(1, 2, f" {one_line_standings(state, canvas.width - 6)} ")
    draw_messages(state, canvas, messages, message_lines, instruction(state))


def instruction(state: RaceState) -> tuple[str, Style]:
    """Return what the player can do now, how the attempt ended, or for whom a racer who has finished waits."""
    board, me = state.board, state.me
    if state.closing_s is not None:
        ways = _ways_on(state, board) if board else ""
        return f"Everyone is stuck: the race ends in {state.closing_s} s{ways or '.'}", BAD
    if state.practice and board and board.outcome == "won":
        return "You solved it! You can undo or restart.", GOOD
    if board and me is None:
        return (f"{_shown_name(state)}: {advice(board)}" if board.outcome != "playing" else "You are watching."), BOLD
    if not state.finished or me is None:
        over = board is not None and board.outcome != "playing"
        return f"{advice(board)}{_ways_on(state, board)}" if board else "", BAD if over else BOLD
    own, waiting = state.boards.get(me.seat), waiting_phrase(state.standings, me.seat, state.left_ms)
    if me.outcome == "won":
        rank = f", {ordinal(me.place)} of {len(state.standings)}" if state.others else ""
        return f"Solved in {duration(me.ms)}{rank}! {waiting}", GOOD
    ending = advice(own) if own and me.outcome != "resigned" else ""
    ending = ending or ("You resigned" if me.outcome == "resigned" else outcome_phrase(me.outcome).capitalize())
    return f"{ending}. {waiting}", BOLD


def _ways_on(state: RaceState, board: Board) -> str:
    """Return what the racer of an attempt that is over can do."""
    if board.outcome == "playing" or not state.can_play:
        return ""
    ways = [name for name, possible in (("undo", board.undo), ("restart", board.restart)) if possible]
    if ways and not state.practice:
        ways.append(state.end_verb)
    return f". You can {' or '.join(', '.join(ways).rsplit(', ', 1))}." if ways else ""


def _board_area(canvas: Canvas, rule: int, *, beside: bool) -> Spot:
    return Spot(2, 1, canvas.width - 2 - (SIDE + 2 if beside else 0), rule - 2)


def _needs_width(state: RaceState, canvas: Canvas, messages: int) -> bool:
    """Return whether more tables, or the boxed cards that the player wants, fit only without the standings column."""
    areas = [_board_area(canvas, messages - 1, beside=beside) for beside in (True, False)]
    if _tables_at_once(state, areas[0]) < _tables_at_once(state, areas[1]):
        return True
    if not state.game or state.shows_all:
        return False
    game, marks = state.game, Marks(keys=state.selection.keys if state.can_play else {})
    drawings = [TableDrawing(canvas, area, game.layout, game.fanned, {}, marks, cards=state.cards) for area in areas]
    if state.cards == "boxed" and [drawing.is_boxed for drawing in drawings] == [False, True]:
        return True
    return [drawing.is_boxed or drawing.shows_whole_fans for drawing in drawings] == [False, True]


def _tables_at_once(state: RaceState, area: Spot) -> int:
    """Return how many tables are shown side by side."""
    return max(1, min(len(state.boards), area.width // PANE)) if state.shows_all else 1


def _draw_tables(state: RaceState, canvas: Canvas, area: Spot, count: int) -> None:
    """Draw as many of the visible tables as fit side by side, your own and the best first."""
    game, boards = state.game, state.boards
    best_first = [standing for standing in state.standings if standing.seat in boards]
    racers = sorted(best_first, key=lambda standing: standing.seat != state.seat)[:count]
    for standing, pane in zip(racers, panes(canvas, area, count), strict=True):
        board, own = boards[standing.seat], standing.seat == state.seat
        result = f"  {_result(state, standing)}"
        name = "you" if own else standing.name + bot_mark(standing.bot)
        end = canvas.write(pane.row, pane.column, name, BOLD, most=pane.width - cells(result))
        canvas.write(pane.row, end, result, DIM)
        if game:
            below = pane._replace(row=pane.row + 1, height=pane.height - 1)
            TableDrawing(canvas, below, game.layout, game.fanned, board.table, labels=game.labels).draw()
        canvas.spots[f"seat:{standing.seat}"] = pane._replace(height=1)


def _draw_board(state: RaceState, canvas: Canvas, area: Spot) -> None:
    game = state.game
    if not state.board or not game:
        is_common = state.header and state.header.is_common
        end = "its deal is public" if is_common else "it is over"
        text, style = f"Spectators cannot see the tables of this race until {end}.", DIM
        if state.me and state.me.outcome == "scratched":
            text = "You are not in this race: your share of the shuffle did not reach the server in time."
        if state.waits_s is not None:
            text, style = f"{state.head_start}. You get your cards in {state.waits_s} s.", BOLD
        for row, part in enumerate(wrap(text, area.width), start=area.row + area.height // 2):
            canvas.write(row, area.column, part.center(area.width), style)
        return
    (table, faint), selection = state.predicted, state.selection
    guidance = state.board.guidance
    home = [place for place, mark in guidance.marks.items() if mark == "home"] if guidance else ()
    marks = Marks(faint=faint, home=home)
    if state.can_play:
        picks = selection.picks
        marks = marks._replace(
            keys=selection.keys,
            named=state.named,
            choices=selection.choices,
            targets=bool(picks),
            picked=picks or state.hinted,
            cursor=selection.cursor,
        )
    TableDrawing(canvas, area, game.layout, game.fanned, table, marks, labels=game.labels, cards=state.cards).draw()


def _score(state: RaceState) -> str:
    left = clock(state.left_ms)[:-2] if state.left_ms is not None and state.clock else ""
    board = state.board
    if not board or not state.game or state.shows_all:
        return f"{left} left" if left else ""
    attempt = f"attempt {board.attempt}   " if board.attempt > 1 else ""
    return f"{attempt}{left}   {achieved(state.game.slug, board.home, state.game.goal, board.outcome, short=True)}"


def _shown_name(state: RaceState) -> str:
    return next((standing.name for standing in state.standings if standing.seat == state.shown_seat), "")


def _draw_rule(state: RaceState, canvas: Canvas, row: int, width: int, tables: int) -> int:
    """Draw the line below the table, with the game's notes, and return the column after them."""
    canvas.line(row)
    notes = [*(facts(state.board) if state.board else ()), state.head_start]
    if tables > 1:
        notes = [f"{tables} of {len(state.boards)} tables", "Tab shows one"]
    elif state.shown_seat is not None and state.shown_seat != state.seat:
        notes = [f"{_shown_name(state)}'s table", *notes]
    text = " · ".join(filter(None, notes))
    return canvas.write(row, 2, f" {fitted(text, width - 4, '…')} ") if text else 2


def _draw_standings(state: RaceState, canvas: Canvas, end: int) -> None:
    left = canvas.width - SIDE
    for row in range(2, end):
        canvas.write(row, left - 2, "│", DIM)
    canvas.write(end, left - 2, "┴", DIM)
    canvas.write(1, left - 2, "┬", DIM)
    room = end - 2
    lines = 2 if 2 * len(state.ranking) + 3 <= room else 1
    most = max(1, (room - 3) // lines)
    row = 2
    for racer in top_ranking(state, most):
        _draw_standing(state, canvas, row, racer, lines)
        row += lines
    if len(state.ranking) > most:
        canvas.write(row, left, f"of {counted(len(state.ranking), 'racer')}", DIM)
        row += 1
    watched = next((standing for standing in state.standings if standing.seat == state.watched_seat), None)
    if watched and end - row >= 4:
        attempts = "" if watched.attempts < 2 else f", attempt {watched.attempts}"
        name = watched.name + bot_mark(watched.bot, state.levels.get(watched.seat))
        best = f"best after {duration(watched.ms)}" if watched.home else "no cards yet"
        for line, text in enumerate((name, f"{outcome_phrase(watched.outcome)}{attempts}", best)):
            canvas.write(end - 3 + line, left, fitted(text, SIDE - 1, "…"), DIM if line else BOLD)


def _draw_standing(state: RaceState, canvas: Canvas, row: int, racer: Standing | Ghost, lines: int) -> None:
    left, result = canvas.width - SIDE, _result(state, racer)
    ghost, own = isinstance(racer, Ghost), racer is state.me
    place, room = "~" if isinstance(racer, Ghost) else f"{racer.place}", SIDE - 5 - cells(result)
    bot = " bot" if racer.bot and cells(racer.name) + 4 <= room else ""
    name = "you" if own else racer.name + bot
    style = BOLD if own else DIM if ghost else PLAIN
    canvas.write(row, left, f"{place:>2} ", style)
    canvas.write(row, canvas.width - cells(result) - 1, result, style)
    if not isinstance(racer, Ghost):
        style = Style(bold=own, reverse=racer.seat == state.watched_seat)
        canvas.spots[f"seat:{racer.seat}"] = Spot(row, left, SIDE, lines)
    canvas.write(row, left + 3, fitted(name, room, "…"), style)
    if lines == 2:
        draw_bar(canvas, row + 1, left + 3, SIDE - 4, racer.progress)


def _result(state: RaceState, racer: Standing | Ghost) -> str:
    """Return the time of a solved deal or the score, with a mark if the attempt or the race is over."""
    if racer.outcome == "won":
        return f"✓ {duration(racer.ms)}"
    if racer.outcome == "scratched":
        return "scratched"
    mark = "" if racer.outcome in ("playing", "ready", "waiting") else "■ " if racer.done else "! "
    return mark + result_of(state, racer)


def one_line_standings(state: RaceState, width: int) -> str:
    """Return the standings on one line, marking the shown table or yours; those that do not fit are counted."""
    text = "no racers"
    for most in range(len(state.ranking), 0, -1):
        shown = top_ranking(state, most)
        hidden = len(state.ranking) - len(shown)
        text = "   ".join([*(_short_standing(state, racer) for racer in shown), *([f"+{hidden}"] if hidden else [])])
        if cells(text) <= width:
            break
    return fitted(text, width, "…")


def _short_standing(state: RaceState, racer: Standing | Ghost) -> str:
    seat, place = (None, "~") if isinstance(racer, Ghost) else (racer.seat, f"{racer.place}")
    mark = "▸" if seat is not None and seat == (state.seat if state.shows_all else state.shown_seat) else ""
    return f"{mark}{place} {'you' if racer is state.me else racer.name} {_result(state, racer)}"
