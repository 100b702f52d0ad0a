"""The results of a race: ranking, deal, verification and par."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Final

from samedeal.proof.outcomes import OUTCOMES
from samedeal.race.seat import Standing
from samedeal_cli.full_screen.drawing import BAR, NEWS, TONES, draw_bar, draw_heading, top_standings
from samedeal_cli.full_screen.texts import BAD, GOOD
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Style
from samedeal_cli.render.phrases import bot_mark, clock, ghost_sentence
from samedeal_cli.render.text_table import advice
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.state.race_state import ParSummary, RaceState

SQUARES: Final = {"solved": ("★", GOOD), "better": ("▲", BAD), "equal": ("=", PLAIN), "worse": ("▼", Style("diamond"))}
"""The result of one of the computer's plays, compared with the player's."""


def draw_results(state: RaceState, canvas: Canvas) -> None:
    """Draw the end of a race, or that it was cancelled."""
    cancelled = state.stage == "cancelled"
    draw_heading(state, canvas, "cancelled" if cancelled else "the race is over")
    bottom = canvas.height - 2
    canvas.line(bottom)
    if cancelled:
        canvas.write(3, 1, "The race was cancelled. There is no ranking.")
    racers = [standing for standing in state.standings if standing.attempts]
    if len(racers) > 1 and bottom - 3 >= 12 + len(state.standings):
        row = _draw_podium(state, canvas, 3 if cancelled else 2, racers[:3])
    else:
        row = _draw_own_result(state, canvas, 3 if cancelled else 2)
    below = 6 if canvas.height >= 24 else 4
    row = _draw_ranking(state, canvas, row, bottom - below)
    _draw_proof(state, canvas, max(row + 1, bottom - below), bottom)


def _draw_podium(state: RaceState, canvas: Canvas, row: int, racers: Sequence[Standing]) -> int:
    """Draw the first three on steps, with the winner in the middle; return the line after them."""
    width = min(22, (canvas.width - 4) // 3)
    left = (canvas.width - 3 * width) // 2
    height = 4
    for position, top, standing in zip((1, 0, 2), (0, 1, 2), racers, strict=False):
        column = left + width * position
        name = fitted(standing.name, width - 2, "…")
        style = GOOD if standing.seat == state.seat else BOLD
        canvas.write(row + top, column + (width - cells(name)) // 2, name, style)
        for line in range(top + 1, height + 1):
            canvas.write(row + line, column + 1, ("█" if line == top + 1 else "▓") * (width - 2), BAR)
        canvas.write(row + height, column + 1, f" {standing.place} ".center(width - 2, "▓"), BAR)
    return row + height + 2


def _draw_own_result(state: RaceState, canvas: Canvas, row: int) -> int:
    me = state.me
    if me is None:
        return row
    if me.outcome == "won":
        canvas.write(row + 1, 1, f"You won in {clock(me.ms)}!", GOOD)
    else:
        canvas.write(row + 1, 1, f"You: {me.outcome}, {me.home} of {me.goal} home", BOLD)
        if state.board and (cause := advice(state.board)):
            canvas.write(row + 2, 1, cause)
    return row + 3


def _draw_ranking(state: RaceState, canvas: Canvas, row: int, last: int) -> int:
    shown = top_standings(state, max(1, last - row))
    name_width = canvas.width - 52
    for standing in shown:
        own = standing.seat == state.seat
        style = BOLD if own else PLAIN
        name = standing.name + (" (you)" if own else "") + bot_mark(standing.bot, state.levels.get(standing.seat))
        canvas.write(row, 1, f"{standing.place:>2}", style)
        canvas.write(row, 4, fitted(name, name_width, "…"), style)
        column = 5 + name_width
        draw_bar(canvas, row, column, 10, standing.progress)
        text = f"{standing.home:>3}/{standing.goal:<3} {standing.outcome:<9}"
        attempts = f"{standing.attempts} attempts" if standing.attempts > 1 else ""
        time = clock(standing.ms) if standing.home else ""
        canvas.write(row, column + 11, f"{text} {time:>8}  {attempts}", style)
        row += 1
    if len(state.standings) > len(shown):
        canvas.write(row, 1, f"   of {len(state.standings)} racers", DIM)
        row += 1
    for ghost in state.ghosts[: max(0, last - row)]:
        canvas.write(row, 1, fitted(f" ~ {ghost_sentence(ghost)}", canvas.width - 2, "…"), DIM)
        row += 1
    return row


def _draw_proof(state: RaceState, canvas: Canvas, row: int, end: int) -> None:
    """Draw the deal, the verdict of the verification, and par."""
    if state.view and state.view.deal:
        canvas.write(row, 1, "deal", DIM)
        for line in wrap(state.view.deal, canvas.width - 12)[:2]:
            if row < end - 1:
                canvas.write(row, 11, line)
                row += 1
    if state.stage == "over" and row < end:
        canvas.write(row, 1, "replay", DIM)
        text, style = _verdict(state)
        canvas.write(row, 11, fitted(text, canvas.width - 12, "…"), style)
        row += 1
    if state.par and row < end:
        _draw_par(state.par, canvas, row, end)
        row += 2
    if state.notice and row < end:
        canvas.write(end - 1, 1, fitted(state.notice.text, canvas.width - 2, "…"), TONES[state.notice.tone])


def _verdict(state: RaceState) -> tuple[str, Style]:
    if state.unverified_reason:
        return state.unverified_reason, NEWS
    if not state.checks:
        return "verifying…", DIM
    failed = next((check for check in state.checks if not check.holds), None)
    if failed:
        return f"✗ {failed.name}: {failed.text}", BAD
    name = OUTCOMES["verified" if state.key_known else "key-unknown"].capitalize()
    return f"{name} ✓ {len(state.checks)} checks passed here", GOOD if state.key_known else NEWS


def _draw_par(par: ParSummary, canvas: Canvas, row: int, end: int) -> None:
    canvas.write(row, 1, "par", DIM)
    column = 11
    for square in par.squares:
        sign, style = SQUARES.get(square, ("·", DIM))
        if column >= canvas.width - 1:
            row, column = row + 1, 11
        if row < end:
            canvas.write(row, column, sign, style)
        column += 1
    if par.text and row + 1 < end:
        canvas.write(row + 1, 11, fitted(par.text, canvas.width - 12, "…"), DIM)
