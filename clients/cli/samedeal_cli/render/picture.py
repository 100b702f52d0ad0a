"""A picture of a race at one moment: standings and tables."""

from dataclasses import replace
from typing import Final

from samedeal_cli.full_screen.replay_view import (
    VERDICTS,
    best_phrase,
    draw_bar,
    draw_board,
    outcome_text,
    racer_name,
    score_text,
)
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot
from samedeal_cli.render.phrases import clock, counted, short_deal
from samedeal_cli.render.svg import canvas_svg
from samedeal_cli.render.text_width import cells
from samedeal_cli.render.transcript import day, printable
from samedeal_cli.state.replay_state import Player

TABLE_WIDTH, TABLE_HEIGHT = 58, 16
FANNED_HEIGHT: Final = 18
"""The height of a table with fanned piles."""
MAX_TABLES: Final = 4
BAR: Final = 12


def draw_picture(player: Player, tables: int = MAX_TABLES) -> Canvas:
    """Draw the standings at the player's position and the tables of the best racers, two in a row.

    With `tables=1`, draw the table of the watched racer.
    """
    tracks = player.recording.tracks
    ranking = sorted(range(len(tracks)), key=lambda index: tracks[index].standing.place)
    shown = ranking[: max(1, tables)] if tables > 1 else [player.watched]
    across = min(2, len(shown))
    width = across * (TABLE_WIDTH + 2) + 2 if across > 1 else TABLE_WIDTH + 22
    down = -(-len(shown) // across)
    high = FANNED_HEIGHT if player.recording.game.fanned else TABLE_HEIGHT
    canvas = Canvas(width, 5 + len(tracks) + down * (high + 2))
    _head(player, canvas)
    for row, index in enumerate(ranking, start=3):
        _standing(player, canvas, row, index)
    top = 4 + len(tracks)
    for at, index in enumerate(shown):
        row, column = top + at // across * (high + 2), 1 + at % across * (TABLE_WIDTH + 3)
        _table(player, canvas, index, Spot(row, column, TABLE_WIDTH if across > 1 else width - 2, high + 1))
    _foot(player, canvas)
    return canvas


def picture_svg(player: Player, tables: int = MAX_TABLES) -> str:
    """Return the picture as SVG."""
    player = replace(player, interactive=False)
    recording = player.recording
    title = f"{recording.game.title}, {recording.header.race}"
    results = [
        f"{track.standing.place}. {racer_name(player, track)}:"
        f" {best_phrase(track, player.n)}, {outcome_text(track, player.n)}."
        for track in sorted(recording.tracks, key=lambda track: track.standing.place)
    ]
    return canvas_svg(
        draw_picture(player, tables), title, " ".join([f"The race at {clock(int(player.at))}.", *results])
    )


def _head(player: Player, canvas: Canvas) -> None:
    recording = player.recording
    column = canvas.write(0, 1, recording.game.title, BOLD)
    canvas.write(0, column, f" · {recording.header.race} · {day(recording.dealt_at)}")
    if player.outcome is not None:
        mark, style = VERDICTS[player.outcome]
        canvas.write(0, canvas.width - 1 - cells(mark), mark, style)
    canvas.line(1)


def _standing(player: Player, canvas: Canvas, row: int, index: int) -> None:
    track = player.recording.tracks[index]
    style = BOLD if track.standing.place == 1 and player.ended else PLAIN
    longest = max(cells(racer_name(player, track)) for track in player.recording.tracks)
    longest = min(longest, canvas.width - BAR - 40)
    canvas.write(row, 1, f"{track.standing.place:>2}", style)
    canvas.write(row, 4, racer_name(player, track), style, most=longest)
    column = draw_bar(track, player.n, canvas, row, 6 + longest, BAR)
    column = canvas.write(row, column, f"  {score_text(track, player.n):>6}  {outcome_text(track, player.n)}", style)
    step = track.step(player.n)
    more = f"  {counted(track.index(player.n), 'move')}" + (f", attempt {step.attempt}" if step.attempt > 1 else "")
    canvas.write(row, column, more, DIM)


def _table(player: Player, canvas: Canvas, index: int, room: Spot) -> None:
    track = player.recording.tracks[index]
    name = racer_name(player, track)
    canvas.write(room.row, room.column, f"{name} ", BOLD, most=room.width - 4)
    rest = room.column + min(cells(name) + 1, room.width - 4)
    canvas.write(room.row, rest, "─" * (room.column + room.width - rest), DIM)
    draw_board(player, track, canvas, room._replace(row=room.row + 1, height=room.height - 1), marked=False)


def _foot(player: Player, canvas: Canvas) -> None:
    recording = player.recording
    moment = f"after {clock(int(player.at))} of {clock(recording.length)}"
    canvas.write(canvas.height - 1, 1, moment, DIM)
    start = canvas.width - 1 - len(moment) - 2
    deal = printable(f"deal {short_deal(recording.deal)}")
    canvas.write(canvas.height - 1, max(len(moment) + 4, canvas.width - 1 - cells(deal)), deal, DIM, most=start)
