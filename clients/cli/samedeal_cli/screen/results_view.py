"""The results of a race: ranking, records, deal, verification and par."""

from collections.abc import Iterator, Sequence
from typing import Final

from samedeal.games.catalogue import GAMES
from samedeal.proof.outcomes import OUTCOMES
from samedeal.race.standings import Standing
from samedeal.share.phrases import achieved, deal_line, duration, headline, match_line, ordinal
from samedeal.wire.documents import Daily, Result
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot, Style
from samedeal_cli.render.phrases import counted, local_time, short_deal, versus_phrase
from samedeal_cli.render.standings import draw_standings
from samedeal_cli.render.text_table import advice
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.screen.drawing import NEWS, TONES, draw_heading, top_ranking
from samedeal_cli.screen.texts import BAD, GOOD
from samedeal_cli.state.race_state import RaceState

SQUARES: Final = {
    "solved": ("★", GOOD, "solved"),
    "better": ("▲", BAD, "beat you"),
    "equal": ("=", PLAIN, "level"),
    "worse": ("▼", Style("diamond"), "behind"),
}
"""The result of one of the computer's plays, compared with the player's: its mark and what that means."""
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
    below = _below_the_facts(state)
    last = max(bottom - len(facts) - len(below), 6 + min(3, len(state.ranking)))
    racers = [standing for standing in state.standings if standing.attempts]
    row = 4 if cancelled else _draw_headline(state, canvas, 2)
    if len(racers) > 1 and last - 1 - row - PODIUM >= len(state.ranking):
        row = _draw_podium(state, canvas, row, racers[:3])
    shown = top_ranking(state, max(1, last - 1 - row))
    area = Spot(row, 0, canvas.width, len(shown))
    draw_standings(canvas, area, shown, game=_slug(state), seat=state.seat, levels=state.levels)
    if len(state.ranking) > len(shown):
        canvas.write(row + len(shown), 4, f"of {counted(len(state.ranking), 'racer')}", DIM)
    for line, (label, parts) in enumerate(facts[: bottom - last], start=last):
        canvas.write(line, 1, label, DIM)
        column = LABELS
        for text, style in parts:
            column = canvas.write(line, column, fitted(text, canvas.width - column - 1, "…"), style)
    for line, (text, style) in enumerate(below, start=bottom - len(below)):
        canvas.write(line, 0, " " * canvas.width)
        canvas.write(line, 1, fitted(text, canvas.width - 2, "…"), style)


def _below_the_facts(state: RaceState) -> list[tuple[str, Style]]:
    """Return who wants a rematch, or the notice; for whom the rematch waits, and when it starts."""
    rematch = state.rematch
    lines = [(state.notice.text, TONES[state.notice.tone])] if state.notice else []
    if rematch and not state.notice:
        game = GAMES.get(rematch.game)
        other = "" if not game or (state.header and state.header.game == game.slug) else f" with {game.title}"
        lines = [(f"{rematch.by} wants a rematch{other}: press n to join.", NEWS)]
        if rematch.stage != "open":
            lines = [("The rematch has started: press n to watch.", NEWS)]
    if rematch and rematch.stage == "open" and rematch.players:
        own = state.me.name if state.me else None
        awaited = ", ".join("you" if name == own else name for name in rematch.awaited)
        waiting = f" Waiting for {awaited}." if awaited else ""
        left = "" if state.left_ms is None else f" Starts in {-(-state.left_ms // 1000)} s at the latest."
        lines.append((f"In: {', '.join(rematch.players)}.{waiting}{left}", PLAIN))
    return lines


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


def _draw_headline(state: RaceState, canvas: Canvas, row: int) -> int:
    """Draw who has won the match and the race, then your result on the deal; return the line after them."""
    slug, options = _slug(state), state.header.options if state.header else None
    race = state.standings, state.seat
    match = match_line(state.evening, options.best_of, state.race_id, *race) if state.evening and options else ""
    first = state.me is not None and state.me.place == 1
    text = ". ".join(filter(None, [match, headline(slug, *race)]))
    canvas.write(row, 1, fitted(text, canvas.width - 2, "…"), GOOD if first else BOLD)
    board = state.view.board if state.view and state.me and state.me.outcome != "won" else None
    cause = advice(board) if board and board.outcome != "playing" else ""
    deal = ". ".join(filter(None, [deal_line(slug, *race), cause]))
    canvas.cards(row + 1, 1, fitted(deal, canvas.width - 2, "…"))
    return row + (3 if deal else 2)


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
        yield "analysis", [(state.analysis.text + (" Press w." if state.analysis.line else ""), PLAIN)]
        if own and own.step is not None:
            yield "", [(f"You {own.described()}.", PLAIN)]
    if state.par:
        number, room = len(state.par), min(width, len(state.par))
        yield "par", [SQUARES.get(state.par[at * number // room], ("·", DIM, ""))[:2] for at in range(room)]
        counts = (f"{sign} {state.par.count(kind)} {text}" for kind, (sign, _, text) in SQUARES.items())
        yield "computer", [("  ".join(counts), DIM)]


def _slug(state: RaceState) -> str:
    return state.header.game if state.header else ""


def _daily_text(daily: Daily) -> str:
    """Return your place among the day's players, and the best of them."""
    place = [f"You are {ordinal(daily.yours.place)} of {daily.players}"] if daily.yours else []
    return " · ".join(
        [*place, *(f"{each.place}. {each.name} {_result(daily.game, each)}" for each in daily.results[:3])]
    )


def _result(game: str, result: Result) -> str:
    if result.outcome == "won":
        return duration(result.ms)
    return achieved(game, result.home, result.goal, short=True)


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
