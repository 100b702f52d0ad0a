"""Types of command-line parameters: durations, races, deals, names, variants and others."""

import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import click
from click.shell_completion import CompletionItem

from samedeal.day import Day
from samedeal.errors import Refused
from samedeal.games.catalogue import GAMES
from samedeal.names import normalised
from samedeal_cli.commands.timecode import Moment, parse_moment
from samedeal_cli.failure import Failure, Misused
from samedeal_cli.net.addresses import server_address
from samedeal_cli.settings import Settings

_UNITS: Final = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
LONGEST_SEED: Final = 128
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")


@dataclass(frozen=True)
class Link:
    """A race id, and the server if it was given as a link."""

    server: str | None
    race_id: str


@dataclass(frozen=True)
class Deal:
    """A game and a seed."""

    game: str
    seed: str


class Number(click.IntRange):
    """An integer in a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not re.fullmatch(r"\s*-?\d{1,18}\s*", value):
            self.fail(f"{value!r} is not a valid integer.", param, ctx)
        return super().convert(value, param, ctx)


class MomentOfRace(click.ParamType[Moment]):
    """A time since the deal such as ``1:48``, or a move such as ``m35`` or ``35``."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Moment:
        try:
            return parse_moment(str(value))
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class Duration(click.ParamType[int]):
    """A duration such as ``20m``, ``90s``, ``1m30s`` or ``500ms``, in milliseconds."""

    name = "duration"

    def __init__(self, least: int = 0, most: int | None = None, bounds: str = "") -> None:
        """`bounds` describes the range in error messages."""
        self._least, self._most, self._bounds = least, most, bounds

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip().lower()
        parts = _PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            self.fail(f"{value!r} is not a valid duration (try 20m or 90s).", param, ctx)
        ms = sum(float(number) * _UNITS[unit] for number, unit in parts)
        if ms < self._least or (self._most is not None and ms > self._most):
            self.fail(f"{value!r} is out of range: {self._bounds}.", param, ctx)
        return round(ms)


class RaceLink(click.ParamType[Link]):
    """A race id or an invite link."""

    name = "race"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Link:
        text = str(value).strip()
        if re.fullmatch(r"[a-z0-9-]{1,64}", text):
            return Link(None, text)
        match = re.fullmatch(r"(.+)/[rw]/([a-z0-9-]{1,64})/?", text.partition("#")[0].partition("?")[0])
        if not match:
            self.fail(f"{value!r} is not a valid race; use its id or its link (http://host:8640/r/ID).", param, ctx)
        try:
            server = server_address(match[1])
        except Failure as failure:
            self.fail(failure.format_message(), param, ctx)
        parts = urlsplit(server)
        return Link(f"{parts.scheme}://{parts.netloc}{parts.path}", match[2])


class DealCode(click.ParamType[Deal]):
    """A deal code such as ``corners:42``: a game and a seed."""

    name = "deal"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Deal:
        if isinstance(value, Deal):
            return value
        game, colon, seed = str(value).partition(":")
        if not colon or not game:
            self.fail(f"{value!r} is not a valid deal code (try corners:42).", param, ctx)
        if not seed:
            self.fail(f"{value!r} is not a valid deal code: the seed is missing (try corners:42).", param, ctx)
        return Deal(GAME.convert(game, param, ctx), SEED.convert(seed, param, ctx))


