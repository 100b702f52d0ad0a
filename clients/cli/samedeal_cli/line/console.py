"""The console of line mode: lines of output above a prompt, and lines of input."""

import sys
from collections.abc import AsyncGenerator, Callable, Iterable
from textwrap import wrap

from samedeal_cli.line.line_input import PROMPT, Editor, typed_lines
from samedeal_cli.render.text_width import cells


class Console:
    """Standard input and output, with a prompt that stays below the output."""

    def __init__(self, *, silent: bool, prompts: bool, wrap_width: int | None) -> None:
        """`silent` writes nothing; `wrap_width` is the width at which sentences wrap, or None for never."""
        self._silent, self._prompts, self._wrap_width = silent, prompts and not silent, wrap_width
        self._prompt_shown = False
        self._editor: Editor | None = None

    def input_lines(self, words: Callable[[], Iterable[str]]) -> AsyncGenerator[str, None]:
        """The lines of standard input. The Tab key completes `words`."""
        self._editor = Editor.here(words) if self._prompts else None
        return self._editor.lines() if self._editor else typed_lines()

    def write(self, *lines: str) -> None:
        """Write lines above the prompt and the unfinished input, if any."""
        if self._silent or not lines:
            return
        at_prompt = self._at_prompt
        if at_prompt:
            sys.stdout.write("\r\x1b[K" if self._editor else "\r")
        for line in lines:
            sys.stdout.write(f"{self._wrapped(line)}\n")
        if at_prompt:
            sys.stdout.write(f"{PROMPT}{self._editor.typed if self._editor else ''}")
        sys.stdout.flush()

    def prompt(self) -> None:
        if self._editor:
            self._editor.ask()
        elif self._prompts:
            self._prompt_shown = True
            sys.stdout.write(PROMPT)
            sys.stdout.flush()

    def line_entered(self) -> None:
        """Handle Enter at the prompt."""
        self._prompt_shown = False

    def leave_prompt(self) -> None:
        """Leave the prompt. It is not shown again."""
        if self._at_prompt:
            self._prompt_shown, self._editor = False, None
            sys.stdout.write("\n")
            sys.stdout.flush()

    @property
    def _at_prompt(self) -> bool:
        return self._editor.shown if self._editor else self._prompt_shown

    def _wrapped(self, line: str) -> str:
        """Break a long sentence between words. Links and deal codes stay whole."""
        if self._wrap_width is None or "\x1b" in line or cells(line) <= self._wrap_width:
            return line
        broken = wrap(line, self._wrap_width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        return "\n".join(broken)
