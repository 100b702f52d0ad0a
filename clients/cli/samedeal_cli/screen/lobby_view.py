"""The lobby and the countdown of a race."""

from typing import Final

from samedeal.share.phrases import listed
from samedeal_cli.addresses import is_local
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot, Style
from samedeal_cli.render.phrases import bot_mark, deal_phrase, evening_phrase, start_phrase
from samedeal_cli.render.table_view import KEY
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.screen.drawing import draw_button, draw_heading, draw_messages
from samedeal_cli.screen.texts import GOOD, settings_of_race
from samedeal_cli.state.race_state import RaceState

DIGITS: Final = (
    "███  █  ███ ███ █ █ ███ ███ ███ ███ ███",
    "█ █ ██    █   █ █ █ █   █     █ █ █ █ █",
    "█ █  █  ███ ███ ███ ███ ███   █ ███ ███",
    "█ █  █  █     █   █   █ █ █   █ █ █   █",
    "███ ███ ███ ███   █ ███ ███   █ ███ ███",
)
WIDEST: Final = 76
"""The width of what the lobby shows, on a wide screen in the middle."""
LINES: Final = 10
"""How many lines the lobby needs besides the rules and the seats."""


def draw_lobby(state: RaceState, canvas: Canvas) -> None:
    """Draw who invites to which game, its rules in three lines, the seats, and what to do now."""
    header, bottom = state.header, canvas.height - 2
    draw_heading(state, canvas, f"open {len(state.standings)}/{header.options.max_racers}" if header else "")
    canvas.line(bottom)
    width, how = min(canvas.width - 2, WIDEST), state.game.how if state.game else ()
    left, spare = (canvas.width - width) // 2, bottom - LINES - len(how)
    seats = _seats(state, width, max(2, spare - 2))
    spare -= len(seats)
    button, gap = (3 if spare >= 2 else 1), int(spare >= 5)
    row = 2 + max(0, spare - 5) // 3
    canvas.write(row, left, fitted(_invitation(state), width, "…"), BOLD)
    row += 1 + gap
    for number, text in enumerate(how, start=1):
        canvas.write(row, left, f"{number}", DIM)
        canvas.cards(row, left + 2, fitted(text, width - 2, "…"))
        row += 1
    row += 1
    for parts in seats:
        column = left
        for text, style in parts:
            column = canvas.write(row, column, text, style)
        row += 1
    row = _draw_action(state, canvas, Spot(row + gap, left, width, button)) + gap
    canvas.write(row, left, "invite  ", DIM)
    end = canvas.write(row, left + 8, fitted(state.link, width - 8, "…"), BOLD)
    if is_local(state.link) and end + 21 <= left + width:
        canvas.write(row, end + 2, "(this machine only)", DIM)
    canvas.spots.setdefault("key:y", Spot(row, left + 8, min(cells(state.link), width - 8)))
    canvas.write(row + 1, left, _options(state, width), DIM)
    canvas.spots["key:o"] = Spot(row + 1, left, width)
    draw_messages(state, canvas, bottom - 2, 2)


def _invitation(state: RaceState) -> str:
    title, host = state.game.title if state.game else "", state.view.host if state.view else None
    if state.header and state.is_heat:
        return f"{title}, {deal_phrase(state.header)}"
    if state.header and state.header.follows:
        return f"Rematch: {title}"
    if host and not state.is_host:
        return f"{host.name} challenges you to {title}"
    whom = "members of the club" if state.header and state.header.club else "friends"
    return f"Invite {whom} to {title}" if state.me else f"A race at {title}"


