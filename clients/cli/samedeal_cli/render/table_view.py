"""Draws the table of any game on a canvas or as text, from its layout, with cards as large as possible."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from samedeal.game import Game
from samedeal.wire.documents import GameDescription
from samedeal.wire.messages import Board
from samedeal_cli.render import text_table
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot, Style, ansi
from samedeal_cli.render.text_width import cells
from samedeal_cli.render.themes import look
from samedeal_cli.settings import Cards, Settings

CARD_WIDTH, CARD_HEIGHT = 5, 3
"""The size of a card with a border."""
SLOT: Final = 2
"""The width of a key and a space."""
SIDE_WIDTH: Final = 21
"""The width of a named pile, such as the stock, beside or below the grid."""
FAN: Final = 9
"""How many lower cards of a fan fit on one line if there is room. Wider columns would tear the table apart."""
DEEP: Final = 6
"""How many cards of a hanging pile must fit."""
TALL: Final = 17
"""How many cards of a long hanging pile must fit if they have borders; without, two share a line if needed."""
WHOLE_FAN: Final = 26
"""The width of a fan of eight cards."""
NARROW: Final = 48
"""The minimum width for what stands before the cards of a table without keys; on narrower ones, only cards are drawn.
"""
WIDE: Final = 72
"""The minimum width of a table as text."""
TEXT_HEIGHT: Final = 17
"""The maximum height of a table as text."""

KEY: Final = Style("letter", bold=True)
TARGET: Final = Style("target", bold=True)
HOME: Final = Style("good", bold=True)


class Marks(NamedTuple):
    """What the selection marks on the table, by place."""

    keys: Mapping[str, str] = {}
    choices: Collection[str] = ()
    """Places that can be picked next."""
    targets: bool = False
    """Whether those are targets, not cards to pick up."""
    picked: Collection[str] = ()
    cursor: str | None = None
    faint: Collection[str] = ()
    """Places with changes that the server has not confirmed yet."""
    home: Collection[str] = ()
    """Places whose cards are home and stay there."""
    named: bool = False
    """Whether places have their names, which moves consist of, instead of their keys."""


class _Plan(NamedTuple):
    """A way to lay out a table."""

    boxed: bool
    beside: bool = False
    """Whether named piles stand beside the grid, not below it."""
    lines: int = 1
    """The height of a row of the grid."""
    gap: int = 0
    """The number of empty lines after a row of the grid."""


class TableDrawing:
    """Draws the piles of a table into a part of a canvas."""

    def __init__(
        self,
        canvas: Canvas,
        area: Spot,
        layout: str,
        fanned: Collection[str],
        table: Mapping[str, Sequence[str]],
        marks: Marks | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        cards: Cards | Literal["text"] = "auto",
    ) -> None:
        """Cards have borders if the whole table fits; otherwise, or with `cards="compact"`, each card is a short text.
        With `cards="text"`, the table is drawn in few lines, from the left, and piles also show their bottom cards.

        `labels` are the ranks that empty places expect.
        """
        self._canvas, self._area, self._fanned, self._marks = canvas, area, fanned, marks or Marks()
        self._piles = {place: [text_table.card_text(card) for card in pile] for place, pile in table.items()}
        self._labels, self._compact, self._is_text = labels or {}, cards == "compact", cards == "text"
        rows = [tuple(line.split()) for line in layout.strip().splitlines()]
        self._grid = tuple(row for row in rows if not text_table.flows(row) and not text_table.hangs(row, fanned))
        self._places = [place for row in self._grid for place in row if place != "."]
        self._fans = [place for place in self._places if place in fanned]
        self._hanging = [row for row in rows if text_table.hangs(row, fanned) and not text_table.flows(row)]
        self._named = [place for row in rows if text_table.flows(row) for place in row]
        plans = () if self._is_text else filter(self._fits, self._plans())
        self._plan = next(iter(plans), _Plan(boxed=False))
        self.is_boxed = self._plan.boxed
        """Whether there is room for the borders of all cards."""

    @property
    def shows_whole_fans(self) -> bool:
        """Whether fans of eight cards fit on one line."""
        label = self._label(self._plan)
        fans = [(row, at) for row in self._grid for at, place in enumerate(row) if place in self._fans]
        starts = self._starts(self._plan)
        widths = [starts[text_table.next_column(row, at)] - starts[at] - label - 1 for row, at in fans]
        return min(widths, default=WHOLE_FAN) >= WHOLE_FAN

    def draw(self) -> None:
        """Draw the piles, in the middle of the area, and register each place as a spot of the canvas."""
        plan = self._plan
        margin, gap = max(0, self._area.width - self._width(plan)) // 2, plan.gap
        if self._is_text:
            margin, gap = 0, 1
        self._area = self._area._replace(column=self._area.column + margin)
        top = self._draw_grid()
        below = 0 if plan.beside else self._below(plan.boxed)
        end = self._area.row + self._area.height - below
        top += gap if top + gap + len(self._hanging) * self._deep(plan.boxed) <= end else 0
        for at, row in enumerate(self._hanging):
            room = (end - top) // (len(self._hanging) - at)
            self._draw_hanging(row, top, room)
            top += room
        if plan.beside:
            self._draw_named(self._area.row, self._area.column + self._starts(plan)[-1] + 1, down=CARD_HEIGHT)
        elif below == CARD_HEIGHT:
            self._draw_named(min(top, end), self._area.column, across=SIDE_WIDTH - 3)
        elif below:
            self._draw_named_line(min(top, end))

    # Layout.

    def _plans(self) -> Iterator[_Plan]:
        rows = len(self._grid)
        if not self._compact:
            for gap in (1, 0):
                yield _Plan(boxed=True, lines=CARD_HEIGHT, gap=gap)
            if self._named and not self._hanging:
                yield _Plan(boxed=True, lines=CARD_HEIGHT, beside=True)
        if rows:
            tall = self._area.height - self._under(boxed=False)
            lines = max(1, min(3, tall // rows)) if self._fans else 1
            gap = 1 if lines == 1 and tall >= 2 * rows - 1 else 0
            yield _Plan(boxed=False, lines=lines, gap=gap)

    def _fits(self, plan: _Plan) -> bool:
        grid = max(0, len(self._grid) * (plan.lines + plan.gap) - plan.gap)
        height = max(grid, CARD_HEIGHT * len(self._named)) if plan.beside else grid + self._under(plan.boxed)
        return height <= self._area.height and self._width(plan) <= self._area.width + 1

    def _width(self, plan: _Plan) -> int:
        """Return the width of a table."""
        widest = max((self._starts(plan)[-1], *(self._hanging_step(plan, row) * len(row) for row in self._hanging)))
        if plan.beside:
            return widest + SIDE_WIDTH
        return max(widest, (SIDE_WIDTH - 3) * len(self._named)) if plan.boxed and not self._hanging else widest

    def _under(self, boxed: bool) -> int:
        """Return the minimum height of the area below the grid."""
        return len(self._hanging) * self._deep(boxed) + self._below(boxed)

    def _deep(self, boxed: bool) -> int:
        """Return the minimum height of a hanging row. Columns below a row, as in FreeCell, become longest."""
        is_tall = bool(self._grid) and len(self._hanging) == 1
        return (TALL if boxed and is_tall else DEEP) + 2 * boxed

    def _below(self, boxed: bool) -> int:
        """Return the height of the named piles below the grid."""
        return 0 if not self._named else CARD_HEIGHT if boxed and not self._hanging else 1

    def _starts(self, plan: _Plan) -> Sequence[int]:
        """Return where the columns of the grid start. This does not depend on the cards, so places never move."""
        if not self._grid:
            return [0]
        label = self._label(plan)
        pile = SLOT + CARD_WIDTH + 1 if plan.boxed else label + (4 if self._fans or self._hanging else 6)
        fan = SLOT + CARD_WIDTH + 8 if plan.boxed else label + 10
        if self._fans:
            needs = tuple((place, fan if place in self._fans else pile) for place in self._places)
            most = pile + 4 * FAN - fan
            return text_table.spread(self._grid, needs, tuple(self._fans), most, self._area.width + 1)
        count = max(map(len, self._grid))
        if self._hanging:
            step = self._hanging_step(plan, self._hanging[0])
        else:
            aside = SIDE_WIDTH if plan.beside else 0
            step = max(pile, min(pile + 3, (self._area.width + 1 - aside) // count))
        return [step * column for column in range(count + 1)]

    def _hanging_step(self, plan: _Plan, row: text_table.Row) -> int:
        widest = SLOT + CARD_WIDTH + 2 if plan.boxed else 12
        least = SLOT + CARD_WIDTH + 1 if plan.boxed else self._label(plan) + 4
        return max(least, min(widest, self._area.width // len(row)))

    def _label(self, plan: _Plan) -> int:
        """Return the width of a place's key or name, with the space after it."""
        if self._is_text or (self._marks.named and (self._marks.keys or self._area.width >= NARROW)):
            return 3
        return SLOT if self._marks.keys or self._area.width >= NARROW else 0

    # Piles.

    def _draw_grid(self) -> int:
        """Draw the grid and return the line after it."""
        plan, starts, row_at = self._plan, self._starts(self._plan), self._area.row
        draw = self._draw_boxed if plan.boxed else self._draw_text
        for row in self._grid:
            for column, place in enumerate(row):
                if place != ".":
                    width = starts[text_table.next_column(row, column)] - starts[column] - 1
                    draw(place, row_at, self._area.column + starts[column], width)
            row_at += plan.lines + plan.gap
        return row_at - (plan.gap if self._grid else 0)

    def _draw_boxed(self, place: str, row: int, column: int, width: int) -> None:
        box = column + SLOT
        if place in self._fanned:
            box = column + width - CARD_WIDTH
            end = box - SLOT - 1
            lower = text_table.wrapped_pile(self._piles[place][:-1], end - column, CARD_HEIGHT)
            left = end - max(map(cells, lower), default=0)  # beside the top card
            for line, text in enumerate(lower, start=row):
                self._canvas.cards(line, left, text)
        self._draw_card(place, row, box, labelled=True)
        self._canvas.spots[place] = Spot(row, column, width, CARD_HEIGHT)

    def _draw_text(self, place: str, row: int, column: int, width: int) -> None:
        fan, lines, label = place in self._fanned, self._plan.lines, self._label(self._plan)
        start = column + label
        self._draw_label(place, row, column, column)
        self._canvas.spots[place] = Spot(row, column, width, lines if fan else 1)
        if fan and self._piles[place]:
            self._draw_fan(place, row, start, column + width - start)
        elif self._is_text:
            self._draw_bottom_and_top(place, row, start, width - label)
        elif fan or self._hanging or width < label + CARD_WIDTH:
            self._draw_top(place, row, start)
        else:
            self._canvas.write(row, start, "[   ]", DIM)
            self._draw_top(place, row, start + 1, wide=True)

    def _draw_fan(self, place: str, row: int, column: int, width: int) -> None:
        """Draw the cards of a fan over several lines; the top card comes last, in bold."""
        pile = self._piles[place]
        for line, text in enumerate(text_table.wrapped_pile(pile, width, self._plan.lines), start=row):
            end = self._canvas.cards(line, column, text, self._style(place))
        top = Spot(line, end - cells(pile[-1]), cells(pile[-1]))
        self._canvas.paint(top, bold=True, reverse=place in self._marks.picked)

    def _draw_bottom_and_top(self, place: str, row: int, column: int, width: int) -> None:
        """Draw the top card of a pile and, if there is room, before it the bottom card."""
        pile = self._piles[place]
        bottom = f"{pile[0]}▸" if len(pile) > 1 else ""
        if bottom and cells(bottom + pile[-1]) <= width:
            column = self._canvas.cards(row, column, bottom)
        self._draw_top(place, row, column)

    def _draw_top(self, place: str, row: int, column: int, *, wide: bool = False) -> None:
        """Draw the top card of a pile, with `wide` as a text of three cells."""
        pile = self._piles[place]
        text = f"{pile[-1]:>3}" if pile else self._empty(place)
        text = text if wide else text.strip()
        self._canvas.cards(row, column, text, self._style(place) if pile else DIM)
        self._canvas.paint(Spot(row, column, cells(text)), bold=bool(pile), reverse=place in self._marks.picked)

    def _draw_card(self, place: str, row: int, column: int, *, labelled: bool = False) -> None:
        """Draw a card with a border that can show the name of the place and the number of cards."""
        pile, marks = self._piles[place], self._marks
        is_target = marks.targets and place in marks.choices
        border = TARGET if is_target else BOLD if place in marks.picked else DIM
        faint, hidden = place in marks.faint, pile[-1:] == [text_table.FACE_DOWN]
        for at, line in enumerate(("┌───┐", "│   │", "└───┘")):
            self._canvas.write(row + at, column, line, border)
        if labelled:
            self._draw_label(place, row, column - SLOT, column + 1)
            if len(pile) > 1 and place not in self._fanned:
                self._canvas.write(row + 2, column + 2, f"{len(pile)}", DIM)
        text = f"{pile[-1]:>3}" if pile else self._empty(place)
        inner = Spot(row + 1, column + 1, CARD_WIDTH - 2)
        self._canvas.write(row + 1, column + 1, text, PLAIN if pile and not hidden else DIM)
        self._canvas.paint(inner, bold=bool(pile) and not faint, reverse=place in marks.picked)
        for _, _, ink in text_table.find_cards(text):
            self._canvas.paint(inner, ink=ink)
        if faint:
            self._canvas.paint(Spot(row, column, CARD_WIDTH, CARD_HEIGHT), dim=True, bold=False)

    def _empty(self, place: str) -> str:
        """Return the text of an empty place, in three cells."""
        return f" {self._labels.get(place, '·')} "

    def _draw_label(self, place: str, row: int, column: int, name_column: int) -> None:
        """Draw the key of a place or, where moves are typed, its name, and whether its cards are home."""
        marks, end = self._marks, max(column + 1, name_column)
        if not self.is_boxed and not self._label(self._plan):
            return
        if self._is_text or marks.named:
            end = self._canvas.write(row, name_column, place, Style("place", bold=place in marks.picked))
        if place in marks.home:
            self._canvas.write(row, end, "✓", HOME)
        self._draw_key(place, row, column)

    def _draw_key(self, place: str, row: int, column: int) -> None:
        """Draw the key of a place, unless it has its name, and the cursor."""
        marks = self._marks
        if marks.named:
            return
        if key := marks.keys.get(place):
            unavailable = BOLD if place in marks.picked else DIM
            style = (TARGET if marks.targets else KEY) if place in marks.choices else unavailable
            self._canvas.write(row, column, key, style._replace(reverse=place in marks.choices))
        if marks.cursor == place:
            self._canvas.write(row, column + 1, "▸", BOLD)

    def _draw_hanging(self, row: text_table.Row, top: int, room: int) -> None:
        step = self._hanging_step(self._plan, row)
        draw = self._draw_cascade if self._plan.boxed else self._draw_column
        for at, place in enumerate(row):
            column = self._area.column + step * at
            draw(place, top, column, room)
            self._canvas.spots[place] = Spot(top, column, step - 1, room)

    def _draw_column(self, place: str, row: int, column: int, room: int) -> None:
        """Draw cards one below the other, some in pairs if there are many; a number replaces those that do not fit."""
        self._draw_label(place, row, column, column)
        column += self._label(self._plan)
        pile = self._piles[place]
        lower = (text_table.column(pile, room) if self._label(self._plan) else text_table.top_cards(pile, room))[:-1]
        for line, text in enumerate(lower, start=row):
            self._canvas.cards(line, column, text, self._style(place, text))
        self._draw_top(place, row + len(lower), column)

    def _draw_cascade(self, place: str, row: int, column: int, room: int) -> None:
        """Draw overlapping cards with borders."""
        box, lower = column + SLOT, text_table.top_cards(self._piles[place], room - 2)[:-1]
        self._draw_card(place, row + len(lower), box)
        for line, card in enumerate(lower, start=row + 1):
            self._canvas.write(line, box, "│   │", DIM)
            self._canvas.cards(line, box + 1, f"{card:>3}", self._style(place, card))
        if lower:
            self._canvas.write(row, box, "┌───┐", DIM)
        self._draw_label(place, row, column, box + 1)

    def _draw_named(self, row: int, column: int, *, down: int = 0, across: int = 0) -> None:
        """Draw named piles as cards with borders, and beside each its name and the number of cards."""
        keys = bool(self._marks.keys)
        for place in self._named:
            box, pile = column + SLOT * (not keys), self._piles[place]
            self._draw_card(place, row, box)
            self._draw_key(place, row + 1, box + CARD_WIDTH + 1)
            named = Style("place", bold=place in self._marks.picked)
            end = self._canvas.write(row + 1, box + CARD_WIDTH + 1 + SLOT * keys, place, named)
            if len(pile) > 1 or pile == [text_table.FACE_DOWN]:
                self._canvas.write(row + 1, end + 1, str(len(pile)))
            self._canvas.spots[place] = Spot(row, column, SIDE_WIDTH - 4, CARD_HEIGHT)
            row, column = row + down, column + across

    def _draw_named_line(self, row: int) -> None:
        """Draw named piles as text."""
        column, slot = self._area.column, SLOT if self._label(self._plan) and not self._is_text else 0
        for place in self._named:
            most = None if self._is_text else self._area.column + self._area.width - column - slot
            pile, is_fan = self._piles[place], place in self._fanned
            text = text_table.named_pile(place, pile, is_fan=is_fan)
            end = self._canvas.cards(row, column + slot, text, self._style(place), most=most)
            if is_fan and pile:
                top = Spot(row, column + slot + cells(text.partition(" (")[0]) - cells(pile[-1]), cells(pile[-1]))
                self._canvas.paint(top, bold=True, reverse=place in self._marks.picked)
            if not self._is_text:
                self._draw_key(place, row, column)
                self._canvas.write(row, column + slot, place, Style("place", bold=place in self._marks.picked))
            self._canvas.spots[place] = Spot(row, column, end - column)
            column = end + 2

    def _style(self, place: str, text: str = "") -> Style:
        return DIM if place in self._marks.faint or text_table.FACE_DOWN[0] in text else PLAIN


def board_lines(game: Game | GameDescription, board: Board, settings: Settings, width: int) -> list[str]:
    """Draw a table as text: the top card of most piles, and of fanned piles as many cards as fit.

    A number such as ``+3`` replaces cards that do not fit. The last line has what the racer knows besides the piles.
    """
    canvas = Canvas(max(width, WIDE), TEXT_HEIGHT)  # a terminal that is too narrow wraps the lines
    area = Spot(0, 0, width, TEXT_HEIGHT)
    TableDrawing(canvas, area, game.layout, game.fanned, board.table, labels=game.labels, cards="text").draw()
    if settings.plain:
        canvas.in_ascii()
    lines = canvas.text()
    if settings.colored:
        lines = [ansi(row, look("terminal", settings.suits)).rstrip() for row in canvas.rows()]
    known = "  ".join([f"home {board.home}", *text_table.facts(board)])
    return [*re.sub("\n{3,}", "\n\n", "\n".join(lines)).rstrip().split("\n"), known]
