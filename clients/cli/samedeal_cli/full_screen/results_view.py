"""The results of a race: ranking, records, deal, verification and par."""

from collections.abc import Iterator, Sequence
from typing import Final

from samedeal.proof.outcomes import OUTCOMES
from samedeal.race.ghosts import Ghost
from samedeal.race.seat import Standing
from samedeal.wire.documents import Daily
from samedeal_cli.full_screen.drawing import NEWS, TONES, TWO_COLUMNS, draw_bar, draw_heading, result_of, top_ranking
from samedeal_cli.full_screen.texts import BAD, GOOD
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Style
from samedeal_cli.render.phrases import (
    bot_mark,
    clock,
    counted,
    local_time,
    outcome_phrase,
    result_phrase,
    short_deal,
    short_result,
    versus_phrase,
)
from samedeal_cli.render.text_table import advice
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.state.race_state import RaceState

SQUARES: Final = {"solved": ("★", GOOD), "better": ("▲", BAD), "equal": ("=", PLAIN), "worse": ("▼", Style("diamond"))}
"""The result of one of the computer's plays, compared with the player's."""
PODIUM: Final = 6
"""The height of the podium, with an empty line."""
LABELS: Final = 11
"""The width of the labels of facts, and the margin before them."""

Line = tuple[str, Sequence[tuple[str, Style]]]
"""A label and a text in parts."""


def draw_results(state: RaceState, canvas: Canvas) -> None:
    """Draw the end of a race, or that it was cancelled."""
    cancelled = state.stage == "cancelled"
    draw_heading(state, canvas, "cancelled" if cancelled else "the race is over")
    bottom = canvas.height - 2
    canvas.line(bottom)
    if cancelled:
        canvas.write(3, 1, "The race was cancelled. There is no ranking.")
    facts = list(_facts(state, canvas.width - LABELS - 1))
    last = max(bottom - len(facts) - (1 if state.notice else 0), 6 + min(3, len(state.ranking)))
    racers = [standing for standing in state.standings if standing.attempts]
    row = _draw_own_result(state, canvas, 4 if cancelled else 2)
    if len(racers) > 1 and last - 1 - row - PODIUM >= len(state.ranking):
        row = _draw_podium(state, canvas, row, racers[:3])
    shown = top_ranking(state, max(1, last - 1 - row))
    for line, racer in enumerate(shown, start=row):
        _draw_racer(state, canvas, line, racer)
    if len(state.ranking) > len(shown):
        canvas.write(row + len(shown), 4, f"of {counted(len(state.ranking), 'racer')}", DIM)
    for line, (label, parts) in enumerate(facts[: bottom - last], start=last):
        canvas.write(line, 1, label, DIM)
        column = LABELS
        for text, style in parts:
            column = canvas.write(line, column, fitted(text, canvas.width - column - 1, "…"), style)
    if state.notice:
        canvas.write(bottom - 1, 0, " " * canvas.width)
        canvas.write(bottom - 1, 1, fitted(state.notice.text, canvas.width - 2, "…"), TONES[state.notice.tone])


