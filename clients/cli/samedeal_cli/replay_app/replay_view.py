"""The player's page: a moment of a recording as a canvas of any size."""

import re
from typing import Final

from samedeal.game import Game
from samedeal.race.race import RESTART, UNDO
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot, Style
from samedeal_cli.render.phrases import clock
from samedeal_cli.render.table_view import Marks, draw_table
from samedeal_cli.render.text_table import card_text
from samedeal_cli.render.text_width import cells
from samedeal_cli.render.transcript import in_ascii, named, printable, shifts
from samedeal_cli.state.recording import MarkKind, Track
from samedeal_cli.state.replay_state import KEYS, SPEEDS, Player

LEAST_WIDTH, LEAST_HEIGHT = 60, 20
"""The smallest page with a table on it; on a smaller one there is one line."""
LIST_FROM: Final = 80
"""From which width on there is a list of moves beside the table."""
PANE: Final = 38
"""How wide the table of each racer is at least, where several are shown."""
WIDE_LIST: Final = 36
SHORT: Final = 16
"""How much of a name is shown at most where everybody is on one line."""

MARKS: Final[dict[MarkKind, tuple[str, str]]] = {
    "home": ("•", "home"),
    "undo": ("◂", "undo"),
    "think": ("◆", "think"),
    "restart": ("«", "restart"),
    "end": ("■", "end"),
}
"""How each kind of mark is drawn and called; of several in one cell the last of these is seen."""
_RANKS: Final = {kind: rank for rank, kind in enumerate(MARKS)}
_HINTS: Final = (
    ("Space", "space", "play"),
    ("←→", "right", "move"),
    ("↑↓", "up", "home"),
    ("Tab", "tab", "racer"),
    ("c", "c", "all"),
    ("[]", "]", "mark"),
    ("<>", ">", "speed"),
    ("/", "/", "go to"),
    ("?", "?", "keys"),
    ("q", "q", "leave"),
)
"""The keys on the last line: how they are written, which one a click stands for, what they do."""
_CARD = re.compile(r"(?<![A-Za-z0-9])[2-9TJQKA][SHCD](?![A-Za-z0-9])")


