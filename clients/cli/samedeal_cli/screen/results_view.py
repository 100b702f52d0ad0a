"""The results of a race: ranking, records, deal, verification and par."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from samedeal.games.catalogue import GAMES
from samedeal.proof.outcomes import OUTCOMES
from samedeal.race.standings import Standing
from samedeal.share.headlines import deal_line, match_headline, result_headline
from samedeal.share.phrases import achieved, duration, listed, ordinal
from samedeal.wire.documents import Daily, Result
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot, Style
from samedeal_cli.render.phrases import counted, deal_phrase, local_time, short_deal, start_phrase, versus_phrase
from samedeal_cli.render.standings import draw_standings
from samedeal_cli.render.text_table import advice
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.screen.drawing import BUTTON, NEWS, SUITS, TONES, draw_button, draw_heading, top_ranking
from samedeal_cli.screen.texts import BAD, GOOD
from samedeal_cli.state.race_state import RaceState

SQUARES: Final = {
    "solved": ("★", GOOD, "solved"),
    "better": ("▲", BAD, "beat you"),
    "equal": ("=", PLAIN, "level"),
    "worse": ("▼", Style("diamond"), "behind"),
}
"""The result of one of the computer's plays, compared with the player's: its mark and what that means."""
STEPS: Final = 3
"""The height of the podium's highest step."""
FACTS: Final = 7
"""How many lines of facts there are on most races, which arrive one after the other."""
PODIUM: Final = STEPS + 2
"""The height of the podium with names and an empty line."""
TALL: Final = 24
"""The height from which the headline and the button have three lines."""
HEADLINE: Final = Style(bold=True, reverse=True)
LABELS: Final = 11
"""The width of the labels of facts, and the margin before them."""

Line = tuple[str, Sequence[tuple[str, Style]]]
"""A label and a text in parts."""


def draw_results(state: RaceState, canvas: Canvas) -> None:
    """Draw the end of a race, or that it was cancelled."""
    cancelled = state.stage == "cancelled"
    draw_heading(state, canvas, "cancelled" if cancelled else "the race is over")
    tall, rematch = canvas.height >= TALL, _rematch_texts(state)
    lines = 3 if tall else 2 if rematch[1] else 1
    button = Spot(canvas.height - 1 - lines, 0, canvas.width, lines)
    bottom = button.row - 1
    facts = list(_facts(state, canvas.width - LABELS - 1))
    last = max(bottom - max(len(facts), FACTS), 6 + min(3, len(state.ranking)))  # others may follow
    racers = [standing for standing in state.standings if standing.attempts]
    row = _draw_headline(state, canvas, 2, 3 if tall else 1)
    if len(racers) > 1 and last - 1 - row - PODIUM >= len(state.ranking):
        row = _draw_podium(state, canvas, row, racers[:3])
    shown = top_ranking(state, max(1, last - 1 - row))
    area = Spot(row, 0, canvas.width, len(shown))
    draw_standings(canvas, area, shown, game=_slug(state), seat=state.seat, levels=state.levels)
    if len(state.ranking) > len(shown):
        canvas.write(row + len(shown), 4, f"of {counted(len(state.ranking), 'racer')}", DIM)
    last = min(max(last, bottom - len(facts)), row + len(shown) + 2)
    for line, (label, parts) in enumerate(facts[: bottom - last], start=last):
        canvas.write(line, 1, label, DIM)
        column = LABELS
        for text, style in parts:
            column = canvas.write(line, column, fitted(text, canvas.width - column - 1, "…"), style)
    if state.confetti:
        _draw_confetti(canvas, state.confetti)
    canvas.line(bottom)
    if state.notice:
        canvas.write(bottom, 1, fitted(f" {state.notice.text} ", canvas.width - 2, "…"), TONES[state.notice.tone])
    if state.may_go_on:
        draw_button(canvas, button, "n", *rematch)
    elif state.header and state.header.heat:
        text = f"To see the challenge: samedeal challenge {state.header.heat.challenge}"
        canvas.center(button.row, fitted(text, canvas.width - 2, "…"), DIM)


