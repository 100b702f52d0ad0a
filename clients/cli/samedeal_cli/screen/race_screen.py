"""The screen of a race: draws the state, passes it keys and messages, and runs its commands.

The state and the drawing are elsewhere (``state/race_*.py``, ``race_view.py``); this module does the I/O.
"""

import asyncio
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from secrets import token_hex
from typing import Final

from msgspec import structs
from textual.events import Click, MouseDown, MouseUp, Resize

from samedeal.analysis.analysis import Analysis
from samedeal.race.run import RESTART
from samedeal.replays.replay import Replay, read
from samedeal.wire import messages as m
from samedeal_cli.net.practice_connection import PRACTICE, Library, Practice
from samedeal_cli.net.replay_loader import fetch_archived
from samedeal_cli.render.canvas import Palette
from samedeal_cli.render.themes import look
from samedeal_cli.screen.canvas_widget import LineInput
from samedeal_cli.screen.dialogs import Choice, Question, TextDialog
from samedeal_cli.screen.race_tasks import REPLAY_TIMEOUT_S, RaceTasks
from samedeal_cli.screen.race_view import draw_screen
from samedeal_cli.screen.texts import Lines, text_lines
from samedeal_cli.searches import PublicDeal, line_replay
from samedeal_cli.settings import Settings
from samedeal_cli.state import race_keys as keys
from samedeal_cli.state.race_actions import working_actions
from samedeal_cli.state.race_commands import Ask, Choose, Command, RaceAgain, Run, Step, Text, play
from samedeal_cli.state.race_state import Notice, RaceState, first_state
from samedeal_cli.state.replay_state import Player, outcome, player_of, position_of

TICK_S: Final = 0.1
FLASH_S: Final = 0.6
"""How long the first line is reversed after the lead has changed."""

TITLES: Final[Mapping[Text, str]] = {
    "help": "Keys",
    "rules": "Rules of {game}",
    "link": "Invite friends",
    "options": "Options of this race",
    "checks": "Checks of the replay on this machine",
    "evening": "Scores",
}


