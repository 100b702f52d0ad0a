"""The command ``demo``: a server to be thrown away, bots that race on it, and a seat for whoever looks."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from samedeal.games.catalogue import GAMES
from samedeal.proof.receipts import about
from samedeal.proof.verification import verify
from samedeal.race.race import Standing
from samedeal.replays.replay import Replay, read
from samedeal.wire import codec
from samedeal_cli.commands.bot import Pause, RandomPlayer, play, thinking
from samedeal_cli.commands.invite import qr_lines
from samedeal_cli.commands.mode import Mode, mode_option
from samedeal_cli.commands.parameters import SEED
from samedeal_cli.commands.serve import OPEN, PORT, Server, announced, check_installed, served
from samedeal_cli.failure import Declined, Misused, Unverified
from samedeal_cli.net.connection import Connection
from samedeal_cli.net.http_api import Opened
from samedeal_cli.render.phrases import clock, with_unique_names
from samedeal_cli.render.text_width import cells
from samedeal_cli.render.transcript import in_ascii, results
from samedeal_cli.running import run
from samedeal_cli.settings import Settings, examples, program, state_dir

NAMES: Final = ("ada", "bo", "cy", "dee", "eli", "fay", "gus", "hal")
ARCHIVE_S: Final = 10.0
"""How long a replay may take to appear after a race."""
ONCE_MOVES: Final = 120
"""How many moves a bot makes at most in the race of ``--once``, which is not to last."""
BETWEEN_S: Final = 4.0
"""The pause between two races of the bots."""
KEYS: Final = "   [Enter] seat  [w]  [q]"
"""A reminder at the end of the live line."""


@click.command(epilog=examples("samedeal demo", "samedeal demo --game gallery --bots 3 --speed 4"))
@click.option("--bots", type=click.IntRange(1, len(NAMES)), default=2, show_default=True, help="How many bots race.")
@click.option("--speed", type=click.FloatRange(0, min_open=True), default=1.0, show_default=True, help="How fast.")
@click.option("--game", type=click.Choice(list(GAMES)), default="corners", show_default=True, help="What is played.")
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="The first port to try.")
@click.option("--seed", type=SEED, metavar="TEXT", help="Makes the deals open ones, with this seed.")
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Where to save a replay.")
@click.option("--once", is_flag=True, help="Run one race of the bots, say how it ended, and stop.")
@click.option("--lan", is_flag=True, help="Let others in the same network in.")
@mode_option
@click.pass_obj
def demo(
    settings: Settings,
    bots: int,
    speed: float,
    game: str,
    port: int,
    seed: str | None,
    save: Path | None,
    once: bool,
    lan: bool,
    mode: Mode | None,
) -> int:
    """Start a server and a race against bots, here and now.

    Ctrl-C or q stops it; the server and all it knows are thrown away then. With --once it needs no terminal: a check
    that everything works. --save takes the ending of FILE for its form, .json or .msgpack.
    """
    check_installed()
    if once and bots < 2:
        raise Misused("a race without you takes two bots or more")
    if settings.json and not once:
        raise Misused("--json goes with --once")
    if save and not save.parent.is_dir():
        raise Misused(f"{save.parent}: there is no such folder")
    plan = Plan(game, bots, speed, seed, save, mode)
    if once:
        return run(_once(settings, plan, port))
    with suppress(KeyboardInterrupt, SystemExit):  # a demo ends no other way, so that is as it should be
        run(_live(settings, plan, port, lan))
    settings.say("stopped, and nothing of it is left")
    return 0


# Races of bots.


@dataclass(frozen=True)
class Plan:
    """What was asked for."""

    game: str
    bots: int
    speed: float
    seed: str | None
    save: Path | None
    mode: Mode | None = None
    """How people play and look on from here."""


@dataclass
class BotRace:
    """A race that bots have seats in."""

    opened: Opened
    keep_in: Path | None
    """Where the bots keep their receipts; nowhere, unless a replay is saved that they can be held against."""
    connections: list[Connection] = field(default_factory=list)
    """Those of the bots."""
    seated: bool = False
    """Whether all of them have their seats."""

    @property
    def id(self) -> str:
        return self.opened.race

    @property
    def title(self) -> str:
        return GAMES[self.opened.header.game].title

    @property
    def bots(self) -> str:
        """The bots by name."""
        return " and ".join(
            standing.name for standing in with_unique_names(self.standings) if standing.seat in self._own
        )

    @property
    def _own(self) -> set[int | None]:
        """The seats of the bots: programs of guests are bots too, but not ours."""
        return {connection.seat for connection in self.connections}

    @property
    def standings(self) -> tuple[Standing, ...]:
        return self.connections[0].standings if self.connections else ()

    @property
    def stage(self) -> str:
        return self.connections[0].view.stage if self.connections else "open"

    def somebody_races(self) -> bool:
        """Whether the race runs, and some person in it has not stopped for good."""
        people = [standing for standing in self.standings if not standing.bot]
        return self.stage in ("countdown", "running") and any(not standing.done for standing in people)

    def guests_are_ready(self) -> bool:
        """Whether somebody came, a person or a program, and all who came are ready."""
        guests = [standing for standing in self.standings if standing.seat not in self._own]
        return bool(guests) and all(standing.outcome == "ready" for standing in guests)


async def _opened(server: Server, plan: Plan, **options: int) -> BotRace:
    body: dict[str, Any] = {"game": plan.game, "options": options}
    if plan.seed is not None:
        body["seed"] = plan.seed
    return BotRace(await asyncio.to_thread(server.api.open_race, body), state_dir() if plan.save else None)


async def _played(
    server: Server,
    race: BotRace,
    names: tuple[str, ...],
    *,
    pause: Pause,
    moves: int = 400,
    with_guests: bool = False,
) -> Replay:
    """Have bots sit down and play to the end; then the replay, verified and held against what they were told."""
    async with AsyncExitStack() as stack:
        for name in names:
            connection = Connection(server.url, race.id, name=name, bot=True, keep_in=race.keep_in)
            race.connections.append(await stack.enter_async_context(connection))
        race.seated = True
        ready = race.guests_are_ready if with_guests else lambda: True
        players = (
            play(connection, RandomPlayer(moves=moves), pause=pause, ready_when=ready)
            for connection in race.connections
        )
        await _together(*players)
    return await _checked(server, race)


async def _together(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run all to their ends; if one fails the others are stopped and its error is the error."""
    try:
        async with asyncio.TaskGroup() as group:
            for coroutine in coroutines:
                group.create_task(coroutine)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors


