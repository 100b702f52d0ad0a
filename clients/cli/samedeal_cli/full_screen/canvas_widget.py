"""The base of the full-screen apps, and their only widget, which shows a canvas."""

from functools import lru_cache
from typing import Any, ClassVar

from rich.ansi import SGR_STYLE_MAP
from rich.color import Color
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.events import Key, MouseEvent
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from samedeal_cli.render.canvas import Canvas, Palette, Span, Style
from samedeal_cli.render.themes import look


class CanvasWidget(Widget, can_focus=True):
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


class CanvasApp(App[None]):
    """A full-screen app with a canvas widget. Handles keys before Textual does."""

    CSS = "Screen { background: ansi_default; }"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, *, animation: bool) -> None:
        """`animation` is whether Textual may show animations, such as smooth scrolling."""
        super().__init__(ansi_color=True)
        if not animation:
            self.animation_level = "none"
        self.widget = CanvasWidget()
        self.interrupted = False

    def compose(self) -> ComposeResult:
        """Yield the only widget."""
        yield self.widget

    async def on_event(self, event: Any) -> None:
        """Pass a key to ``press``."""
        if isinstance(event, Key):
            event.stop()
            self.press(key_name(event))
        else:
            await super().on_event(event)

    def press(self, key: str) -> None:
        """Handle a key: the character that it types, or its name."""
        raise NotImplementedError

    def spot_at(self, event: MouseEvent) -> str | None:
        """Return the name of the spot under the mouse."""
        row, column = int(event.screen_y), int(event.screen_x)
        return next((name for name, spot in self.widget.canvas.spots.items() if spot.contains(row, column)), None)


def key_name(event: Key) -> str:
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