def draw_screen(player: Player, width: int, height: int) -> Canvas:
    """The moment that a player is at, as it is shown on so many cells by so many."""
    canvas = Canvas(max(1, width), max(1, height))
    if width < LEAST_WIDTH or height < LEAST_HEIGHT:
        _one_line(player, canvas)
    else:
        _head(player, canvas)
        if player.helping:
            _help(canvas)
        else:
            strips = max(1, min(len(player.recording.tracks), height - 23))
            floor = height - 5 - strips
            if player.comparing and len(player.shown(width // PANE)) > 1:
                _panes(player, canvas, Spot(2, 0, width, floor - 2))
            else:
                _table(player, canvas, Spot(2, 0, width, floor - 2))
            canvas.line(floor)
            _deed(player, canvas, floor + 1)
            _timeline(player, canvas, floor + 2)
            _times(player, canvas, floor + 3)
            _strips(player, canvas, floor + 4, strips)
            _foot(player, canvas, height - 1)
    if player.plain:
        canvas.in_ascii()
    return canvas


def _one_line(player: Player, canvas: Canvas) -> None:
    track, made = player.track, player.track.index(player.n)
    line = f"{called(player, track)}  {made}/{len(track.steps) - 1}  {clock(int(player.at))}  {_home(track, player.n)}"
    canvas.write(0, 0, f"{line}  needs {LEAST_WIDTH}x{LEAST_HEIGHT}, has {canvas.width}x{canvas.height}")


def _head(player: Player, canvas: Canvas) -> None:
    track = player.track
    checked, style = {
        None: ("checking …", DIM),
        True: ("VERIFIED ✔", Style("good")),
        False: ("NOT VERIFIED ✘", Style("bad", bold=True)),
    }[player.verified]
    ends = f"{ending(track, player.n)}   "
    right = canvas.width - 1 - cells(ends + checked)
    name, game = called(player, track), player.recording.game.title
    titles = (f"Replay · {game} · ", f"{game} · ", "")
    title = next((title for title in titles if cells(title + name) < right - 2), "")
    column = canvas.write(0, 1, title)
    canvas.write(0, column, name, BOLD, most=right - column - 1)
    column = canvas.write(0, right, ends)
    canvas.write(0, column, checked, style)
    canvas.line(1)


def ending(track: Track, n: int) -> str:
    """How a racer's game stands, and since when if it is over."""
    outcome = track.outcome(n)
    if n < track.ended.n:
        return outcome
    return f"{'out of time' if outcome == 'timeout' else outcome} {clock(track.ended.at)}"


def _help(canvas: Canvas) -> None:
    for row, (keys, says) in enumerate(KEYS.items(), start=3):
        canvas.write(row, 3, keys, BOLD)
        canvas.write(row, 14, says)
    column = 3
    for kind, (mark, word) in MARKS.items():
        column = canvas.write(canvas.height - 3, column, mark, _mark_style(kind))
        column = canvas.write(canvas.height - 3, column, f" {word}   ", DIM)
    canvas.write(canvas.height - 1, 1, "any key goes back", DIM)


# Tables.


def _table(player: Player, canvas: Canvas, room: Spot) -> None:
    """One table, and the moves around the last one where there is room for them."""
    width = room.width - 2
    if room.width >= LIST_FROM:
        list_width = 21 if room.width < LIST_FROM + 20 else min(WIDE_LIST, room.width - 60)
        width = room.width - list_width - 3
        _list(player, canvas, Spot(room.row, room.width - list_width, list_width, room.height))
    draw_board(player, player.track, canvas, Spot(room.row, 1, width, room.height))


def _panes(player: Player, canvas: Canvas, room: Spot) -> None:
    """Several tables side by side."""
    shown = player.shown(room.width // PANE)
    each = room.width // len(shown)
    for number, index in enumerate(shown):
        track, column = player.recording.tracks[index], number * each
        watched = index == player.watched
        made = f"  {track.index(player.n)} moves  {_home(track, player.n)}"
        name = f"{'▸' if watched else ' '}{called(player, track)}"
        end = canvas.write(room.row, column + 1, name, BOLD if watched else PLAIN, most=each - 3 - cells(made))
        canvas.write(room.row, end, made, DIM)
        canvas.spots[f"racer:{track.standing.seat}"] = Spot(room.row, column, each)
        below = Spot(room.row + 2, column + 1, each - 3, room.height - 2)
        draw_board(player, track, canvas, below)
        if number:
            for row in range(room.row, room.row + room.height):
                canvas.write(row, column - 1, "│", DIM)


def draw_board(player: Player, track: Track, canvas: Canvas, room: Spot, *, marked: bool = True) -> None:
    """A table, with marks on what came last. Its spots are not for clicking: nobody plays here."""
    index = track.index(player.n)
    game = track.steps[index].game
    fresh = _arrived(track.steps[index - 1].game, game) if index and marked else set()
    spots = dict(canvas.spots)
    area = room._replace(height=room.height - 1)
    draw_table(canvas, area, game.layout, game.fanned, game.view(), Marks(picked=fresh), labels=game.labels)
    canvas.spots = spots
    notes = "  ".join(f"{name} {value}" for name, value in game.notes.items())
    canvas.write(room.row + room.height - 1, room.column, notes, DIM, most=room.width)


def _arrived(old: Game, new: Game) -> set[str]:
    """Where another card lies on top, face up."""
    tops = {place: pile[-1] for place, pile in new.table.piles.items() if pile and place not in new.hidden}
    return {place for place, top in tops.items() if (top, len(new.table[place])) != _top(old, place)}


def _top(game: Game, place: str) -> tuple[str, int]:
    pile = game.table[place]
    return (pile[-1], len(pile)) if pile else ("", 0)


# Moves.


def _list(player: Player, canvas: Canvas, room: Spot) -> None:
    track, now = player.track, player.track.index(player.n)
    for row in range(room.row, room.row + room.height):
        canvas.write(row, room.column - 1, "│", DIM)
    canvas.write(room.row, room.column + 1, "MOVES", DIM)
    rows = room.height - 1
    first = max(1, min(now - rows // 2, len(track.steps) - rows))
    for row, index in enumerate(range(first, min(first + rows, len(track.steps))), start=room.row + 1):
        step = track.steps[index]
        style = BOLD if index == now else DIM if index > now else PLAIN
        start = canvas.write(row, room.column + 1, f"{'▸' if index == now else ' '}{index:>4} {step.move:<5} ", style)
        says = _told(player, track, index)
        left = room.column + room.width - start
        canvas.cards(row, start, says if cells(says) <= left else _cards(player, track, index), style, most=left)


def _told(player: Player, track: Track, index: int) -> str:
    """What a move did."""
    before, step = track.steps[index - 1], track.steps[index]
    if step.move == UNDO:
        return "takes it back"
    if step.move == RESTART:
        return f"attempt {step.attempt}"
    return _drawn(player, "; ".join(shifts(before.game, step.game)))


def _cards(player: Player, track: Track, index: int) -> str:
    """The cards that a move was about."""
    return " ".join(card_text(card, ascii=player.plain) for card in dict.fromkeys(_moved(track, index)))


def _moved(track: Track, index: int) -> list[str]:
    before, step = track.steps[index - 1], track.steps[index]
    return [] if step.move in (UNDO, RESTART) else _CARD.findall("; ".join(shifts(before.game, step.game)))


def _drawn(player: Player, text: str) -> str:
    """A text with its cards as they are drawn."""
    return _CARD.sub(lambda card: card_text(card[0], ascii=player.plain), text)


def _deed(player: Player, canvas: Canvas, row: int) -> None:
    track, index = player.track, player.track.index(player.n)
    step = track.steps[index]
    column = canvas.write(row, 1, f"{index}/{len(track.steps) - 1}  ", BOLD)
    right = f"{_home(track, player.n)} home"
    end = canvas.width - 1 - cells(right)
    canvas.write(row, end, right)
    if index:
        column = canvas.write(row, column, f"{clock(step.at)}  ", DIM)
        column = canvas.write(row, column, f"{step.move}  ", BOLD, most=end - column)
        says = _told(player, track, index)
        canvas.cards(row, column, says, most=max(0, end - column - 1))
    else:
        canvas.write(row, column, "the cards are dealt", DIM)


# Time.


def _timeline(player: Player, canvas: Canvas, row: int) -> None:
    width = canvas.width - 4
    now = _share(player, player.at, width)
    canvas.write(row, 1, "├", DIM)
    canvas.write(row, 2, "━" * now, Style("bar"))
    canvas.write(row, 2 + now, "─" * (width - now), DIM)
    canvas.write(row, 2 + width, "┤", DIM)
    marked: dict[int, MarkKind] = {}
    for mark in player.track.marks:
        cell = _share(player, mark.at, width)
        marked[cell] = max(marked.get(cell, mark.kind), mark.kind, key=_RANKS.__getitem__)
    for cell, kind in marked.items():
        canvas.write(row, 2 + cell, MARKS[kind][0], _mark_style(kind))
    canvas.paint(Spot(row, 2 + now, 1), reverse=True, bold=True, dim=False)
    canvas.spots["timeline"] = Spot(row, 2, width)


def _share(player: Player, at: float, width: int) -> int:
    """Which of so many cells a time falls in."""
    return min(width - 1, int(at * width / max(1, player.recording.length)))


def _mark_style(kind: MarkKind) -> Style:
    match kind:
        case "home":
            return Style("good")
        case "end":
            return Style("news", bold=True)
        case "think":
            return Style("place")
        case _:
            return Style("bad")


def _times(player: Player, canvas: Canvas, row: int) -> None:
    at, end = clock(int(player.at)), clock(player.recording.length)
    column = canvas.write(row, 2, f"{at:>{len(end)}}", BOLD)
    column = canvas.write(row, column, f" of {end}", DIM)
    sign = "▶" if player.playing else "■" if player.ended else "‖"
    right = f"{sign} {player.speed:g}×{' short pauses' if player.skipping else ''}"
    start = canvas.width - 2 - cells(right)
    canvas.write(row, start, right, BOLD)
    canvas.spots["key:>" if player.speed < SPEEDS[-1] else "key:<"] = Spot(row, start, cells(right))
    present = {mark.kind for mark in player.track.marks}
    legend = [(sign, word, kind) for kind, (sign, word) in MARKS.items() if kind in present]
    if column + 4 + sum(3 + cells(word) for _, word, _ in legend) > start:
        return
    column += 3
    for mark, word, kind in legend:
        column = canvas.write(row, column, mark, _mark_style(kind))
        column = canvas.write(row, column, f" {word} ", DIM)


# Racers.


def _strips(player: Player, canvas: Canvas, row: int, rows: int) -> None:
    """How far everybody has come: a line each where there are enough of them, or as many as fit on one."""
    tracks = player.recording.tracks
    if rows == 1:
        _one_strip(player, canvas, row)
        return
    first = max(0, min(player.watched - rows // 2, len(tracks) - rows))
    longest = min(24, max(cells(called(player, track)) for track in tracks))
    bar = min(40, canvas.width - longest - 32)
    for line, index in enumerate(range(first, first + rows), start=row):
        track, watched = tracks[index], index == player.watched
        canvas.write(
            line, 1, f"{'▸' if watched else ' '}{called(player, track)}", _racer_style(watched), most=longest + 1
        )
        column = draw_bar(track, player.n, canvas, line, longest + 4, bar)
        canvas.write(line, column, f" {best(track, player.n):>7}  {ending(track, player.n)}")
        canvas.spots[f"racer:{track.standing.seat}"] = Spot(line, 0, canvas.width)


def _one_strip(player: Player, canvas: Canvas, row: int) -> None:
    """As many racers as there is room for, with bars if there is room for these too; the one looked at among them."""
    tracks = player.recording.tracks
    names = [cells(called(player, track)) for track in tracks]
    counts = [cells(best(track, player.n)) for track in tracks]
    needed = sum(min(name, SHORT) + count + 4 for name, count in zip(names, counts, strict=True))
    bar = 6 if needed + 7 * len(tracks) <= canvas.width else 0
    most = SHORT if needed <= canvas.width else max(4, canvas.width // len(tracks) - max(counts) - 4)
    column = 1
    order = [*range(player.watched, len(tracks)), *range(player.watched)] if most < SHORT else range(len(tracks))
    for index in order:
        track, watched = tracks[index], index == player.watched
        if column + min(names[index], most) + 2 + bar + counts[index] > canvas.width:
            break
        start = column
        column = canvas.write(row, column, "▸" if watched else " ", BOLD)
        column = canvas.write(row, column, called(player, track), _racer_style(watched), most=most) + 1
        column = draw_bar(track, player.n, canvas, row, column, bar) + bool(bar)
        column = canvas.write(row, column, best(track, player.n)) + 2
        canvas.spots[f"racer:{track.standing.seat}"] = Spot(row, start, column - start)


def draw_bar(track: Track, n: int, canvas: Canvas, row: int, column: int, width: int) -> int:
    step = track.step(n)
    full = width if step.game.won else round(width * step.best / step.game.goal)
    column = canvas.write(row, column, "█" * full, Style("bar"))
    return canvas.write(row, column, "░" * (width - full), DIM)


def _racer_style(watched: bool) -> Style:
    return BOLD if watched else PLAIN


def called(player: Player, track: Track) -> str:
    name = named(track.standing.name, track.standing.bot)
    return in_ascii(name) if player.plain else name


def _home(track: Track, n: int) -> str:
    """How many cards are home on the table."""
    game = track.step(n).game
    return f"{game.home}/{game.goal}"


def best(track: Track, n: int) -> str:
    """The most cards that were home in any attempt, which is what counts."""
    step = track.step(n)
    return f"{step.best}/{step.game.goal}"


# The last line.


def _foot(player: Player, canvas: Canvas, row: int) -> None:
    if not player.keyed:
        canvas.write(row, 1, f"{player.recording.header.race}  {printable(player.recording.deal)}", DIM)
        return
    if player.typed is not None:
        column = canvas.write(row, 1, f"/{player.typed}", BOLD)
        canvas.write(row, column, " ", Style(reverse=True))
        canvas.write(row, column + 3, "1:48 is a time, m35 a move; Enter goes there", DIM)
        return
    if player.note:
        canvas.write(row, 1, printable(player.note), Style("news"))
        return
    alone = len(player.recording.tracks) == 1
    hints = [hint for hint in _HINTS if not (alone and hint[1] in ("tab", "c"))]
    while sum(3 + cells(keys) + cells(says) for keys, _, says in hints) > canvas.width + 1 and len(hints) > 2:
        hints.pop(-3)  # the last two stay: how to learn of the others, and how to leave
    column = 1
    for keys, key, says in hints:
        start = column
        column = canvas.write(row, column, keys, BOLD)
        column = canvas.write(row, column, f" {says}", DIM)
        canvas.spots[f"key:{key}"] = Spot(row, start, column - start)
        column += 2
