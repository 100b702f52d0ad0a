"""Tables and standings as lines of text, for line mode and the commands."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Final, Literal

from samedeal.cards import BACK
from samedeal.race.ghosts import Ghost
from samedeal.race.standings import Standing
from samedeal.share.phrases import achieved, duration, outcome_phrase
from samedeal.wire.messages import Board
from samedeal_cli.render.phrases import bot_mark
from samedeal_cli.render.text_width import cells, fitted

SUITS: Final = {"S": "♠", "H": "♥", "C": "♣", "D": "♦"}
EMPTY: Final = "--"
GAP: Final = "  "
DEEPEST: Final = 10
"""How many cards of a hanging pile are drawn."""
LEAST_BAR: Final = 4
"""The shortest progress bar."""
GHOSTLY: Final = "'s ghost"

Suit = Literal["spade", "heart", "diamond", "club"]
_INKS: Final[Mapping[str, Suit]] = {"♠": "spade", "♥": "heart", "♦": "diamond", "♣": "club"}
_COLORS: Final = {"♥": "91", "H": "91", "♦": "94", "D": "94", "♣": "32", "C": "32"}
_CARD = re.compile(r"(?<![A-Za-z0-9])(10|[2-9AJQK])([♠♥♦♣SHCD])(?![A-Za-z0-9])")
WIRE_CARD = re.compile(r"\b[A2-9TJQK][SHCD]\b")
_PLACE = re.compile(r"(?<![A-Za-z0-9])[a-z]\d(?![A-Za-z0-9])")

WIDEST: Final = 12
"""The maximum distance of columns without fans."""

Row = tuple[str, ...]
"""The places of one row of a layout; ``.`` is a gap."""
Rows = tuple[Row, ...]
Widths = tuple[tuple[str, int], ...]
"""The widths of places."""
Piles = Mapping[str, Sequence[str]]
"""The drawn cards of each place, bottom to top."""


def board_lines(
    layout: str,
    fanned: Collection[str],
    board: Board,
    *,
    width: int = 80,
    ascii: bool = False,  # noqa: A002
    color: bool = False,
) -> list[str]:
    """Draw a table: the top card of most piles, and of fanned piles as many cards as fit.

    The piles of a fanned row without gaps hang down. A number such as ``+3`` replaces cards that do not fit. Other
    piles also show their bottom card if there is room: ``4♣▸7♣``.
    """
    rows = [tuple(line.split()) for line in layout.strip().splitlines()]
    piles = {place: [card_text(card, ascii=ascii) for card in pile] for place, pile in board.table.items()}
    grid = tuple(row for row in rows if not flows(row) and not hangs(row, fanned))
    starts = _columns(grid, piles, fanned, width)
    lines: list[str] = []
    for row in rows:
        if flows(row):
            lines += ["", GAP.join(named_pile(place, piles[place]) for place in row)]
        elif hangs(row, fanned):
            lines += ["", *_hanging(row, piles, width)]
        else:
            lines.append(_row_line(row, starts, piles, fanned, ascii))
    lines.append(GAP.join([f"home {board.home}", *facts(board)]))
    return [_colored(line.rstrip()) if color else line.rstrip() for line in lines]


def standings_lines(
    racers: Sequence[Standing | Ghost],
    *,
    game: str = "",
    seat: int | None = None,
    levels: Mapping[int, str] = {},
    width: int = 80,
    ascii: bool = False,  # noqa: A002
) -> list[str]:
    """Draw standings with unique names, and ghosts, one line each, in columns as wide as what is in them. Where room is
    short, the bar goes first, then the ends of names. `game` decides how results are quoted, `levels` are those of the
    server bots by seat.
    """
    columns = [list(column) for column in zip(*(_columns_of(racer, game) for racer in racers), strict=True)]
    longest = [max(map(cells, column)) for column in columns]
    texts = [
        "".join(f"  {cell:{side}{wide}}" for cell, side, wide in zip(row, "><><", longest, strict=True) if wide)
        for row in zip(*columns, strict=True)
    ]
    room = max(8, width - 5 - max(map(cells, texts), default=0))
    full, empty, times, ellipsis = "#.x." if ascii else "█░×…"
    names = [_name(racer, seat, levels, room, ellipsis) for racer in racers]
    widest = max(map(cells, names), default=0)
    bar = min(20, room - widest - 1)
    lines = []
    for racer, name, text in zip(racers, names, texts, strict=True):
        place = "~" if isinstance(racer, Ghost) else f"{racer.place}"
        done = round(racer.progress * bar)
        drawn = f" {full * done}{empty * (bar - done)}" if bar >= LEAST_BAR else ""
        line = f" {place:>2} {name}{' ' * (widest - cells(name))}{drawn}{text.replace('×', times)}"
        lines.append(line.rstrip())
    return lines


def card_text(card: str, *, ascii: bool = False) -> str:  # noqa: A002
    """Return the text of a card: ``10♥``, or ``10H``."""
    if card == BACK:
        return BACK
    rank, suit = card[0], card[1]
    return ("10" if rank == "T" else rank) + (suit if ascii else SUITS[suit])


def with_cards(text: str, card: Callable[[str], str] = card_text) -> str:
    """Replace the cards in a text of the server by their display texts."""
    return WIRE_CARD.sub(lambda match: card(match[0]), text)


def advice(board: Board, card: Callable[[str], str] = card_text) -> str:
    """Return what the racer can do, or why the attempt ended; empty from an older server."""
    guidance = board.guidance
    return with_cards(guidance.instruction or guidance.ending, card) if guidance else ""


def facts(board: Board) -> Sequence[str]:
    """Return what the racer knows besides the piles, in words; from an older server, the notes."""
    texts = board.guidance.facts if board.guidance else [f"{name} {value}" for name, value in board.notes.items()]
    return tuple(map(with_cards, texts))


def _colored(line: str) -> str:
    """Color the cards of a line by suit, and dim the names of places."""
    line = _PLACE.sub(lambda place: f"\x1b[2m{place[0]}\x1b[22m", line)
    return _CARD.sub(lambda card: f"\x1b[{code}m{card[0]}\x1b[39m" if (code := _COLORS.get(card[2])) else card[0], line)


def find_cards(text: str) -> Iterator[tuple[int, int, Suit]]:
    """Yield the cards of a drawn line: start, end and suit."""
    for card in _CARD.finditer(text):
        yield card.start(), card.end(), _INKS[SUITS.get(card[2], card[2])]


# Rows and columns.


def flows(row: Row) -> bool:
    """Return whether a row has named places, such as stock and waste, which are not aligned to columns."""
    return any(len(place) > 2 for place in row)


def hangs(row: Row, fanned: Collection[str]) -> bool:
    """Return whether the piles of a row hang down."""
    return all(place in fanned for place in row)


def _columns(rows: Rows, piles: Piles, fanned: Collection[str], width: int) -> list[int]:
    """Return where each column starts, and the end of the last.

    Without fans, columns are evenly spaced. Otherwise a fan uses the gaps to its right, and fans share the rest of the
    width.
    """
    count = max(map(len, rows), default=1)
    fans = [place for row in rows for place in row if place in fanned]
    if not fans:
        step = min(width // count, WIDEST)
        return [step * column for column in range(count + 1)]
    needs = tuple((place, 12 if place in fanned else 8) for row in rows for place in row if place != ".")
    preferred = tuple((place, 2 + sum(1 + len(card) for card in piles[place]) + len(GAP)) for place in fans)
    return [*spread(rows, needs, preferred, width + len(GAP))[:-1], width + len(GAP)]


@lru_cache(256)  # the same table is drawn after every move
def spread(rows: Rows, least: Widths, preferred: Widths, width: int) -> Sequence[int]:
    """Return where each column starts, and the end of the last, so that each place gets the room that it needs.

    The rest of the width goes, cell by cell, to the place that is furthest from its preferred width.
    """
    needs, wanted = dict(least), dict(preferred)
    count, growing = max(map(len, rows), default=1), list(wanted)
    starts = _starts(rows, needs, count)
    while growing:
        place = max(growing, key=lambda place: wanted[place] - needs[place])
        wider = {**needs, place: needs[place] + 1}
        if wanted[place] <= needs[place] or (tried := _starts(rows, wider, count))[-1] > width:
            growing.remove(place)
        else:
            needs, starts = wider, tried
    return starts


def _starts(rows: Rows, needs: Mapping[str, int], count: int) -> list[int]:
    """Return the leftmost starts that give each place the room that it needs."""
    starts = [len(GAP) * column for column in range(count + 1)]
    for column in range(count):
        starts[column + 1] = max(starts[column + 1], starts[column] + len(GAP))
        for row in rows:
            if row[column] != ".":
                after = next_column(row, column)
                starts[after] = max(starts[after], starts[column] + needs[row[column]])
    return starts


def next_column(row: Row, column: int) -> int:
    """Return the column that limits a place to the right."""
    return next((later for later in range(column + 1, len(row)) if row[later] != "."), len(row))


def _row_line(row: Row, starts: Sequence[int], piles: Piles, fanned: Collection[str], plain: bool) -> str:
    line = ""
    for column, place in enumerate(row):
        if place != ".":
            room = starts[next_column(row, column)] - starts[column] - len(place) - 1
            fan = wrapped_pile(piles[place], room - len(GAP), 1) if place in fanned else []
            text = " ".join(fan) or _pile(piles[place], room - 1, plain)
            line = f"{line:<{starts[column]}}{place} {text}"
    return line


def wrapped_pile(pile: Sequence[str], width: int, most: int) -> list[str]:
    """Wrap a pile into lines; a number such as ``+3`` replaces the lower cards for which `most` lines are too few."""
    for hidden in range(max(1, len(pile))):
        lines: list[str] = []
        for word in _with_count(pile, hidden):
            if lines and len(lines[-1]) + 1 + len(word) <= width:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
        if len(lines) <= most:
            break
    return lines


def top_cards(pile: Sequence[str], room: int) -> list[str]:
    """Return the top cards that fit, after the number of those that do not."""
    return _with_count(pile, len(pile) - room + 1 if len(pile) > room else 0)


def _with_count(pile: Sequence[str], hidden: int) -> list[str]:
    return [*([f"+{hidden}"] if hidden else []), *pile[hidden:]]


def _pile(pile: Sequence[str], room: int, plain: bool) -> str:
    if len(pile) > 1 and len(both := f"{pile[0]}{'>' if plain else '▸'}{pile[-1]}") <= room:
        return both
    return pile[-1] if pile else EMPTY


def named_pile(place: str, pile: Sequence[str]) -> str:
    """Return a named place with its top card and the number of cards."""
    if not pile:
        return f"{place} empty"
    if pile[-1] == BACK:
        return f"{place} {len(pile)}"
    return f"{place} {pile[-1]}" + (f" ({len(pile)})" if len(pile) > 1 else "")


def _hanging(row: Row, piles: Piles, width: int) -> list[str]:
    step = min(width // len(row), WIDEST)
    columns = [[place, *(top_cards(piles[place], DEEPEST) or [EMPTY])] for place in row]
    return ["".join(f"{cell:<{step}}" for cell in line) for line in zip_longest(*columns, fillvalue="")]


# Standings.


def _name(racer: Standing | Ghost, seat: int | None, levels: Mapping[int, str], most: int, ellipsis: str) -> str:
    """Return a name that fits, without cutting what tells racers apart, and with the level of a bot if it fits."""
    if isinstance(racer, Ghost):
        return fitted(f"{racer.name}{bot_mark(racer.bot)}", most - len(GHOSTLY)) + GHOSTLY
    name, behind = racer.name, " (you)" if racer.seat == seat else ""
    if name.endswith(mark := f" #{racer.seat}"):
        name, behind = name.removesuffix(mark), mark + behind
    bot = bot_mark(racer.bot, levels.get(racer.seat))
    bot = bot if cells(name + behind + bot) <= most else bot_mark(racer.bot)
    return fitted(name, most - cells(behind + bot), ellipsis) + behind + bot


def _columns_of(racer: Standing | Ghost, game: str) -> tuple[str, str, str, str]:
    """Return the result, the outcome, the time and the number of attempts."""
    if racer.outcome in ("waiting", "ready", "scratched"):
        return "", outcome_phrase(racer.outcome), "", ""
    count = achieved(game, racer.home, racer.goal, racer.outcome, short=True)
    attempts = 1 if isinstance(racer, Ghost) else racer.attempts
    time = duration(racer.ms) if racer.home else ""
    return count, outcome_phrase(racer.outcome), time, f"×{attempts}" if attempts > 1 else ""
