"""Practice as lines of text."""

from typing import Final

from samedeal_cli.line.descriptions import HELP
from samedeal_cli.line.line_mode import LineMode
from samedeal_cli.net.practice_connection import Practice
from samedeal_cli.render.text_table import with_cards

COMMANDS: Final = {
    **{word: HELP[word] for word in ("undo", "board", "restart", "legal", "p 6h", "scan l", "rules")},
    "hint": "show a move, and why",
    "verdict": "was that a mistake?",
    "quit": "end",
    "?": HELP["?"],
}
"""The commands of practice."""


class PracticeLines(LineMode):
    """Practises: executes typed moves, and gives advice."""

    _help = COMMANDS

    def _show_race(self) -> None:
        self._stage = "running"
        self._started.set()
        self._say(f"{self._game.title}, practice; type ? for help")
        self._show_boards()

    def _say_goodbye(self) -> None:
        self._console.leave_prompt()

    async def _execute(self, line: str) -> None:
        word = line.strip().lower()
        if word in ("hint", "verdict") and isinstance(self._connection, Practice):
            advice = await self._connection.advice()
            if advice and word == "hint" and advice.hint:
                hint = advice.hint
                self._say(with_cards(f"{hint.move}: {hint.rule} {hint.reason}", self._describe.card))
            elif advice:
                self._say(advice.text)
            return
        await super()._execute(line)
