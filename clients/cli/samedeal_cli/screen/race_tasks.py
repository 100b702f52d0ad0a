"""What the screen of a race does over the network: its connection, commands, and what it fetches afterwards."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import msgspec

from samedeal.analysis.analysis import Analysis
from samedeal.errors import Refused
from samedeal.race.server_bots import Level
from samedeal.replays.replay import Replay, read
from samedeal.scores.tallies import Versus
from samedeal.solver.solve import SOLVERS
from samedeal.wire import messages as m
from samedeal.wire.documents import Daily, OpenedRace, PlayerPage, RacePar
from samedeal_cli.addresses import is_local
from samedeal_cli.failure import TOO_LATE, Declined, Failure
from samedeal_cli.net.connection import Connection, Lost, Restored
from samedeal_cli.net.http_api import Api, ParProgress, ghost_request, heat_request, race_request, rematch_request
from samedeal_cli.net.practice_connection import Practice
from samedeal_cli.net.replay_loader import fetch_archived, verify_race
from samedeal_cli.screen.canvas_widget import CanvasScreen
from samedeal_cli.searches import analysis_of_race
from samedeal_cli.settings import Settings
from samedeal_cli.state import race_keys, race_update
from samedeal_cli.state.race_commands import Command, PlayMove, RaceAgain, Step
from samedeal_cli.state.race_state import Check, Notice, RaceState, state_of_next_race

REPLAY_TIMEOUT_S: Final = 10.0
"""How long to wait for the replay after a race, and until the race counts."""
PAR_TIMEOUT_S: Final = 60.0
"""How long to wait for par."""
MAX_RIVALS: Final = 3
"""Against how many racers the records are shown."""

Connect = Callable[[str, bool], Connection]
"""Returns a connection to the race with an id, and whether only to watch it."""


class RaceTasks(CanvasScreen):
    """Follows a race and its rematches. Subclasses show the state and run commands."""

    analyse: Callable[[Replay], Awaitable[Analysis]] = staticmethod(analysis_of_race)
    """Returns the analysis of a finished race."""

    def __init__(
        self,
        state: RaceState,
        connect: Connect,
        api: Api,
        settings: Settings,
        *,
        ready: bool = False,
        bot: Level | None = None,
        open_race: Callable[[dict[str, object]], OpenedRace] | None = None,
    ) -> None:
        """Start from `state`; with `ready`, get ready as soon as the race accepts it, after adding a `bot`.

        `open_race` opens a race for the user; by default, the guest of the connection opens it.
        """
        super().__init__()
        self.state = state
        self.failure: BaseException | None = None
        """The error that ended the app, if any."""
        self.left = False
        """Whether the player gave up the seat."""
        self.connection: Connection | None = None
        self._connect, self._api, self._settings, self._ready_at_once = connect, api, settings, ready
        self._open_race, self._bot = open_race, bot
        self._race_task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        """Set when the race is over, by a broadcast or by an answer."""
        self._tasks: set[asyncio.Task[None]] = set()

    def _show(self, state: RaceState) -> None:
        """Show another state."""
        raise NotImplementedError

    def _take_step(self, step: Step) -> None:
        """Show a step's state and run its command."""
        raise NotImplementedError

    async def on_unmount(self) -> None:
        """Cancel all tasks, which closes the connection."""
        for task in tuple(self._tasks):
            if task is not asyncio.current_task():
                if not task.cancelling():  # a second time would interrupt the closing of a connection
                    task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def _change(self, **fields: Any) -> None:
        self._show(replace(self.state, **fields))

    def _update_snapshot(self) -> None:
        if connection := self.connection:
            now = connection.view, connection.standings, connection.left_ms, connection.ghosts
            stage, called = self.state.stage, self.state.rematch and self.state.rematch.race
            self._show(race_update.update(self.state, *now))
            calls = self.state.rematch is not None and self.state.rematch.race != called
            calls |= stage != self.state.stage and (self.state.stage == "countdown" or self.state.confetti > 0)
            if calls:
                self.app.bell()
            if connection.over:
                self._ended.set()
            if self.state.stage == "cancelled" != stage and self.state.rematch:
                self._follow(self.state.rematch.race)

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def _on_task_done(self, task: "asyncio.Task[None]") -> None:
        """Quit on an error; the caller reports it after the terminal is restored."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.failure = self.failure or error
            self.app.exit()

    async def _try(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work, and show its failure as a notice."""
        try:
            await work
        except (Refused, Failure) as error:
            self._change(notice=Notice(reason(error), "bad"))

    async def _send(self, command: Command) -> None:
        """Send a command to the server and show the answer."""
        connection = self.connection
        if connection is None:
            return
        try:
            match command:
                case PlayMove(move=move):
                    await connection.move(move)
                case m.Request():
                    await connection.request(command)
                case _:
                    raise AssertionError(command)
            if isinstance(command, m.Leave):
                self.left = True
                self.close()
        except (Refused, Declined) as refused:
            self._show(race_update.move_refused(self.state, reason(refused)))
            return
        except Failure:
            return  # _receive gets the same error, and ends the app
        self._update_snapshot()
        self._take_step(race_keys.handle_queued_key(self.state))

    async def _get_ready(self) -> None:
        """Get ready, in the first race after adding a bot."""
        if bot := self._bot:
            self._bot = None
            await self._send(m.Bot(id=0, level=bot))
        await self._send(m.Ready(id=0))

    async def _advise(self, *, hint: bool) -> None:
        """In practice, show a hint or a verdict on the last move."""
        self._change(notice=Notice("Searching…", ""))
        if isinstance(self.connection, Practice) and (advice := await self.connection.advice()):
            self._show(race_update.advised(self.state, advice, hint=hint))

    async def _react(self, reaction: m.ReactionName) -> None:
        if self.connection:
            self._show(race_update.reaction_sent(self.state, await self.connection.react(reaction)))

    def _copy_link(self) -> None:
        self.app.copy_to_clipboard(self.state.link)
        more = "Only this machine can open it." if is_local(self.state.link) else "Ctrl-L shows it."
        self._change(notice=Notice(f"Link copied. {more}"))

    async def _copy_result(self) -> None:
        text = await asyncio.to_thread(self._api.share_text, self.state.race_id, self.state.seat)
        self.app.copy_to_clipboard(text)
        self._change(notice=Notice(f"Copied: {text.splitlines()[0]}"))

    async def _race_again(self, command: RaceAgain) -> None:
        """Join the rematch, race against the ghosts, or open a race like this one if the user has no seat in it."""
        header, connection = self.state.header, self.connection
        if header is None or connection is None:
            return
        rematch = None if command.ghosts else self.state.rematch
        race_id, link = (rematch.race, f"{self._api.server}/r/{rematch.race}") if rematch else ("", "")
        if self.state.me or not rematch:
            if command.ghosts:
                body = ghost_request(header.race)
            elif self.state.may_rematch:
                body = rematch_request(header.race, command.game)
            elif header.heat:
                body = heat_request(header.heat.challenge, self.state.next_deal or 1)
            else:  # another deal with the same game and options
                options, variants = msgspec.to_builtins(header.options), tuple(header.variant.items())
                body = race_request(header.game, None, options, variants=variants)
            open_race = self._open_race or partial(self._api.open_race, token=connection.token)
            opened = await asyncio.to_thread(open_race, body)
            race_id, link = opened.race, opened.link
        self._enter(state_of_next_race(self.state, race_id, link), ready=True)

    def _follow(self, race_id: str) -> None:
        """Move to the race with which the host has replaced this one, where nobody is ready yet."""
        next_race = state_of_next_race(self.state, race_id, f"{self._api.server}/r/{race_id}")
        changed = Notice("The host has changed the game or its options.")
        self._enter(replace(next_race, watching=self.state.watching, notice=changed), ready=False)

    def _enter(self, state: RaceState, *, ready: bool) -> None:
        """Leave this race for another one."""
        if self._race_task:
            self._race_task.cancel()
        self.connection, self._ready_at_once = None, ready
        self._show(state)
        self._race_task = self._start(self._run_next_race(state.race_id))

    # The race.

    async def _run_next_race(self, race_id: str) -> None:
        """Take a seat in another race, or watch it if it has started or is full."""
        try:
            await self._run_race(race_id)
        except Declined as declined:
            if declined.code not in TOO_LATE:
                raise
            self._change(watching=True, notice=Notice("You were too late to take a seat. You are watching.", "bad"))
            await self._run_race(race_id)

    async def _run_race(self, race_id: str) -> None:
        """Follow a race to its end, then verify it and fetch par."""
        async with self._connect(race_id, self.state.watching) as connection:
            self.connection = connection
            if connection.race_id != race_id:  # the host has replaced it
                race_id = connection.race_id
                self._change(race_id=race_id, link=f"{self._api.server}/r/{race_id}")
            self._ended.clear()
            game = await asyncio.to_thread(self._api.game, connection.header.game)
            away_s = await asyncio.to_thread(self._api.away_s) if connection.view.stage == "open" else None
            self._change(header=connection.header, game=game, away_s=away_s)
            self._update_snapshot()
            if connection.header.follows:
                self._start(self._fetch_evening(race_id))
            is_alone = connection.header.options.max_racers == 1
            if (self._ready_at_once or is_alone) and self.state.me and self.state.stage == "open":
                self._start(self._get_ready())
            receiving, ended = asyncio.create_task(self._receive(connection)), asyncio.create_task(self._ended.wait())
            try:
                await asyncio.wait((receiving, ended), return_when=asyncio.FIRST_COMPLETED)
                if receiving.done():
                    receiving.result()
                if self.state.stage == "over":
                    await asyncio.gather(
                        self._fetch_evening(race_id),
                        self._verify(race_id, connection),
                        self._fetch_scores(connection),
                        self._fetch_par(race_id),
                        self._analyse(race_id, connection),
                    )
                with suppress(Failure):  # the race is over: without a connection, only news of a rematch are missing
                    await receiving
            finally:
                for task in (receiving, ended):
                    task.cancel()

    async def _receive(self, connection: Connection) -> None:
        async for news in connection:
            if isinstance(news, m.Reaction):
                self._show(race_update.reaction_sent(self.state, news))
                continue
            if isinstance(news, Lost):
                self._change(connection_error=news.why)
                continue
            if isinstance(news, Restored):
                self._change(connection_error="")
            self._update_snapshot()
            self._take_step(race_keys.handle_queued_key(self.state))

    async def _verify(self, race_id: str, connection: Connection) -> None:
        outcome, detail, facts = await verify_race(self._api, connection)
        if outcome is None:
            self._change(unverified_reason=f"not verified: {detail}")
            return
        where = ("" if fact.entry is None else f" (entry {fact.entry})" for fact in facts)
        checks = tuple(Check(fact.name, fact.holds, fact.note + at) for fact, at in zip(facts, where, strict=True))
        self._change(checks=checks or (Check("replay", False, detail),), key_known=outcome == "verified")

    async def _analyse(self, race_id: str, connection: Connection) -> None:
        """Search for a winning line and for turning points, if the replay is public."""
        if connection.view.deal and connection.header.game in SOLVERS:
            with suppress(Failure, Refused):
                analysis = await self.analyse(read(await fetch_archived(self._api, race_id)))
                if race_id == self.state.race_id:
                    self._change(analysis=analysis)

    async def _fetch(self, path: str, **query: object) -> bytes:
        token = self.connection.token if self.connection else None
        return await asyncio.to_thread(self._api.fetch, path, query=query, token=token)

    async def _fetch_evening(self, race_id: str) -> None:
        with suppress(Failure):
            evening = await asyncio.to_thread(self._api.evening, race_id)
            if race_id == self.state.race_id:
                self._change(evening=evening)

    async def _fetch_scores(self, connection: Connection) -> None:
        """Fetch your scores and records and, once the race counts, the results of the day. Errors leave them out."""
        header, seat, own = connection.header, connection.view.seat, f"/players/{connection.welcome.player}"
        deadline, rivals = time.monotonic() + REPLAY_TIMEOUT_S, list[str]()
        with suppress(Failure):
            while heat := header.heat:
                challenge = await asyncio.to_thread(self._api.challenge, heat.challenge, connection.token)
                self._change(challenge=challenge)
                race, mine = challenge.counts[heat.deal - 1], challenge.yours[heat.deal - 1]
                if mine or race != header.race or time.monotonic() > deadline:
                    return  # the race counts in no scores before the deals are public
                await asyncio.sleep(0.5)
            while seat is not None and not rivals and time.monotonic() < deadline:
                page = self._api.read(await self._fetch(own, limit=5), PlayerPage)
                rivals = [racer.player for race in page.races if race.race == header.race for racer in race.racers]
                if rivals:
                    self._change(scores=page.scores)
                else:
                    await asyncio.sleep(0.5)
            while header.daily:
                daily = self._api.read(await self._fetch(f"/daily/{header.date}/{header.game}"), Daily)
                self._change(daily=daily)
                if daily.yours or seat is None or time.monotonic() > deadline:
                    break
                await asyncio.sleep(0.5)
            for rival in [rival for rival in rivals if rival != connection.welcome.player][:MAX_RIVALS]:
                record = self._api.read(await self._fetch(f"{own}/versus/{rival}"), Versus)
                self._change(records=(*self.state.records, record))

    async def _fetch_par(self, race_id: str) -> None:
        """Poll par until it is complete; give up at the first error."""
        deadline, seat = time.monotonic() + PAR_TIMEOUT_S, self.state.seat
        with suppress(Failure):
            while time.monotonic() < deadline:
                data = await self._fetch(f"/races/{race_id}/par", seat=seat)
                if self._api.read(data, ParProgress).done is None:
                    racers = self._api.read(data, RacePar).racers
                    self._change(par=next((racer.squares for racer in racers if racer.seat == seat), ()))
                    return
                await asyncio.sleep(1)


def reason(error: Refused | Failure) -> str:
    """Return why something failed."""
    return error.text if isinstance(error, Refused) else error.format_message()
