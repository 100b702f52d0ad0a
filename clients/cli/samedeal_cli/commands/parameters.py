"""Types of command-line parameters: durations, races, deals, names, variants and others."""

import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from samedeal.day import Day
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.names import normalised
from samedeal_cli.addresses import challenge_link, club_name, race_link, server_address, unwrapped
from samedeal_cli.failure import Failure, Misused
from samedeal_cli.matching import named
from samedeal_cli.settings import Settings
from samedeal_cli.timecode import parse_moment

T = TypeVar("T")
_UNITS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
LONGEST_SEED: Final = 128
COMPLETION_S: Final = 1.0
"""How long a shell that completes a word waits for the server (s)."""
NOT_DAILY: Final = (
    "deal",
    "seed",
    "limit_ms",
    "filter",
    "undo",
    "attempts",
    "spectators",
    "finishers",
    "best_of",
    "end_when_stuck",
    "club",
    "variants",
)
"""The options of a race that daily deals do not permit."""
_PART = re.compile(r"(\d+(?:\.\d+)?)(d|h|ms|m|s)")


class Link(NamedTuple):
    """The id of a race or a challenge, and the server if it was given as a link."""

    server: str | None
    race_id: str
    is_challenge: bool = False


class Login(NamedTuple):
    """A login code, and the server if it was given as a link."""

    server: str | None
    code: str


class Deal(NamedTuple):
    """A game and a seed."""

    game: str
    seed: str


class Number(click.IntRange):
    """An integer in a range."""

    name = "integer"


class Parsed(click.ParamType[T]):
    """The value that a function returns for a text. The function raises ValueError, Refused or Failure."""

    def __init__(
        self, name: str, parse: Callable[[str], T], completions: Iterable[str] = (), *, files: bool = False
    ) -> None:
        """`completions` are what shells complete; with `files`, they also complete the names of files."""
        self.name, self._parse, self._completions, self._files = name, parse, completions, files

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        try:
            return self._parse(value) if isinstance(value, str) else value
        except (Refused, Failure, ValueError) as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        files = [CompletionItem(incomplete, type="file")] if self._files else []
        return files + [CompletionItem(text) for text in self._completions if text.startswith(incomplete)]


class ParsedRace(Parsed[T]):
    """A value that a race can be. Shells complete the ids of races."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _race_ids(ctx.obj, incomplete)


class ParsedChallenge(Parsed[T]):
    """A value that can be a challenge. Shells also complete those that this account has opened or played."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from samedeal_cli.net.saved_challenges import saved_challenges

        ids = [CompletionItem(each.challenge) for each in saved_challenges() if each.challenge.startswith(incomplete)]
        return super().shell_complete(ctx, param, incomplete) + ids


