"""Cards: a race as a picture for link previews, with the podium once the race is over."""

import unicodedata
from collections.abc import Iterator
from typing import Final

from samedeal.race.standings import Standing
from samedeal.share.phrases import result, short_date
from samedeal.share.shared_race import SharedRace
from samedeal.share.svg_text import escaped

WIDTH: Final = 1200
HEIGHT: Final = 630
"""The size for which sites lay out previews, in pixels."""
FONT: Final = "DejaVu Sans, Verdana, sans-serif"
MAX_ROWS: Final = 4
"""How many racers are shown."""

_MARGIN, _RIGHT = 72, WIDTH - 72
_NAME_X, _NAME_WIDTH = 160, 560
_FIRST_ROW, _ROW = 318, 66
_CELL_EM: Final = 0.68
"""The width of an average character in bold, relative to the font size."""
_GROUND, _PANEL, _INK, _SOFT, _ACCENT = "#10231a", "#183526", "#f5f2e8", "#a9c0b1", "#f0c14b"
_MEDALS: Final = {1: "#f0c14b", 2: "#c9d1d6", 3: "#d49a63"}
_SUITS: Final = (("♠", _INK), ("♥", "#ff8f8f"), ("♣", "#74dba1"), ("♦", "#93bbff"))


def svg(race: SharedRace) -> str:
    """Return the card of a race as a self-contained SVG."""
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"'
            f' viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{FONT}" fill="{_INK}" role="img"'
            f' aria-label="{escaped(description(race))}">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{_GROUND}"/>',
            f'<rect y="{HEIGHT - 12}" width="{WIDTH}" height="12" fill="{_ACCENT}"/>',
            *_heading(race),
            *_rows(race),
            "</svg>\n",
        ]
    )


def description(race: SharedRace) -> str:
    """Describe the card in a sentence, for people who cannot see it."""
    racers = ", ".join(
        f"{name} {result(race.game, standing)}{_after_comma(race, standing)}"
        if race.stage == "over" and standing.attempts
        else name
        for standing, name in zip(race.standings, race.names.values(), strict=True)
    )
    return f"Same Deal: {_title(race)}. {_subtitle(race)}{f': {racers}' if racers else ''}."


def _after_comma(race: SharedRace, standing: Standing) -> str:
    """Return a racer's turning point after a comma, if it is known."""
    text = race.turning_points.get(standing.seat)
    return f", {text}" if text else ""


def _title(race: SharedRace) -> str:
    return race.invitation or (f"Race me at {race.title}" if race.stage == "open" else race.title)


def _subtitle(race: SharedRace) -> str:
    match race.stage:
        case "open":
            return f"The same deal for everyone · {race.seats} of {race.max_racers} seats taken"
        case "countdown":
            return "The race is about to start"
        case "running":
            return "The race is running"
        case "cancelled":
            return "The race was cancelled"
        case _:
            return "The race is over"


def _heading(race: SharedRace) -> Iterator[str]:
    suits = "".join(f'<tspan fill="{color}">{suit}</tspan>' for suit, color in _SUITS)
    yield f'<text x="{_MARGIN}" y="98" font-size="40" font-weight="bold">{suits} Same Deal</text>'
    date = f"{'Daily deal, ' if race.daily else ''}{short_date(race.date)} {race.date[:4]}"
    yield f'<text x="{_RIGHT}" y="98" font-size="32" text-anchor="end" fill="{_SOFT}">{date}</text>'
    title = _title(race)
    size = _fitting(title, 72, _RIGHT - _MARGIN)
    yield f'<text x="{_MARGIN}" y="204" font-size="{size:.1f}" font-weight="bold">{escaped(title)}</text>'
    yield f'<text x="{_MARGIN}" y="262" font-size="34" fill="{_SOFT}">{escaped(_subtitle(race))}</text>'


def _rows(race: SharedRace) -> Iterator[str]:
    racers = race.results if race.stage == "over" else race.standings
    names = race.names
    shown = racers if len(racers) <= MAX_ROWS else racers[: MAX_ROWS - 1]
    for index, standing in enumerate(shown):
        turning_point = race.turning_points.get(standing.seat, "")
        top = _FIRST_ROW + index * _ROW
        right = result(race.game, standing) if race.stage == "over" else ""
        yield from _row(standing, names[standing.seat], top, right, turning_point)
    if hidden := len(racers) - len(shown):
        y = _FIRST_ROW + len(shown) * _ROW + 38
        yield f'<text x="{_NAME_X}" y="{y}" font-size="32" fill="{_SOFT}">and {hidden} more</text>'


def _row(standing: Standing, name: str, top: int, result: str, turning_point: str) -> Iterator[str]:
    """Draw a racer, with the place if the race is over and so has a result."""
    yield f'<rect x="{_MARGIN}" y="{top}" width="{_RIGHT - _MARGIN}" height="58" rx="12" fill="{_PANEL}"/>'
    color = _MEDALS.get(standing.place, _SOFT) if result else _SOFT
    yield f'<circle cx="{_MARGIN + 44}" cy="{top + 29}" r="21" fill="{color}"/>'
    if result:
        yield (
            f'<text x="{_MARGIN + 44}" y="{top + 38}" font-size="26" font-weight="bold" text-anchor="middle"'
            f' fill="{_GROUND}">{standing.place}</text>'
        )
        font, lift = (26, 9) if turning_point else (32, 0)
        right = f'x="{_RIGHT - 24}" text-anchor="end"'
        yield f'<text {right} y="{top + 40 - lift}" font-size="{font}">{result}</text>'
        if turning_point:
            yield f'<text {right} y="{top + 51}" font-size="17" fill="{_SOFT}">{escaped(turning_point)}</text>'
    # The inner picture clips a name with wide characters or with tall marks.
    size = _fitting(name, 36, _NAME_WIDTH)
    yield f'<svg x="{_NAME_X}" y="{top}" width="{_NAME_WIDTH}" height="58" viewBox="0 0 {_NAME_WIDTH} 58">'
    yield f'<text y="41" font-size="{size:.1f}" font-weight="bold">{escaped(name)}</text></svg>'


def _fitting(text: str, size: float, width: int) -> float:
    """Return the largest font size, up to `size`, at which a text of average characters is at most `width` wide."""
    cells = sum(
        2 if unicodedata.east_asian_width(each) in "WF" else unicodedata.category(each)[0] != "M" for each in text
    )
    return min(size, width / (_CELL_EM * max(1, cells)))