async def _checked(server: Server, race: BotRace) -> Replay:
    """The replay of a race that is over. Raises Unverified if anything about it does not hold."""
    loop = asyncio.get_running_loop()
    until = loop.time() + ARCHIVE_S
    while True:
        try:
            data = await asyncio.to_thread(server.api.fetch, f"/replays/{race.id}.json")
            break
        except Declined as declined:
            if declined.code not in ("not-found", "replay-sealed") or loop.time() > until:
                raise
        await asyncio.sleep(0.1)
    replay = read(data)
    told = about(replay.header, [connection.receipts for connection in race.connections])
    if failed := [fact for fact in await asyncio.to_thread(verify, replay, receipts=told) if not fact.holds]:
        raise Unverified(f"the replay of {race.id} does not hold: {failed[0].note}")
    return replay


def _save(replay: Replay, path: Path) -> None:
    try:
        path.write_bytes(codec.encode(replay, "msgpack" if path.suffix == ".msgpack" else "json"))
    except OSError as error:
        raise Misused(f"{path}: {error.strerror}") from error


# One race, for checks.


async def _once(settings: Settings, plan: Plan, port: int) -> int:
    async with served(port) as server:
        delay, limit = min(3_000, round(3_000 / plan.speed)), 30 * 60_000
        race = await _opened(server, plan, start_delay_ms=delay, limit_ms=limit, max_racers=plan.bots)
        settings.say(f"{race.title}: {race.id} at {server.url}, {plan.bots} bots")
        names = NAMES[: plan.bots]
        replay = await _played(server, race, names, pause=thinking(plan.speed), moves=ONCE_MOVES)
        if plan.save:
            _save(replay, plan.save)
        for line in results(replay.standings):
            settings.say(line)
        settings.say(f"verified: {len(replay.entries)} entries")
    if settings.json:
        document = {
            "race": race.id,
            "game": race.opened.header.game,
            "standings": replay.standings,
            "replay": str(plan.save) if plan.save else None,
            "verified": True,
        }
        click.echo(msgspec.json.encode(document))
    return 0


