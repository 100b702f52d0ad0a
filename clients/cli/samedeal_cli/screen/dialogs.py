"""The dialogs of the full screen: a text to read, a question, and a choice."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.events import Key, Resize
from textual.screen import ModalScreen
from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

from samedeal_cli.render.canvas import Canvas, Palette
from samedeal_cli.screen.canvas_widget import CanvasWidget, KeyLine
from samedeal_cli.screen.texts import Lines
from samedeal_cli.state.actions import Entry
from samedeal_cli.state.pile_keys import key_meant

KEYS: Final = "1234567890abcdefghijklmnop"
"""The keys of options, without q."""


class TextDialog(ModalScreen[bool]):
    """Shows a text that can be longer than the screen. Returns whether to copy it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "focused.scroll_up", priority=True),
        Binding("down,j", "focused.scroll_down", priority=True),
        ("space", "focused.page_down"),
        ("escape,q,enter,question_mark", "dismiss(False)"),
    ]

    def __init__(
        self, title: str, lines: Callable[[int], Lines], look: Palette, *, copies: bool = False, plain: bool = False
    ) -> None:
        """Show the lines for a width; with `copies`, y copies them."""
        super().__init__()
        self._title, self._lines, self._look, self._plain = title, lines, look, plain
        self._keys = [Entry("up", "up"), Entry("down", "down"), Entry("space", "next page"), Entry("escape", "back")]
        if copies:
            self._bindings.bind("y", "dismiss(True)")
            self._keys.append(Entry("y", "copy"))

    def compose(self) -> ComposeResult:
        """Yield the frame, the text and the footer."""
        with VerticalScroll(classes="dialog") as frame:
            frame.border_title = self._title
            yield CanvasWidget()
        yield KeyLine(self._keys)

    def on_resize(self, event: Resize) -> None:
        """Wrap the text at the new width."""
        width = max(20, min(event.size.width, 100) - 6)
        lines = self._lines(width)
        canvas = Canvas(width, max(1, len(lines)))
        for row, (line, style) in enumerate(lines):
            canvas.cards(row, 0, line, style)
        if self._plain:
            canvas.in_ascii()
        widget = self.query_one(CanvasWidget)
        widget.styles.height, widget.styles.width = canvas.height, width
        widget.show(canvas, self._look)


class Question(ModalScreen[bool]):
    """Asks a question that only y answers with yes."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Yield the question and the keys that answer it."""
        with Vertical(classes="dialog"):
            yield Label(self._question, markup=False)
            yield Label("y yes   any other key: no", markup=False)

    def on_key(self, event: Key) -> None:
        """Answer the question."""
        event.stop()
        self.dismiss(key_meant(event.character or "", "y") == "y")


class Choice(ModalScreen[str | None]):
    """Lets the player choose one of several options, with the arrow keys or its key. Returns the option."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *((key, f"choose({index})") for index, key in enumerate(KEYS)),
        ("escape,q", "dismiss(None)"),
    ]

    def __init__(self, title: str, options: Sequence[str]) -> None:
        super().__init__()
        self._title, self._options = title, options

    def compose(self) -> ComposeResult:
        """Yield the options."""
        keys = iter(KEYS)
        options = (Option(f"{next(keys, ' ')}  {text}") for text in self._options)
        yield (choices := OptionList(*options, classes="dialog", compact=True, markup=False))
        choices.border_title = self._title
        choices.highlighted = 0
        yield KeyLine([Entry("escape", "back")])

    def action_choose(self, index: int) -> None:
        """Choose an option, if there is one with this index."""
        if index < len(self._options):
            self.dismiss(self._options[index])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose the option."""
        self.action_choose(event.option_index)