class RaceScreen(RaceTasks):
    """Shows one race, and its rematches, until the player quits."""

    _history: tuple[str, ...] = ()
    """The lines typed before, oldest first."""
    _mouse_down: str | None = None
    _practice: "RaceScreen | None" = None
    """Practice while the race waits for players. It ends when the race starts."""

    # The screen.

    def on_mount(self) -> None:
        """Draw the first frame and join the race."""
        self._change(width=self.size.width, height=self.size.height)
        self.set_interval(TICK_S, self._tick)
        self._race_task = self._start(self._run_race(self.state.race_id))

    def on_resize(self, event: Resize) -> None:
        """Redraw at the new size."""
        self._change(width=event.size.width, height=event.size.height)

    def _show(self, state: RaceState) -> None:
        if state.stage != self.state.stage:
            if isinstance(self.app.screen, Question):
                self.app.screen.dismiss(False)
            elif isinstance(self.app.screen, Choice):
                self.app.screen.dismiss(None)
            if self._practice in self.app.screen_stack:
                while self.app.screen is not self:
                    self.app.pop_screen()
        if state.flash and not self.state.flash:
            self.set_timer(FLASH_S, partial(self._change, flash=False))
        self.state = state
        entries = [action.entry(state) for action in working_actions(state)]
        if self.app.screen_stack[0] is not self:
            entries = [entry._replace(label=re.sub("^quit", "back", entry.label)) for entry in entries]
        self.show(draw_screen(state, state.width, state.height), self._look, entries)

    @property
    def _look(self) -> Palette:
        return look(self.state.theme, self.state.suits, colored=self._settings.colored)

    def _tick(self) -> None:
        """Redraw when the clock shows a new second, or the cards of a winner fall."""
        if self.state.confetti:
            self._change(confetti=self.state.confetti - 1)
        left = self.connection.left_ms if self.connection else None
        shown = self.state.left_ms
        if left is not None and (shown is None or -(-left // 1000) != -(-shown // 1000)):
            self._change(left_ms=left)

    # Keys and clicks.

    def press(self, key: str) -> None:
        """Handle a key."""
        self._take_step(keys.on_key(self.state, key, time.monotonic()))

    def on_mouse_down(self, event: MouseDown) -> None:
        """Start a click or a drag."""
        self._mouse_down = self.spot_at(event)

    def on_mouse_up(self, event: MouseUp) -> None:
        """Finish a drag to another spot."""
        source, spot = self._mouse_down, self.spot_at(event)
        if source and spot and spot != source:
            self._take_step(keys.on_drag(self.state, source, spot))

    def on_click(self, event: Click) -> None:
        """Finish a click on the same spot."""
        spot = self.spot_at(event)
        if spot and spot == self._mouse_down:
            button: keys.Button = "right" if event.button == 3 else "double" if event.chain % 2 == 0 else "left"
            self._take_step(keys.on_click(self.state, spot, button))

    def _take_step(self, step: Step) -> None:
        state, command = step
        self._show(state)
        if command:
            self._run_command(command)

    # Commands.

    def _run_command(self, command: Command) -> None:
        match command:
            case "quit":
                self.close()
            case "type":
                moves = self.state.typeable
                self.ask_for_line(f"a move, such as {moves[0]}; Tab completes it", moves, self._history)
                self._change(notice=Notice(" ".join(self.state.typeable), ""))
            case "copy-link":
                self._copy_link()
            case "copy-result":
                self._start(self._try(self._copy_result()))
            case "practise":
                self._start(self._try(self._practise()))
            case "open-replay":
                self._start(self._try(self._open_replay()))
            case "open-line":
                self._start(self._try(self._open_line()))
            case "hint" | "verdict":
                self._start(self._try(self._advise(hint=command == "hint")))
            case RaceAgain():
                self._start(self._try(self._race_again(command)))
            case m.React(reaction=reaction):
                self._start(self._try(self._react(reaction)))
            case "help" | "rules" | "link" | "options" | "checks" | "evening":
                self._show_text(command)
            case Ask(question=question, then=then):
                self.app.push_screen(Question(question), lambda yes: self._take_step(then(self.state)) if yes else None)
            case Choose(title=title, options=options):
                self.app.push_screen(Choice(title, tuple(options)), lambda name: self._choose(options, name))
            case _:
                self._start(self._send(command))

    def _show_text(self, text: Text) -> None:
        title = TITLES[text].format(game=self.state.game.title if self.state.game else "the game")
        plain = self.state.ascii

        def lines(width: int) -> Lines:
            return text_lines(replace(self.state, height=self.app.size.height), text, width)

        dialog = TextDialog(title, lines, self._look, copies=text == "link", plain=plain)
        self.app.push_screen(dialog, lambda copy: self._copy_link() if copy else None)

    def _choose(self, options: Mapping[str, Run], name: str | None) -> None:
        if name:
            self._take_step(options[name](self.state))

    def on_input_changed(self, event: LineInput.Changed) -> None:
        """Show what the line can become."""
        typed = event.value.lower()
        self._change(notice=Notice(" ".join(move for move in self.state.typeable if move.startswith(typed)), ""))

    def action_close_line(self) -> None:
        """Close the line to type, and the list of moves."""
        super().action_close_line()
        self._change(notice=None)

    def on_input_submitted(self, event: LineInput.Submitted) -> None:
        """Play the typed move."""
        self.action_close_line()
        text = event.value.strip().lower()
        if not text:
            return
        self._history = (*self._history, text)
        if text in ("resign", "finish", RESTART):
            self.press("ctrl+r" if text == RESTART else "!")
        elif self.state.pending is None and self.state.can_play:
            self._take_step(play(self.state, text))

    async def _practise(self) -> None:
        """Practise on a random deal of the same game."""
        if header := self.state.header:
            practice = Practice(PublicDeal(header.game, token_hex(8), header.variant))
            self._practice = practice_screen(self._settings, practice, plain=self.state.ascii)
            self.app.push_screen(self._practice)

    async def _open_replay(self) -> None:
        replay = read(await fetch_archived(self._api, self.state.race_id, REPLAY_TIMEOUT_S))
        await self._push_replay(replay, await asyncio.to_thread(self._api.keys), self.state.analysis)

    async def _open_line(self) -> None:
        if analysis := self.state.analysis:
            line = await asyncio.to_thread(line_replay, analysis)
            await self._push_replay(line, (), structs.replace(analysis, racers=()))

    async def _push_replay(self, replay: Replay, keys: Collection[str], analysis: Analysis | None) -> None:
        from samedeal_cli.screen.replay_screen import ReplayScreen

        player = await asyncio.to_thread(player_of, replay, plain=self.state.ascii)
        player = replace(player, playing=True, analysis=analysis)
        practise = partial(practise_from, self._settings)
        analyse = partial(self.analyse, replay)
        self.app.push_screen(ReplayScreen(player, self._look, lambda: outcome(replay, keys), analyse, practise))


def practise_from(settings: Settings, player: Player) -> RaceScreen:
    """Return a screen to play on from a moment of a replay. Raises Misused if the game is unknown."""
    return practice_screen(settings, Practice(*position_of(player)), plain=player.plain)


def practice_screen(settings: Settings, connection: Practice, *, plain: bool) -> RaceScreen:
    """Return a screen to practise on."""
    state = first_state(settings, PRACTICE, practice=True, rivals_hidden=True, ascii=plain)
    return RaceScreen(state, lambda *_: connection, Library(), settings)
