"""The view of the replay player: draws a moment of a recording on a canvas of any size."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from samedeal.game import Game
from samedeal.proof.outcomes import Outcome
from samedeal.race.run import RESTART, UNDO
from samedeal.share.phrases import achieved, duration, outcome_phrase
from samedeal_cli.render.canvas import BOLD, DIM, LEAST, PANE, PLAIN, Canvas, Spot, Style, panes
from samedeal_cli.render.phrases import clock, counted
from samedeal_cli.render.standings import draw_standings
from samedeal_cli.render.table_view import Marks, TableDrawing
from samedeal_cli.render.text_table import card_text, find_cards, with_cards
from samedeal_cli.render.text_width import cells, fitted
from samedeal_cli.render.transcript import card_moves, in_ascii, name_with_bot, printable
from samedeal_cli.state.recording import MarkKind, Track
from samedeal_cli.state.replay_state import SPEEDS, Player

LIST_FROM: Final = 80
"""The minimum width for a list of moves beside the table."""
WIDE_LIST: Final = 36
SHORT: Final = 4
"""The minimum width of a name when all racers are on one line."""

MARKS: Final[dict[MarkKind, tuple[str, Style]]] = {
    "home": ("•", Style("good")),
    "undo": ("◂", Style("bad")),
    "think": ("◆", Style("place")),
    "restart": ("«", Style("bad")),
    "turn": ("▼", Style("bad", bold=True)),
    "end": ("■", Style("news", bold=True)),
}
"""The sign and the style of each kind of mark. If several share a cell, the last one here is shown."""
_RANKS: Final = {kind: rank for rank, kind in enumerate(MARKS)}
VERDICTS: Final[Mapping[Outcome | None, tuple[str, Style]]] = {
    None: ("checking …", DIM),
    "verified": ("VERIFIED ✔", Style("good")),
    "key-unknown": ("VERIFIED, KEY UNKNOWN", Style("news")),
    "refused": ("REFUSED ✘", Style("bad", bold=True)),
}
"""What is shown for the outcome of the verification."""


def draw_screen(player: Player, width: int, height: int) -> Canvas:
    """Draw the player's position."""
    canvas = Canvas(max(1, width), max(1, height))
    if width < LEAST[0] or height < LEAST[1]:
        _one_line(player, canvas)
    else:
        _draw_heading(player, canvas)
        racer_lines = max(1, min(len(player.recording.tracks), height - 23))
        floor = height - 5 - racer_lines
        if player.comparing and len(player.shown(width // PANE)) > 1:
            _draw_tables(player, canvas, Spot(2, 0, width, floor - 2))
        else:
            _draw_table_and_moves(player, canvas, Spot(2, 0, width, floor - 2))
        canvas.line(floor)
        _draw_move(player, canvas, floor + 1)
        _draw_timeline(player, canvas, floor + 2)
        _draw_times(player, canvas, floor + 3)
        _draw_racers(player, canvas, floor + 4, racer_lines)
        if player.note:
            canvas.write(floor, 2, f" {printable(player.note)} ", Style("news"))
        else:
            _draw_analysis(player, canvas, floor)
        if not player.interactive:
            canvas.write(height - 1, 1, f"{player.recording.header.race}  {printable(player.recording.deal)}", DIM)
    if player.plain:
        canvas.in_ascii()
    return canvas


def _one_line(player: Player, canvas: Canvas) -> None:
    track = player.track
    moves = f"{track.index(player.n)}/{len(track.steps) - 1}"
    line = f"{racer_name(player, track)}  {moves}  {clock(int(player.at))}  {_home(track, player.n)}"
    canvas.write(0, 0, f"{line}  needs {LEAST[0]}x{LEAST[1]}, has {canvas.width}x{canvas.height}")


def _draw_heading(player: Player, canvas: Canvas) -> None:
    track, (checked, style) = player.track, VERDICTS[player.outcome]
    ends = f"{outcome_text(track, player.n)}   "
    right = canvas.width - 1 - cells(ends + checked)
    name, game = racer_name(player, track), player.recording.game.title
    titles = (f"Replay · {game} · ", f"{game} · ", "")
    title = next((title for title in titles if cells(title + name) < right - 2), "")
    column = canvas.write(0, 1, title)
    canvas.write(0, column, name, BOLD, most=right - column - 1)
    column = canvas.write(0, right, ends)
    canvas.write(0, column, checked, style)
    canvas.line(1)


def outcome_text(track: Track, n: int) -> str:
    """Return the outcome of a racer, and its time once it is final."""
    outcome = outcome_phrase(track.at(n).outcome)
    return outcome if n < track.ended.n else f"{outcome} {duration(track.ended.at)}"


def _draw_analysis(player: Player, canvas: Canvas, row: int) -> None:
    """Draw until when the watched racer could have won, or else whether the deal could be won, if that is known."""
    column, text = 2, player.analysis.text if player.analysis else ""
    if point := player.turning_point(player.track):
        text = f"{racer_name(player, player.track)} {point.described()}"
        column = canvas.write(row, 2, f" {MARKS['turn'][0]}", MARKS["turn"][1])
    if text:
        canvas.write(row, column, f" {fitted(text, canvas.width - column - 4, '…')} ")


# Tables.


def _draw_table_and_moves(player: Player, canvas: Canvas, room: Spot) -> None:
    """Draw one table, and the list of moves if there is room."""
    width = room.width - 2
    if room.width >= LIST_FROM:
        list_width = 21 if room.width < LIST_FROM + 20 else min(WIDE_LIST, room.width - 60)
        width = room.width - list_width - 3
        _draw_moves(player, canvas, Spot(room.row, room.width - list_width, list_width, room.height))
    draw_board(player, player.track, canvas, Spot(room.row, 1, width, room.height))


def _draw_tables(player: Player, canvas: Canvas, room: Spot) -> None:
    """Draw several tables side by side."""
    shown = player.shown(room.width // PANE)
    for index, pane in zip(shown, panes(canvas, room, len(shown)), strict=True):
        track, watched = player.recording.tracks[index], index == player.watched
        moves = f"  {counted(track.index(player.n), 'move')}  {_home(track, player.n)}"
        name = f"{'▸' if watched else ' '}{racer_name(player, track)}"
        end = canvas.write(pane.row, pane.column, name, BOLD if watched else PLAIN, most=pane.width - cells(moves))
        canvas.write(pane.row, end, moves, DIM)
        canvas.spots[f"seat:{track.standing.seat}"] = pane._replace(height=1)
        draw_board(player, track, canvas, pane._replace(row=pane.row + 2, height=pane.height - 2))


def draw_board(player: Player, track: Track, canvas: Canvas, room: Spot, *, marked: bool = True) -> None:
    """Draw a table and mark the cards of the last move."""
    index = track.index(player.n)
    game = track.steps[index].game
    changed = _arrived(track.steps[index - 1].game, game) if index and marked else set()
    area = room._replace(height=room.height - 1)
    marks = Marks(named=True, picked=changed)
    TableDrawing(canvas, area, game.layout, game.fanned, game.view(), marks, labels=game.labels).draw()
    facts = " · ".join(filter(None, [with_cards(game.why_over), *game.facts]))
    canvas.write(room.row + room.height - 1, room.column, facts, DIM, most=room.width)


def _arrived(old: Game, new: Game) -> set[str]:
    """Return the places with a new face-up card on top."""
    piles = {place: (pile, old.table[place]) for place, pile in new.table.piles.items() if place != new.stock}
    return {place for place, (pile, was) in piles.items() if pile and (pile[-1:], len(pile)) != (was[-1:], len(was))}


# Moves.


def _draw_moves(player: Player, canvas: Canvas, room: Spot) -> None:
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
        text = _move_text(player, track, index)
        left = room.column + room.width - start
        if cells(text) > left:  # only the cards
            text = " ".join(dict.fromkeys(text[first:last] for first, last, _ in find_cards(text)))
        canvas.cards(row, start, text, style, most=left)


def _move_text(player: Player, track: Track, index: int) -> str:
    """Describe a move."""
    before, step = track.steps[index - 1], track.steps[index]
    if step.move == UNDO:
        return "undone"
    if step.move == RESTART:
        return f"attempt {step.standing.attempts}"
    text = "; ".join(card_moves(before.game, step.game))
    return with_cards(text, lambda card: card_text(card, ascii=player.plain))


def _draw_move(player: Player, canvas: Canvas, row: int) -> None:
    track, index = player.track, player.track.index(player.n)
    step = track.steps[index]
    column = canvas.write(row, 1, f"{index}/{len(track.steps) - 1}  ", BOLD)
    right = _home(track, player.n, short=False)
    end = canvas.width - 1 - cells(right)
    canvas.write(row, end, right)
    if index:
        column = canvas.write(row, column, f"{clock(step.at)}  ", DIM)
        column = canvas.write(row, column, f"{step.move}  ", BOLD, most=end - column)
        text = _move_text(player, track, index)
        canvas.cards(row, column, text, most=max(0, end - column - 1))
    else:
        canvas.write(row, column, "the cards are dealt", DIM)


# Time.


def _draw_timeline(player: Player, canvas: Canvas, row: int) -> None:
    width = canvas.width - 4
    now = _share(player, player.at, width)
    canvas.write(row, 1, "├", DIM)
    canvas.write(row, 2, "━" * now, Style("bar"))
    canvas.write(row, 2 + now, "─" * (width - now), DIM)
    canvas.write(row, 2 + width, "┤", DIM)
    marked: dict[int, MarkKind] = {}
    for mark in player.marks:
        cell = _share(player, mark.at, width)
        marked[cell] = max(marked.get(cell, mark.kind), mark.kind, key=_RANKS.__getitem__)
    for cell, kind in marked.items():
        canvas.write(row, 2 + cell, *MARKS[kind])
    canvas.paint(Spot(row, 2 + now, 1), reverse=True, bold=True, dim=False)
    canvas.spots["timeline"] = Spot(row, 2, width)


def _share(player: Player, at: float, width: int) -> int:
    """Return the cell of a time on the timeline."""
    return min(width - 1, int(at * width / max(1, player.recording.length)))


def _draw_times(player: Player, canvas: Canvas, row: int) -> None:
    at, end = clock(int(player.at)), clock(player.recording.length)
    column = canvas.write(row, 2, f"{at:>{len(end)}}", BOLD)
    column = canvas.write(row, column, f" of {end}", DIM)
    sign = "▶" if player.playing else "■ ended," if player.ended else "‖ paused,"
    right = f"{sign} {player.speed:g}×{' short pauses' if player.skipping else ''}"
    start = canvas.width - 2 - cells(right)
    canvas.write(row, start, right, BOLD)
    canvas.spots["key:>" if player.speed < SPEEDS[-1] else "key:<"] = Spot(row, start, cells(right))
    present = {mark.kind for mark in player.track.marks}
    legend = [(kind, *mark) for kind, mark in MARKS.items() if kind in present]
    if column + 4 + sum(3 + cells(kind) for kind, _, _ in legend) > start:
        return
    column += 3
    for kind, mark, style in legend:
        column = canvas.write(row, column, mark, style)
        column = canvas.write(row, column, f" {kind} ", DIM)


# Racers.


def _draw_racers(player: Player, canvas: Canvas, row: int, rows: int) -> None:
    """Draw the progress of all racers: one line each if there is room, else as many as fit on one line."""
    tracks = player.recording.tracks
    longest = max(cells(racer_name(player, track)) for track in tracks)
    if rows == 1:
        needed = 4 + max(cells(score_text(track, player.n)) for track in tracks)
        room = canvas.width // len(tracks) - needed
        bar, most, column = 6 if room >= longest + 7 else 0, min(longest, max(SHORT, room)), 1
        first = player.watched if room < SHORT else 0
        for index in [*range(first, len(tracks)), *range(first)]:
            if column + needed + most + bar - 2 <= canvas.width:
                column = 2 + _draw_racer(player, canvas, Spot(row, column, most), index, bar)
        return
    first = max(0, min(player.watched - rows // 2, len(tracks) - rows))
    shown = [track.at(player.n) for track in tracks[first : first + rows]]
    if player.plain:
        shown = [replace(standing, name=in_ascii(standing.name)) for standing in shown]
    area, watched = Spot(row, 0, canvas.width, rows), player.track.standing.seat
    draw_standings(canvas, area, shown, game=player.recording.game.slug, watched=watched)


def _draw_racer(player: Player, canvas: Canvas, room: Spot, index: int, bar: int) -> int:
    """Draw a racer's name in a room, a bar and the score, and return the column after them."""
    track, watched = player.recording.tracks[index], index == player.watched
    name = f"{'▸' if watched else ' '}{racer_name(player, track)}"
    canvas.write(room.row, room.column, name, BOLD if watched else PLAIN, most=room.width + 1)
    full = round(track.at(player.n).progress * bar)
    column = canvas.bar(room.row, room.column + room.width + 2, bar, full) + bool(bar)
    longest = max(cells(score_text(each, player.n)) for each in player.recording.tracks)
    column = canvas.write(room.row, column, f"{score_text(track, player.n):>{longest}}")
    canvas.spots[f"seat:{track.standing.seat}"] = room._replace(width=column - room.column)
    return column


def racer_name(player: Player, track: Track) -> str:
    name = name_with_bot(track.standing.name, track.standing.bot)
    return in_ascii(name) if player.plain else name


def _home(track: Track, n: int, *, short: bool = True) -> str:
    """Return the result of the table."""
    game = track.step(n).game
    return achieved(game.slug, game.home, game.goal, game.outcome, short=short)


def score_text(track: Track, n: int, *, short: bool = True) -> str:
    """Return the best result in any attempt, which is the score."""
    step = track.step(n)
    return achieved(step.game.slug, step.standing.home, step.game.goal, step.game.outcome, short=short)
