"""The live demo: bots race on the terminal's last line while another race waits for people."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from typing import Final

import click

from samedeal.replays.replay import Replay
from samedeal.share.phrases import achieved
from samedeal.version import VERSION
from samedeal_cli.bots.bot import rematch
from samedeal_cli.bots.demo_races import NAMES, BotRace, Plan
from samedeal_cli.commands.output import print_line
from samedeal_cli.local_server import OPEN
from samedeal_cli.net.temporary_server import Server
from samedeal_cli.render.phrases import clock, standing_sentences, with_unique_names
from samedeal_cli.render.qr_code import qr_lines
from samedeal_cli.render.text_width import cells
from samedeal_cli.running import first_of
from samedeal_cli.settings import Settings, program

BETWEEN_S: Final = 4.0
"""Pause between two races of bots."""
WAIT_S: Final = 3600.0
"""How long bots wait for a rematch: longer than anybody looks at the results."""
KEYS: Final = "   [Enter] join  [w]  [q]"
"""A reminder at the end of the live line."""


class Show:
    """Runs races of bots one after another, and always keeps one race open for people."""

    def __init__(self, settings: Settings, plan: Plan, server: Server, *, lan: bool, token: str | None) -> None:
        """`token` is that of the user, who is the host of the races for people."""
        self._settings, self._plan, self._server, self._lan, self._token = settings, plan, server, lan, token
        self._interactive = sys.stdin.isatty() and sys.stdout.isatty() and os.name == "posix"
        self._redraws = not settings.screen_reader and os.environ.get("TERM") != "dumb"
        self._bot_race: BotRace | None = None
        self._open_race: BotRace | None = None
        self._joined_race: BotRace | None = None
        """The last race that was joined from this terminal."""
        self._lent = False
        """Whether another command uses the terminal. Output is buffered until it exits."""
        self._buffer: list[str] = []
        self._qr_link = ""
        self._live_line_shown = False

    async def run(self) -> None:
        """Run until the user quits."""
        try:
            await first_of(self._run_bot_races(), self._run_open_races(), self._interact())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors

    async def _run_bot_races(self) -> None:
        names = NAMES[: max(2, self._plan.bots)]
        while True:
            options: dict[str, int | str] = {"start_delay_ms": 1_000, "max_racers": len(names), "spectators": "open"}
            self._bot_race = race = await BotRace.open(self._server, self._plan, None, **options)
            async with race.seated(names):
                replay = await race.run()
            self._show_result(race, replay)
            await asyncio.sleep(BETWEEN_S)

    async def _run_open_races(self) -> None:
        """Keep one race open for people: when it starts, open the next one."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._open_race = race = await BotRace.open(self._server, self._plan, self._token, start_delay_ms=3_000)
                group.create_task(self._host(race))
                while race.stage == "open":  # noqa: ASYNC110 (only its players are notified)
                    await asyncio.sleep(0.2)

    async def _host(self, race: BotRace) -> None:
        """Let bots race against people, as often as these want a rematch."""
        names = (*NAMES, *NAMES)[-self._plan.bots - 1 : -1]
        next_id: str | None = race.id
        while next_id:
            if next_id != race.id:
                before, race = race, race.rematch(next_id)
                if self._joined_race is before:
                    self._joined_race = race
            async with race.seated(names):
                self._show_result(race, await race.run(with_guests=True))
                self._show_open_race()
                next_id = await rematch(race.connections[0], WAIT_S)

    async def _interact(self) -> None:
        """Show the first screen once both races have their bots, then handle keys."""
        while not all(race and race.has_bots for race in (self._bot_race, self._open_race)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        if self._bot_race:
            self._show_first_screen(self._bot_race)
        if not self._interactive:
            await asyncio.Event().wait()
        drawing = asyncio.create_task(self._draw_live_line())
        try:
            while (key := await _read_key()) not in ("q", "Q", "\x04", ""):
                if key in "\r\n":
                    if not (self._joined_race and self._joined_race.has_active_person()):
                        self._joined_race = self._open_race
                    await self._lend_terminal("join", self._joined_race)
                elif key in "wW":
                    await self._lend_terminal("watch", self._bot_race)
        finally:
            drawing.cancel()
            self._clear_live_line()

    async def _lend_terminal(self, command: str, race: BotRace | None) -> None:
        """Run another command of this program on the terminal until it exits."""
        if race is None:
            return
        self._clear_live_line()
        self._lent = True
        handler = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the other command
        try:
            words = (sys.executable, "-m", "samedeal_cli.main", "--server", self._server.url, command, race.id)
            mode = (f"--{self._plan.mode}",) if self._plan.mode else ()
            process = await asyncio.create_subprocess_exec(*words, *mode)
            try:
                await process.wait()
            except asyncio.CancelledError:
                process.terminate()
                await process.wait()
                raise
        finally:
            signal.signal(signal.SIGINT, handler)
            self._lent = False
        buffer, self._buffer = self._buffer, []
        self._say(*buffer)
        if command == "watch" or not buffer:
            self._show_open_race()

    # Output.

    def _show_first_screen(self, race: BotRace) -> None:
        self._say(
            f"samedeal {VERSION} · temporary server: its data is deleted when it stops",
            "",
            f"  racing now      {race.title} · {race.id} · bots {race.bots}",
            f"  store           embedded Valkey on a socket; the only open port is {self._server.port}",
        )
        self._show_open_race()

    def _show_open_race(self) -> None:
        if (race := self._open_race) and race.connections:
            self._say(*self._invitation(race, f"{self._server.link}/r/{race.id}"))

    def _invitation(self, race: BotRace, link: str) -> Iterator[str]:
        """How to join a race; in a network, also with its QR code, once."""
        seed = race.header.seed
        yield ""
        yield f"  your race       {race.title} · {race.id} · {'secret shuffle' if seed is None else f'seed {seed}'}"
        yield f"                  {race.bots} will start when you are ready"
        yield f"  in a terminal   {program()} join {race.id}"
        yield f"  for a friend    {'samedeal' if self._lan else program()} join {link}"
        yield f"                  ({OPEN if self._lan else 'on this machine only; to allow your network, use --lan'})"
        if self._lan and link != self._qr_link:
            self._qr_link = link
            yield from (f"  {row}" for row in qr_lines(link, ascii=self._settings.plain, color=self._settings.colored))
        yield f"  for a program   {program()} bot {race.id} --exec ./mybot"
        yield ""
        if self._interactive:
            joined = self._joined_race
            enter = f"return to {joined.id}" if joined and joined.has_active_person() else "join"
            yield f"  [Enter] {enter}   [w] watch the bots   [q] quit"
            yield ""

    def _show_result(self, race: BotRace, replay: Replay) -> None:
        self._say(
            f"{race.title} · {race.id} is over: {len(replay.entries)} entries, verified",
            *standing_sentences(replay.standings, replay.header.game),
            f"    {program()} replay {race.id}",
            f"    {program()} par {race.id}",
        )

    def _say(self, *lines: str) -> None:
        if self._lent:
            self._buffer += lines
            return
        self._clear_live_line()
        for line in lines:
            print_line(self._settings, line)

    async def _draw_live_line(self) -> None:
        """Keep redrawing the last line with the standings of the bots."""
        while True:
            await asyncio.sleep(0.5)
            race = self._bot_race
            if self._redraws and race and race.stage == "running" and not self._lent:
                line = _live_line(race, shutil.get_terminal_size().columns - 1, plain=self._settings.plain)
                click.echo(f"\r\x1b[K{line}", nl=False)
                self._live_line_shown = True

    def _clear_live_line(self) -> None:
        if self._live_line_shown:
            click.echo("\r\x1b[K", nl=False)
            self._live_line_shown = False


def _live_line(race: BotRace, width: int, *, plain: bool) -> str:
    """The time and the standings of a race on one line."""
    left = race.connections[0].left_ms
    line = f"  {clock(race.header.options.limit_ms - left)[:-2]}" if left is not None else " "
    game, (full, empty) = race.header.game, ("#", "-") if plain else ("█", "░")
    for standing in with_unique_names(race.standings):
        done, result = round(standing.progress * 10), (standing.home, standing.goal, standing.outcome)
        part = f"   {standing.name} {full * done}{empty * (10 - done)} {achieved(game, *result, short=True)}"
        if cells(line + part) > width:
            break
        line += part
    return line + KEYS if cells(line + KEYS) <= width else line


async def _read_key() -> str:
    """Return the next key without waiting for Enter, or an empty string at the end of the input."""
    import termios
    import tty

    loop, fd = asyncio.get_running_loop(), sys.stdin.fileno()
    key: asyncio.Future[str] = loop.create_future()

    def read_one() -> None:
        loop.remove_reader(fd)
        if not key.done():
            key.set_result(os.read(fd, 1).decode(errors="replace"))

    before = termios.tcgetattr(fd)
    tty.setcbreak(fd, termios.TCSADRAIN)  # keeps keys that were typed early
    loop.add_reader(fd, read_one)
    try:
        return await key
    finally:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
