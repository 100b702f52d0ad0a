"""The dialogs of the full screen: a text to read, a question, a choice, and a line to type."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.events import Key, Resize
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Footer, Input, Label, OptionList
from textual.widgets.option_list import Option

from samedeal_cli.full_screen.canvas_widget import CanvasWidget
from samedeal_cli.full_screen.texts import Lines
from samedeal_cli.render.canvas import Canvas, Palette

MAX_INPUT = 64


class TextDialog(ModalScreen[bool]):
    """Shows a text that can be longer than the screen. Returns whether to copy it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll(-1)", "up", key_display="↑"),
        Binding("down,j", "scroll(1)", "down", key_display="↓"),
        Binding("space,pagedown", "page(1)", "next page", key_display="Space"),
        Binding("pageup", "page(-1)", show=False),
        Binding("y", "dismiss(True)", "copy"),
        Binding("escape,q,enter,question_mark", "dismiss(False)", "back", key_display="Esc"),
    ]

    def __init__(
        self, title: str, lines: Callable[[int], Lines], look: Palette, *, copies: bool = False, plain: bool = False
    ) -> None:
        """Show the lines for a width; with `copies`, y copies them."""
        super().__init__()
        self._title, self._lines, self._look, self._copies, self._plain = title, lines, look, copies, plain

    def compose(self) -> ComposeResult:
        """Yield the frame, the text and the footer."""
        with VerticalScroll(classes="dialog") as frame:
            frame.border_title = self._title
            yield CanvasWidget()
        yield Footer(compact=True, show_command_palette=False)

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

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Leave out y for a text that cannot be copied."""
        return self._copies or action != "dismiss" or parameters != (True,)

    def action_scroll(self, lines: int) -> None:
        """Scroll by some lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        """Scroll by some pages."""
        scroll = self.query_one(VerticalScroll)
        scroll.scroll_relative(y=pages * (scroll.size.height - 1), animate=False)


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
        self.dismiss(event.key in ("y", "Y"))


class Choice(ModalScreen[int | None]):
    """Lets the player choose one of several options, with the arrow keys or its number."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"dismiss({number - 1})", show=False) for number in range(1, 10)),
        Binding("escape,q", "dismiss(None)", "back", key_display="Esc"),
    ]

    def __init__(self, title: str, options: Sequence[str]) -> None:
        super().__init__()
        self._title, self._options = title, options

    def compose(self) -> ComposeResult:
        """Yield the options."""
        options = (Option(f"{number}  {text}") for number, text in enumerate(self._options, start=1))
        yield (choices := OptionList(*options, classes="dialog", compact=True, markup=False))
        choices.border_title = self._title
        yield Footer(compact=True, show_command_palette=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Ignore numbers without an option."""
        return not parameters or not isinstance(parameters[0], int) or parameters[0] < len(self._options)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose the option."""
        self.dismiss(event.option_index)


class LineInput(Input):
    """A line to type above the footer, with history and completion."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "accept", key_display="Enter"),
        Binding("tab", "complete(1)", "complete", key_display="Tab"),
        Binding("shift+tab", "complete(-1)", show=False),
        Binding("up", "recall(1)", "previous", key_display="↑"),
        Binding("down", "recall(-1)", show=False),
        Binding("escape", "close", "close", key_display="Esc"),
    ]

    def __init__(self, completions: Sequence[str] = (), history: Sequence[str] = (), placeholder: str = "") -> None:
        """Complete with `completions`; recall `history`, oldest first."""
        suggester = SuggestFromList(completions, case_sensitive=False)
        super().__init__(compact=True, max_length=MAX_INPUT, suggester=suggester, placeholder=placeholder)
        self._completions, self._history = completions, history
        self._recalled, self._completed, self._prefix = 0, "", ""

    def matches(self) -> list[str]:
        """Return the completions of the text, or of the text before Tab completed it."""
        prefix = self._prefix if self.value == self._completed else self.value
        return [text for text in self._completions if text.startswith(prefix.lower())]

    def action_complete(self, step: int) -> None:
        """Put the next completion in the line."""
        if matches := self.matches():
            self._prefix = self._prefix if self.value == self._completed else self.value
            index = matches.index(self.value) + step if self.value in matches else 0
            self._completed = self.value = matches[index % len(matches)]
            self.cursor_position = len(self.value)

    def action_recall(self, step: int) -> None:
        """Put an earlier line in this one."""
        self._recalled = min(len(self._history), max(0, self._recalled + step))
        self.value = self._history[-self._recalled] if self._recalled else ""
        self.cursor_position = len(self.value)

    def action_close(self) -> None:
        """Close the line."""
        self.remove()
