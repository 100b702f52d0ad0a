"""Standings: racers and ghosts with what they have achieved, drawn on a canvas and, from that, as lines of text."""

from collections.abc import Mapping, Sequence
from typing import Final

from samedeal.race.ghosts import Ghost
from samedeal.race.standings import Standing
from samedeal.share.phrases import achieved, duration, outcome_phrase
from samedeal_cli.render.canvas import BOLD, DIM, LEAST, PLAIN, Canvas, Spot
from samedeal_cli.render.phrases import bot_mark
from samedeal_cli.render.text_width import cells, fitted

LEAST_BAR: Final = 4
"""The shortest progress bar."""
GHOSTLY: Final = "'s ghost"

Racer = Standing | Ghost


def draw_standings(
    canvas: Canvas,
    area: Spot,
    racers: Sequence[Racer],
    *,
    game: str = "",
    seat: int | None = None,
    watched: int | None = None,
    levels: Mapping[int, str] = {},
    notes: Mapping[int, str] = {},
) -> None:
    """Draw standings with unique names, and ghosts, one line each, in columns as wide as what is in them. Where room is
    short, the bar goes first, then the ends of names.

    `game` decides how results are quoted. The user has the seat `seat`. `levels` are those of the server bots, by seat,
    and `notes` what follows the results. With `watched`, a mark on that seat replaces the places.
    """
    columns = [list(column) for column in zip(*(_columns_of(racer, game) for racer in racers), strict=True)]
    longest = [max(map(cells, column)) for column in columns]
    texts = [
        "".join(f"  {cell:{side}{wide}}" for cell, side, wide in zip(row, "><><", longest, strict=True) if wide)
        for row in zip(*columns, strict=True)
    ]
    room = max(8, area.width - 5 - max(map(cells, texts), default=0))
    names = [_name(racer, seat, levels, room) for racer in racers]
    widest = max(map(cells, names), default=0)
    bar = min(20, room - widest - 1)
    for row, (racer, name, text) in enumerate(zip(racers, names, texts, strict=True), start=area.row):
        place, number = ("~", 0) if isinstance(racer, Ghost) else (f"{racer.place}", racer.seat)
        if watched is not None:
            place = "▸" if number == watched else ""
        style = BOLD if number and number in (seat, watched) else PLAIN if number else DIM
        canvas.write(row, area.column, f"{place:>3} {name}", style)
        column = area.column + 4 + widest
        if bar >= LEAST_BAR:
            column = canvas.bar(row, column + 1, bar, round(racer.progress * bar))
        column = canvas.write(row, column, text, style)
        canvas.write(row, column, notes.get(number, ""), DIM)
        canvas.spots[f"seat:{number}"] = Spot(row, area.column, column - area.column)


def standings_lines(
    racers: Sequence[Racer],
    *,
    game: str = "",
    seat: int | None = None,
    levels: Mapping[int, str] = {},
    width: int = 80,
    ascii: bool = False,  # noqa: A002
) -> list[str]:
    """Draw standings as lines of text."""
    canvas = Canvas(max(width, LEAST[0]), len(racers))  # a terminal that is too narrow wraps the lines
    draw_standings(canvas, Spot(0, 0, width, len(racers)), racers, game=game, seat=seat, levels=levels)
    if ascii:
        canvas.in_ascii()
    return canvas.text()


def _name(racer: Racer, seat: int | None, levels: Mapping[int, str], most: int) -> str:
    """Return a name that fits, without cutting what tells racers apart, and with the level of a bot if it fits."""
    if isinstance(racer, Ghost):
        return fitted(f"{racer.name}{bot_mark(racer.bot)}", most - len(GHOSTLY)) + GHOSTLY
    name, behind = racer.name, " (you)" if racer.seat == seat else ""
    if name.endswith(mark := f" #{racer.seat}"):
        name, behind = name.removesuffix(mark), mark + behind
    bot = bot_mark(racer.bot, levels.get(racer.seat))
    bot = bot if cells(name + behind + bot) <= most else bot_mark(racer.bot)
    return fitted(name, most - cells(behind + bot), "…") + behind + bot


def _columns_of(racer: Racer, game: str) -> tuple[str, str, str, str]:
    """Return the result, the outcome, the time and the number of attempts."""
    if racer.outcome in ("waiting", "ready", "scratched"):
        return "", outcome_phrase(racer.outcome), "", ""
    count = achieved(game, racer.home, racer.goal, racer.outcome, short=True)
    attempts = 1 if isinstance(racer, Ghost) else racer.attempts
    time = duration(racer.ms) if racer.home or racer.ms else ""  # a replay has the time when a racer stopped
    return count, outcome_phrase(racer.outcome), time, f"×{attempts}" if attempts > 1 else ""
