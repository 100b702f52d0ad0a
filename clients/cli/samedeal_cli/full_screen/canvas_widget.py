"""A widget that shows a canvas, and the base of the screens that have one."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial

from rich.ansi import SGR_STYLE_MAP
from rich.color import Color
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.app import ComposeResult, SystemCommand
from textual.binding import ActiveBinding
from textual.events import Key, MouseEvent
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Footer, Input

from samedeal_cli.render.canvas import Canvas, Palette, Span, Style
from samedeal_cli.render.themes import look


class CanvasWidget(Widget):
    """Shows a canvas."""

    DEFAULT_CSS = "CanvasWidget { width: 100%; height: 100%; background: ansi_default; color: ansi_default; }"

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[list[Span]] = []
        self._look = look("terminal")
        self.canvas = Canvas(1, 1)

    def show(self, canvas: Canvas, look: Palette) -> None:
        """Show another canvas, redrawing only the lines that differ."""
        rows, before = list(canvas.rows()), self._rows
        redraw_all = look != self._look or canvas.width != self.canvas.width or len(rows) != len(before)
        self.canvas, self._rows, self._look = canvas, rows, look
        if redraw_all:
            self.refresh()
            return
        changed = [Region(0, at, canvas.width, 1) for at, row in enumerate(rows) if row != before[at]]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        """Render one line."""
        if y >= len(self._rows):
            return Strip.blank(self.size.width, _rich_style(Style(), self._look))
        segments = [Segment(span.text, _rich_style(span.style, self._look)) for span in self._rows[y]]
        return Strip(segments, self.canvas.width)


class CanvasScreen(Screen[None]):
    """A screen with a canvas above a footer. Its actions are those that `working_labels` returns."""

    AUTO_FOCUS = ""
    DEFAULT_CSS = "CanvasScreen CanvasWidget { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.widget = CanvasWidget()
        self._labels: dict[int, str] = {}

    def compose(self) -> ComposeResult:
        """Yield the canvas and the footer."""
        yield self.widget
        yield Footer(compact=True)

    def show(self, canvas: Canvas, look: Palette, labels: dict[int, str]) -> None:
        """Show a canvas, and the labels of the bindings that work now by their numbers, in the footer's order."""
        self.widget.show(canvas, look)
        if labels != self._labels:
            self._labels = labels
            self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Return whether an action works now."""
        return action != "act" or (parameters[0] in self._labels and not self.query(Input))

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The bindings that work now, with labels for the state, in the footer's order."""
        active = super().active_bindings
        numbers = {f"act({number})": number for number in self._labels}
        order = {key: numbers.get(bound.binding.action, -1) for key, bound in active.items()}
        places = {number: place for place, number in enumerate(self._labels)}
        labelled = {}
        for key in sorted(active, key=lambda key: places.get(order[key], -1)):
            bound = active[key]
            if (number := order[key]) >= 0:
                label = self._labels[number]
                bound = bound._replace(binding=replace(bound.binding, description=label, show=bool(label)))
            labelled[key] = bound
        return labelled

    def palette(self) -> Iterator[SystemCommand]:
        """Yield every action that works now, with its key."""
        helps = {bound.binding.action: bound.binding for _, bound in super().active_bindings.items()}
        for number in self._labels:
            binding = helps.get(f"act({number})")
            if binding and binding.description:
                name = binding.description[0].upper() + binding.description[1:]
                yield SystemCommand(name, f"key: {binding.key_display}", partial(self.action_act, number))

    def action_act(self, number: int) -> None:
        """Do an action, given its number."""
        raise NotImplementedError

    def spot_at(self, event: MouseEvent) -> str | None:
        """Return the name of the spot under the mouse."""
        row, column = int(event.screen_y), int(event.screen_x)
        return next((name for name, spot in self.widget.canvas.spots.items() if spot.contains(row, column)), None)


def pressed_key(event: Key) -> str:
    """Return the character that a key types, or its name, such as ``space`` or ``left``."""
    if event.key in ("space", "enter", "escape", "backspace", "tab"):
        return event.key
    if event.character and event.character.isprintable():
        return event.character
    return event.key


def _rich_style(style: Style, look: Palette) -> RichStyle:
    return _cached_rich_style(style, look.sgr.get(style.ink, ""), look.text, look.ground)


@lru_cache(1024)
def _cached_rich_style(style: Style, code: str, text: str, ground: str) -> RichStyle:
    base = RichStyle(color=text or None, bgcolor=ground or None, bold=style.bold, dim=style.dim, reverse=style.reverse)
    if code.startswith("38;2;"):
        return base + RichStyle.from_color(Color.from_rgb(*map(int, code.split(";")[2:])))
    return base + RichStyle.parse(SGR_STYLE_MAP[int(code)]) if code else base
