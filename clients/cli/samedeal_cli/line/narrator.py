"""The narrator of line mode: says what happens in a race, one fact per line."""

import asyncio
from itertools import chain
from typing import Final

from samedeal.race.ghosts import Ghost
from samedeal.race.standings import Standing
from samedeal.share.headlines import deal_line, result_headline
from samedeal.wire.documents import GameDescription
from samedeal.wire.messages import Board, Progress, Reaction, View
from samedeal_cli.line.console import Console, print_event
from samedeal_cli.line.descriptions import Boards, Descriptions, next_commands
from samedeal_cli.net.connection import Connection, Lost, News, Restored
from samedeal_cli.render import phrases
from samedeal_cli.settings import Settings, program
from samedeal_cli.state.race_news import ghost_news, race_news

LAST_S: Final = (60, 10)


class Narrator:
    """Prints what happens in one race, and what a player asks about it."""

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
    ) -> None:
        """With `settings.json`, nothing is written to standard output; with `settings.screen_reader`, no prompt is
        shown, so that no line is redrawn. `away_s` is how long the server holds the seat after a disconnect before the
        countdown, in seconds.
        """
        self._connection, self._game, self._json, self._away_s = connection, game, settings.json, away_s
        self._boards, self._interactive, self._width = boards, interactive, width
        prompts, wrap_width = interactive and not settings.screen_reader, width if boards == "picture" else None
        self._console = Console(silent=settings.json, prompts=prompts, wrap_width=wrap_width)
        self._say = self._console.write
        self._describe = Descriptions(game, settings, boards=boards, width=width)
        self._standings: dict[int, Standing] = {}
        self._ghosts: tuple[Ghost, ...] = ()
        self._stage = "open"
        self._started = asyncio.Event()
        self._last_event = "nothing has happened yet"
        self._warned = False  # whether the ready clock was announced
        self._awaited: tuple[str, ...] = ()  # for whom the lobby of a rematch waits
        self._closing = self._waits = False  # whether everyone is stuck, and somebody else has a head start

    # Events.

    def _handle(self, news: News) -> None:
        match news:
            case Lost(why=why):
                clock_runs = ", the clock keeps running" if self._connection.view.stage != "open" else ""
                seat = f": {self._seat_phrase}{clock_runs}" if self._connection.seat is not None else ""
                self._say(f"{why}{seat}; reconnecting")
                self._print_event("lost", detail=why)
            case Restored():
                self._say("reconnected")
                self._print_event("restored")
                self._update(late=True)
            case View() | Progress():
                self._update()
            case Reaction(seat=seat, reaction=reaction):
                name = self._standings[seat].name if seat in self._standings else f"seat {seat}"
                self._say(f": {name}: {phrases.reaction_phrase(reaction)}")

    def _update(self, *, late: bool = False) -> None:
        """Print what has changed since the last update. `late` means that the player missed it."""
        connection, slug = self._connection, self._game.slug
        before, self._standings = self._standings, self._standings_by_seat
        ghosts, self._ghosts = self._ghosts, connection.ghosts
        news = race_news(before, self._standings, connection.seat, connection.view.levels, slug)
        for text in chain(news, () if connection.over else ghost_news(ghosts, self._ghosts, slug)):
            self._last_event = text
            self._say(f": {text}")
        self._update_stage(late=late)
        awaited, self._awaited = self._awaited, connection.view.awaited
        if self._awaited and self._awaited != awaited:
            self._say(f"waiting for {', '.join(self._awaited)}")
        closing, self._closing = self._closing, connection.view.closing_ms is not None
        if self._closing and not closing:
            seconds = -(-(connection.view.closing_ms or 0) // 1000)
            self._say(f"everyone is stuck: the race ends in {seconds} s, unless somebody undoes or restarts")
        waits, self._waits = self._waits, connection.view.waits_ms is not None
        if waits and not self._waits and connection.view.board:
            self._say("you have your cards")
            self._show_boards()
        left = self._connection.left_ms if self._stage == "open" else None
        if left is not None and not self._warned:
            self._say(f"the race starts in {-(-left // 1000)} s, without players who are not ready")
        self._warned = left is not None

    def _show_race(self) -> None:
        connection = self._connection
        options, host = connection.header.options, connection.view.host
        self._say(f"{self._game.title}, race {connection.race_id}, {connection.view.stage}; type ? for help")
        if host and host.seat != connection.seat:
            self._say(f"{host.name} challenges you to {self._game.title}")
        limit = phrases.clock(options.limit_ms, tenths=False)
        match = f", best of {options.best_of}" if options.best_of > 1 else ""
        self._say(f"{phrases.deal_phrase(connection.header)}, time limit {limit}{match}")
        if connection.header.heat and connection.seat is not None:
            self._say("only your first race on this deal counts")
        if head_start := connection.header.head_start:
            self._say(f"one player has a head start of {head_start.ms / 1000:g} s")
        if connection.view.stage == "open":
            self._say(*(f"{number}. {text}" for number, text in enumerate(self._game.how, start=1)))
        if connection.seat is not None:
            self._say(f"you are {connection.welcome.name}, seat {connection.seat}")
        else:
            self._say("you are watching")
            if connection.view.stage in ("running", "over"):
                self._standings = self._standings_by_seat
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
                left = phrases.clock(self._connection.left_ms or 0)
                self._say(f"the race is running: {left} left" if late else f"go: {left} left")
                self._started.set()
                if (waits_ms := self._connection.view.waits_ms) is not None:
                    name = self._standings[seat].name if (seat := self._connection.view.head_start) else "somebody"
                    self._say(f"{name} has a head start: you get your cards in {-(-waits_ms // 1000)} s")
                if (own := self._connection.standing) and own.outcome == "scratched":
                    self._say("you are not in this race: your share of the shuffle did not reach the server in time")
                self._show_boards()
            case "over" | "cancelled":
                self._show_end()

    def _show_end(self) -> None:
        self._started.set()
        if self._stage == "cancelled":
            if successor := self._connection.view.next:
                self._say("the host has changed the game or its options and opened a new race")
                self._say(f"To join: {program()} join {self._connection.server}/r/{successor.race}")
            else:
                self._say("the race was cancelled")
            return
        header, deal = self._connection.header, self._connection.view.deal
        sealed = header.is_common and not deal
        if sealed:
            until = phrases.local_time(header.reveals_at)
            self._say(f"the race is over; the deal and the replay are secret until {until}")
        else:
            self._say("the race is over; the deal was", deal or "never dealt")  # on a line of its own, to be copied
        standings = phrases.with_unique_names(self._connection.standings)
        own = next((each for each in standings if each.seat == self._connection.seat and each.attempts), None)
        self._say(result_headline(standings, self._connection.seat, self._game.slug))
        if own and sum(1 for each in standings if each.attempts) > 1:
            self._say(deal_line(own, self._game.slug))
        self._show_standings()
        link = f"{self._connection.server}/r/{self._connection.race_id}"
        challenge = f"{self._connection.server}/c/{header.heat.challenge}" if header.heat else ""
        has_seat = self._connection.seat is not None
        self._say(*next_commands(link, challenge=challenge, sealed=sealed, deal=deal, has_seat=has_seat))
        if header.club:
            self._say(f"To see the club: {program()} club {self._connection.server}/g/{header.club.club}")

    async def _announce_time(self) -> None:
        """Count down the last seconds before the deal for a person, and announce the last minute."""
        before = waited = 0
        while True:
            await asyncio.sleep(0.1)
            left, stage = self._connection.left_ms or 0, self._connection.view.stage
            waited = waited + 1 if stage == "countdown" and not left else 0
            if waited == 10:  # tenths of a second
                self._say("finding a deal; the clock starts when the cards are dealt")
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

    # State and output.

    def _print_event(self, kind: str, **fields: object) -> None:
        """Print an event that has no message of the server, with ``--json``."""
        if self._json:
            print_event(kind, **fields)

    def _refuse(self, why: str, line: str = "") -> None:
        """Say that this program refuses what was typed; `line` replaces the usual sentence."""
        self._say(line or f"no: {why}")
        self._print_event("refused", detail=why)

    @property
    def _standings_by_seat(self) -> dict[int, Standing]:
        """The standings, with unique names."""
        return {standing.seat: standing for standing in phrases.with_unique_names(self._connection.standings)}

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
        return phrases.seat_phrase(self._connection.view.stage, self._away_s)

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
        self._say(*self._describe.standings(connection.standings, connection.seat, connection.view.levels))
        self._say(*(phrases.ghost_sentence(ghost, self._game.slug) for ghost in connection.ghosts))
        if watching := connection.view.watching:
            self._say(f"{watching} watching")
