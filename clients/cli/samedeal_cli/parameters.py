"""Parameters: how durations, races, deals, names and variants are written on a command line."""

import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import click

from samedeal.errors import Refused
from samedeal.names import normalised
from samedeal_cli.addresses import server_address
from samedeal_cli.failure import Failure

_UNITS: Final = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")


@dataclass(frozen=True)
class Link:
    """A race, and its server if the link names one."""

    server: str | None
    race: str


@dataclass(frozen=True)
class Deal:
    """What a deal code names: a game and a seed."""

    game: str
    seed: str


class Duration(click.ParamType[int]):
    """Milliseconds, written such as ``20m``, ``90s``, ``1m30s`` or ``500ms``."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip().lower()
        parts = _PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            self.fail(f"{value!r} is no duration; write 20m, 90s, 1m30s or 500ms.", param, ctx)
        return round(sum(float(number) * _UNITS[unit] for number, unit in parts))


class RaceLink(click.ParamType[Link]):
    """A race: its id, or the link that was sent round."""

    name = "race"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Link:
        text = str(value).strip()
        if re.fullmatch(r"[a-z0-9-]{1,64}", text):
            return Link(None, text)
        found = re.fullmatch(r"(.+)/[rw]/([a-z0-9-]{1,64})/?", text.partition("#")[0].partition("?")[0])
        if not found:
            self.fail(f"{value!r} is no race; give its id or its link (http://host:8640/r/ID).", param, ctx)
        try:
            server = server_address(found[1])
        except Failure as failure:
            self.fail(failure.format_message(), param, ctx)
        parts = urlsplit(server)
        return Link(f"{parts.scheme}://{parts.netloc}{parts.path}", found[2])


class DealCode(click.ParamType[Deal]):
    """A deal code: a game, a colon and the seed, such as ``corners:42``."""

    name = "deal"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Deal:
        if isinstance(value, Deal):
            return value
        game, colon, seed = str(value).partition(":")
        if not colon or not game or not seed:
            self.fail(f"{value!r} is no deal code; it looks like corners:42.", param, ctx)
        return Deal(game, seed)


class PlayerName(click.ParamType[str]):
    """What a person is called."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return normalised(str(value))
        except Refused as refused:
            self.fail(refused.text, param, ctx)


class Variant(click.ParamType[tuple[str, str | bool]]):
    """One of a game's own options with its value, such as ``cap=off``."""

    name = "variant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str | bool]:
        name, equals, chosen = str(value).partition("=")
        if not equals or not name or not chosen:
            self.fail(f"{value!r} is no variant; it looks like cap=off or refill=waste.", param, ctx)
        return name, {"on": True, "true": True, "off": False, "false": False}.get(chosen.lower(), chosen)


DURATION, RACE, DEAL, NAME, VARIANT = Duration(), RaceLink(), DealCode(), PlayerName(), Variant()