# Races that go on, for people.


async def _live(settings: Settings, plan: Plan, port: int, lan: bool) -> None:
    async with served(port, lan=lan) as server:
        with announced(server):
            if server.port != port:
                settings.say(f"port {port} is taken: this is on {server.port}")
            await Show(settings, plan, server, lan=lan).run()


class Show:
    """Races of bots one after another, and beside them always one that waits for people."""

    def __init__(self, settings: Settings, plan: Plan, server: Server, *, lan: bool) -> None:
        self._settings, self._plan, self._server, self._lan = settings, plan, server, lan
        self._interactive = sys.stdin.isatty() and sys.stdout.isatty() and os.name == "posix"
        self._redraws = not settings.screen_reader and os.environ.get("TERM") != "dumb"
        self._racing: BotRace | None = None
        self._offered: BotRace | None = None
        self._mine: BotRace | None = None
        """The race that was last joined from here."""
        self._away = False
        """Whether the terminal is lent to another command; what is to be said has to wait."""
        self._unsaid: list[str] = []
        self._shown = ""
        self._drawn = False
        """Whether the last line on the terminal is the live one."""

    async def run(self) -> None:
        """Go on until it is enough."""
        tasks = [asyncio.create_task(work()) for work in (self._exhibit, self._offer, self._attend)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # What goes on.

    async def _exhibit(self) -> None:
        """One race of bots after another."""
        names = NAMES[: max(2, self._plan.bots)]
        while True:
            race = await _opened(self._server, self._plan, start_delay_ms=1_000, max_racers=len(names))
            self._racing = race
            self._tell_end(race, await _played(self._server, race, names, pause=thinking(self._plan.speed)))
            await asyncio.sleep(BETWEEN_S)

    async def _offer(self) -> None:
        """A race that waits for people; as soon as it has begun, the next one."""
        async with asyncio.TaskGroup() as group:
            while True:
                race = await _opened(self._server, self._plan, start_delay_ms=3_000)
                group.create_task(self._host(race))
                self._offered = race
                while race.stage == "open":  # noqa: ASYNC110 (only its players hear of it)
                    await asyncio.sleep(0.2)

    async def _host(self, race: BotRace) -> None:
        names = (*NAMES, *NAMES)[-self._plan.bots - 1 : -1]
        pause = thinking(self._plan.speed)
        self._tell_end(race, await _played(self._server, race, names, pause=pause, with_guests=True))
        self._invite()

    async def _attend(self) -> None:
        """The first screen as soon as there is something to look at; then whatever is wanted."""
        while not (self._racing and self._racing.seated and self._offered and self._offered.seated):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        self._greet(self._racing)
        if not self._interactive:
            await asyncio.Event().wait()
        drawing = asyncio.create_task(self._draw())
        try:
            while (key := await _key()) not in ("q", "Q", "\x04", ""):
                if key in "\r\n":
                    self._mine = self._mine if self._mine and self._mine.somebody_races() else self._offered
                    await self._lend("join", self._mine)
                elif key in "wW":
                    await self._lend("watch", self._racing)
        finally:
            drawing.cancel()
            self._wipe()

    async def _lend(self, command: str, race: BotRace) -> None:
        """Lend the terminal to another command of this program until it ends."""
        self._wipe()
        self._away = True
        # Ctrl-C is for the other command now.
        heard = signal.signal(signal.SIGINT, lambda *_: None)
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
            signal.signal(signal.SIGINT, heard)
            self._away = False
        unsaid, self._unsaid = self._unsaid, []
        for line in unsaid:
            self._say(line)
        if command == "watch" or not unsaid:
            self._invite()

    # What is said.

    def _greet(self, racing: BotRace) -> None:
        program = f"samedeal {metadata.version('samedeal')}"
        self._say(f"{program} · a throw-away server: when it stops, its data goes too")
        self._say("")
        self._say(f"  racing now      {racing.title} · {racing.id} · bots {racing.bots}")
        self._say(f"  store           embedded Valkey, socket only, nothing listening but {self._server.port}")
        self._invite()

    def _invite(self) -> None:
        race = self._offered
        if race is None:
            return
        seed = race.opened.header.seed
        self._say("")
        self._say(f"  your race       {race.title} · {race.id} · {'sealed deal' if seed is None else f'seed {seed}'}")
        self._say(f"                  {race.bots} are seated and start when you are ready")
        self._say(f"  in a terminal   {program()} join {race.id}")
        self._say(f"  for a friend    {'samedeal' if self._lan else program()} join {self._server.link}/r/{race.id}")
        if not self._lan:
            self._say("                  (on this machine; --lan opens it to the whole network)")
        else:
            self._say(f"                  ({OPEN})")
            self._show_code(f"{self._server.link}/r/{race.id}")
        self._say(f"  for a program   {program()} bot {race.id} --exec ./mybot")
        self._say("")
        if self._interactive:
            back = self._mine and self._mine.somebody_races()
            enter = f"go back to {self._mine.id}" if self._mine and back else "take a seat"
            self._say(f"  [Enter] {enter}   [w] watch the bots   [q] stop")
            self._say("")

    def _show_code(self, link: str) -> None:
        """A link for those with a camera, once."""
        if link != self._shown:
            for line in qr_lines(link, ascii=self._settings.plain, color=self._settings.colored):
                self._say(f"  {line}")
        self._shown = link

    def _tell_end(self, race: BotRace, replay: Replay) -> None:
        if self._plan.save:
            _save(replay, self._plan.save)
        self._say(f"{race.title} · {race.id} is over: {len(replay.entries)} entries, verified")
        for line in results(replay.standings):
            self._say(line)
        self._say(f"    {program()} replay {race.id}")
        self._say(f"    {program()} par {race.id}")

    def _say(self, line: str) -> None:
        if self._away:
            self._unsaid.append(line)
            return
        self._wipe()
        click.echo(in_ascii(line) if self._settings.plain else line)

    async def _draw(self) -> None:
        """Keep the last line alive: how the bots stand."""
        while True:
            await asyncio.sleep(0.5)
            race = self._racing
            if self._redraws and race and race.stage == "running" and not self._away:
                line = _live_line(race, shutil.get_terminal_size().columns - 1, plain=self._settings.plain)
                click.echo(f"\r\x1b[K{line}", nl=False)
                self._drawn = True

    def _wipe(self) -> None:
        if self._drawn:
            click.echo("\r\x1b[K", nl=False)
            self._drawn = False


def _live_line(race: BotRace, width: int, *, plain: bool) -> str:
    """How the racers stand, on one line."""
    left = race.connections[0].left_ms
    line = f"  {clock(race.opened.header.options.limit_ms - left)[:-2]}" if left is not None else " "
    full, empty = ("#", "-") if plain else ("█", "░")
    for standing in with_unique_names(race.standings):
        done = round(standing.progress * 10)
        part = f"   {standing.name} {full * done}{empty * (10 - done)} {standing.home}/{standing.goal}"
        if cells(line + part) > width:
            break
        line += part
    return line + KEYS if cells(line + KEYS) <= width else line


async def _key() -> str:
    """The next key, without Enter after it; empty at the end of the input."""
    import termios
    import tty

    loop, fd = asyncio.get_running_loop(), sys.stdin.fileno()
    pressed: asyncio.Future[str] = loop.create_future()

    def read_one() -> None:
        loop.remove_reader(fd)
        if not pressed.done():
            pressed.set_result(os.read(fd, 1).decode(errors="replace"))

    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    loop.add_reader(fd, read_one)
    try:
        return await pressed
    finally:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