def _draw_podium(state: RaceState, canvas: Canvas, row: int, racers: Sequence[Standing]) -> int:
    """Draw the first three on steps, with the winner in the middle; return the line after them."""
    width = min(22, (canvas.width - 4) // 3)
    left = (canvas.width - 3 * width) // 2
    height = PODIUM - 2
    for position, top, standing in zip((1, 0, 2), (0, 1, 2), racers, strict=False):
        column = left + width * position
        name = fitted(standing.name, width - 2, "…")
        style = GOOD if standing.seat == state.seat else BOLD
        canvas.write(row + top, column + (width - cells(name)) // 2, name, style)
        for line in range(top + 1, height + 1):
            canvas.write(row + line, column + 1, ("█" if line == top + 1 else "▓") * (width - 2), Style("bar"))
        canvas.write(row + height, column + 1, f" {standing.place} ".center(width - 2, "▓"), Style("bar"))
    return row + PODIUM


def _draw_own_result(state: RaceState, canvas: Canvas, row: int) -> int:
    me = state.me
    if me is None:
        return row
    if me.outcome == "won":
        canvas.write(row, 1, f"You won in {clock(me.ms)}!", GOOD)
        return row + 2
    result = result_phrase(state.header.game if state.header else "", me.home, me.goal)
    canvas.write(row, 1, f"You: {outcome_phrase(me.outcome)}, {result}", BOLD)
    board = state.view.board if state.view else None
    cause = advice(board) if board and board.outcome != "playing" else ""
    canvas.cards(row + 1, 1, fitted(cause, canvas.width - 2, "…"))
    return row + (3 if cause else 2)


def _draw_racer(state: RaceState, canvas: Canvas, row: int, racer: Standing | Ghost) -> None:
    """Draw a racer, or a ghost after a ``~`` instead of a place."""
    if isinstance(racer, Ghost):
        place, name, attempts, style = "~", f"{racer.name}'s ghost", 1, DIM
    else:
        own = racer is state.me
        mark = (" (you)" if own else "") + bot_mark(racer.bot, state.levels.get(racer.seat))
        place, name, attempts, style = f"{racer.place}", racer.name + mark, racer.attempts, BOLD if own else PLAIN
    bar = 11 if canvas.width >= TWO_COLUMNS else 0
    name_width = canvas.width - 41 - bar
    canvas.write(row, 1, f"{place:>2}", style)
    canvas.write(row, 4, fitted(name, name_width, "…"), style)
    if bar:
        draw_bar(canvas, row, 5 + name_width, bar - 1, racer.progress)
    text = (
        f"{result_of(state, racer):>8} {outcome_phrase(racer.outcome):<11} {clock(racer.ms) if racer.home else '':>7}"
    )
    more = f"  {counted(attempts, 'attempt')}" if attempts > 1 else ""
    canvas.write(row, 5 + name_width + bar, text + more, style)


def _facts(state: RaceState, width: int) -> Iterator[Line]:
    """Yield records, the results of the day, the deal, the verdict of the verification, and par."""
    if state.records:
        yield "versus", [(" · ".join(versus_phrase(record, "You") for record in state.records), NEWS)]
    if state.daily:
        yield "daily", [(_daily_text(state.daily), NEWS)]
    if state.view and state.view.deal:
        yield "deal", [(short_deal(state.view.deal), PLAIN)]
    elif state.header and state.header.daily:
        yield "deal", [(f"sealed until {local_time(state.header.reveals_at)}", DIM)]
    if state.stage == "over":
        yield "replay", [_verdict(state)]
    if state.analysis:
        own = next((point for point in state.analysis.racers if point.seat == state.seat), None)
        yield "analysis", [(state.analysis.text + (" w shows it." if state.analysis.line else ""), PLAIN)]
        if own and own.step is not None:
            yield "", [(f"You {own.described()}.", PLAIN)]
    if state.par:
        squares = [SQUARES.get(square, ("·", DIM)) for square in state.par]
        for start in range(0, len(squares), width):
            yield "" if start else "par", squares[start : start + width]
        counts = (f"{sign} {state.par.count(kind)} {kind}" for kind, (sign, _) in SQUARES.items())
        yield "computer", [("  ".join(counts), DIM)]


def _daily_text(daily: Daily) -> str:
    """Return your place among the day's players, and the best of them."""
    place = f"You are {daily.yours.place} of {counted(daily.players, 'player')}: " if daily.yours else ""
    results = []
    for each in daily.results[:3]:
        result = clock(each.ms) if each.outcome == "won" else short_result(daily.game, each.home, each.goal)
        results.append(f"{each.place}. {each.name} {result}")
    return place + ", ".join(results)


def _verdict(state: RaceState) -> tuple[str, Style]:
    if state.header and state.header.daily and not (state.view and state.view.deal):
        return "can be verified once the deal is public", DIM
    if state.unverified_reason:
        return state.unverified_reason, NEWS
    if not state.checks:
        return "verifying…", DIM
    failed = next((check for check in state.checks if not check.holds), None)
    if failed:
        return f"✗ {failed.name}: {failed.text}", BAD
    name = OUTCOMES["verified" if state.key_known else "key-unknown"].capitalize()
    return f"{name} ✓ {len(state.checks)} checks passed here", GOOD if state.key_known else NEWS