class ReplayPath(click.Path):
    """A file, ``-``, or the link or id of a race; a string."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        files = super().shell_complete(ctx, param, incomplete)
        return files + _race_ids(ctx.obj, incomplete) if incomplete else files  # bash shows only one kind


def _race_ids(settings: Settings, incomplete: str) -> list[CompletionItem]:
    """Complete the ids of the races that the server lists, then of those of which this account has receipts."""
    from samedeal_cli.net.http_api import Api
    from samedeal_cli.net.receipts import files

    listed: Iterable[str] = ()
    with suppress(Failure):
        listed = [race.race for race in Api(settings.address, timeout=COMPLETION_S).live_races()]
    ids = dict.fromkeys([*listed, *(path.name.partition(".")[0] for path in reversed(files()))])
    return [CompletionItem(race_id) for race_id in ids if race_id.startswith(incomplete)]


def _duration(text: str, least: int = 0, most: int | None = None, bounds: str = "", tries: str = "20m or 90s") -> int:
    """Parse a duration such as ``20m``, ``1m30s`` or ``500ms`` to milliseconds. `bounds` describes the range."""
    given = text.strip().lower()
    parts = _PART.findall(given)
    if not parts or "".join(number + unit for number, unit in parts) != given:
        raise ValueError(f"{text!r} is not a valid duration (try {tries})")
    ms = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if ms < least or (most is not None and ms > most):
        raise ValueError(f"{text!r} is out of range: {bounds}")
    return round(ms)


def _race(text: str) -> Link:
    """Parse a race id or an invite link."""
    if link := race_link(text):
        return Link(link[0] and server_address(link[0]), link[1])
    raise ValueError(f"{text!r} is not a valid race; use its id or its link (http://host:8640/r/ID)")


def _link(text: str) -> Link:
    """Parse a race, or the link of a challenge."""
    link = challenge_link(text)
    return Link(server_address(link[0]), link[1], is_challenge=True) if link and link[0] else _race(text)


def _game_or_link(text: str) -> str | Link:
    """Parse a game, a link, or the id of a challenge, which has digits."""
    if "/" in text:
        return _link(text)
    link = challenge_link(text)
    return Link(*link, is_challenge=True) if link and re.search(r"-\d", text) else _game(text)


def _until(text: str) -> int:
    """Parse a deadline, a duration or a local time, to milliseconds from now."""
    from samedeal.race.challenge import LONGEST_MS, SHORTEST_MS

    try:
        ms = round(1_000 * (datetime.fromisoformat(text.strip()).timestamp() - time.time()))
    except (ValueError, OverflowError):
        ms = _duration(text, tries="48h, or a local time such as '2026-11-29 20:00'")
    if not SHORTEST_MS <= ms <= LONGEST_MS:
        raise ValueError(f"{text!r} is out of range: the deadline must be 1h to 30d from now")
    return ms


def _login(text: str) -> Login:
    """Parse a login code or its link. The server checks the code."""
    page, hash_sign, code = unwrapped(text).rpartition("#")
    if not hash_sign and "/" not in code:
        return Login(None, code)
    if not (match := re.fullmatch(r"(.+)/login/?", page)):
        raise ValueError("this is not a login code or its link (http://host:8640/login#CODE)")
    return Login(server_address(match[1]), code)


def _deal(text: str) -> Deal:
    """Parse a deal code such as ``corners:42``: a game and a seed."""
    game, colon, seed = text.partition(":")
    if not colon or not game:
        raise ValueError(f"{text!r} is not a valid deal code (try corners:42)")
    if not seed:
        raise ValueError(f"{text!r} is not a valid deal code: the seed is missing (try corners:42)")
    return Deal(_game(game), _seed(seed))


def _date(text: str) -> str:
    """Parse a date in UTC."""
    try:
        return Day.of(text).date
    except ValueError as error:
        raise ValueError(f"{text!r} is not a valid date (try 2026-11-21)") from error


def _game(text: str) -> str:
    """Parse the slug of a game of this program or of the server, or an unambiguous part of it."""
    try:
        return named(text, GAMES, "game")
    except Misused:
        return named(text, dict.fromkeys((*GAMES, *_served_games())), "game")


def _served_games() -> tuple[str, ...]:
    """Return the games of the current server, which may be newer than this program, or none if it is unreachable."""
    from samedeal_cli.net.http_api import Api

    context = click.get_current_context(silent=True)
    if context is None or not isinstance(context.obj, Settings):
        return ()
    try:
        return tuple(game.slug for game in Api(context.obj.address).games())
    except Failure:
        return ()


def _seed(text: str) -> str:
    """Check the seed of an open deal."""
    if not 1 <= len(text) <= LONGEST_SEED:
        raise ValueError(f"a seed must have 1 to {LONGEST_SEED} characters; this one has {len(text)}")
    if re.search(r"[|\x00-\x1f\x7f]", text):
        raise ValueError("a seed must not contain | or control characters")
    return text


def _game_or_deal(text: str) -> tuple[str, str | None]:
    """Parse a game, or a deal code to a game and a seed."""
    if ":" not in text:
        return _game(text), None
    deal = _deal(text)
    return deal.game, deal.seed


def _race_or_deal(text: str) -> Link | Deal:
    """Parse a race, or a deal code."""
    game, colon, _ = text.partition(":")
    is_link = "://" in text or race_link(text)
    return _deal(text) if colon and (game in GAMES or not is_link) else _race(text)


def _deal_or_replay(text: str) -> Deal | str:
    """Parse a deal code. Other texts name a replay."""
    game, colon, _ = text.partition(":")
    return _deal(text) if colon and (game in GAMES or not re.search(r"[/\\]", text)) else text


def _public_key(text: str) -> str:
    """Parse a server's public key."""
    key = text.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", key):
        raise ValueError(f"{text!r} is not a valid public key; it must have 64 hexadecimal digits")
    return key