def _rematch_texts(state: RaceState) -> tuple[str, str]:
    """Return what the big button does and, on a second line, who is in the rematch and when it starts."""
    rematch = state.rematch
    if state.challenge and (number := state.next_deal):
        return "Play the next deal", f"Deal {number} of {len(state.challenge.header.deals)}. Your first race counts."
    if rematch is None:
        alone = state.header is not None and state.header.options.max_racers == 1
        return "Play another deal" if alone else "Rematch" if state.may_rematch else "New race like this", ""
    if rematch.stage != "open":
        return "Watch the rematch", "It has started."
    game = GAMES.get(rematch.game)
    other = "" if not game or game.slug == _slug(state) else f" with {game.title}"
    own = state.me.name if state.me else None
    awaited = ["you" if name == own else name for name in rematch.awaited]
    players = rematch.players or (rematch.by,)
    who = f"{listed(players)} {'is' if len(players) == 1 else 'are'} in."
    return f"Rematch{other}", f"{who} {start_phrase(awaited, state.left_ms)}"


def _draw_confetti(canvas: Canvas, frames: int) -> None:
    """Let suits fall through the empty cells."""
    for column in range(1, canvas.width, 3):
        row = (column * 7 - frames * (1 + column % 2)) % canvas.height
        around = canvas.grid[row][column - 1 : column + 2]
        if all(cell.text == " " and not cell.style.reverse for cell in around):
            canvas.write(row, column, *SUITS[column % 4])


