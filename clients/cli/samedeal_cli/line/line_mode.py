"""Line mode: a race in lines of text, one fact each, for terminals, scripts and screen readers."""

import asyncio
import re
import sys
from collections.abc import Awaitable, Iterable, Iterator
from contextlib import aclosing
from itertools import zip_longest
from textwrap import wrap
from typing import Final

from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.race.race import Standing
from samedeal.wire.messages import Board, Progress, View
from samedeal_cli.commands.games import OLDER, rules_lines
from samedeal_cli.commands.mode import Boards
from samedeal_cli.line.line_input import PROMPT, Editor, typed_lines
from samedeal_cli.net.connection import Connection, Lost, News, Restored
from samedeal_cli.net.http_api import GameInfo
from samedeal_cli.render.phrases import (
    card_name,
    change_sentence,
    clock,
    deal_phrase,
    pile_sentence,
    seat_phrase,
    standing_sentence,
    utc_time,
    with_unique_names,
)
from samedeal_cli.render.text_table import board_lines, card_text, standings_lines, with_cards
from samedeal_cli.render.text_width import cells
from samedeal_cli.settings import program
from samedeal_cli.state.race_news import race_news

HELP: Final = {
    "undo": "take a move back",
    "board": "the table",
    "restart": "the same deal again",
    "legal": "every legal move",
    "resign": "stop for good",
    "standings": "who is where",
    "ready": "when you are",
    "clock": "the time left",
    "unready": "not after all",
    "p 6h": "where the six of hearts is",
    "quit": "go; you can rejoin",
    "last": "what happened last",
    "rules": "how it is played",
    "scan l": "the piles l1, l2 and so on",
    "?": "this",
}
TWO_COLUMNS: Final = 70
"""How wide a terminal has to be for help in two columns."""
LAST_S: Final = (60, 10)
QUIT: Final = ("quit", "q", "exit")
BEFORE_THE_DEAL: Final = ("", "?", "h", "help", "rules", "ready", "unready", "standings", "clock", "last")
_CARD: Final = re.compile(r"\b[A2-9TJQK][SHCD]\b")
_LIKE_A_MOVE: Final = re.compile(r"([a-z]\d[+-]?)+|w|draw|deal|redeal|undo|restart")
LINGER_S: Final = 2.0
"""How long one waits for the end of a race in which one has nothing more to do, before quitting."""


