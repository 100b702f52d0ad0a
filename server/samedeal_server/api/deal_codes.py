"""Deal codes in paths: a game and a seed, with the game's own options in the query."""

from typing import NamedTuple

from msgspec import Struct
from starlette.requests import Request

from samedeal.errors import Refused
from samedeal.game import Game, Variant
from samedeal.race.events import Seed
from samedeal_server.live.opening import check_visible, checked_game, chosen_variant
from samedeal_server.net.requests import validate


class _SeedField(Struct, frozen=True):
    """The seed of a deal code, for validation."""

    seed: Seed


class Deal(NamedTuple):
    """A deal that a request is about."""

    game: type[Game]
    seed: str
    variant: Variant


def deal_of(request: Request) -> Deal:
    """Return the deal in the path of a request, with the variant in its query. Raises Refused."""
    slug, _, seed = request.path_params["deal"].partition(":")
    game, variant = checked_game(slug), dict[str, str | bool]()
    for option, text in request.query_params.multi_items():
        choices = {f"{choice}".lower(): choice for choice in game.options.get(option, ())}
        if choices and (text not in choices or option in variant):
            raise Refused("bad-request", f"{option} must be given once, as {' or '.join(choices)}.")
        variant[option] = choices.get(text, text)
    if not seed:
        raise Refused("bad-request", f"Name a deal by its seed, such as {game.slug}:42.")
    check_visible(validate({"seed": seed}, _SeedField).seed)
    return Deal(game, seed, chosen_variant(game, variant))
