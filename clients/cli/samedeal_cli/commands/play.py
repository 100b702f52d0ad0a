"""The commands ``play``, ``join``, ``resume``, ``watch``, ``again``, ``solo`` and ``race``."""

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
import msgspec

from samedeal_cli.commands.first_use import confirm_daily, may_ask, only_race, open_race, race_of_challenge, with_name
from samedeal_cli.commands.mode import Mode, choose_mode, mode_option, run_full_screen
from samedeal_cli.commands.parameters import (
    GAME,
    GAME_OR_DEAL,
    GAME_OR_LINK,
    RACE,
    RACE_OR_CHALLENGE,
    REPLAY,
    Link,
    Number,
    as_option,
    check_daily,
    club_option,
    max_option,
    race_options,
)
from samedeal_cli.failure import TOO_LATE, Declined, Failure, Misused
from samedeal_cli.line.descriptions import Boards
from samedeal_cli.net.http_api import Variants, ghost_request, race_request, rematch_request
from samedeal_cli.settings import Settings, command, program, state_dir

# Imported later, so that the full screen shows its first frame sooner.
if TYPE_CHECKING:
    from samedeal.race.server_bots import Level
    from samedeal.wire.documents import OpenedRace
    from samedeal_cli.net.connection import Connection
    from samedeal_cli.screen.race_screen import RaceScreen

F = TypeVar("F", bound=BaseException)

ready_option = click.option("--ready/--no-ready", default=None, help="Be ready at once, or wait.  [default: ask]")
_board_option = click.option(
    "--board",
    "boards",
    type=click.Choice(get_args(Boards)),
    help="How line mode shows the table.  [default: picture on a terminal, otherwise words]",
)