class LineMode:
    """Plays one race over a connection: tells what happens, and does what is typed."""

    def __init__(
        self,
        connection: Connection,
        game: GameInfo,
        *,
        boards: Boards,
        interactive: bool,
        width: int,
        ascii: bool = False,  # noqa: A002
        color: bool = False,
        silent: bool = False,
        screen_reader: bool = False,
        away_s: float | None = None,
        rejoin: str = "",
    ) -> None:
        """`silent` leaves standard output to somebody else, who writes what the server says; `screen_reader` writes no
        prompt, so that nothing has to be written anew below what is heard. `away_s` is how long the seat is held before
        the countdown when the connection has ended, and `rejoin` the command that comes back to it.
        """
        self._away_s, self._rejoin = away_s, rejoin
        self._connection, self._game = connection, game
        self._boards, self._interactive = boards, interactive
        self._width, self._ascii, self._color = width, ascii, color
        self._silent, self._prompts = silent, interactive and not silent and not screen_reader
        self._known: dict[int, Standing] = {}
        self._stage = "open"
        self._started = asyncio.Event()
        self._last = "nothing has happened yet"
        self._prompted = False
        self._editor: Editor | None = None
        self._resigning = False

    async def run(self, *, ready: bool | None) -> None:
        """Until the race is over, or there is nothing more to do. With ``ready=None`` a person is asked."""
        self._greet()
        if self._connection.over:
            return
        if ready and self._waits:
            await self._be_ready()
            self._catch_up()
        elif self._waits and ready is None:
            self._say("ready? (y)" if self._interactive else "type ready when you are")
        hearing, obeying = asyncio.create_task(self._hear()), asyncio.create_task(self._obey())
        keeping = asyncio.create_task(self._keep_time())
        try:
            done, _ = await asyncio.wait((hearing, obeying), return_when=asyncio.FIRST_COMPLETED)
            if hearing not in done and self._done and not self._connection.over:
                await asyncio.wait((hearing,), timeout=LINGER_S)
            for task in (obeying, hearing):
                if task.done():
                    task.result()
            self._leave_prompt()
            self._part()
        except asyncio.CancelledError:  # Ctrl-C
            self._leave_prompt()
            self._part()
            raise
        finally:
            self._leave_prompt()
            for task in (hearing, obeying, keeping):
                task.cancel()
            await asyncio.gather(hearing, obeying, keeping, return_exceptions=True)

    def _part(self) -> None:
        """Says what becomes of the seat and how to rejoin, if there is something to come back to."""
        if not self._connection.over and not self._done and self._connection.seat is not None:
            self._say(f"{self._seat_phrase}. To rejoin: {self._rejoin or 'join again'}")

    @property
    def _seat_phrase(self) -> str:
        return seat_phrase(self._connection.view.stage, self._away_s)

    # What is heard.

    async def _hear(self) -> None:
        async for news in self._connection:
            self._tell(news)
            if self._connection.over:
                return

    def _tell(self, news: News) -> None:
        match news:
            case Lost(why=why):
                clock_runs = ", the clock runs" if self._connection.view.stage != "open" else ""
                kept = f": {self._seat_phrase}{clock_runs}" if self._connection.seat is not None else ""
                self._say(f"{why}{kept}; trying again")
            case Restored():
                self._say("connected again")
                self._catch_up(late=True)
            case View() | Progress():
                self._catch_up()

    def _catch_up(self, *, late: bool = False) -> None:
        """Says what has changed since it was last said, however it was learnt; `late` when one was not there."""
        self._news_of_racers()
        self._news_of_stage(late=late)

    def _greet(self) -> None:
        connection = self._connection
        options = connection.header.options
        self._say(f"{self._game.title}, race {connection.race}, {connection.view.stage}; type ? for help")
        home = f"{self._game.goal} cards to bring home"
        self._say(f"{deal_phrase(connection.header)}, time limit {clock(options.limit_ms)}, {home}")
        if connection.seat is not None:
            self._say(f"you are {connection.welcome.name}, seat {connection.seat}")
        else:
            self._say("you look on")
            if connection.view.stage in ("running", "over"):
                self._known = {standing.seat: standing for standing in with_unique_names(connection.standings)}
            if connection.view.stage == "running":
                self._show_standings()
        self._catch_up(late=True)

    def _news_of_stage(self, *, late: bool) -> None:
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
                if (mine := self._connection.standing) and mine.outcome == "scratched":
                    self._say("you are not in it: your share of the deal did not reach the server in time")
                self._show_board()
            case "over" | "cancelled":
                self._tell_end()
            case _:
                pass

    def _tell_end(self) -> None:
        self._started.set()
        if self._stage == "cancelled":
            self._say("the race was called off")
            return
        sealed = self._connection.header.daily and not self._connection.view.deal
        if sealed:
            revealed = utc_time(self._connection.header.reveals_at)
            self._say(f"the race is over; the deal and the replay are sealed until {revealed}")
        else:
            # The code stands alone, as it is long: so it can be copied.
            self._say("the race is over; the deal was", self._connection.view.deal or "never dealt")
        self._show_standings()
        link, then = f"{self._connection.server}/r/{self._connection.race}", " then" if sealed else ""
        self._say(f"to look at it{then}: {program()} replay {link}", f"to check it{then}: {program()} verify {link}")
        if self._connection.view.deal:
            self._say(f"to see how good it was: {program()} par {link}")

    def _news_of_racers(self) -> None:
        known = self._known
        self._known = {standing.seat: standing for standing in with_unique_names(self._connection.standings)}
        for text in race_news(known, self._known, self._connection.seat):
            self._happened(text)

    async def _keep_time(self) -> None:
        """Counts the last seconds before the deal for a person, and tells when the end is near."""
        before = 0
        while True:
            await asyncio.sleep(0.1)
            left, stage = self._connection.left_ms or 0, self._connection.view.stage
            if (
                stage == "countdown"
                and self._interactive
                and 0 < (second := -(-left // 1000)) <= 3
                and second != before
            ):
                self._say(str(second))
                before = second
            elif stage == "running" and not self._done:
                for mark in LAST_S:
                    if left <= mark * 1000 < before:
                        self._say(f"{mark} seconds left")
                before = left

    # What is typed.

    async def _obey(self) -> None:
        self._editor = Editor.here(self._words) if self._prompts else None
        async with aclosing(self._editor.lines() if self._editor else typed_lines()) as lines:
            self._prompt()
            async for line in lines:
                self._prompted = False
                if line.strip().lower() in QUIT:
                    return
                await self._do(line.strip())
                self._catch_up()
                if self._connection.over:
                    return
                self._prompt()
        if self._connection.seat is None:
            await asyncio.Event().wait()  # who only looks on need not type

    async def _do(self, line: str) -> None:
        word, _, rest = line.lower().partition(" ")
        if not self._interactive and word not in BEFORE_THE_DEAL:
            await self._started.wait()  # a script need not know when the deal comes
        if self._resigning:
            self._resigning = False
            if word in ("y", "yes"):
                return await self._resign()
            return self._say("not resigned")
        match word:
            case "":
                pass
            case "?" | "h" | "help":
                self._say(*self._help())
            case "rules" if self._game.slug in GAMES:
                self._say(*rules_lines(self._game.slug, self._width))
            case "rules":
                self._say(OLDER)
            case "board":
                self._show_board(asked=True)
            case "legal":
                self._say(" ".join(self._board.moves or ()) or "no legal move" if self._board else self._no_table)
            case "standings":
                self._show_standings()
            case "clock":
                left = self._connection.left_ms
                self._say("the clock does not run" if left is None else f"{clock(left)} left")
            case "last":
                self._say(self._last)
            case "p" | "where":
                self._say(self._whereabouts(rest.strip()))
            case "scan":
                self._say(*self._piles(rest.strip()))
            case "ready":
                await self._be_ready()
            case "unready":
                if await self._try(self._connection.ready(False)):
                    self._say("you are not ready")
            case "y" | "yes" if self._waits:
                await self._be_ready()
            case "resign" if self._interactive:
                self._resigning = True
                self._say("resign for good? (y)")
            case "resign":
                await self._resign()
            case _:
                await self._move(word)
        return None

    async def _move(self, move: str) -> None:
        if self._connection.seat is None:
            return self._say("no: you look on")
        if self._undealt:
            why = "no: moves come after the deal" if _LIKE_A_MOVE.fullmatch(move) else f"unknown: {move}"
            return self._say(f"{why}; type ? for help")
        before = self._board
        view = await self._try(self._connection.move(move))
        if not view or not before or not view.board:
            return None
        after = view.board
        self._last = move
        if after.attempt != before.attempt:
            self._last += f": attempt {after.attempt}"
        elif move != "undo":
            self._last += f": {change_sentence(before, after, self._card)}"
        self._say(f"ok {after.ply}: {self._last}")
        if after.home != before.home and self._boards != "picture":
            self._say(f"home {after.home} of {self._game.goal}")
        if self._boards == "picture":
            self._show_board()
        if after.outcome != before.outcome:
            self._say(self._stand(after))
        return None

    async def _be_ready(self) -> None:
        if not await self._try(self._connection.ready()):
            return
        racers = with_unique_names(self._connection.standings)
        others = [standing for standing in racers if standing.seat != self._connection.seat]
        waiting = [standing.name for standing in others if standing.outcome == "waiting"]
        if waiting:
            self._say(f"you are ready; waiting for {', '.join(waiting)}")
        elif not others and self._connection.view.stage == "open" and self._connection.header.options.max_racers > 1:
            self._say("you are ready; waiting for somebody to race against")
        else:
            self._say("you are ready")

    async def _resign(self) -> None:
        if await self._try(self._connection.resign()) and not self._connection.over:
            self._say("you have resigned; your best attempt counts")

    async def _try(self, request: Awaitable[View]) -> View | None:
        """The answer, or None after saying why not."""
        try:
            return await request
        except Refused as refused:
            self._say(f"no: {with_cards(refused.text, self._card)}")
            return None

    def _stand(self, board: Board) -> str:
        """How the own game stands when that has changed."""
        ways = [way for way, possible in (("undo", board.undo), ("restart", board.restart)) if possible]
        standing = self._connection.standing
        match board.outcome:
            case "won":
                return f"you have won in {clock(standing.ms) if standing else '?'}"
            case "playing":
                return "you are playing again"
            case outcome:
                return f"your game is {outcome}: {', '.join([*ways, 'resign']) if ways else 'you are done'}"

    def _whereabouts(self, card: str) -> str:
        wanted = card.upper().replace("10", "T")
        if not card:
            return "which card? p 6h tells where the six of hearts is"
        if not _CARD.fullmatch(wanted):
            return f"{card} is no card; one is written 6h, 10s or qd"
        if not self._board:
            return self._no_table
        found = [
            f"{place}, {'on top' if below == 0 else f'under {below}'}"
            for place, pile in self._board.table.items()
            for below, other in enumerate(reversed(pile))
            if other == wanted
        ]
        if found:
            return f"{card_name(wanted)}: {'; '.join(found)}"
        return f"{card_name(wanted)}: nowhere to be seen"

    def _piles(self, begun: str) -> Iterator[str]:
        """The piles whose places begin so, from bottom to top."""
        if not self._board:
            yield self._no_table
            return
        found = [place for place in self._places if place.startswith(begun or "?")]
        for place in found:
            yield pile_sentence(place, self._board.table[place])
        if not found:
            kinds = dict.fromkeys(place.rstrip("0123456789") for place in self._places)
            yield f"which piles? scan and how their places begin: {', '.join(kinds)}"

    @property
    def _places(self) -> list[str]:
        return [place for place in self._game.layout.split() if place != "."]

    def _words(self) -> list[str]:
        """What can be typed now, for the Tab key."""
        return [*((self._board and self._board.moves) or ()), *(word for word in HELP if word.isalpha())]

    # What is shown.

    def _help(self) -> Iterator[str]:
        example = next(iter(self._board.moves or ()), "l4c4") if self._board else "l4c4"
        yield f"a move, such as {example}, plays it; rules tells the moves"
        items = [f"{word:<11}{says}" for word, says in HELP.items()]
        if self._width < TWO_COLUMNS:
            yield from items
        else:
            pairs = zip_longest(items[::2], items[1::2], fillvalue="")
            yield from (f"{left:<36}{right}".rstrip() for left, right in pairs)

    @property
    def _no_table(self) -> str:
        return "no table yet: the cards are not dealt" if self._undealt else "there is no table to be seen"

    @property
    def _undealt(self) -> bool:
        return self._connection.view.stage in ("open", "countdown")

    def _card(self, card: str) -> str:
        """A card as cards are called here."""
        return card_text(card, ascii=self._ascii) if self._boards == "picture" else card_name(card)

    @property
    def _board(self) -> Board | None:
        return self._connection.view.board

    @property
    def _waits(self) -> bool:
        """Whether the race waits for one to be ready."""
        standing = self._connection.standing
        return self._connection.view.stage == "open" and standing is not None and standing.outcome == "waiting"

    @property
    def _done(self) -> bool:
        standing = self._connection.standing
        return standing is not None and standing.done

    def _show_board(self, *, asked: bool = False) -> None:
        """The own table, or for one who looks on those that may be seen; who asks sees all of them."""
        view = self._connection.view
        own = {view.seat: view.board} if view.seat and view.board else {}
        boards = own | (view.boards or {}) if asked or not own else own
        if asked and not boards:
            self._say(self._no_table)
        for seat, board in boards.items():
            if board and (asked or self._boards != "none"):
                if seat != self._connection.seat and seat in self._known:
                    self._say(f"{self._known[seat].name}:")
                self._say(*self._drawn(board))

    def _drawn(self, board: Board) -> Iterable[str]:
        if self._boards == "picture":
            return board_lines(
                self._game.layout, self._game.fanned, board, width=self._width, ascii=self._ascii, color=self._color
            )
        notes = [f"{name} {value}" for name, value in board.notes.items()]
        return [
            *(pile_sentence(place, board.table[place]) for place in self._places),
            f"home {board.home} of {self._game.goal}",
            *notes,
        ]

    def _show_standings(self) -> None:
        standings = self._connection.standings
        if self._boards == "picture":
            lines = standings_lines(standings, seat=self._connection.seat, width=self._width, ascii=self._ascii)
            self._say(*lines)
        else:
            self._say(*(standing_sentence(standing, len(standings)) for standing in with_unique_names(standings)))

    def _happened(self, text: str) -> None:
        self._last = text
        self._say(f": {text}")

    def _say(self, *lines: str) -> None:
        if self._silent or not lines:
            return
        prompted = self._at_prompt
        if prompted:
            sys.stdout.write("\r\x1b[K" if self._editor else "\r")
        for line in lines:
            sys.stdout.write(f"{self._wrapped(line)}\n")
        if prompted:
            sys.stdout.write(f"{PROMPT}{self._editor.typed if self._editor else ''}")
        sys.stdout.flush()

    def _wrapped(self, line: str) -> str:
        """A sentence that is wider than the terminal, broken between words; links and deals stay whole."""
        if self._boards != "picture" or "\x1b" in line or cells(line) <= self._width:
            return line
        broken = wrap(line, self._width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        return "\n".join(broken)

    @property
    def _at_prompt(self) -> bool:
        """Whether the prompt stands in the last line."""
        return self._editor.shown if self._editor else self._prompted

    def _leave_prompt(self) -> None:
        if self._at_prompt:
            self._prompted, self._editor = False, None
            sys.stdout.write("\n")
            sys.stdout.flush()

    def _prompt(self) -> None:
        if self._editor:
            self._editor.ask()
        elif self._prompts:
            self._prompted = True
            sys.stdout.write(PROMPT)
            sys.stdout.flush()
