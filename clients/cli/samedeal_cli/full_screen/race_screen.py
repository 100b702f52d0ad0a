"""The screen of a race: draws the state, passes it keys and messages, and runs its commands.

The state and the drawing are elsewhere (``state/race_*.py``, ``race_view.py``); this module does the I/O.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.events import Key, MouseDown, MouseUp, Resize
from textual.widgets import Footer

from samedeal.errors import Refused
from samedeal.race.run import RESTART
from samedeal.replays.replay import read
from samedeal_cli.failure import Failure
from samedeal_cli.full_screen.canvas_widget import pressed_key
from samedeal_cli.full_screen.dialogs import Choice, LineInput, Question, TextDialog
from samedeal_cli.full_screen.race_tasks import REPLAY_TIMEOUT_S, Connect, RaceTasks
from samedeal_cli.full_screen.race_view import draw_screen
from samedeal_cli.full_screen.texts import key_name, text_lines
from samedeal_cli.net.http_api import Api
from samedeal_cli.net.replay_loader import fetch_archived
from samedeal_cli.render.canvas import Palette
from samedeal_cli.render.themes import look
from samedeal_cli.settings import Settings
from samedeal_cli.state import race_keys as keys
from samedeal_cli.state.race_actions import ACTIONS, action_of, ask_to_resign, ask_to_restart, working_actions
from samedeal_cli.state.race_commands import (
    Ask,
    Choose,
    Command,
    RaceAgain,
    Run,
    SendReaction,
    Show,
    Step,
    Text,
    play,
)
from samedeal_cli.state.race_state import Notice, RaceState

DOUBLE_CLICK_S: Final = 0.4
TICK_S: Final = 0.1

INDEX: Final = {action: number for number, action in enumerate(ACTIONS)}
TITLES: Final[Mapping[Text, str]] = {
    "help": "Keys",
    "rules": "Rules of {game}",
    "link": "Invite friends",
    "checks": "Checks of the replay on this machine",
    "evening": "This evening",
}


class RaceScreen(RaceTasks):
    """Shows one race, and its rematches, until the player quits."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            action.keys.replace(" ", ","), f"act({number})", action.help, key_display=key_name(action.keys.split()[0])
        )
        for number, action in enumerate(ACTIONS)
    ]

    def __init__(
        self, state: RaceState, connect: Connect, api: Api, settings: Settings, *, ready: bool = False
    ) -> None:
        """Start from `state`; with `ready`, get ready as soon as the race accepts it."""
        super().__init__(state, connect, api, settings, ready=ready)
        self._history: list[str] = []
        """The lines typed before, oldest first."""
        self._mouse_down: str | None = None
        self._last_click: tuple[str, float] | None = None

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
        if state.stage != self.state.stage and isinstance(self.app.screen, Question):
            self.app.screen.dismiss(False)
        self.state = state
        labels = {INDEX[action]: action.label_in(state) for action in working_actions(state)}
        self.show(draw_screen(state, state.width, state.height), self._look, labels)

    @property
    def _look(self) -> Palette:
        return look(self.state.theme, self.state.suits, colored=self._settings.colored)

    def _tick(self) -> None:
        """Redraw when the clock shows a new second."""
        left = self.connection.left_ms if self.connection else None
        shown = self.state.left_ms
        if left is not None and not self.state.over and (shown is None or -(-left // 1000) != -(-shown // 1000)):
            self._change(left_ms=left)

    # Keys and clicks.

    def action_act(self, number: int) -> None:
        """Do an action, given its number."""
        self._take_step(keys.on_key(self.state, ACTIONS[number].keys.split()[0], time.monotonic()))

    def on_key(self, event: Key) -> None:
        """Press the key of a pile."""
        key = pressed_key(event)
        if not self.query(LineInput) and not action_of(self.state, key):
            self._take_step(keys.on_key(self.state, key, time.monotonic()))

    def on_mouse_down(self, event: MouseDown) -> None:
        """Start a click or a drag; the right button acts at once."""
        spot = self.spot_at(event)
        self._mouse_down = spot if event.button == 1 else None
        if spot and event.button == 3:
            self._take_step(keys.on_click(self.state, spot, "right"))

    def on_mouse_up(self, event: MouseUp) -> None:
        """Finish a click on the same spot, or a drag to another."""
        source, self._mouse_down = self._mouse_down, None
        spot = self.spot_at(event)
        if not source or not spot:
            return
        if spot != source:
            self._last_click = None
            self._take_step(keys.on_drag(self.state, source, spot))
            return
        now, last = time.monotonic(), self._last_click
        double = last is not None and last[0] == spot and now - last[1] < DOUBLE_CLICK_S
        self._last_click = None if double else (spot, now)
        self._take_step(keys.on_click(self.state, spot, "double" if double else "left"))

    def _take_step(self, step: Step) -> None:
        state, command = step
        self._show(state)
        if command:
            self._run_command(command)

    # Commands.

    def _run_command(self, command: Command) -> None:
        match command:
            case "quit":
                self.app.exit()
            case "type":
                line = LineInput(self.state.typeable, self._history, "a move, such as d1; Tab completes it")
                self.mount(line, before=self.query_one(Footer))
                line.focus()
                self._change(notice=Notice(" ".join(self.state.typeable), ""))
            case "copy-link":
                self._copy_link()
            case "copy-result":
                self._start(self._copy_result())
            case "open-replay":
                self._start(self._open_replay())
            case RaceAgain():
                self._start(self._race_again(command))
            case SendReaction(reaction=reaction):
                self._start(self._react(reaction))
            case Show(text=text):
                self._show_text(text)
            case Ask(question=question, then=then):
                self.app.push_screen(Question(question), lambda yes: self._take_step(then(self.state)) if yes else None)
            case Choose(title=title, options=options):
                self._choose(title, options)
            case _:
                self._start(self._send(command))

    def _show_text(self, text: Text) -> None:
        title = TITLES[text].format(game=self.state.game.title if self.state.game else "the game")
        dialog = TextDialog(
            title,
            lambda width: text_lines(self.state, text, width),
            self._look,
            copies=text == "link",
            plain=self.state.ascii,
        )
        self.app.push_screen(dialog, lambda copy: self._copy_link() if copy else None)

    def _choose(self, title: str, options: Mapping[str, Run]) -> None:
        def choose(index: int | None) -> None:
            if index is not None:
                self._take_step(tuple(options.values())[index](self.state))

        self.app.push_screen(Choice(title, tuple(options)), choose)

    def on_input_changed(self, event: LineInput.Changed) -> None:
        """Show what the line can become."""
        line = event.input
        if isinstance(line, LineInput):
            self._change(notice=Notice(" ".join(line.matches()), ""))

    def on_input_submitted(self, event: LineInput.Submitted) -> None:
        """Play the typed move."""
        event.input.remove()
        text = event.value.strip().lower()
        self._change(notice=None)
        if not text:
            return
        self._history.append(text)
        if text in ("resign", "finish", RESTART):
            self._take_step((ask_to_restart if text == RESTART else ask_to_resign)(self.state))
        elif self.state.pending is None and self.state.can_play:
            self._take_step(play(self.state, text))

    def _copy_link(self) -> None:
        self.app.copy_to_clipboard(self.state.link)
        self._change(notice=Notice("The link was sent to the terminal's clipboard. It is also printed when you quit."))

    async def _copy_result(self) -> None:
        try:
            text = await asyncio.to_thread(self._api.share_text, self.state.race_id, self.state.seat)
        except Failure as failure:
            self._change(notice=Notice(failure.format_message(), "bad"))
            return
        self.app.copy_to_clipboard(text)
        line, _, _ = text.partition("\n")
        self._change(notice=Notice(f"Sent to the terminal's clipboard: {line}"))

    async def _open_replay(self) -> None:
        from samedeal_cli.commands.replays import outcome, player_of
        from samedeal_cli.full_screen.replay_screen import ReplayScreen

        try:
            replay = read(await fetch_archived(self._api, self.state.race_id, REPLAY_TIMEOUT_S))
            keys = await asyncio.to_thread(self._api.keys)
            player = await asyncio.to_thread(player_of, replay, plain=self.state.ascii)
        except (Failure, Refused) as failure:
            text = failure.text if isinstance(failure, Refused) else failure.format_message()
            self._change(notice=Notice(text, "bad"))
            return
        playing = replace(player, playing=True)
        self.app.push_screen(ReplayScreen(playing, self._look, lambda: outcome(replay, keys)))
