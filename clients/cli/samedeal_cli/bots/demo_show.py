"""The live demo: bots race, and another race of bots waits for people, behind the home screen or a page of text."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from typing import Final

from samedeal.replays.replay import Replay
from samedeal.version import VERSION
from samedeal_cli.bots.bot import rematch
from samedeal_cli.bots.demo_races import NAMES, BotRace, Plan
from samedeal_cli.commands.first_use import with_name
from samedeal_cli.commands.output import print_line
from samedeal_cli.local_server import OPEN
from samedeal_cli.net import guests
from samedeal_cli.net.temporary_server import Server
from samedeal_cli.render.phrases import standing_sentences
from samedeal_cli.render.qr_code import qr_lines
from samedeal_cli.running import first_of
from samedeal_cli.settings import Settings, program

BETWEEN_S: Final = 4.0
"""Pause between two races of bots."""
WAIT_S: Final = 3600.0
"""How long bots wait for a rematch: longer than anybody looks at the results."""


class Show:
    """Runs races of bots one after another, and always keeps one race open for people."""

    def __init__(self, settings: Settings, plan: Plan, server: Server, *, lan: bool, has_screen: bool) -> None:
        """`has_screen` is whether to show the home screen. The user is the host of the races for people then."""
        self._settings, self._plan, self._server, self._lan = settings, plan, server, lan
        self._has_screen = has_screen
        self._bot_race: BotRace | None = None
        self._open_race: BotRace | None = None
        self._token = self._host_token() if has_screen else None

    def _host_token(self) -> str | None:
        """Return the token of the user's player, for whose name a new user is asked."""
        if "SAMEDEAL_TOKEN" in os.environ:
            return None
        settings = with_name(self._settings, self._server.url, None)
        return guests.create(self._server.url, guests.default_name(settings, self._server.url))

    async def run(self) -> None:
        """Run until the user quits."""
        try:
            await first_of(self._run_bot_races(), self._run_open_races(), self._present())
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
            race = race if next_id == race.id else race.rematch(next_id)
            async with race.seated(names):
                self._show_result(race, await race.run(with_guests=True))
                self._show_open_race()
                next_id = await rematch(race.connections[0], WAIT_S)

    async def _present(self) -> None:
        """Show the home screen until the user quits, or the page once both races have their bots."""
        while not all(race and race.has_bots for race in (self._bot_race, self._open_race)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        if not self._has_screen:
            self._show_page()
            await asyncio.Event().wait()
        plain, color = "--ascii" if self._settings.ascii else "--no-ascii", f"--color={self._settings.color}"
        words = (sys.executable, "-m", "samedeal_cli.main", "--server", self._server.url, plain, color)
        handler = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the home screen
        process = await asyncio.create_subprocess_exec(*words)
        try:
            await process.wait()
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
        finally:
            signal.signal(signal.SIGINT, handler)

    # Output without the home screen.

    def _show_page(self) -> None:
        if race := self._bot_race:
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
        """How to join a race; in a network, also with its QR code."""
        seed = race.header.seed
        yield ""
        yield f"  your race       {race.title} · {race.id} · {'secret shuffle' if seed is None else f'seed {seed}'}"
        yield f"                  {race.bots} will start when you are ready"
        yield f"  in a terminal   {program()} join {race.id}"
        yield f"  to watch bots   {program()} watch {self._bot_race.id if self._bot_race else race.id}"
        yield f"  for a friend    {'samedeal' if self._lan else program()} join {link}"
        yield f"                  ({OPEN if self._lan else 'on this machine only; to allow your network, use --lan'})"
        if self._lan:
            yield from (f"  {row}" for row in qr_lines(link, ascii=self._settings.plain, color=self._settings.colored))
        yield f"  for a program   {program()} bot {race.id} --exec ./mybot"

    def _show_result(self, race: BotRace, replay: Replay) -> None:
        self._say(
            f"{race.title} · {race.id} is over: {len(replay.entries)} entries, verified",
            *standing_sentences(replay.standings, replay.header.game),
            f"    {program()} replay {race.id}",
            f"    {program()} par {race.id}",
        )

    def _say(self, *lines: str) -> None:
        if not self._has_screen:
            for line in lines:
                print_line(self._settings, line)
