"""Line mode: a race as lines of text, one fact per line, for terminals, scripts and screen readers."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Final

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.ghosts import Ghost
from samedeal.race.seat import Standing
from samedeal.wire.documents import GameDescription
from samedeal.wire.messages import Board, Progress, Reaction, View
from samedeal_cli.commands.games import TOO_OLD, rules_lines
from samedeal_cli.commands.mode import Boards
from samedeal_cli.line.console import Console
from samedeal_cli.line.descriptions import HELP, Descriptions, find_card, next_commands, outcome_phrase
from samedeal_cli.net.connection import Connection, Lost, News, Restored
from samedeal_cli.render.phrases import (
    change_sentence,
    clock,
    deal_phrase,
    ghost_sentence,
    reaction_named,
    reaction_phrase,
    seat_phrase,
    utc_time,
    with_unique_names,
)
from samedeal_cli.render.text_table import with_cards
from samedeal_cli.settings import Settings
from samedeal_cli.state.race_news import ghost_news, race_news

LAST_S: Final = (60, 10)
QUIT: Final = ("quit", "q", "exit")
BEFORE_THE_DEAL: Final = (
    "",
    "?",
    "h",
    "help",
    "rules",
    "ready",
    "unready",
    "start",
    "remove",
    "standings",
    "clock",
    "last",
    "react",
)
"""Commands that a script may send before the cards are dealt. All others wait for the deal."""
_LIKE_A_MOVE: Final = re.compile(r"([a-z]\d[+-]?)+|w|draw|deal|redeal|undo|restart")
LINGER_S: Final = 2.0
"""Maximum wait for the end of the race after a script has finished and its player is done."""


class LineMode:
    """Plays one race over a connection: prints events and executes typed commands."""

    def __init__(
        self,
        connection: Connection,
        game: GameDescription,
        settings: Settings,
        *,
        boards: Boards,
        interactive: bool,
        width: int,
        away_s: float | None = None,
        rejoin: str = "",
    ) -> None:
        """With `settings.json`, nothing is written to standard output; with `settings.screen_reader`, no prompt is
        shown, so that no line is redrawn. `away_s` is how long the server holds the seat after a disconnect before the
        countdown, in seconds, and `rejoin` the command to return to the seat.
        """
        self._connection, self._game = connection, game
        self._boards, self._interactive, self._width = boards, interactive, width
        self._away_s, self._rejoin = away_s, rejoin
        self._console = Console(
            silent=settings.json,
            prompts=interactive and not settings.screen_reader,
            wrap_width=width if boards == "picture" else None,
        )
        self._say = self._console.write
        self._describe = Descriptions(game, settings, boards=boards, width=width)
        self._standings: dict[int, Standing] = {}
        self._ghosts: tuple[Ghost, ...] = ()
        self._stage = "open"
        self._started = asyncio.Event()
        self._last_event = "nothing has happened yet"
        self._question: tuple[Callable[[], Awaitable[None]], str] | None = None  # what to do after yes, say otherwise
        self._warned = False  # whether the ready clock was announced

    async def run(self, *, ready: bool | None) -> None:
        """Run until the race or the input ends. With ``ready=None``, ask whether the player is ready."""
        self._show_race()
        if self._connection.over:
            return
        if ready and self._awaits_ready:
            await self._set_ready()
            self._update()
        elif self._awaits_ready and ready is None:
            self._say("ready? (y)" if self._interactive else "type ready when you are ready")
        listening, reading, timing = (
            asyncio.create_task(work()) for work in (self._listen, self._read_commands, self._announce_time)
        )
        try:
            done, _ = await asyncio.wait((listening, reading), return_when=asyncio.FIRST_COMPLETED)
            if listening not in done and self._done and not self._connection.over:
                await asyncio.wait((listening,), timeout=LINGER_S)
            for task in (reading, listening):
                if task.done():
                    task.result()
            self._say_goodbye()
        except asyncio.CancelledError:  # Ctrl-C
            self._say_goodbye()
            raise
        finally:
            self._console.leave_prompt()
            for task in (listening, reading, timing):
                task.cancel()
            await asyncio.gather(listening, reading, timing, return_exceptions=True)

    def _say_goodbye(self) -> None:
        """Explain how to rejoin, if the player still has a seat."""
        self._console.leave_prompt()
        if not self._connection.over and not self._done and self._connection.seat is not None:
            self._say(f"{self._seat_phrase}. To rejoin: {self._rejoin or 'join again'}")

    # Events.

    async def _listen(self) -> None:
        async for news in self._connection:
            self._handle(news)
            if self._connection.over:
                return

    def _handle(self, news: News) -> None:
        match news:
            case Lost(why=why):
                clock_runs = ", the clock keeps running" if self._connection.view.stage != "open" else ""
                seat = f": {self._seat_phrase}{clock_runs}" if self._connection.seat is not None else ""
                self._say(f"{why}{seat}; reconnecting")
            case Restored():
                self._say("reconnected")
                self._update(late=True)
            case View() | Progress():
                self._update()
            case Reaction(seat=seat, reaction=reaction):
                name = self._standings[seat].name if seat in self._standings else f"seat {seat}"
                self._say(f": {name}: {reaction_phrase(reaction)}")

    def _update(self, *, late: bool = False) -> None:
        """Print what has changed since the last update. `late` means that the player missed it."""
        before = self._standings
        self._standings = {standing.seat: standing for standing in with_unique_names(self._connection.standings)}
        ghosts, self._ghosts = self._ghosts, self._connection.ghosts
        news_of_ghosts = () if self._connection.over else ghost_news(ghosts, self._ghosts)
        for text in (*race_news(before, self._standings, self._connection.seat), *news_of_ghosts):
            self._last_event = text
            self._say(f": {text}")
        self._update_stage(late=late)
        left = self._connection.left_ms if self._stage == "open" else None
        if left is not None and not self._warned:
            self._say(f"the race starts without those who are not ready in {-(-left // 1000)} s")
        self._warned = left is not None

    def _show_race(self) -> None:
        connection = self._connection
        options, host = connection.header.options, connection.view.host
        self._say(f"{self._game.title}, race {connection.race_id}, {connection.view.stage}; type ? for help")
        if host and host.seat != connection.seat:
            self._say(f"{host.name} invites you to {self._game.title}")
        goal = f"{self._game.goal} cards to play home"
        self._say(f"{deal_phrase(connection.header)}, time limit {clock(options.limit_ms)}, {goal}")
        if connection.seat is not None:
            self._say(f"you are {connection.welcome.name}, seat {connection.seat}")
        else:
            self._say("you are watching")
            if connection.view.stage in ("running", "over"):
                self._standings = {standing.seat: standing for standing in with_unique_names(connection.standings)}
            if connection.view.stage == "running":
                self._show_standings()
        self._update(late=True)

    def _update_stage(self, *, late: bool) -> None:
        stage, self._stage = self._stage, self._connection.view.stage
        if self._stage == stage:
            return
        match self._stage:
            case "countdown":
                self._say(f"starts in {-(-(self._connection.left_ms or 0) // 1000)} s")
            case "running":
                left = clock(self._connection.left_ms or 0)
                self._say(f"the race is running: {left} left" if late else f"go: {left} left")
                self._started.set()
                if (own := self._connection.standing) and own.outcome == "scratched":
                    self._say("you are not in this race: your share of the shuffle did not reach the server in time")
                self._show_boards()
            case "over" | "cancelled":
                self._show_end()
            case _:
                pass

    def _show_end(self) -> None:
        self._started.set()
        if self._stage == "cancelled":
            self._say("the race was cancelled")
            return
        header, deal = self._connection.header, self._connection.view.deal
        sealed = header.daily and not deal
        if sealed:
            self._say(f"the race is over; the deal and the replay are sealed until {utc_time(header.reveals_at)}")
        else:
            self._say("the race is over; the deal was", deal or "never dealt")  # on a line of its own, to be copied
        self._show_standings()
        link = f"{self._connection.server}/r/{self._connection.race_id}"
        self._say(*next_commands(link, sealed=sealed, deal=deal, has_seat=self._connection.seat is not None))

    async def _announce_time(self) -> None:
        """Count down the last seconds before the deal for a person, and announce the last minute."""
        before = 0
        while True:
            await asyncio.sleep(0.1)
            left, stage = self._connection.left_ms or 0, self._connection.view.stage
            if stage == "countdown" and self._interactive:
                second = -(-left // 1000)
                if 0 < second <= 3 and second != before:
                    self._say(str(second))
                    before = second
            elif stage == "running" and not self._done:
                for mark in LAST_S:
                    if left <= mark * 1000 < before:
                        self._say(f"{mark} seconds left")
                before = left

    # Commands.

    async def _read_commands(self) -> None:
        async with aclosing(self._console.input_lines(self._completions)) as lines:
            self._console.prompt()
            async for line in lines:
                self._console.line_entered()
                if line.strip().lower() in QUIT:
                    return
                await self._execute(line.strip())
                self._update()
                if self._connection.over:
                    return
                self._console.prompt()
        if self._connection.seat is None:
            await asyncio.Event().wait()  # spectators need no input

    async def _execute(self, line: str) -> None:
        word, _, rest = line.lower().partition(" ")
        if not self._interactive and word not in BEFORE_THE_DEAL:
            await self._started.wait()
        if self._question:
            (action, otherwise), self._question = self._question, None
            return await action() if word in ("y", "yes") else self._say(otherwise)
        match word:
            case "":
                pass
            case "?" | "h" | "help":
                moves = self._board.moves or () if self._board else ()
                self._say(*self._describe.help(next(iter(moves), "l4c4")))
            case "rules":
                slug = self._game.slug
                self._say(*(rules_lines(slug, self._width) if slug in GAMES else (TOO_OLD,)))
            case "board":
                self._show_boards(requested=True)
            case "legal":
                self._say(" ".join(self._board.moves or ()) or "no legal move" if self._board else self._no_table)
            case "standings":
                self._show_standings()
            case "clock":
                left = self._connection.left_ms
                self._say("the clock is not running" if left is None else f"{clock(left)} left")
            case "last":
                self._say(self._last_event)
            case "p" | "where":
                self._say(find_card(self._board, rest.strip(), self._no_table))
            case "scan":
                self._say(*self._describe.piles(self._board, rest.strip()) if self._board else (self._no_table,))
            case "ready":
                await self._set_ready()
            case "unready":
                if await self._request(self._connection.ready(False)):
                    self._say("you are not ready")
            case "start" if self._connection.view.stage == "open":
                await self._request(self._connection.start_race())
            case "remove" if self._connection.view.stage == "open":
                await self._choose_player(rest.strip())
            case "y" | "yes" if self._awaits_ready:
                await self._set_ready()
            case "react":
                await self._react(rest.strip())
            case "resign" if self._interactive:
                self._question = self._resign, "not resigned"
                self._say("resign for good? (y)")
            case "resign":
                await self._resign()
            case _:
                await self._move(word)
        return None

    async def _move(self, move: str) -> None:
        if self._connection.seat is None:
            return self._say("no: you are watching")
        if self._not_dealt:
            why = "no: moves come after the deal" if _LIKE_A_MOVE.fullmatch(move) else f"unknown: {move}"
            return self._say(f"{why}; type ? for help")
        before = self._board
        view = await self._request(self._connection.move(move))
        if not view or not before or not view.board:
            return None
        after = view.board
        self._last_event = move
        if after.attempt != before.attempt:
            self._last_event += f": attempt {after.attempt}"
        elif move != "undo":
            self._last_event += f": {change_sentence(before, after, self._describe.card)}"
        self._say(f"ok {after.ply}: {self._last_event}")
        if after.home != before.home and self._boards != "picture":
            self._say(f"home {after.home} of {self._game.goal}")
        if self._boards == "picture":
            self._show_boards()
        if after.outcome != before.outcome:
            self._say(outcome_phrase(after, self._connection.standing))
        return None

    async def _set_ready(self) -> None:
        if not await self._request(self._connection.ready()):
            return
        racers = with_unique_names(self._connection.standings)
        others = [standing for standing in racers if standing.seat != self._connection.seat]
        waiting = [standing.name for standing in others if standing.outcome == "waiting"]
        if waiting:
            self._say(f"you are ready; waiting for {', '.join(waiting)}")
        elif not others and self._connection.view.stage == "open" and self._connection.header.options.max_racers > 1:
            self._say("you are ready; waiting for an opponent")
        else:
            self._say("you are ready")

    async def _choose_player(self, name: str) -> None:
        """Remove a player by name, after a confirmation if a person types."""
        named = (each for each in with_unique_names(self._connection.standings) if each.name.lower() == name)
        if (player := next(named, None)) is None:
            return self._say(f"no: there is no player {name}" if name else "no: type remove and a name")
        if not self._interactive:
            return await self._remove(player)
        self._question = partial(self._remove, player), "not removed"
        return self._say(f"remove {player.name} for good? (y)")

    async def _remove(self, player: Standing) -> None:
        if await self._request(self._connection.remove(player.seat)):
            self._say(f"you have removed {player.name}")

    async def _resign(self) -> None:
        if await self._request(self._connection.resign()) and not self._connection.over:
            self._say("you have resigned; your best attempt counts")

    async def _react(self, text: str) -> None:
        try:
            await self._connection.react(reaction_named(text))
        except Refused as refused:
            self._say(f"no: {refused.text}")

    async def _request(self, request: Awaitable[View]) -> View | None:
        """Return the response, or print the refusal and return None."""
        try:
            return await request
        except Refused as refused:
            self._say(f"no: {with_cards(refused.text, self._describe.card)}")
            return None

    def _completions(self) -> list[str]:
        """The words that the Tab key completes."""
        return [*((self._board and self._board.moves) or ()), *(word for word in HELP if word.isalpha())]

    # State and output.

    @property
    def _board(self) -> Board | None:
        return self._connection.view.board

    @property
    def _not_dealt(self) -> bool:
        return self._connection.view.stage in ("open", "countdown")

    @property
    def _no_table(self) -> str:
        return "no table yet: the cards are not dealt" if self._not_dealt else "no table is visible"

    @property
    def _awaits_ready(self) -> bool:
        """Whether the race is waiting for this player to get ready."""
        standing = self._connection.standing
        return self._connection.view.stage == "open" and standing is not None and standing.outcome == "waiting"

    @property
    def _done(self) -> bool:
        standing = self._connection.standing
        return standing is not None and standing.done

    @property
    def _seat_phrase(self) -> str:
        return seat_phrase(self._connection.view.stage, self._away_s)

    def _show_boards(self, *, requested: bool = False) -> None:
        """Show the player's own table, or all visible ones to spectators and on request."""
        view = self._connection.view
        own = {view.seat: view.board} if view.seat and view.board else {}
        boards = own | (view.boards or {}) if requested or not own else own
        if requested and not boards:
            self._say(self._no_table)
        for seat, board in boards.items():
            if board and (requested or self._boards != "none"):
                if seat != self._connection.seat and seat in self._standings:
                    self._say(f"{self._standings[seat].name}:")
                self._say(*self._describe.table(board))

    def _show_standings(self) -> None:
        connection = self._connection
        self._say(*self._describe.standings(connection.standings, connection.seat))
        self._say(*map(ghost_sentence, connection.ghosts))
