"""Line mode: a race as lines of text, one fact per line, for terminals, scripts and screen readers."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Final, TypeVar, cast, get_args

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.server_bots import Level
from samedeal.race.standings import Standing
from samedeal.wire import messages as m
from samedeal_cli.line.descriptions import HELP, find_card, outcome_phrase
from samedeal_cli.line.narrator import Narrator
from samedeal_cli.render.phrases import change_sentence, clock, reaction_named, waiting_phrase, with_unique_names
from samedeal_cli.render.rules import TOO_OLD, rules_lines
from samedeal_cli.render.text_table import with_cards

T = TypeVar("T")
QUIT: Final = ("quit", "q", "exit")
_BEFORE_THE_DEAL: Final = re.compile(r"(\?|h|help|rules|ready|unready|start|bot|remove|standings|clock|last|react)?")
"""Commands that a script may send before the cards are dealt. All others wait for the deal."""
_LIKE_A_MOVE: Final = re.compile(r"([a-z]\d[+-]?)+|w|draw|deal|redeal|undo|restart")
LINGER_S: Final = 2.0
"""Maximum wait for the end of the race after a script has finished and its player is done."""


class LineMode(Narrator):
    """Plays one race over a connection: prints events and executes typed commands."""

    _help: Mapping[str, str] = HELP
    rejoin = ""
    """The command to return to the seat."""
    _question: tuple[Callable[[], Awaitable[None]], str] | None = None  # what to do after yes, what to say otherwise

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
            self._update()  # the end may have arrived without having been announced
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
            self._say(f"{self._seat_phrase}. To rejoin: {self.rejoin or 'join again'}")

    async def _listen(self) -> None:
        async for news in self._connection:
            self._handle(news)
            if self._connection.over:
                return

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
        if not self._interactive and not _BEFORE_THE_DEAL.fullmatch(word):
            await self._started.wait()
        if self._question:
            (action, otherwise), self._question = self._question, None
            return await action() if word in ("y", "yes") else self._say(otherwise)
        match word:
            case "":
                pass
            case "?" | "h" | "help":
                moves = self._board.moves or () if self._board else ()
                known = GAMES.get(self._game.slug)
                example = moves or (known.from_seed("1").moves() if known else ())
                self._say(*self._describe.help(next(iter(example), "undo"), self._help))
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
            case "ready" | "y" | "yes" if word == "ready" or self._awaits_ready:
                await self._set_ready()
            case "unready":
                if await self._request(self._connection.ready(False)):
                    self._say("you are not ready")
            case "start" if self._connection.view.stage == "open":
                await self._request(self._connection.request(m.Start(id=0)))
            case "bot" if self._connection.view.stage == "open":
                await self._add_bot(rest.strip())
            case "remove" if self._connection.view.stage == "open":
                await self._choose_player(rest.strip())
            case "react":
                await self._react(rest.strip())
            case "resign" | "finish":
                await self._confirm(self._stop, self._resign, "not resigned")
            case _:
                await self._move(word)
        return None

    async def _confirm(self, what: str, action: Callable[[], Awaitable[None]], otherwise: str) -> None:
        """Do something that cannot be undone, after a confirmation if a person types."""
        if not self._interactive:
            return await action()
        self._question = action, otherwise
        return self._say(f"{what} for good? (y)")

    async def _move(self, move: str) -> None:
        if self._connection.seat is None:
            return self._refuse("you are watching")
        if self._not_dealt:
            known = _LIKE_A_MOVE.fullmatch(move)
            why = "no: moves come after the deal" if known else f"unknown: {move}"
            return self._refuse(why.removeprefix("no: "), f"{why}; type ? for help")
        before = self._board
        view = await self._request(self._connection.move(move))
        if not view or not before or not view.board:
            return None
        after = view.board
        restarted = after.attempt != before.attempt
        effect = f"attempt {after.attempt}" if restarted else change_sentence(before, after, self._describe.card)
        self._last_event = f"{move}: {effect}"
        self._say(f"ok {after.ply}: {self._last_event}")
        if after.home != before.home and self._boards != "picture":
            self._say(self._describe.progress(after))
        if self._boards == "picture" or restarted:
            self._show_boards()
        elif (advice := self._describe.advice(after)) != self._describe.advice(before):
            self._say(advice)
        if after.outcome != before.outcome:
            self._say(outcome_phrase(after, self._connection.standing, self._stop))
            self._say_waiting()
        return None

    async def _set_ready(self) -> None:
        if not await self._request(self._connection.ready()):
            return
        racers = with_unique_names(self._connection.standings)
        others = [standing for standing in racers if standing.seat != self._connection.seat]
        waiting = [standing.name for standing in others if standing.outcome == "waiting"]
        if not others and self._connection.view.stage == "open" and self._connection.header.options.max_racers > 1:
            waiting = ["an opponent"]
        self._say(f"you are ready; waiting for {', '.join(waiting)}" if waiting else "you are ready")

    async def _add_bot(self, level: str) -> None:
        if level and level not in get_args(Level):
            self._refuse(f"there is no {level} bot; type bot and one of: {', '.join(get_args(Level))}")
        else:
            await self._request(self._connection.request(m.Bot(id=0, level=cast("Level | None", level or None))))

    async def _choose_player(self, name: str) -> None:
        """Remove a player by name."""
        named = (each for each in with_unique_names(self._connection.standings) if each.name.lower() == name)
        if (player := next(named, None)) is None:
            return self._refuse(f"there is no player {name}" if name else "type remove and a name")
        return await self._confirm(f"remove {player.name}", partial(self._remove, player), "not removed")

    async def _remove(self, player: Standing) -> None:
        if await self._request(self._connection.request(m.Remove(id=0, seat=player.seat))):
            self._say(f"you have removed {player.name}")

    @property
    def _stop(self) -> str:
        """What stopping is called: a game that has ended, with no rivals, is finished and not resigned."""
        ended = self._board is not None and self._board.outcome != "playing"
        return "finish" if ended and self._connection.header.options.max_racers == 1 else "resign"

    def _say_waiting(self) -> None:
        """Say for whom the race waits, if the player is done."""
        connection = self._connection
        if self._done and not connection.over:
            racers = with_unique_names(connection.standings)
            self._say(*filter(None, [waiting_phrase(racers, connection.seat, connection.left_ms)]))

    async def _resign(self) -> None:
        stopped = f"you have {self._stop}ed"
        if await self._request(self._connection.resign()) and not self._connection.over:
            self._say(f"{stopped}; your best attempt counts")
            self._say_waiting()

    async def _react(self, text: str) -> None:
        try:
            await self._request(self._connection.react(reaction_named(text)))
        except Refused as refused:
            self._refuse(refused.text)

    async def _request(self, request: Awaitable[T]) -> T | None:
        """Return the response, or print the refusal and return None."""
        try:
            return await request
        except Refused as refused:
            self._say(f"no: {with_cards(refused.text, self._describe.card)}")
            return None

    def _completions(self) -> list[str]:
        """The words that the Tab key completes."""
        return [*((self._board and self._board.moves) or ()), *(word for word in self._help if word.isalpha())]
