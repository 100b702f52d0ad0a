"""The lobby and the countdown of a race."""

from collections.abc import Iterator
from typing import Final

from samedeal.race.events import Header
from samedeal.share.phrases import played_for_score
from samedeal.wire.documents import GameDescription
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot
from samedeal_cli.render.phrases import bot_mark, clock
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.screen.drawing import TWO_COLUMNS, draw_heading, draw_messages
from samedeal_cli.screen.texts import GOOD
from samedeal_cli.state.race_state import RaceState

DIGITS: Final = (
    "███  █  ███ ███ █ █ ███ ███ ███ ███ ███",
    "█ █ ██    █   █ █ █ █   █     █ █ █ █ █",
    "█ █  █  ███ ███ ███ ███ ███   █ ███ ███",
    "█ █  █  █     █   █   █ █ █   █ █ █   █",
    "███ ███ ███ ███   █ ███ ███   █ ███ ███",
)
SPECTATORS: Final = {
    "progress": "see scores only",
    "after": "see all after the end",
    "open": "see all tables",
}


def draw_lobby(state: RaceState, canvas: Canvas) -> None:
    """Draw who is in the race and what its rules are."""
    header = state.header
    seats = f"{len(state.standings)}/{header.options.max_racers}" if header else ""
    draw_heading(state, canvas, f"open {seats}")
    bottom = canvas.height - 2
    canvas.line(bottom)
    canvas.write(2, 1, "invite", DIM)
    canvas.cards(2, 10, fitted(state.link, canvas.width - 11, "…"), BOLD)
    canvas.spots["key:y"] = Spot(2, 10, min(cells(state.link), canvas.width - 11))
    if state.view and state.view.host and state.game and not state.is_host:
        text = f"{state.view.host.name} invites you to {state.game.title}"
        canvas.write(4, 1, fitted(text, canvas.width - 2, "…"), BOLD)
    right = canvas.width // 2 + 1 if canvas.width >= TWO_COLUMNS else 28
    canvas.write(5, 1, "RACERS", BOLD)
    canvas.write(5, right, "THIS RACE", BOLD)
    last = bottom - 4
    _draw_racers(state, canvas, 6, last, right - 2)
    if header:
        canvas.write(3, 1, "deal", DIM)
        fits = len(header.commitment) + 18 <= canvas.width
        text = header.commitment if fits else f"{header.commitment[:20]} … {header.commitment[-20:]}"
        seed = header.seed is not None
        deal = f"{header.game}:{header.seed}" if seed else f"sha256 {text}"
        canvas.write(3, 10, fitted(deal, canvas.width - 10, "…"), PLAIN if seed else DIM)
    if header and state.game:
        for row, (name, text) in zip(range(6, last), settings_of_race(header, state.game), strict=False):
            canvas.write(row, right, name, DIM)
            canvas.write(row, right + 11, fitted(text, canvas.width - right - 11, "…"))
    if state.game:
        canvas.write(last, 1, fitted(f"Press i for the rules of {state.game.title}.", canvas.width - 2, "…"), DIM)
    canvas.write(bottom - 3, 1, fitted(_status(state), canvas.width - 2, "…"), BOLD)
    draw_messages(state, canvas, bottom - 2, 2)


def _status(state: RaceState) -> str:
    """Return what the race is waiting for, and how much longer it waits."""
    seconds = None if state.left_ms is None else -(-state.left_ms // 1000)
    if state.me and state.me.outcome != "ready":
        late = f"within {seconds} s, or the race starts without you"
        return f"Press r {'when you are ready' if seconds is None else late}."
    others = [standing.name for standing in state.standings if standing.outcome != "ready"]
    others += state.view.awaited if state.view else ()
    text = f"Waiting for {', '.join(others)}." if others else "Invite friends: press y to copy the link."
    text = f"You are ready. {text}" if state.me else "You are watching. The race starts when everyone is ready."
    return text if seconds is None else f"{text} Starts in {seconds} s without the others."


def _draw_racers(state: RaceState, canvas: Canvas, row: int, last: int, width: int) -> None:
    shown = state.standings[: max(0, last - row)]
    if len(state.standings) > len(shown):
        shown = shown[:-1]
        canvas.write(last - 1, 1, f"and {len(state.standings) - len(shown)} more", DIM)
    for line, standing in enumerate(shown, start=row):
        ready, own = standing.outcome == "ready", standing.seat == state.seat
        canvas.write(line, 1, "✓" if ready else "·", GOOD if ready else DIM)
        host = state.view and state.view.host and state.view.host.seat == standing.seat
        kind = bot_mark(standing.bot, state.levels.get(standing.seat))
        text = standing.name + (" (you)" if own else "") + kind + (" (host)" if host else "")
        canvas.write(line, 3, fitted(text, width - 14, "…"), BOLD if own else PLAIN)
        canvas.write(line, width - 9, "ready" if ready else "not ready", GOOD if ready else DIM)
    if not state.standings:
        canvas.write(row, 1, "no racers yet", DIM)


def settings_of_race(header: Header, game: GameDescription) -> Iterator[tuple[str, str]]:
    """Yield the settings of a race and their values."""
    options = header.options
    if options.best_of > 1:
        yield "match", f"best of {options.best_of}"
    yield "time limit", clock(options.limit_ms)[:-2]
    yield "ranking", f"solving time, then {'score' if played_for_score(game.slug) else 'cards'}"
    yield "undo", "until a card is revealed" if options.undo else "off"
    yield "attempts", f"at most {options.attempts}" if options.attempts else "unlimited"
    yield "spectators", SPECTATORS[options.spectators]
    secret = "provably fair" if options.filter == "any" else options.filter.partition("/")[0]
    daily = "deal of the day" if header.daily else f"secret, {secret}"
    yield "shuffle", daily if header.seed is None else "from a known seed"
    for name, value in header.variant.items():
        yield name, value if isinstance(value, str) else "on" if value else "off"
    yield "countdown", f"{options.start_delay_ms / 1000:g} s"


def draw_countdown(state: RaceState, canvas: Canvas) -> None:
    """Draw the seconds to the deal in large digits."""
    seconds = -(-(state.left_ms or 0) // 1000)
    draw_heading(state, canvas, f"starts in {seconds} s" if seconds else "finding a deal…")
    canvas.line(canvas.height - 2)
    middle = canvas.height // 2 - 3
    for line, pixels in enumerate(DIGITS, start=middle):
        digits = (pixels[4 * int(digit) :][:3] for digit in str(seconds))
        canvas.center(line, "".join(pixel * 2 for pixel in " ".join(digits)), GOOD)
    names = ", ".join(standing.name for standing in state.standings)
    canvas.center(middle + 7, fitted(names, canvas.width - 4, "…"), BOLD)
    if len(state.standings) > 1:
        canvas.center(middle + 8, "Everyone gets the same deal.", DIM)
