"""The bodies that create races, more precise than their type: a schema per kind of deal and set of game options."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from samedeal.computer.deal_filters import FILTERS, GRADES, has_grades
from samedeal.games.catalogue import GAMES
from samedeal.race.events import MAX_DEALS, RaceId
from samedeal_server.live.challenges import DEAL_OPTIONS, HEAT_OPTIONS
from samedeal_server.live.opening import DAILY_OPTIONS, VISIBLE
from tools.json_schemas import PREFIX, Schema

SEED: Final = {"type": "string", "minLength": 1, "maxLength": 128, "pattern": VISIBLE}
RACE_ID: Final = msgspec.json.schema(RaceId)
ONLY_TRUE: Final = {"type": "boolean", "enum": [True]}
UNGRADED: Final = "Ungraded"
"""Stands for games without grades in the names of schemas."""
ONLY_FALSE: Final = {"type": "boolean", "enum": [False], "default": False}


def add_race_bodies(components: dict[str, Schema]) -> list[Schema]:
    """Add the schemas of the bodies to `components`, which has that of Options. Return references to them."""

    def define(name: str, description: str, required: Iterable[str] = (), **properties: Schema) -> Schema:
        if name in components:
            raise ValueError(f"{name} is the name of another type")
        components[name] = {
            "title": name,
            "description": description,
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        }
        return {"$ref": PREFIX + name}

    def options(name: str, kind_of_deal: str, **allowed: Schema) -> Schema:
        text = f"The options of a race on {kind_of_deal}. The default of `limit_ms` is the game's."
        return define(name, text, **allowed)

    every = {name: _without_default(schema) for name, schema in components["Options"]["properties"].items()}
    only_any = {"enum": ["any"], "description": every["filter"]["description"]}
    known = options("OpenOptions", "an open deal", **{**every, "filter": only_any})
    daily = options("DailyOptions", "a daily deal", **{name: every[name] for name in every if name in DAILY_OPTIONS})
    sealed, of_challenge = dict[str, Schema](), dict[str, Schema]()
    for name, filters in (("", FILTERS), (UNGRADED, [each for each in FILTERS if each not in GRADES])):
        of_game = {**every, "filter": {**every["filter"], "enum": filters}}
        sealed[name] = options(f"{name}SealedOptions", "a sealed deal", **of_game)
        fixed = {option: of_game[option] for option in sorted(DEAL_OPTIONS)}
        of_challenge[name] = options(f"{name}DealOptions", "a deal of a challenge", **fixed)
    no_seed = {"type": "null", "default": None}
    seed = {**SEED, "description": "The seed of the deal."}
    bodies, deals = [], []
    slugs_by_options: dict[str, list[str]] = {}
    for game in GAMES.values():
        name = "".join(map(str.capitalize, game.options)) + ("" if has_grades(game) else UNGRADED)
        slugs_by_options.setdefault(name, []).append(game.slug)
    for name, slugs in slugs_by_options.items():
        variant = define(f"{name}Variant", f"The options of {', '.join(slugs)}.", **_variant(GAMES[slugs[0]].options))
        common = {"game": _one_of(slugs), "variant": variant}
        grades = UNGRADED if name.endswith(UNGRADED) else ""
        text, fields = f"A deal of {', '.join(slugs)} in a new challenge.", {**common, "options": of_challenge[grades]}
        deals.append(define(f"{name}DealOfChallenge", text, ["game"], **fields))
        text = "A race on a deal that nobody can know before the race starts."
        fields = {**common, "seed": no_seed, "daily": ONLY_FALSE, "club": RACE_ID, "options": sealed[grades]}
        bodies.append(define(f"Sealed{name}Opening", text, ["game"], **fields))
        text = "A race on the deal of a known seed."
        fields = {**common, "seed": seed, "daily": ONLY_FALSE, "options": known}
        bodies.append(define(f"Open{name}Opening", text, ["game", "seed"], **fields))
    del components["NewDeal"]
    components["CreateChallenge"]["properties"]["deals"]["items"] = {"anyOf": deals}
    text = "A race on the deal of finished races, with their racers as ghosts."
    ghosts = {"type": "array", "items": RACE_ID, "minItems": 1, "maxItems": 8}
    bodies.append(define("GhostOpening", text, ["ghosts"], ghosts=ghosts, options=known))
    fields = {"variant": define("NoVariant", "A daily deal has no variant."), "seed": no_seed, "daily": ONLY_TRUE}
    fields = {"game": _one_of(GAMES), **fields, "options": daily}
    bodies.append(define("DailyOpening", "A race on today's deal.", ["game", "daily"], **fields))
    text = "A heat of a challenge."
    fields = {"deal": {"type": "integer", "minimum": 1, "maximum": MAX_DEALS, "default": 1}, "challenge": RACE_ID}
    heat = options("HeatOptions", "a deal of a challenge", **{name: every[name] for name in sorted(HEAT_OPTIONS)})
    bodies.append(define("HeatOpening", text, ["challenge"], **fields, options=heat))
    text = "A rematch of a finished race, perhaps with another game."
    bodies.append(define("RematchOpening", text, ["again"], again=RACE_ID, game=_one_of(GAMES)))
    return bodies


def _variant(options: Mapping[str, Any]) -> dict[str, Schema]:
    """Return the schemas of a game's options."""
    return {
        option: {"type": "boolean", "default": choices[0]} if isinstance(choices[0], bool) else text_option(choices)
        for option, choices in options.items()
    }


def text_option(choices: Iterable[str | bool]) -> Schema:
    """Return the schema of a game's option as text, as in a query."""
    texts = [f"{choice}".lower() for choice in choices]
    return {"enum": sorted(texts), "default": texts[0]}


def _one_of(texts: Iterable[str]) -> Schema:
    return {"enum": sorted(texts)}


def _without_default(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if name != "default"}