def _seats(state: RaceState, width: int, most: int) -> list[list[tuple[str, Style]]]:
    """Return who has a seat, in as many columns as fit, and how to fill the empty ones."""
    entries = [_seat(state, seat, width) for seat in range(len(state.standings))]
    column = max((cells(text) for text, _ in entries), default=0) + 3
    columns = max(1, (width + 3) // column)
    rows = -(-len(entries) // columns)
    if rows > most - 1:
        entries, hidden = entries[: (most - 1) * columns - 1], len(entries) - (most - 1) * columns + 1
        entries.append((f"and {hidden} more", DIM))
    padded = [(f"{text}{' ' * (column - cells(text))}", style) for text, style in entries]
    lines = [padded[start : start + columns] for start in range(0, len(padded), columns)]
    free = (state.header.options.max_racers if state.header else 0) - len(state.standings)
    if free > 0:
        ways = [("y", KEY), (" invite   ", PLAIN)] if state.me else []
        ways += [("b", KEY), (" add bot   ", PLAIN)] if state.may_add_bot else []
        ways += [("c", KEY), (" change   ", PLAIN)] if state.is_host and not state.is_heat else []
        lines.append([*ways, (f"{free} empty seat{'' if free == 1 else 's'}", DIM)])
    return lines


def _seat(state: RaceState, at: int, width: int) -> tuple[str, Style]:
    standing = state.standings[at]
    ready, own = standing.outcome == "ready", standing.seat == state.seat
    host = state.view and state.view.host and state.view.host.seat == standing.seat
    roles = ", ".join(["you"] * own + ["host"] * bool(host))
    behind = bot_mark(standing.bot, state.levels.get(standing.seat)) + (f" ({roles})" if roles else "")
    name = fitted(standing.name, width - 2 - cells(behind), "…")
    return f"{'✓' if ready else '·'} {name}{behind}", GOOD if ready else BOLD if own else PLAIN


def _draw_action(state: RaceState, canvas: Canvas, area: Spot) -> int:
    """Draw what you can do now as a button, and below it what the race waits for; return the line after them."""
    awaited = [standing.name for standing in state.others if standing.outcome != "ready"]
    awaited += state.view.awaited if state.view else ()
    if state.me and state.me.outcome != "ready":
        draw_button(canvas, area, "r", "Ready")
        awaited.insert(0, "you")
    elif state.me and not state.others and not awaited:
        whom = "another member of the club" if state.header and state.header.club else "a friend"
        draw_button(canvas, area, "y", f"Copy the link for {whom}")
    else:
        canvas.write(
            area.row + area.height // 2, area.column, "✓ You are ready." if state.me else "You are watching.", GOOD
        )
    text = start_phrase(awaited, state.left_ms) or "The race starts when everyone is ready."
    canvas.write(area.row + area.height, area.column, fitted(text, area.width, "…"), BOLD)
    return area.row + area.height + 1


def _options(state: RaceState, width: int) -> str:
    """Return the score of a match and the options in short, as many as fit."""
    if not state.header or not state.game:
        return ""
    settings = dict(settings_of_race(state.header, state.game))
    score = f", {evening_phrase(state.evening)}" if state.evening and state.evening.table else ""
    shown = [f"{settings['match']}{score}"] if "match" in settings else []
    shown += [state.head_start] if state.head_start else []
    shown += ["only your first race counts"] if state.is_heat else []
    shown += [settings["time limit"], "undo on" if state.header.options.undo else "no undo"]
    shown += [settings["shuffle"].partition(",")[0]]
    keys = " · o options · i rules"
    while len(shown) > 1 and cells(" · ".join(shown) + keys) > width:
        shown.pop()
    return fitted(" · ".join(shown), width - cells(keys), "…") + keys


def draw_countdown(state: RaceState, canvas: Canvas) -> None:
    """Draw the seconds to the deal in large digits."""
    seconds = -(-(state.left_ms or 0) // 1000)
    draw_heading(state, canvas, f"starts in {seconds} s" if seconds else "finding a deal…")
    canvas.line(canvas.height - 2)
    middle = canvas.height // 2 - 4
    for line, pixels in enumerate(DIGITS, start=middle):
        digits = (pixels[4 * int(digit) :][:3] for digit in str(seconds))
        canvas.center(line, "".join(pixel * 2 for pixel in " ".join(digits)), GOOD)
    names = [standing.name for standing in state.standings]
    canvas.center(middle + 6, fitted(listed(names) if names else "", canvas.width - 4, "…"), BOLD)
    if len(names) > 1:
        canvas.center(middle + 7, "Everyone gets the same deal.", DIM)
    for line, text in enumerate(state.game.how if state.game else (), start=middle + 9):
        canvas.center(line, text)
