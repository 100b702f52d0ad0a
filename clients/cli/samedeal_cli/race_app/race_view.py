"""The pages: a scene as a canvas of so many columns and lines. Everything that the full screen shows is drawn here."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from samedeal.race.events import Header
from samedeal.race.seat import Standing
from samedeal_cli.commands.mode import LEAST
from samedeal_cli.net.http_api import GameInfo
from samedeal_cli.race_app.overlays import BAD, FRAME, GOOD, Keys
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot, Style
from samedeal_cli.render.phrases import clock, quit_phrase, seat_phrase
from samedeal_cli.render.table_view import Marks, draw_table
from samedeal_cli.render.text_table import cells
from samedeal_cli.state.race_state import READINGS, Scene

SIDE: Final = 20
"""How wide the column of the standings is."""
SIDED: Final = 72
"""From which width on the standings stand in a column of their own."""

KEY: Final = Style("letter", bold=True)
NEWS: Final = Style("news")
BAR: Final = Style("bar")
TONES: Final = {"": PLAIN, "good": GOOD, "bad": Style("bad"), "news": NEWS}

DIGITS: Final = {
    "0": ("███", "█ █", "█ █", "█ █", "███"),
    "1": (" █ ", "██ ", " █ ", " █ ", "███"),
    "2": ("███", "  █", "███", "█  ", "███"),
    "3": ("███", "  █", "███", "  █", "███"),
    "4": ("█ █", "█ █", "███", "  █", "  █"),
    "5": ("███", "█  ", "███", "  █", "███"),
    "6": ("███", "█  ", "███", "█ █", "███"),
    "7": ("███", "  █", "  █", "  █", "  █"),
    "8": ("███", "█ █", "███", "█ █", "███"),
    "9": ("███", "█ █", "███", "  █", "███"),
}
SQUARES: Final = {"solved": ("★", GOOD), "better": ("▲", BAD), "equal": ("=", PLAIN), "worse": ("▼", Style("diamond"))}
"""A square of par: what the computer did in one play, as the player sees it."""

PRESSED: Final = {"Space": "space", "Enter": "enter", "Esc": "escape", "Tab": "tab", "↑": "up", "↓": "down"}
"""The names of keys as they are pressed, where they are written otherwise."""


def page(scene: Scene, width: int, height: int) -> Canvas:
    """The whole screen."""
    canvas = Canvas(width, height)
    if width < LEAST[0] or height < LEAST[1]:
        _draw_too_small(canvas)
    else:
        _draw(scene, canvas)
    if scene.ascii:
        canvas.in_ascii()
    return canvas


def _draw(scene: Scene, canvas: Canvas) -> None:
    if scene.page in READINGS:
        return _draw_reading(scene, canvas)
    match scene.stage:
        case "entering":
            _draw_entering(scene, canvas)
        case "open":
            _draw_lobby(scene, canvas)
        case "countdown":
            _draw_countdown(scene, canvas)
        case "running":
            _draw_race(scene, canvas)
        case _:
            _draw_results(scene, canvas)
    if scene.lost:
        _draw_banner(canvas, f"{scene.lost}: trying again.{_seat_meanwhile(scene)}")
    return None


def _seat_meanwhile(scene: Scene) -> str:
    """What becomes of the seat while the connection is lost."""
    if scene.seat is None:
        return ""
    clock_runs = ", the clock runs" if scene.stage != "open" else ""
    return f" {seat_phrase(scene.stage, scene.away_s).capitalize()}{clock_runs}."


# What all pages have.


def _draw_heading(scene: Scene, canvas: Canvas, right: str, style: Style = BOLD) -> None:
    title = scene.game.title if scene.game else "Same Deal"
    end = canvas.write(0, 1, title, BOLD)
    canvas.write(0, end, f" · {scene.race}", most=max(0, canvas.width - end - cells(right) - 3))
    canvas.write(0, canvas.width - cells(right) - 1, right, style)
    canvas.line(1)


def _draw_keys(canvas: Canvas, keys: Keys, lines: int) -> int:
    """The keys at the bottom, in so many lines at most; answers with the line above them. What finds no room can be
    pressed all the same, and the help has it.
    """
    rows: list[list[tuple[str, str]]] = [[]]
    used = 1
    for key, does in keys:
        wide = cells(key) + 1 + cells(does) + 3
        if used + wide - 2 > canvas.width and rows[-1]:
            rows.append([])
            used = 1
        rows[-1].append((key, does))
        used += wide
    rows = rows[:lines]
    first = canvas.height - len(rows)
    for at, row in enumerate(rows):
        column = 1
        for key, does in row:
            end = canvas.write(first + at, column, key, KEY)
            end = canvas.write(first + at, end + 1, does)
            if len(key) == 1 or key in PRESSED:
                canvas.spots[f"key:{PRESSED.get(key, key)}"] = Spot(first + at, column, end - column)
            column = end + 3
    return first - 1


def _draw_banner(canvas: Canvas, text: str) -> None:
    canvas.write(1, 0, f" {text} ".center(canvas.width, "─"), Style("bad", bold=True, reverse=True))


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width, break_on_hyphens=False) or [""]


def _cut(text: str, width: int) -> str:
    """A text in so many cells at most, with … where it goes on."""
    if cells(text) <= width:
        return text
    while cells(text) > max(0, width - 1):
        text = text[:-1]
    return f"{text}…"


def _bar(canvas: Canvas, row: int, column: int, width: int, share: float) -> None:
    done = min(width, max(int(share > 0), int(share * width)))
    canvas.write(row, column, "█" * done, BAR)
    canvas.write(row, column + done, "░" * (width - done), DIM)


# Before the server answers, and on a screen that is too small.


def _draw_entering(scene: Scene, canvas: Canvas) -> None:
    _draw_heading(scene, canvas, scene.server)
    middle = canvas.height // 2
    doing = "looking on at" if scene.watching else "taking a seat in"
    for at, text in enumerate((f"{doing} {scene.race}", f"at {scene.server} …")):
        canvas.write(middle - 1 + at, (canvas.width - cells(text)) // 2, text)
    canvas.line(_draw_keys(canvas, [("q", "quit")], 1))


def _draw_too_small(canvas: Canvas) -> None:
    text = f"needs {LEAST[0]}×{LEAST[1]}, has {canvas.width}×{canvas.height}"
    canvas.write(max(0, canvas.height // 2 - 1), max(0, (canvas.width - cells(text)) // 2), text, BOLD)
    canvas.write(canvas.height - 1, max(0, (canvas.width - 6) // 2), "q quit", DIM)
    canvas.spots["key:q"] = Spot(canvas.height - 1, 0, canvas.width)


def _quit(scene: Scene) -> str:
    return quit_phrase(scene.stage, scene.away_s)


# The lobby.


def _draw_lobby(scene: Scene, canvas: Canvas) -> None:
    header = scene.header
    seats = f"{len(scene.standings)}/{header.options.max_racers}" if header else ""
    _draw_heading(scene, canvas, f"open {seats}")
    ready = scene.me is not None and scene.me.outcome == "ready"
    mine = [("r", "not ready after all" if ready else "ready")] if scene.me else []
    keys = [*mine, ("y", "copy link"), ("Q", "QR code"), ("i", "rules"), ("?", "help")]
    keys += [("!", "give up the seat")] if scene.me else []
    bottom = _draw_keys(canvas, [*keys, ("q", _quit(scene) if scene.me else "quit")], 2)
    canvas.line(bottom)
    canvas.write(2, 1, "invite", DIM)
    canvas.cards(2, 10, _cut(scene.link, canvas.width - 11), BOLD)
    canvas.spots["key:y"] = Spot(2, 10, min(cells(scene.link), canvas.width - 11))
    if header:
        _draw_seal(canvas, 3, header)
    right = canvas.width // 2 + 1 if canvas.width >= SIDED else 28
    canvas.write(5, 1, "RACERS", BOLD)
    canvas.write(5, right, "THIS RACE", BOLD)
    last = bottom - 4
    _draw_racers(scene, canvas, 6, last, right - 2)
    if header and scene.game:
        row = 6
        for name, text in race_words(header, scene.game):
            if row < last:
                canvas.write(row, right, name, DIM)
                canvas.write(row, right + 9, _cut(text, canvas.width - right - 9))
            row += 1
    if scene.page == "leave":
        _draw_question(canvas, bottom - 3, "Give the seat up and go?")
    else:
        canvas.write(bottom - 3, 1, _cut(_waiting(scene), canvas.width - 2), BOLD)
    _draw_news(scene, canvas, bottom - 2, 2)


def _waiting(scene: Scene) -> str:
    """What the race waits for."""
    if scene.me is None:
        return "You look on. The race begins when all who have a seat are ready."
    if scene.me.outcome != "ready":
        return "Press r when you are ready."
    others = [standing.name for standing in scene.standings if standing.outcome != "ready"]
    if others:
        return f"You are ready. Waiting for {', '.join(others)}."
    return "You are ready. Waiting for somebody to race against: send the link round."


def _draw_seal(canvas: Canvas, row: int, header: Header) -> None:
    if header.seed is not None:
        canvas.write(row, 1, "open", DIM)
        canvas.write(row, 10, _cut(f"{header.game}:{header.seed}", canvas.width - 11))
    else:
        canvas.write(row, 1, "of the day" if header.daily else "sealed", DIM)
        text = f"sha256 {header.commitment}"
        if 10 + len(text) >= canvas.width:
            text = f"sha256 {header.commitment[:20]} … {header.commitment[-20:]}"
        canvas.write(row, 11 if header.daily else 10, text, DIM)


def _draw_racers(scene: Scene, canvas: Canvas, row: int, last: int, width: int) -> None:
    shown = scene.standings[: max(0, last - row)]
    if len(scene.standings) > len(shown):
        shown = shown[:-1]
        canvas.write(last - 1, 1, f"and {len(scene.standings) - len(shown)} more", DIM)
    for at, standing in enumerate(shown):
        ready, own = standing.outcome == "ready", standing.seat == scene.seat
        canvas.write(row + at, 1, "✓" if ready else "·", GOOD if ready else DIM)
        text = standing.name + (" (you)" if own else "") + (" (bot)" if standing.bot else "")
        canvas.write(row + at, 3, _cut(text, width - 14), BOLD if own else PLAIN)
        canvas.write(row + at, width - 9, "ready" if ready else "not yet", GOOD if ready else DIM)
    if not scene.standings:
        canvas.write(row, 1, "nobody yet", DIM)


def race_words(header: Header, game: GameInfo) -> Iterator[tuple[str, str]]:
    """What is settled about a race, in words."""
    options = header.options
    yield "goal", f"{game.goal} cards home"
    yield "ends", f"at {clock(options.limit_ms)[:-2]}, or all stopped"
    yield "ranks", "win time, then cards"
    yield "undo", "till a card turns up" if options.undo else "no"
    yield "attempts", f"{options.attempts} at most" if options.attempts else "no limit"
    shows = {"progress": "counts only", "after": "nothing before the end", "open": "open to onlookers"}
    yield "boards", shows[options.spectators]
    if header.seed is not None:
        yield "deal", "open: known beforehand"
    elif header.daily:
        yield "deal", "the deal of the day"
    else:
        yield "deal", "sealed, friendly" if options.filter != "any" else "sealed, any"
    for name, value in header.variant.items():
        yield name, value if isinstance(value, str) else "on" if value else "off"
    yield "starts", f"{options.start_delay_ms / 1000:g} s after all are ready"


# The countdown.


def _draw_countdown(scene: Scene, canvas: Canvas) -> None:
    seconds = -(-(scene.left_ms or 0) // 1000)
    _draw_heading(scene, canvas, f"starts in {seconds} s")
    canvas.line(_draw_keys(canvas, [("i", "rules"), ("?", "help"), ("q", _quit(scene))], 1))
    digits = str(seconds)
    middle, column = canvas.height // 2 - 3, (canvas.width - 8 * len(digits) + 2) // 2
    for at, digit in enumerate(digits):
        for line, pixels in enumerate(DIGITS[digit]):
            wide = "".join(pixel * 2 for pixel in pixels)
            canvas.write(middle + line, column + 8 * at, wide, GOOD)
    names = ", ".join(standing.name for standing in scene.standings)
    for at, text in enumerate((names, "The same deal for everybody. Fingers on the keys.")):
        cut = _cut(text, canvas.width - 4)
        canvas.write(middle + 7 + at, (canvas.width - cells(cut)) // 2, cut, BOLD if at == 0 else DIM)


# The race.


def _draw_race(scene: Scene, canvas: Canvas) -> None:
    _draw_heading(scene, canvas, _score(scene), _score_style(scene))
    small = canvas.height < 24
    key_lines = 2 if small else 3
    bottom = canvas.height - key_lines - 1  # the same however many keys there are, so that the table stays
    _draw_keys(canvas, _race_keys(scene), key_lines)
    sided = canvas.width >= SIDED and not scene.hiding
    messages = 2 if small else 3 if canvas.height < 30 else 5
    if not small:
        canvas.line(bottom)
    first = bottom + (1 if small else 0) - messages  # of the messages
    rule = first - 1 - (0 if sided or scene.hiding else 1)
    area = Spot(2, 1, canvas.width - 2 - (SIDE + 2 if sided else 0), rule - 2)
    if scene.board and scene.game:
        table, faint = scene.foreseen
        hand = scene.hand
        letters = hand.letters if scene.plays else {}
        marks = Marks(letters, bool(hand.picks), hand.picks, hand.cursor if scene.plays else None, faint)
        game, compact = scene.game, scene.cards == "compact"
        draw_table(canvas, area, game.layout, game.fanned, table, marks, labels=game.labels, compact=compact)
    else:
        canvas.write(area.row + area.height // 2, area.column, _no_table(scene).center(area.width), DIM)
    _draw_rule(scene, canvas, rule)
    if sided:
        _draw_side(scene, canvas, rule)
    elif not scene.hiding:
        canvas.write(rule + 1, 1, _cut(one_line(scene), canvas.width - 2))
    if scene.page == "resign":
        _draw_question(canvas, first, "Resign for good? Your best attempt counts.")
    elif scene.page == "restart":
        _draw_question(canvas, first, "Begin the same deal again? The clock runs on.")
    elif scene.typing is not None:
        _draw_move_line(scene, canvas, first)
    else:
        _draw_news(scene, canvas, first, messages)


def _score(scene: Scene) -> str:
    left = clock(scene.left_ms)[:-2] if scene.left_ms is not None else ""
    board = scene.board
    if not board or not scene.game:
        return f"{left} left" if left else ""
    attempt = f"attempt {board.attempt}   " if board.attempt > 1 else ""
    return f"{attempt}{left}   {board.home}/{scene.game.goal}   {board.ply} {'move' if board.ply == 1 else 'moves'}"


def _score_style(scene: Scene) -> Style:
    return BAD if scene.left_ms is not None and scene.left_ms <= 60_000 else BOLD


def _race_keys(scene: Scene) -> Keys:
    if scene.typing is not None:
        return [("Enter", "play"), ("Tab", "complete"), ("↑", "before"), ("Esc", "close")]
    ends = [("?", "all keys"), ("q", _quit(scene) if scene.seat is not None else "quit")]
    if not scene.plays:
        back = [("Esc", "back")] if scene.seat is not None and not scene.done else []
        looking = ("Tab", "next table" if scene.boards else "next racer")
        return [*back, looking, ("i", "rules"), ("z", "rivals"), ("y", "copy link"), *ends]
    word = scene.word
    if scene.width < SIDED:
        keys = [("a-p", "where to" if scene.picks else "pick up"), ("A-P", "home"), ("Enter", "drop")]
        keys += [("Space", word)] if word else []
        keys += [("u", "undo"), ("/", "type"), ("b", "again"), ("!", "resign"), ("?", "all keys")]
        return [*keys, ("q", "quit")]
    picking = "letter: where to" if scene.picks else "letter: pick up"
    keys = [("a-p", picking), ("A-P", "home"), ("Enter", "best drop"), ("Esc", "let go")]
    keys += [("Space", word)] if word else []
    keys += [("u", "undo"), ("/", "type a move"), ("b", "begin again"), ("i", "rules"), ("Tab", "rivals")]
    return [*keys, ("z", "show rivals" if scene.hiding else "hide rivals"), ("!", "resign"), *ends]


def _no_table(scene: Scene) -> str:
    if scene.me and scene.me.outcome == "scratched":
        return "You are not in it: your share of the deal did not reach the server in time."
    return "The tables are hidden from onlookers in this race."


def _draw_rule(scene: Scene, canvas: Canvas, row: int) -> None:
    """The line below the table, with what is known beyond the piles."""
    canvas.line(row)
    notes = [f"{name} {value}" for name, value in scene.board.notes.items()] if scene.board else []
    whose = next((standing.name for standing in scene.standings if standing.seat == scene.shown), "")
    if scene.shown is not None and scene.shown != scene.seat:
        notes = [f"the table of {whose}", *notes]
    if notes:
        canvas.write(row, 2, f" {'  '.join(notes)} ")


def _draw_side(scene: Scene, canvas: Canvas, end: int) -> None:
    left = canvas.width - SIDE
    for row in range(2, end):
        canvas.write(row, left - 2, "│", DIM)
    canvas.write(end, left - 2, "┴", DIM)
    canvas.write(1, left - 2, "┬", DIM)
    room = end - 2
    lines = 2 if 2 * len(scene.standings) + 3 <= room else 1
    most = max(1, (room - 3) // lines)
    row = 2
    for standing in _near(scene, most):
        row = _draw_standing(scene, canvas, row, left, standing, lines)
    if len(scene.standings) > most:
        canvas.write(row, left, f"of {len(scene.standings)} racers", DIM)
    looked = next((standing for standing in scene.standings if standing.seat == scene.look), None)
    if looked and end - row >= 4:
        for at, text in enumerate(_details(looked)):
            canvas.write(end - 3 + at, left, _cut(text, SIDE - 1), DIM if at else BOLD)


def _near(scene: Scene, most: int) -> Sequence[Standing]:
    """The best, and where they are more than there is room for also oneself."""
    shown = scene.standings[:most]
    if scene.me and scene.me not in shown:
        shown = (*shown[:-1], scene.me)
    return shown


def _draw_standing(scene: Scene, canvas: Canvas, row: int, left: int, standing: Standing, lines: int) -> int:
    own, looked = standing.seat == scene.seat, standing.seat == scene.look
    style = Style(bold=own, reverse=looked)
    count = _count(standing)
    name = _cut("you" if own else standing.name + (" bot" if standing.bot else ""), SIDE - 5 - cells(count))
    canvas.write(row, left, f"{standing.place:>2} ", BOLD if own else PLAIN)
    canvas.write(row, left + 3, name, style)
    canvas.write(row, canvas.width - cells(count) - 1, count, BOLD if own else PLAIN)
    if lines == 2:
        _bar(canvas, row + 1, left + 3, SIDE - 4, standing.progress)
    canvas.spots[f"seat:{standing.seat}"] = Spot(row, left, SIDE, lines)
    return row + lines


def _count(standing: Standing) -> str:
    """How far somebody has come, or how it ended, in a word."""
    if standing.outcome in ("playing", "ready", "waiting", "stuck"):
        mark = "!" if standing.outcome == "stuck" else ""
        return f"{mark}{standing.home}/{standing.goal}"
    if standing.outcome == "won":
        return f"won {clock(standing.ms)[:-2]}"
    return f"{standing.outcome} {standing.home}" if standing.outcome != "scratched" else "scratched"


def _details(standing: Standing) -> list[str]:
    attempts = "" if standing.attempts < 2 else f", attempt {standing.attempts}"
    at = f"best at {clock(standing.ms)}" if standing.home else "nothing home yet"
    return [standing.name, f"{standing.outcome}{attempts}", at]


def one_line(scene: Scene) -> str:
    """The standings on one line, oneself marked."""
    parts = []
    for standing in scene.standings:
        name = "you" if standing.seat == scene.seat else standing.name
        mark = "▸" if standing.seat in (scene.look, scene.seat) else ""
        parts.append(f"{mark}{standing.place} {name} {_count(standing)}")
    return "   ".join(parts) or "no racers to be seen"


def _draw_news(scene: Scene, canvas: Canvas, row: int, lines: int) -> None:
    """The last answer in as many lines as it takes, and below it what happened last."""
    width = canvas.width - 2
    used = 0
    if scene.pending and scene.said is None:
        canvas.write(row, 1, f"> {scene.pending}", DIM)
        used = 1
    elif scene.said:
        mark = {"bad": "✗ ", "good": "✓ "}.get(scene.said.tone, "")
        for line in _wrapped(mark + scene.said.text, width)[:lines]:
            canvas.cards(row + used, 1, line, TONES[scene.said.tone])
            used += 1
    if scene.hiding and scene.stage == "running":
        return
    room = max(0, lines - (max(used, 1) if scene.stage == "running" else used))
    for at, event in enumerate(scene.events[-room:] if room else ()):
        time = f"{clock(event.ms)[:-2]:>5}  " if event.ms is not None else ""
        canvas.write(row + lines - min(room, len(scene.events)) + at, 1, _cut(time + event.text, width), NEWS)


def _draw_move_line(scene: Scene, canvas: Canvas, row: int) -> None:
    end = canvas.write(row, 1, f"> {scene.typing}")
    canvas.write(row, end, " ", Style(reverse=True))
    found = "  ".join(scene.completions)
    canvas.write(row, end + 2, _cut(found, canvas.width - end - 3), DIM)


def _draw_question(canvas: Canvas, row: int, text: str) -> None:
    canvas.write(row, 0, " " * canvas.width)
    end = canvas.write(row, 1, f"{text} ", BAD)
    canvas.write(row, end, "[y]", KEY)
    canvas.spots["key:y"] = Spot(row, end, 3)
    canvas.write(row, end + 4, "any other key: no", DIM)


# The results.


def _draw_results(scene: Scene, canvas: Canvas) -> None:
    called_off = scene.stage == "cancelled"
    _draw_heading(scene, canvas, "called off" if called_off else "the race is over")
    again = [("n", "another race like this")]
    shows = [] if called_off else [("v", "replay"), ("f", "facts")]
    bottom = _draw_keys(canvas, [*again, *shows, ("y", "copy link"), ("i", "rules"), ("?", "help"), ("q", "quit")], 2)
    canvas.line(bottom)
    row = 3
    if called_off:
        canvas.write(row, 1, "The race was called off: nobody is ranked.")
    racers = [standing for standing in scene.standings if standing.attempts]
    if len(racers) > 1 and bottom - 3 >= 12 + len(scene.standings):
        row = _draw_podium(scene, canvas, row - 1, racers[:3])
    else:
        row = _draw_own_result(scene, canvas, row - 1)
    below = 6 if canvas.height >= 24 else 4
    row = _draw_ranking(scene, canvas, row, bottom - below)
    _draw_proof(scene, canvas, max(row + 1, bottom - below), bottom)


def _draw_podium(scene: Scene, canvas: Canvas, row: int, racers: Sequence[Standing]) -> int:
    """The first three on steps, the first in the middle; answers with the line after it."""
    step = min(22, (canvas.width - 4) // 3)
    left = (canvas.width - 3 * step) // 2
    height = 4
    for at, standing in zip((1, 0, 2), racers, strict=False):
        rise = (0, 1, 2)[(1, 0, 2).index(at)]
        column = left + step * at
        name = _cut(standing.name, step - 2)
        own = standing.seat == scene.seat
        canvas.write(row + rise, column + (step - cells(name)) // 2, name, GOOD if own else BOLD)
        for line in range(rise + 1, height + 1):
            canvas.write(row + line, column + 1, "█" * (step - 2) if line == rise + 1 else "▓" * (step - 2), BAR)
        canvas.write(row + height, column + 1, f" {standing.place} ".center(step - 2, "▓"), BAR)
    return row + height + 2


def _draw_own_result(scene: Scene, canvas: Canvas, row: int) -> int:
    me = scene.me
    if me is None:
        return row
    if me.outcome == "won":
        canvas.write(row + 1, 1, f"You have won in {clock(me.ms)}!", GOOD)
    else:
        canvas.write(row + 1, 1, f"You: {me.outcome}, {me.home} of {me.goal} home", BOLD)
    return row + 3


def _draw_ranking(scene: Scene, canvas: Canvas, row: int, last: int) -> int:
    shown = _near(scene, max(1, last - row))
    wide = canvas.width - 52
    for standing in shown:
        own = standing.seat == scene.seat
        style = BOLD if own else PLAIN
        name = standing.name + (" (you)" if own else "") + (" (bot)" if standing.bot else "")
        canvas.write(row, 1, f"{standing.place:>2}", style)
        canvas.write(row, 4, _cut(name, wide), style)
        column = 5 + wide
        _bar(canvas, row, column, 10, standing.progress)
        text = f"{standing.home:>3}/{standing.goal:<3} {standing.outcome:<9}"
        attempts = f"{standing.attempts} attempts" if standing.attempts > 1 else ""
        time = clock(standing.ms) if standing.home else ""
        canvas.write(row, column + 11, f"{text} {time:>8}  {attempts}", style)
        row += 1
    if len(scene.standings) > len(shown):
        canvas.write(row, 1, f"   of {len(scene.standings)} racers", DIM)
        row += 1
    return row


def _draw_proof(scene: Scene, canvas: Canvas, row: int, end: int) -> None:
    """The deal, what verification says, and par."""
    if scene.view and scene.view.deal:
        lines = wrap(scene.view.deal, canvas.width - 12) or [""]
        canvas.write(row, 1, "deal", DIM)
        for line in lines[:2]:
            if row < end - 1:
                canvas.write(row, 11, line)
                row += 1
    if scene.stage == "over" and row < end:
        canvas.write(row, 1, "verified", DIM)
        text, style = _verdict(scene)
        canvas.write(row, 11, _cut(text, canvas.width - 12), style)
        row += 1
    if scene.par and row < end:
        _draw_par(scene, canvas, row, end)
        row += 2
    if scene.said and row < end:
        canvas.write(end - 1, 1, _cut(scene.said.text, canvas.width - 2), TONES[scene.said.tone])


def _verdict(scene: Scene) -> tuple[str, Style]:
    if scene.unchecked:
        return scene.unchecked, NEWS
    if not scene.facts:
        return "being checked …", DIM
    failed = [fact for fact in scene.facts if not fact.holds]
    if failed:
        return f"✗ {failed[0].name}: {failed[0].text}", BAD
    return f"✓ all {len(scene.facts)} facts hold, checked on this machine", GOOD


def _draw_par(scene: Scene, canvas: Canvas, row: int, end: int) -> None:
    par = scene.par
    if par is None:
        return
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
        canvas.write(row + 1, 11, _cut(par.text, canvas.width - 12), DIM)


# Pages to read.


def _draw_reading(scene: Scene, canvas: Canvas) -> None:
    """A text that may be longer than the screen, from the line that one has scrolled to."""
    titles = {
        "help": "Keys",
        "rules": f"The rules of {scene.game.title if scene.game else 'the game'}",
        "link": "The link of the race",
        "facts": "What was checked on this machine, from the log alone",
    }
    canvas.write(0, 1, titles[scene.page], BOLD)
    canvas.line(1)
    bottom = _draw_keys(canvas, [("↑", "up"), ("↓", "down"), ("Space", "on"), ("Esc", "back")], 1)
    canvas.line(bottom)
    lines, room = scene.reading(canvas.width), canvas.height - FRAME
    first = min(scene.scroll, max(0, len(lines) - room))
    for at, (line, style) in enumerate(lines[first : first + room]):
        canvas.cards(2 + at, 1, line, style)
    if len(lines) > room:
        where = f" {first + 1}-{min(len(lines), first + room)} of {len(lines)} "
        canvas.write(bottom, canvas.width - cells(where) - 2, where, DIM)
