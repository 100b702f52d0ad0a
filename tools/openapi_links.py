"""The links of the OpenAPI document: operations that accept values of another operation's response."""

import re
from collections.abc import Mapping
from typing import Any, Final

OF_RACES: Final = (
    *("/api/v1/replays/{replay}", "/api/v1/solutions/{replay}"),
    *("/api/v1/races/{race}", "/api/v1/races/{race}/par", "/api/v1/races/{race}/par.svg"),
    *("/api/v1/races/{race}/analysis", "/api/v1/replays/{race}/steps", "/api/v1/solutions/{race}/steps"),
    *("/r/{race}", "/w/{race}", "/o/{race}", "/replay/{race}"),
)
"""The paths to which responses with the ID of a race link."""
Links = Mapping[str, Any]


def _to_races(pointer: str) -> Links:
    """Return the links of a response with the ID of a race at a JSON pointer."""
    return {f"GET {path}": {parameter: f"$response.body#{pointer}"} for path in OF_RACES for parameter in _names(path)}


def _names(path: str) -> list[str]:
    return re.findall(r"{(\w+)}", path)


GAME: Final = {"game": "$response.body#/games/0/slug"}
NEXT: Final = {"before": "$response.body#/next"}
LINKS: Final[Mapping[str, Links]] = {
    "GET /api/v1/games": {"GET /api/v1/games/{game}": GAME, "GET /rules/{game}": GAME},
    "POST /api/v1/guests/pass": {"POST /api/v1/guests/login": {"code": "$response.body#/code"}},
    "GET /api/v1/races": {**_to_races("/races/0/race"), "GET /api/v1/races": NEXT},
    "POST /api/v1/races": _to_races("/race"),
    "GET /api/v1/replays": {**_to_races("/replays/0/race"), "GET /api/v1/replays": NEXT},
    "GET /api/v1/replays/{replay}": {"POST /api/v1/verify": "$response.body"},
    "GET /api/v1/deals/{deal}/par": {"GET /api/v1/deals/{deal}/par/{play}": {"seed": "$request.path.seed"}},
    "GET /api/v1/daily": {
        "GET /api/v1/daily/{date}/{game}": {
            "date": "$response.body#/daily/0/date",
            "game": "$response.body#/daily/0/game",
        }
    },
    "GET /api/v1/daily/{date}/{game}": {
        **_to_races("/results/0/race"),
        "GET /api/v1/daily/{date}/{game}": {
            "date": "$request.path.date",
            "game": "$request.path.game",
            "skip": "$response.body#/next",
        },
    },
    "GET /api/v1/players/{player}": {
        **_to_races("/races/0/race"),
        "GET /api/v1/players/{player}/versus/{other}": {
            "player": "$request.path.player",
            "other": "$response.body#/races/0/racers/0/player",
        },
    },
}
"""By operation, the operations to which it links, with their parameters; for POST, with their body."""
