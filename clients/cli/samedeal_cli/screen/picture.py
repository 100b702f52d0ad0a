"""A picture of a race at one moment: standings and tables."""

from dataclasses import replace
from typing import Final

from samedeal_cli.render.canvas import BOLD, DIM, Canvas, Spot
from samedeal_cli.render.phrases import clock, counted, short_deal
from samedeal_cli.render.standings import draw_standings
from samedeal_cli.render.svg import canvas_svg
from samedeal_cli.render.text_width import cells
from samedeal_cli.render.transcript import day, printable
from samedeal_cli.screen import replay_view as view
from samedeal_cli.state.recording import Track
from samedeal_cli.state.replay_state import Player

TABLE_WIDTH, TABLE_HEIGHT = 58, 16
FANNED_HEIGHT: Final = 18
"""The height of a table with fanned piles."""
MAX_TABLES: Final = 4


def draw_picture(player: Player, tables: int = MAX_TABLES) -> Canvas:
    """Draw the standings at the player's position and the tables of the best racers, two in a row.

    With `tables=1`, draw the table of the watched racer.
    """
    recording, tracks = player.recording, player.recording.tracks
    ranking = sorted(range(len(tracks)), key=lambda index: tracks[index].standing.place)
    shown = ranking[: max(1, tables)] if tables > 1 else [player.watched]
    across = min(2, len(shown))
    width = across * (TABLE_WIDTH + 2) + 2 if across > 1 else TABLE_WIDTH + 22
    down = -(-len(shown) // across)
    high = FANNED_HEIGHT if recording.game.fanned else TABLE_HEIGHT
    canvas = Canvas(width, 5 + len(tracks) + down * (high + 2))
    title = canvas.write(0, 1, recording.game.title, BOLD)
    canvas.write(0, title, f" · {recording.header.race} · {day(recording.dealt_at)}")
    if player.outcome is not None:
        mark, style = view.VERDICTS[player.outcome]
        canvas.write(0, width - 1 - cells(mark), mark, style)
    canvas.line(1)
    area, slug = Spot(3, 0, width, len(tracks)), recording.game.slug
    notes = {track.standing.seat: _note(player, track) for track in tracks}
    draw_standings(canvas, area, [tracks[index].at(player.n) for index in ranking], game=slug, notes=notes)
    top = 4 + len(tracks)
    for at, index in enumerate(shown):
        row, column = top + at // across * (high + 2), 1 + at % across * (TABLE_WIDTH + 3)
        _table(player, canvas, index, Spot(row, column, TABLE_WIDTH if across > 1 else width - 2, high + 1))
    _foot(player, canvas)
    return canvas


def picture_svg(player: Player, tables: int = MAX_TABLES) -> str:
    """Return the picture as SVG."""
    player = replace(player, interactive=False)
    recording, description = player.recording, f"The race at {clock(int(player.at))}."
    for track in sorted(recording.tracks, key=lambda track: track.standing.place):
        result = f"{view.score_text(track, player.n, short=False)}, {view.outcome_text(track, player.n)}"
        description += f" {track.standing.place}. {view.racer_name(player, track)}: {result}."
    title = f"{recording.game.title}, {printable(recording.header.race)}"
    return canvas_svg(draw_picture(player, tables), title, description)


def _note(player: Player, track: Track) -> str:
    """Return a racer's moves so far, and until when they could have won."""
    moves, point = counted(track.index(player.n), "move"), player.turning_point(track)
    return f"  {moves}{f', {point.brief()}' if point and point.step is not None else ''}"


def _table(player: Player, canvas: Canvas, index: int, room: Spot) -> None:
    track = player.recording.tracks[index]
    name = view.racer_name(player, track)
    canvas.write(room.row, room.column, f"{name} ", BOLD, most=room.width - 4)
    rest = room.column + min(cells(name) + 1, room.width - 4)
    canvas.write(room.row, rest, "─" * (room.column + room.width - rest), DIM)
    view.draw_board(player, track, canvas, room._replace(row=room.row + 1, height=room.height - 1), marked=False)


def _foot(player: Player, canvas: Canvas) -> None:
    row, deal = canvas.height - 1, printable(f"deal {short_deal(player.recording.deal)}")
    moment = f"after {clock(int(player.at))} of {clock(player.recording.length)}"
    start = canvas.write(row, 1, moment, DIM) + 3
    canvas.write(row, max(start, canvas.width - 1 - cells(deal)), deal, DIM, most=canvas.width - start + 1)
