"""Draws the table of any game on a canvas, from its layout, with cards as large as possible."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from samedeal.cards import BACK
from samedeal_cli.render.canvas import BOLD, DIM, PLAIN, Canvas, Spot, Style
from samedeal_cli.render.text_table import (
    SUIT_OF,
    Row,
    card_text,
    find_cards,
    flows,
    hangs,
    named_pile,
    next_column,
    spread,
    top_cards,
    with_count,
)
from samedeal_cli.render.text_width import cells
from samedeal_cli.settings import Cards

CARD_WIDTH, CARD_HEIGHT = 5, 3
"""The size of a card with a border."""
SLOT: Final = 2
"""The width of a key and a space."""
SIDE_WIDTH: Final = 21
"""The width of a named pile, such as the stock, beside or below the grid."""
DEEP: Final = 6
"""How many cards of a hanging pile must fit."""
TIGHT: Final = 4
"""The width of a key and a name without a space between them."""
ROOMY: Final = 72
"""The minimum width for room before the names of places on a table without keys."""
NARROW: Final = 48
"""The minimum width for the names of places on a table without keys; on narrower ones, only cards are drawn."""

KEY: Final = Style("letter", bold=True)
TARGET: Final = Style("target", bold=True)


@dataclass(frozen=True)
class Marks:
    """What the selection marks on the table, by place."""

    keys: Mapping[str, str] = field(default_factory=dict)
    choices: Collection[str] = ()
    """Places that can be picked next."""
    targets: bool = False
    """Whether those are targets, not cards to pick up."""
    picked: Collection[str] = ()
    cursor: str | None = None
    faint: Collection[str] = ()
    """Places with changes that the server has not confirmed yet."""


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
        cards: Cards = "auto",
    ) -> None:
        """Cards have borders if the whole table fits; otherwise, or with `cards="compact"`, each card is a short text.

        `labels` are the ranks that empty places expect.
        """
        self._canvas, self._area, self._fanned, self._marks = canvas, area, fanned, marks or Marks()
        self._piles = {place: [card_text(card) for card in pile] for place, pile in table.items()}
        self._labels, self._compact = labels or {}, cards == "compact"
        rows = [line.split() for line in layout.strip().splitlines()]
        self._grid = [row for row in rows if not flows(row) and not hangs(row, fanned)]
        self._hanging = [row for row in rows if hangs(row, fanned) and not flows(row)]
        self._named = [place for row in rows if flows(row) for place in row]

    @property
    def is_boxed(self) -> bool:
        """Whether there is room for the borders of all cards."""
        return self._plan().boxed

    def _plan(self) -> _Plan:
        return next(filter(self._fits, self._plans()), _Plan(boxed=False))

    def draw(self) -> None:
        """Draw the piles, and register each place as a spot of the canvas."""
        plan = self._plan()
        self._center(plan)
        top = self._draw_grid(plan)
        if plan.beside:
            self._draw_named_beside(plan)
        below = 0 if plan.beside or not self._named else CARD_HEIGHT if plan.boxed and not self._hanging else 1
        end = self._area.row + self._area.height - below
        top += plan.gap if top + plan.gap + sum(DEEP + 2 for _ in self._hanging) <= end else 0
        for at, row in enumerate(self._hanging):
            room = (end - top) // (len(self._hanging) - at)
            self._draw_hanging(plan, row, top, room)
            top += room
        if below:
            self._draw_named_below(plan, min(top, end))

    def _center(self, plan: _Plan) -> None:
        """Center a table that is narrower than its area."""
        margin = max(0, self._area.width - self._width(plan)) // 2
        self._area = self._area._replace(column=self._area.column + margin)

    def _plans(self) -> Iterator[_Plan]:
        rows = len(self._grid)
        if not self._compact:
            for gap in (1, 0):
                yield _Plan(boxed=True, lines=CARD_HEIGHT, gap=gap)
            yield _Plan(boxed=True, lines=CARD_HEIGHT, beside=True)
        if rows:
            tall = self._area.height - self._under(boxed=False)
            fans = any(place in self._fanned for row in self._grid for place in row)
            lines = max(1, min(3, tall // rows)) if fans else 1
            gap = 1 if lines == 1 and tall >= 2 * rows - 1 else 0
            if self._label(_Plan(boxed=False)) == TIGHT and tall >= 2 * rows:
                lines, gap = 2, 0  # names above the cards
            yield _Plan(boxed=False, lines=lines, gap=gap)

    def _fits(self, plan: _Plan) -> bool:
        height = max(0, len(self._grid) * (plan.lines + plan.gap) - plan.gap)
        if plan.beside:
            if not self._named or self._hanging:
                return False
            height = max(height, CARD_HEIGHT * len(self._named))
        else:
            height += self._under(plan.boxed)
        return height <= self._area.height and self._width(plan) <= self._area.width + 1

    def _width(self, plan: _Plan) -> int:
        """Return the width of a table."""
        widest = max((self._starts(plan)[-1], *(self._hanging_step(plan, row) * len(row) for row in self._hanging)))
        if plan.beside:
            return widest + SIDE_WIDTH
        return max(widest, (SIDE_WIDTH - 3) * len(self._named)) if plan.boxed and not self._hanging else widest

    def _under(self, boxed: bool) -> int:
        """Return the minimum height of the area below the grid."""
        hanging = sum(DEEP + 2 if boxed else DEEP + 1 for _ in self._hanging)
        if not self._named:
            return hanging
        return hanging + (CARD_HEIGHT if boxed and not self._hanging else 1)

    def _starts(self, plan: _Plan) -> list[int]:
        """Return where the columns of the grid start. This does not depend on the cards, so places never move."""
        if not self._grid:
            return [0]
        fans = [place for row in self._grid for place in row if place in self._fanned]
        label = self._label(plan)
        pile = SLOT + CARD_WIDTH + 1 if plan.boxed else label + (4 if fans or self._hanging else 6)
        fan = SLOT + CARD_WIDTH + 8 if plan.boxed else label + 10
        needs = {place: fan if place in self._fanned else pile for row in self._grid for place in row if place != "."}
        if fans:
            return spread(self._grid, needs, dict.fromkeys(fans, self._area.width), self._area.width + 1)
        count = max(map(len, self._grid))
        if self._hanging:
            step = self._hanging_step(plan, self._hanging[0])
        else:
            aside = SIDE_WIDTH if plan.beside else 0
            step = max(pile, min(pile + 3, (self._area.width + 1 - aside) // count))
        return [step * column for column in range(count + 1)]

    def _hanging_step(self, plan: _Plan, row: Row) -> int:
        widest = SLOT + CARD_WIDTH + 2 if plan.boxed else 12
        least = SLOT + CARD_WIDTH + 1 if plan.boxed else self._label(plan) + 3 + self._gap(plan)
        return max(least, min(widest, self._area.width // len(row)))

    def _label(self, plan: _Plan) -> int:
        """Return the width of a place's key and name, with the space after them."""
        if self._marks.keys:
            columns = max(len(row) for row in [*self._grid, *self._hanging])
            return 5 if self._area.width // columns >= 9 else TIGHT
        if self._area.width < NARROW:
            return 0
        return 5 if self._area.width >= ROOMY and not plan.boxed else 3

    def _gap(self, plan: _Plan) -> int:
        """Return the width of the space between columns."""
        return 0 if self._label(plan) == TIGHT and not plan.boxed else 1

    def _draw_grid(self, plan: _Plan) -> int:
        """Draw the grid and return the line after it."""
        starts, row_at = self._starts(plan), self._area.row
        for row in self._grid:
            for column, place in enumerate(row):
                if place != ".":
                    at = self._area.column + starts[column]
                    width = starts[next_column(row, column)] - starts[column] - self._gap(plan)
                    self._draw_place(plan, place, row_at, at, width)
            row_at += plan.lines + plan.gap
        return row_at - (plan.gap if self._grid else 0)

    def _draw_place(self, plan: _Plan, place: str, row: int, column: int, width: int) -> None:
        pile = self._piles[place]
        if not plan.boxed:
            return self._draw_text(plan, place, row, column, width)
        if place in self._fanned:
            box = column + width - CARD_WIDTH
            for line, text in enumerate(_wrapped_pile(pile[:-1], box - SLOT - column - 1, CARD_HEIGHT), start=row):
                self._canvas.cards(line, column, text)
        else:
            box = column + SLOT
        self._draw_card(place, row, box, count=place not in self._fanned)
        self._spot(place, row, column, width, CARD_HEIGHT)
        return None

    def _draw_text(self, plan: _Plan, place: str, row: int, column: int, width: int) -> None:
        pile, start = self._piles[place], column + self._label(plan)
        fan = place in self._fanned
        stacked = not fan and plan.lines == 2 and self._label(plan) == TIGHT
        self._draw_label(plan, place, row, column, alone=stacked)
        row += stacked
        if fan and pile:
            self._draw_fan(pile, row, start, column + width - start, plan.lines, place)
        elif fan or (self._hanging and not fan) or width < self._label(plan) + CARD_WIDTH:
            self._draw_top(place, row, start)
        else:
            self._canvas.write(row, start, "[   ]", DIM)
            self._draw_top(place, row, start + 1, wide=True)
        self._spot(place, row - stacked, column, width, plan.lines if fan else 1 + stacked)

    def _draw_fan(self, pile: Sequence[str], row: int, column: int, width: int, lines: int, place: str) -> None:
        """Draw the cards of a fan over several lines; the top card comes last, in bold."""
        for line, text in enumerate(_wrapped_pile(pile, width, lines), start=row):
            end = self._canvas.cards(line, column, text, self._style(place))
        top = Spot(line, end - cells(pile[-1]), cells(pile[-1]))
        self._canvas.paint(top, bold=True, reverse=place in self._marks.picked)

    def _draw_top(self, place: str, row: int, column: int, *, wide: bool = False) -> None:
        """Draw the top card of a pile as a text of three cells."""
        pile = self._piles[place]
        text = _face(pile[-1]) if pile else self._empty(place)
        if not wide:
            text = text.strip()
        self._canvas.cards(row, column, text, self._style(place) if pile else DIM)
        spot = Spot(row, column, cells(text))
        self._canvas.paint(spot, reverse=place in self._marks.picked)
        if pile:
            self._canvas.paint(spot, bold=True)

    def _draw_card(self, place: str, row: int, column: int, *, count: bool, name: bool = True) -> None:
        """Draw a card with a border that shows the name of the place and the number of cards."""
        pile, marks = self._piles[place], self._marks
        is_target = marks.targets and place in marks.choices
        border = TARGET if is_target else BOLD if place in marks.picked else DIM
        faint = place in marks.faint
        for at, line in enumerate(("┌───┐", "│   │", "└───┘")):
            self._canvas.write(row + at, column, line, border)
        if name:
            self._draw_name(place, row, column + 1, column - SLOT)
        if count and len(pile) > 1:
            self._canvas.write(row + 2, column + 2, f"{len(pile)}", DIM)
        text = "▒▒▒" if pile and pile[-1] == BACK else _face(pile[-1]) if pile else self._empty(place)
        inner = Spot(row + 1, column + 1, CARD_WIDTH - 2)
        self._canvas.cards(row + 1, column + 1, text, PLAIN if pile and pile[-1] != BACK else DIM)
        self._canvas.paint(inner, bold=bool(pile) and not faint, reverse=place in marks.picked)
        for _, _, suit in find_cards(text.strip()):
            self._canvas.paint(inner, ink=SUIT_OF[suit])
        if faint:
            self._canvas.paint(Spot(row, column, CARD_WIDTH, CARD_HEIGHT), dim=True, bold=False)

    def _empty(self, place: str) -> str:
        """Return the text of an empty place, in three cells."""
        return f" {self._labels.get(place, '·')} "

    def _draw_label(self, plan: _Plan, place: str, row: int, column: int, *, alone: bool = False) -> None:
        """Draw the label before a card, or alone on its line."""
        if label := self._label(plan):
            self._draw_name(place, row, column + (SLOT if alone and self._marks.keys else label - 3), column)

    def _draw_name(self, place: str, row: int, column: int, key_column: int) -> int:
        """Draw the name of a place and its key; return the column after the name."""
        marks = self._marks
        if key := marks.keys.get(place):
            unavailable = BOLD if place in marks.picked else DIM
            style = (TARGET if marks.targets else KEY) if place in marks.choices else unavailable
            self._canvas.write(row, key_column, key, style._replace(reverse=place in marks.choices))
        named = Style("place", reverse=marks.cursor == place, bold=place in marks.picked)
        return self._canvas.write(row, column, place, named)

    def _draw_hanging(self, plan: _Plan, row: Row, top: int, room: int) -> None:
        step = self._hanging_step(plan, row)
        for at, place in enumerate(row):
            column, pile = self._area.column + step * at, list(self._piles[place])
            if plan.boxed:
                self._draw_cascade(place, pile, top, column, room)
            else:
                self._draw_label(plan, place, top, column, alone=True)
                self._draw_column(place, pile, top + 1, column + self._label(plan), room - 1)
            self._spot(place, top, column, step - self._gap(plan), room)

    def _draw_column(self, place: str, pile: list[str], row: int, column: int, room: int) -> None:
        """Draw cards one below the other; a number replaces those that do not fit."""
        shown = top_cards(pile, room)
        for at, card in enumerate(shown[:-1]):
            self._canvas.cards(row + at, column, card, self._style(place))
        self._draw_top(place, row + max(0, len(shown) - 1), column)

    def _draw_cascade(self, place: str, pile: list[str], row: int, column: int, room: int) -> None:
        """Draw overlapping cards with borders."""
        shown = top_cards(pile, room - 2)
        for at, card in enumerate(shown[:-1]):
            self._canvas.write(row + 1 + at, column + SLOT, "│   │", DIM)
            self._canvas.cards(row + 1 + at, column + SLOT + 1, _face(card))
        lower = max(0, len(shown) - 1)
        self._draw_card(place, row + lower, column + SLOT, count=False, name=False)
        if lower:
            self._canvas.write(row + lower, column + SLOT, "│   │", DIM)
            self._canvas.cards(row + lower, column + SLOT + 1, _face(shown[lower - 1]))
            self._canvas.write(row, column + SLOT, "┌───┐", DIM)
        self._draw_name(place, row, column + SLOT + 1, column)

    def _draw_named_beside(self, plan: _Plan) -> None:
        column = self._area.column + self._starts(plan)[-1] + 1
        for at, place in enumerate(self._named):
            self._draw_named(place, self._area.row + at * CARD_HEIGHT, column)

    def _draw_named_below(self, plan: _Plan, row: int) -> None:
        column = self._area.column
        for place in self._named:
            if plan.boxed and not self._hanging:
                self._draw_named(place, row, column)
                column += SIDE_WIDTH - 3
            else:
                slot = SLOT if self._label(plan) else 0
                most = self._area.column + self._area.width - column - slot
                text = named_pile(place, self._piles[place])
                end = self._canvas.cards(row, column + slot, text, self._style(place), most=most)
                self._draw_name(place, row, column + slot, column)
                self._spot(place, row, column, end - column, 1)
                column = end + 2

    def _draw_named(self, place: str, row: int, column: int) -> None:
        """Draw a card with a border, and beside it the name of the place and the number of cards."""
        slot = 0 if self._marks.keys else SLOT
        self._draw_card(place, row, column + slot, count=False, name=False)
        beside, pile = column + slot + CARD_WIDTH + 1, self._piles[place]
        end = self._draw_name(place, row + 1, beside + SLOT - slot, beside)
        if pile and (len(pile) > 1 or pile[-1] == BACK):
            self._canvas.write(row + 1, end + 1, str(len(pile)))
        self._spot(place, row, column, SIDE_WIDTH - 4, CARD_HEIGHT)

    def _style(self, place: str) -> Style:
        return DIM if place in self._marks.faint else PLAIN

    def _spot(self, place: str, row: int, column: int, width: int, height: int) -> None:
        self._canvas.spots[place] = Spot(row, column, width, height)


def _face(card: str) -> str:
    """Return a card in three cells."""
    return f"{card:>3}" if len(card) < 3 else card


def _wrapped_pile(pile: Sequence[str], width: int, lines: int) -> list[str]:
    """Wrap a pile into a number of lines; a number replaces the lower cards that do not fit."""
    hidden = 0
    while len(wrapped := _wrapped(with_count(pile, hidden), width)) > lines:
        hidden += 1
    return wrapped


def _wrapped(words: Sequence[str], width: int) -> list[str]:
    """Wrap words into lines."""
    lines: list[str] = []
    for word in words:
        if lines and cells(lines[-1]) + 1 + cells(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