def view_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all commands that show a race."""
    return as_option(_board_option(mode_option(function)))


@command(
    "samedeal join http://192.168.1.20:8640/r/calm-otter-42", "samedeal join calm-otter-42 --as bo --ready < moves.txt"
)
@click.argument("race", type=RACE_OR_CHALLENGE, required=False)
@ready_option
@view_options
def join(settings: Settings, /, race: Link | None, name: str | None, **choices: Any) -> int:
    """Join a race by its link or id and play. If you already have a seat, you return to it.

    Without RACE, join the only open race on the server; with the link of a challenge, play its next deal.
    """
    race = race or only_race(settings)
    if race.is_challenge:
        settings, race = race_of_challenge(settings, race, name)
    server = race.server or settings.address
    return Session(with_name(settings, server, name), server, race.race_id, name, **choices).run()


@command("samedeal play", "samedeal play corners", "samedeal play brave-otter-4217 --deal 2 --max 4")
@click.argument("what", type=GAME_OR_LINK, metavar="[GAME|CHALLENGE]", required=False)
@click.option("--deal", "number", type=Number(1, 24), metavar="N", help="Which deal of the challenge.  [default: next]")
@max_option
@club_option
@view_options
def play(settings: Settings, /, what: str | Link | None, name: str | None, **choices: Any) -> int:
    """Race at once: join an open race, or open one with a bot that plays about as well as you do.

    With the link or id of a challenge, play its next deal: alone or, with --max, with others. With --club, join an open
    race of the club, or open one and wait for the others.
    """
    heat, club, game = {option: choices.pop(option) for option in ("number", "max_racers")}, choices.pop("club"), what
    if club and isinstance(game, Link):
        raise Misused("--club is for a new race and cannot be combined with a link")
    if isinstance(game, Link) and game.is_challenge:
        settings, game = race_of_challenge(settings, game, name, **heat)
    elif any(heat.values()):
        raise Misused("--deal and --max are for challenges; to open a race for others: samedeal new")
    if isinstance(game, Link):
        server = game.server or settings.address
        return Session(with_name(settings, server, name), server, game.race_id, name, **choices).run()
    from samedeal_cli.net.clubs import ClubApi
    from samedeal_cli.net.guests import owned
    from samedeal_cli.net.http_api import Api
    from samedeal_cli.state.home_state import QUICK_GAME, level_of, race_to_join

    found = club and ClubApi.of(settings, club, name)
    api, choices = found.api if found else Api(settings.address), choices | {"ready": True}
    settings, server = with_name(settings, api.server, name), api.server
    if joined := race_to_join(found.page().races if found else api.live_races("open"), game):
        return Session(settings, server, joined.race, name, **choices).run()
    game, page = game or QUICK_GAME, None
    if found:
        return _race(settings, server, name, race_request(game, None, {}) | {"club": found.club}, **choices)
    with suppress(Misused):  # a new player
        guest = owned(settings, name)
        page = api.player(guest.player, guest.token)
    bot = level_of(page.scores if page else None, game)
    return _race(settings, server, name, race_request(game, None, {}), bot=bot, **choices)


@command("samedeal resume")
@_board_option
@mode_option
def resume(settings: Settings, /, **choices: Any) -> int:
    """Return to the race in which you took a seat last, unless it is over."""
    from samedeal_cli.net.connect import running_race

    running = running_race()
    if running is None:
        raise Misused(f"you have no running race; to start one: {program()} play")
    last, _ = running
    return Session(settings, last.server, last.race, last.name, **choices).run()


@command("samedeal watch calm-otter-42", "samedeal watch http://192.168.1.20:8640/r/calm-otter-42 --json")
@click.argument("race", type=RACE)
@view_options
def watch(settings: Settings, /, race: Link, **choices: Any) -> int:
    """Watch a race until it is over."""
    return Session(settings, race.server or settings.address, race.race_id, watching=True, **choices).run()


@command("samedeal again calm-otter-4217", "samedeal again calm-otter-4217 --game the-edge --ready")
@click.argument("race", type=RACE)
@click.option("--game", type=GAME, help="Another game, if nobody has asked for a rematch yet.")
@ready_option
@view_options
def again(settings: Settings, /, race: Link, game: str | None, name: str | None, **choices: Any) -> int:
    """Join the rematch of a race in which you had a seat, or be the first to ask for it.

    Everyone who asks gets the same race, with the same options and a new secret shuffle.
    """
    server = race.server or settings.address
    return _race(settings, server, name, rematch_request(race.race_id, game), **choices)


@command(
    "samedeal solo corners",
    "samedeal solo corners --daily",
    "samedeal solo corners --practice",
    "samedeal solo corners:42 --limit 30m",
)
@click.argument("what", type=GAME_OR_DEAL, metavar="GAME|DEAL")
@click.option("--practice", is_flag=True, help="Play without a clock and a server, with advice.")
@race_options
@view_options
def solo(
    settings: Settings,
    /,
    what: tuple[str, str | None],
    practice: bool,
    daily: bool,
    limit_ms: int | None,
    undo: bool | None,
    variants: Variants,
    name: str | None,
    **choices: Any,
) -> int:
    """Play alone against the clock: a secret shuffle, the daily deal, or the deal of a code."""
    game, seed = what
    if practice:
        from samedeal_cli.commands.practice import random_deal, run_practice
        from samedeal_cli.searches import PublicDeal

        if daily or limit_ms or undo is not None or name or choices["boards"] or settings.json:
            raise Misused("--practice only combines with --variant, --tui and --line")
        seed = seed or random_deal(game).seed
        return run_practice(settings, PublicDeal(game, seed, dict(variants)), (), choices["mode"])
    if daily:
        check_daily(seed)
    server = settings.address
    settings = with_name(settings, server, name)
    if daily:
        confirm_daily(settings, game, name)
    options = {"limit_ms": limit_ms, "undo": undo, "max_racers": 1, "unlisted": True}
    options |= {"start_delay_ms": 3000 if seed is None else 0}  # the countdown shows how to play
    body = race_request(game, seed, options, daily=daily, variants=variants)
    return _race(settings, server, name, body, ready=True, **choices)


@command("samedeal race calm-otter-4217", "samedeal race race.json", "samedeal race race.json --line")
@click.argument("replay", type=REPLAY)
@view_options
def race(settings: Settings, /, replay: str, name: str | None, **choices: Any) -> int:
    """Race the recorded players of a finished race: play its deal, with its racers as ghosts.

    REPLAY is the link or id of a race or, if the server still has that race, the file of its replay. The deal must be
    public. Nobody else can join, and the race starts at once.
    """
    from samedeal_cli.net.replay_loader import open_replay, server_and_race

    source = server_and_race(settings, replay)
    if source is None:
        with open_replay(settings, replay) as log:
            source = settings.address, log.header.race
    server, race_id = source
    return _race(settings, server, name, ghost_request(race_id), ready=True, **choices)


def _race(settings: Settings, server: str, name: str | None, body: dict[str, object], **choices: Any) -> int:
    """Open a race and play it to the end. Returns the exit code."""
    settings, opened, _ = open_race(settings, server, name, body)
    return Session(settings, server, opened.race, name, link=opened.link, **choices).run()


@dataclass(frozen=True)
class Session:
    """One run of the program in a race, as a player or a spectator."""

    settings: Settings
    server: str
    race_id: str
    name: str | None = None
    ready: bool | None = None
    boards: Boards | None = None
    watching: bool = False
    bot: "Level | None" = None
    """The server bot that is added before getting ready."""
    mode: Mode | None = None
    link: str = ""
    """The link to share; by default, with the address of the server that the user has."""
    is_link_printed: bool = False

    @property
    def _as(self) -> str:
        """The option for the name, if it was given."""
        return f" --as {self.name}" if self.name else ""

    def run(self) -> int:
        """Play or watch to the end; offer to watch if it is too late to play. Returns the exit code."""
        try:
            return self._run()
        except Declined as declined:
            if self.watching or declined.code not in TOO_LATE or not may_ask(self.settings):
                raise
            declined.show()
            click.confirm("Watch it now?", default=True, abort=True, err=True)
            return replace(self, watching=True)._run()

    def _run(self) -> int:
        state_dir()  # warns, if it cannot be written, before the full screen opens
        requested = "line" if self.boards and self.mode is None else self.mode
        mode = choose_mode(requested, self.settings)
        if self.name is None and "SAMEDEAL_TOKEN" in os.environ:
            from samedeal_cli.net.guests import warn_if_token_unused

            warn_if_token_unused(self.settings, self.server, self.name)
        if mode == "tui":
            return self._run_full_screen()
        from samedeal_cli.running import run

        try:
            run(self._run_line_mode())
        except Failure as error:
            failure = self._with_advice(error)
            if self.settings.json:
                from samedeal_cli.line.console import print_event

                code = failure.code if isinstance(failure, Declined) else ""
                print_event("error", code=code, detail=failure.format_message(), exit_code=failure.exit_code)
            raise failure from None
        return 0

    def _run_full_screen(self) -> int:
        from samedeal_cli.screen.race_view import draw_screen
        from samedeal_cli.state.race_state import first_state

        settings, server, link = self.settings, self.server, self.link or f"{self.server}/r/{self.race_id}"
        if not self.is_link_printed:
            settings.say(link)  # stays above the full screen, where it can be selected with the mouse
        host, plain = server.partition("://")[2], settings.plain
        state = first_state(settings, self.race_id, server=host, link=link, watching=self.watching, ascii=plain)

        def make_screen() -> "RaceScreen":
            from samedeal_cli.net.connect import connect
            from samedeal_cli.net.http_api import Api
            from samedeal_cli.screen.race_screen import RaceScreen

            def enter(race_id: str, watching: bool) -> "Connection":
                return connect(settings, server, race_id, self.name, watching=watching, reactions=True)

            def open_another(body: dict[str, object]) -> "OpenedRace":
                return open_race(replace(settings, quiet=True), server, self.name, body)[1]  # the screen cannot ask

            ready = bool(self.ready)
            return RaceScreen(state, enter, Api(server), settings, ready=ready, bot=self.bot, open_race=open_another)

        screen, code = run_full_screen(settings, draw_screen(state, state.width, state.height), make_screen)
        self._print_end(screen)
        return code

    def _print_end(self, screen: "RaceScreen") -> None:
        """Print the result, or how to rejoin, after the full screen has closed. Raises the screen's failure."""
        from samedeal.share.headlines import result_headline
        from samedeal_cli.render.phrases import local_time, seat_phrase
        from samedeal_cli.render.standings import standings_lines

        state, say = screen.state, self.settings.say
        if state.stage == "over":
            game = state.game.slug if state.game else ""
            plain, seat = self.settings.plain, state.seat
            lines = standings_lines(state.standings, game=game, seat=seat, levels=state.levels, ascii=plain)
            for line in (result_headline(state.standings, seat, game), *lines):
                click.echo(line)
            then = ""
            if state.header and state.is_sealed:
                say(f"The replay is secret until {local_time(state.header.reveals_at)}.")
                then = " then"
            say(f"To watch the replay{then}: {program()} replay {state.link}")
            if state.header and state.header.heat:
                say(f"To see the challenge: {program()} challenge {self.server}/c/{state.header.heat.challenge}")
            if state.header and state.header.club:
                say(f"To see the club: {program()} club {self.server}/g/{state.header.club.club}")
        elif screen.left:
            say("You left your seat.")
        elif state.stage not in ("connecting", "cancelled"):
            if state.seat is not None and not state.finished and not isinstance(screen.failure, Declined):
                say(f"{seat_phrase(state.stage, state.away_s)}. To rejoin: {program()} join {state.link}{self._as}")
            elif state.race_id != self.race_id:  # otherwise the link is above
                say(state.link)
        if screen.failure:
            raise self._with_advice(screen.failure)

    def _with_advice(self, failure: F) -> F | Declined:
        """Add to a refused seat how to watch the race instead."""
        if self.watching or not isinstance(failure, Declined) or failure.code not in TOO_LATE:
            return failure
        link = f"{self.server}/r/{self.race_id}"
        why = "This race has started" if failure.code == "untimely" else failure.text.rstrip(".")
        return Declined(failure.code, f"{why}. To watch the race: {program()} watch {link}")

    async def _run_line_mode(self) -> None:
        import asyncio

        from samedeal.wire import messages as m
        from samedeal_cli.line.console import print_event, print_message
        from samedeal_cli.line.line_mode import LineMode
        from samedeal_cli.net.connect import connect
        from samedeal_cli.net.http_api import Api
        from samedeal_cli.net.replay_loader import verify_race
        from samedeal_cli.render.phrases import evening_phrase
        from samedeal_cli.sanitise import safe

        settings = self.settings
        interactive = sys.stdin.isatty() and sys.stdout.isatty() and not settings.json
        async with connect(
            settings,
            self.server,
            self.race_id,
            self.name,
            watching=self.watching,
            reactions=settings.reactions,
            on_message=print_message if settings.json else None,
        ) as connection:
            api = Api(self.server)
            if self.bot and connection.view.stage == "open":
                await connection.request(m.Bot(id=0, level=self.bot))
            mode = LineMode(
                connection,
                await asyncio.to_thread(api.game, connection.header.game),
                settings,
                boards=self.boards or ("picture" if interactive and not settings.screen_reader else "words"),
                interactive=interactive,
                width=min(100, shutil.get_terminal_size().columns),
                away_s=await asyncio.to_thread(api.away_s) if connection.view.stage == "open" else None,
            )
            mode.rejoin = f"{program()} join {self.server}/r/{self.race_id}{self._as}"
            is_alone = connection.header.options.max_racers == 1
            await mode.run(ready=True if is_alone and self.ready is None else self.ready)
            if settings.json and connection.view.stage == "over":
                outcome, detail, facts = await verify_race(api, connection)
                print_event("verification", race=self.race_id, outcome=outcome, detail=safe(detail), facts=safe(facts))
            if connection.over and connection.header.follows:
                with suppress(Failure):
                    evening = await asyncio.to_thread(api.evening, self.race_id)
                    if settings.json:
                        print_event("evening", **msgspec.structs.asdict(evening))
                    else:
                        click.echo(f"This evening: {evening_phrase(evening, connection.header.options.best_of)}")