def _draw_podium(state: RaceState, canvas: Canvas, row: int, racers: Sequence[Standing]) -> int:
    """Draw the steps of the first three with the winner in the middle, and their names below; return the next line."""
    width = min(22, (canvas.width - 4) // 3)
    left = (canvas.width - 3 * width) // 2
    for position, top, standing in zip((1, 0, 2), (0, 1, 2), racers, strict=False):
        column = left + width * position
        for line in range(top, STEPS):
            canvas.write(row + line, column + 1, ("█" if line == top else "▓") * (width - 2), Style("bar"))
        place = f" {standing.place} " if top == STEPS - 1 else f" {standing.place} ".center(width - 2, "▓")
        canvas.write(row + STEPS - 1, column + (width - cells(place)) // 2, place, Style("bar"))
        name = fitted(standing.name, width - 2, "…")
        style = GOOD if standing.seat == state.seat else BOLD
        canvas.write(row + STEPS, column + (width - cells(name)) // 2, name, style)
    return row + PODIUM


def _draw_headline(state: RaceState, canvas: Canvas, row: int, height: int) -> int:
    """Draw who has won the match and the race in a band, then your result on the deal; return the line after them."""
    slug, options, race = _slug(state), state.header.options if state.header else None, (state.standings, state.seat)
    match = match_headline(state.evening, options.best_of, state.race_id, *race) if state.evening and options else ""
    lines = [result_headline(*race, slug), match]
    text = " · ".join(filter(None, lines if match.startswith("Match") else reversed(lines)))
    if state.stage == "cancelled":
        text = "The race was cancelled. There is no ranking."
    won, middle = state.has_won, row + height // 2
    for line in range(row, row + height):
        canvas.write(line, 0, " " * canvas.width, BUTTON if won else HEADLINE)
    text = fitted(text, canvas.width - (12 if won else 2), "…")
    canvas.center(middle, f"♠ ♥  {text}  ♦ ♣" if won else text, BUTTON if won else HEADLINE)
    board = state.view.board if state.view and state.me and state.me.outcome != "won" else None
    cause = advice(board) if board and board.outcome != "playing" else ""
    alone = sum(1 for each in state.standings if each.attempts) < 2
    deal = deal_line(state.me, slug) if state.me and state.me.attempts and not alone else ""
    deal = ". ".join(filter(None, [deal, cause, _new_best(state)]))
    parts = wrap(deal, canvas.width - 2, max_lines=2, placeholder="…")
    for line, part in enumerate(parts, start=row + height):
        canvas.cards(line, 1, part)
    return row + height + len(parts) + 1


def _new_best(state: RaceState) -> str:
    """Return that this was your fastest solution of the game, if you have solved it before."""
    games = [each for each in state.scores.games if each.game == _slug(state)] if state.scores else []
    fastest = state.me and games and games[0].best_ms == state.me.ms and games[0].solved > 1
    return "New best!" if fastest and state.me and state.me.outcome == "won" else ""


def _facts(state: RaceState, width: int) -> Iterator[Line]:
    """Yield records, the results of the day, the deal, the verdict of the verification, and par."""
    if state.head_start:
        yield "handicap", [(state.head_start, NEWS)]
    if state.records:
        yield "versus", [(" · ".join(versus_phrase(record, "You") for record in state.records), NEWS)]
    if state.daily and state.daily.results:
        yield "daily", [(_daily_text(state.daily), NEWS)]
    if state.header and state.is_heat:
        yield "race", [(_place(state) + deal_phrase(state.header), NEWS)]
    if state.view and state.view.deal:
        yield "deal", [(short_deal(state.view.deal), PLAIN)]
    elif state.header and state.is_sealed:
        yield "deal", [(f"secret until {local_time(state.header.reveals_at)}", DIM)]
    if state.stage == "over":
        yield "replay", [_verdict(state)]
    if state.analysis:
        own = next((point for point in state.analysis.racers if point.seat == state.seat), None)
        yield "analysis", [(state.analysis.text + (" Press w." if state.analysis.line else ""), PLAIN)]
        if own and own.step is not None:
            yield from (("", [(part, PLAIN)]) for part in wrap(f"You {own.described()}.", width))
    if state.par and 2 * state.par.count("worse") >= len(state.par):  # otherwise it is nothing to brag about
        number, room = len(state.par), min(width, len(state.par))
        yield "par", [SQUARES.get(state.par[at * number // room], ("·", DIM, ""))[:2] for at in range(room)]
        squares = [(state.par.count(kind), sign, text) for kind, (sign, _, text) in SQUARES.items()]
        counts = (f"{sign} {number} {text}" for number, sign, text in squares if number)
        yield "computer", [("  ".join(counts), DIM)]


def _slug(state: RaceState) -> str:
    return state.header.game if state.header else ""


def _daily_text(daily: Daily) -> str:
    """Return your place among the day's players, and the best of them."""
    if daily.yours and daily.players == 1:
        return "Nobody else has played yet."
    place = [f"You are {ordinal(daily.yours.place)} of {daily.players}"] if daily.yours else []
    return " · ".join(
        [*place, *(f"{each.place}. {each.name} {_result(daily.game, each)}" for each in daily.results[:3])]
    )


def _place(state: RaceState) -> str:
    """Return your place on a deal of a challenge, if you may know it."""
    page, heat = state.challenge, state.header and state.header.heat
    if not page or not heat or not (mine := page.yours[heat.deal - 1]) or not mine.place:
        return ""
    return f"You are {ordinal(mine.place)} of {page.played[heat.deal - 1]} · "


def _result(game: str, result: Result) -> str:
    if result.outcome == "won":
        return duration(result.ms)
    return achieved(game, result.home, result.goal, short=True)


def _verdict(state: RaceState) -> tuple[str, Style]:
    if state.is_sealed:
        return "can be verified once the deal is public", DIM
    if state.unverified_reason:
        return state.unverified_reason, NEWS
    if not state.checks:
        return "verifying…", DIM
    failed = next((check for check in state.checks if not check.holds), None)
    if failed:
        return f"✗ {failed.name}: {failed.text}", BAD
    name = "Verified" if state.key_known else OUTCOMES["key-unknown"].capitalize()
    return f"{name} ✓ {len(state.checks)} checks passed here", GOOD if state.key_known else NEWS