def _variant(text: str) -> tuple[str, str | bool]:
    """Parse an option of a game with its value, such as ``cap=off``."""
    name, equals, choice = text.partition("=")
    if not equals or not name or not choice:
        raise ValueError(f"{text!r} is not a valid variant (try cap=off or refill=waste)")
    return name, {"on": True, "true": True, "off": False, "false": False}.get(choice.lower(), choice)


DURATION = Parsed("time", _duration)
LIMIT = Parsed("time", lambda text: _duration(text, 1_000, 7_200_000, "the limit must be 1 s to 2 h"))
DELAY = Parsed("time", lambda text: _duration(text, 0, 60_000, "the countdown must be 0 s to 60 s"))
WAIT = Parsed("time", lambda text: _duration(text, 0, 86_400_000, "0s to 24h"))
MOMENT = Parsed("moment", parse_moment)
DATE = Parsed("date", _date)
RACE = ParsedRace("race", _race)
LOGIN = Parsed("code", _login)
DEAL = Parsed("deal", _deal)
RACE_OR_DEAL = ParsedRace("race or deal", _race_or_deal)
DEAL_OR_REPLAY = Parsed("deal or replay", _deal_or_replay, GAMES, files=True)
GAME = Parsed("game", _game, GAMES)
RACE_OR_CHALLENGE = ParsedRace("race", _link)
GAME_OR_LINK = ParsedChallenge("game or challenge", _game_or_link, GAMES)
CLUB = Parsed("club", club_name)
UNTIL = Parsed("time", _until)
GAME_OR_DEAL = Parsed("game or deal", _game_or_deal, GAMES)
SEED = Parsed("seed", _seed)
NAME = Parsed("name", normalised)
KEY = Parsed("hex", _public_key)
VARIANT = Parsed("variant", _variant)
FILE: Final = click.Path(dir_okay=False, path_type=Path)
FOLDER: Final = click.Path(file_okay=False, path_type=Path)
REPLAY: Final = ReplayPath(readable=False)

as_option = click.option(
    "--as", "name", type=NAME, help="Your name; each name is a separate player.  [default: the one that whoami shows]"
)
club_option = click.option("--club", type=CLUB, help="Race in one of your clubs; only its members can join.")
variant_option = click.option(
    "--variant", "variants", type=VARIANT, multiple=True, metavar="NAME=VALUE", help="Set an option of the game."
)
max_option = click.option(
    "--max",
    "max_racers",
    type=Number(1, 32),
    metavar="N",
    help="Maximum number of players.  [default: 8; in a challenge: 1]",
)
_RACE_OPTIONS: Final = (
    click.option("--daily", is_flag=True, help="Race today's deal of the game, the same for everyone."),
    click.option("--limit", "limit_ms", type=LIMIT, help="Time limit, 1s to 2h.  [default: depends on the game]"),
    click.option(
        "--undo",
        type=click.Choice(["on", "off"]),
        callback=lambda context, parameter, value: None if value is None else value == "on",
        help="Allow undo.  [default: on]",
    ),
    variant_option,
)


def race_options(function: Callable[..., Any], *, daily: bool = True) -> Callable[..., Any]:
    """Add the options of all commands that open races for people, with or without that for the daily deal."""
    return reduce(lambda decorated, option: option(decorated), reversed(_RACE_OPTIONS[not daily :]), function)


def check_daily(seed: str | None = None) -> None:
    """Raises Misused if ``--daily`` is combined with a deal code or with options that daily deals do not permit."""
    context = click.get_current_context()
    options = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    given = [options[name] for name in NOT_DAILY if context.params.get(name) not in (None, ())]
    if given := ["a deal code"] * (seed is not None) + given:
        raise Misused(f"--daily cannot be combined with {', '.join(given)}")
