"""The bodies that create races, as types for OpenAPI: one per kind of deal and set of game options."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, get_type_hints

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from samedeal.games.catalogue import GAMES
from samedeal.race.events import Options, RaceId
from samedeal_server.api.schemas import field_docs
from samedeal_server.live.opening import DAILY_OPTIONS, VISIBLE

VisibleSeed = Annotated[str, Meta(description="The seed of the deal.", min_length=1, max_length=128, pattern=VISIBLE)]
Field = tuple[str, Any, Any] | tuple[str, Any]


def variant_fields(options: Mapping[str, Sequence[str | bool]], *, text: bool = False) -> list[Field]:
    """Return a game's options as optional fields; with `text`, as strings in a query."""
    return [
        (option, bool, choices[0])
        if isinstance(choices[0], bool) and not text
        else (option, Literal[tuple(f"{choice}".lower() for choice in choices)], f"{choices[0]}".lower())
        for option, choices in options.items()
    ]


def _type(name: str, doc: str, fields: Collection[Field]) -> type[Struct]:
    return defstruct(name, fields, namespace={"__doc__": doc}, kw_only=True, forbid_unknown_fields=True)


def _options(name: str, kind_of_deal: str, names: Collection[str], **hints: Any) -> type[Struct]:
    """Return a type with some options of a race, all optional. `hints` replaces types of options."""
    docs = field_docs(Options)
    fields: list[Field] = [
        (option, Annotated[hint, Meta(description=docs.get(option, ""))] | UnsetType, UNSET)
        for option, hint in (get_type_hints(Options, include_extras=True) | hints).items()
        if option in names
    ]
    return _type(name, f"The options of a race on {kind_of_deal}. The default of `limit_ms` is the game's.", fields)


def _only(value: bool) -> Any:
    return Annotated[bool, Meta(extra_json_schema={"enum": [value]})]


def _opening(
    name: str, doc: str, slugs: Iterable[str], variant: type[Struct], seed: Field, daily: Field, options: type[Struct]
) -> type[Struct]:
    game = "game", Literal[tuple(slugs)]
    return _type(
        name, doc, [game, ("variant", variant | UnsetType, UNSET), seed, daily, ("options", options | UnsetType, UNSET)]
    )


def _openings() -> Iterator[type[Struct]]:
    every, no_seed = Options.__struct_fields__, ("seed", None, None)
    sealed = _options("SealedOptions", "a sealed deal", every)
    known = _options("OpenOptions", "an open deal", every, filter=Literal["any"])
    games: dict[str, list[str]] = {}
    for game in GAMES.values():
        games.setdefault("".join(map(str.capitalize, game.options)), []).append(game.slug)
    for name, slugs in games.items():
        doc = f"The options of {', '.join(slugs)}."
        variant = _type(f"{name}Variant", doc, variant_fields(GAMES[slugs[0]].options))
        not_daily = "daily", _only(False), False
        doc = "A race on a deal that nobody can know before the race starts."
        yield _opening(f"Sealed{name}Opening", doc, slugs, variant, no_seed, not_daily, sealed)
        doc = "A race on the deal of a known seed."
        yield _opening(f"Open{name}Opening", doc, slugs, variant, ("seed", VisibleSeed), not_daily, known)
    ghosts = "ghosts", Annotated[list[RaceId], Meta(min_length=1, max_length=8)]
    doc = "A race on the deal of finished races, with their racers as ghosts."
    yield _type("GhostOpening", doc, [ghosts, ("options", known | UnsetType, UNSET)])
    variant = _type("NoVariant", "A daily deal has no variant.", [])
    options = _options("DailyOptions", "a daily deal", DAILY_OPTIONS)
    yield _opening("DailyOpening", "A race on today's deal.", GAMES, variant, no_seed, ("daily", _only(True)), options)
    other: Field = "game", Literal[tuple(GAMES)] | UnsetType, UNSET
    yield _type("Rematch", "A rematch of a finished race, perhaps with another game.", [("again", RaceId), other])


OPENINGS: Final = tuple(_openings())