class Date(click.ParamType[str]):
    """A date in UTC."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return Day.of(str(value)).date
        except ValueError:
            self.fail(f"{value!r} is not a valid date (try 2026-11-21).", param, ctx)


class GameName(click.ParamType[str]):
    """A game of this program or of the server."""

    name = "game"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(slug) for slug in GAMES if slug.startswith(incomplete)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in GAMES:
            return str(value)
        served = _served_games(ctx.obj) if ctx and re.fullmatch(r"[a-z0-9-]{1,64}", str(value)) else ()
        if value not in served:
            self.fail(
                f"unknown game {value!r}; the games are {', '.join(dict.fromkeys((*GAMES, *served)))}.", param, ctx
            )
        return str(value)


def _served_games(settings: Any) -> tuple[str, ...]:
    """Return the games of the current server, which may be newer than this program, or none if it is unreachable."""
    from samedeal_cli.net.http_api import Api

    if not isinstance(settings, Settings):
        return ()
    try:
        return tuple(game.slug for game in Api(settings.address).games())
    except Failure:
        return ()


class Seed(click.ParamType[str]):
    """The seed of an open deal."""

    name = "seed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        seed = str(value)
        if not 1 <= len(seed) <= LONGEST_SEED:
            self.fail(f"a seed must have 1 to {LONGEST_SEED} characters; this one has {len(seed)}.", param, ctx)
        if re.search(r"[|\x00-\x1f\x7f]", seed):
            self.fail("a seed must not contain | or control characters.", param, ctx)
        return seed


class GameOrDeal(click.ParamType[tuple[str, str | None]]):
    """A game, or a deal code."""

    name = "game or deal"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return GAME.shell_complete(ctx, param, incomplete)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str | None]:
        if ":" not in str(value):
            return GAME.convert(value, param, ctx), None
        deal = DEAL.convert(value, param, ctx)
        return deal.game, deal.seed


class RaceOrDeal(click.ParamType[Link | Deal]):
    """A race, or a deal code."""

    name = "race or deal"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Link | Deal:
        game, colon, _ = str(value).partition(":")
        link = re.search(r"/[rw]/", str(value)) or "://" in str(value)
        if colon and (game in GAMES or not link):
            return DEAL.convert(value, param, ctx)
        return RACE.convert(value, param, ctx)


class PlayerName(click.ParamType[str]):
    """A player's name."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return normalised(str(value))
        except Refused as refused:
            self.fail(refused.text, param, ctx)


class PublicKey(click.ParamType[str]):
    """A server's public key."""

    name = "key"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        key = str(value).strip().lower()
        if not re.fullmatch("[0-9a-f]{64}", key):
            self.fail(f"{value!r} is not a valid public key; it must have 64 hexadecimal digits.", param, ctx)
        return key


class Variant(click.ParamType[tuple[str, str | bool]]):
    """An option of a game with its value, such as ``cap=off``."""

    name = "variant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str | bool]:
        name, equals, choice = str(value).partition("=")
        if not equals or not name or not choice:
            self.fail(f"{value!r} is not a valid variant (try cap=off or refill=waste).", param, ctx)
        return name, {"on": True, "true": True, "off": False, "false": False}.get(choice.lower(), choice)


DURATION, RACE, DEAL, NAME, VARIANT = Duration(), RaceLink(), DealCode(), PlayerName(), Variant()
MOMENT = MomentOfRace()
LIMIT: Final = Duration(1_000, 7_200_000, "the limit must be 1 s to 2 h")
DELAY: Final = Duration(0, 60_000, "the countdown must be 0 s to 60 s")
DATE: Final = Date()
GAME, SEED, GAME_OR_DEAL, RACE_OR_DEAL, KEY = GameName(), Seed(), GameOrDeal(), RaceOrDeal(), PublicKey()

limit_option = click.option(
    "--limit", type=LIMIT, metavar="TIME", help="Time limit, 1s to 2h.  [default: depends on the game]"
)
undo_option = click.option("--undo", type=click.Choice(["on", "off"]), help="Allow undo.  [default: on]")
variant_option = click.option(
    "--variant", "variants", type=VARIANT, multiple=True, metavar="NAME=VALUE", help="Set an option of the game."
)


daily_option = click.option("--daily", is_flag=True, help="Race today's deal of the game, the same for everyone.")


def check_daily(others: dict[str, object]) -> None:
    """Raises Misused if options other than None are combined with ``--daily``."""
    if given := [name for name, value in others.items() if value not in (None, ())]:
        raise Misused(f"--daily cannot be combined with {', '.join(given)}")


def race_options(limit: int | None, undo: str | None, **others: object) -> dict[str, object]:
    """Return the given options of a race in the server's format."""
    options = {"limit_ms": limit, "undo": None if undo is None else undo == "on", **others}
    return {option: value for option, value in options.items() if value is not None}
