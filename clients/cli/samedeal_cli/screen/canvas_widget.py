"""A widget that shows a canvas, and the base of the screens that have one."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.content import Content
from textual.events import Key, MouseEvent
from textual.geometry import Region
from textual.reactive import reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.style import Style
from textual.suggester import SuggestFromList
from textual.theme import Theme
from textual.widget import Widget
from textual.widgets import Input

from samedeal_cli.render.canvas import Canvas, Palette, ansi
from samedeal_cli.render.themes import look
from samedeal_cli.state.actions import Entry, footer, key_name

MAX_INPUT: Final = 256
MORE: Final = Entry("ctrl+p", "more")
"""The command palette in the footer."""
TYPING: Final = (Entry("enter", "accept"), Entry("tab", "complete"), Entry("up", "previous"), Entry("escape", "close"))
"""The footer while a line is being typed."""


class CanvasWidget(Widget):
    """Shows a canvas."""

    def __init__(self) -> None:
        super().__init__()
        self.look: Palette | None = None
        self._rows: list[str] = []
        self.canvas = Canvas(1, 1)

    def show(self, canvas: Canvas, look: Palette) -> None:
        """Show another canvas, redrawing only the lines that differ."""
        rows, before = [ansi(row, look) for row in canvas.rows()], self._rows
        redraw_all = look != self.look or canvas.width != self.canvas.width or len(rows) != len(before)
        self.canvas, self._rows, self.look = canvas, rows, look
        changed = [Region(0, at, canvas.width, 1) for at, row in enumerate(rows) if redraw_all or row != before[at]]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        """Render one line."""
        if y >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        return Strip(Text.from_ansi(self._rows[y]).render(self.app.console)).apply_style(self.rich_style)


class KeyLine(Widget):
    """The footer: keys, and what they do. A click on one presses it."""

    entries = reactive[Sequence[Entry]](())
    is_typing = reactive(False)

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        super().__init__()
        self.entries = entries

    def render(self) -> Content:
        """Return the keys that work now and have room."""
        keys = list[Content]()
        for key, label, _, _ in footer(TYPING if self.is_typing else self.entries, self.size.width):
            press = Style.from_meta({"@mouse.down": ("app.simulate_key", (key,))})
            keys.append(Content.assemble((key_name(key), "bold $footer-key-foreground"), f" {label}").stylize(press))
        return Content(" ").join(keys)


class LineInput(Input):
    """A line to type above the footer, with history and completion."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("tab", "cursor_right"),
        ("up", "recall(1)"),
        ("down", "recall(-1)"),
        ("escape", "screen.close_line"),
    ]

    def __init__(self, placeholder: str, completions: Sequence[str], history: Sequence[str]) -> None:
        """Complete with `completions`; recall `history`, oldest first."""
        suggester = SuggestFromList(completions, case_sensitive=False)
        super().__init__(compact=True, max_length=MAX_INPUT, suggester=suggester, placeholder=placeholder)
        self._history, self._recalled = history, 0
        self.received: Key | None = None
        """The last key pressed while the line had the focus."""

    def on_key(self, event: Key) -> None:
        """Note that the key needs nobody else."""
        self.received = event

    def action_recall(self, step: int) -> None:
        """Put an earlier line in this one."""
        self._recalled = min(len(self._history), max(0, self._recalled + step))
        self.value = self._history[-self._recalled] if self._recalled else ""
        self.cursor_position = len(self.value)


class CanvasScreen(Screen[None]):
    """A screen with a canvas above a footer. It receives every key, unless a line is being typed."""

    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__()
        self.widget, self.keys = CanvasWidget(), KeyLine()

    def compose(self) -> ComposeResult:
        """Yield the canvas and the footer."""
        yield self.widget
        yield self.keys

    def show(self, canvas: Canvas, look: Palette, entries: Sequence[Entry]) -> None:
        """Show a canvas, and the actions that work now in the footer."""
        if look != self.widget.look:
            theme = textual_theme(look)
            self.app.register_theme(theme)
            self.app.theme = theme.name
        self.widget.show(canvas, look)
        self.keys.entries = (*entries, MORE)

    def close(self) -> None:
        """Return to the screen that opened this one, or quit."""
        if self.app.screen_stack[0] is self:
            self.app.exit()
        else:
            self.dismiss()

    def ask_for_line(self, placeholder: str, completions: Sequence[str] = (), history: Sequence[str] = ()) -> None:
        """Open a line to type, above the footer."""
        line = LineInput(placeholder, completions, history)
        self.mount(line, before=self.keys)
        self.set_focus(line)
        self.keys.is_typing = True

    def action_close_line(self) -> None:
        """Close the line to type."""
        self.query(LineInput).set(display=False).remove()
        self.keys.is_typing = False

    def palette(self) -> Iterator[SystemCommand]:
        """Yield every action that works now, with its key."""
        for key, _, text, _ in self.keys.entries:
            if text:
                yield SystemCommand(text[0].upper() + text[1:], f"key: {key_name(key)}", partial(self.press, key))

    async def on_key(self, event: Key) -> None:
        """Press a key, unless a line is being typed: what was typed before the line had the focus belongs in it."""
        typed = event.character if event.is_printable else None
        if not self.keys.is_typing:
            event.stop()
            self.press(event.key if event.key == "space" else typed or event.key)
        elif event is not (line := self.query_one(LineInput)).received:
            if typed:
                line.insert_text_at_cursor(typed)
            elif event.key == "enter":
                await line.action_submit()

    def press(self, key: str) -> None:
        """Handle a key: the character that it types, or a name such as ``space`` or ``left``."""
        raise NotImplementedError

    def spot_at(self, event: MouseEvent) -> str | None:
        """Return the name of the spot under the mouse."""
        row, column = int(event.screen_y), int(event.screen_x)
        return next((name for name, spot in self.widget.canvas.spots.items() if spot.contains(row, column)), None)


def textual_theme(palette: Palette) -> Theme:
    """Return the theme that gives Textual's widgets the colours of the canvas."""
    text, ground = palette.text or "ansi_default", palette.ground or "ansi_default"
    key = palette.color["letter"] if palette.ground else "ansi_bright_yellow" if palette.sgr else text
    return Theme(
        f"race-{ground}-{key}".replace("#", ""),
        primary=key,
        foreground=text,
        background=ground,
        surface=ground,
        panel=ground,
        boost=ground,
        ansi=not palette.ground,
        dark=palette != look("light"),
        variables={
            "footer-key-foreground": key,
            "ansi-background": ground,
            "border": text,
            "block-cursor-foreground": text,
            "block-cursor-background": ground,
            "block-cursor-text-style": "reverse",
        },
    )
