"""Results of races, written by hand."""

from samedeal.scores.results import RaceResult, RacerResult

GOAL = 48
_DAY_MS = 86_400_000


def result(race: str, *, game: str = "corners", day: int = 0, ended: int = 0, **others: object) -> RaceResult:
    """Return the result of a race without racers that was opened on a day since 1970."""
    fields = {"daily": False, "unlisted": False, "follows": None, "racers": (), "opened_at": day * _DAY_MS, **others}
    return RaceResult(race=race, game=game, ended_at=day * _DAY_MS + ended, **fields)  # type: ignore[arg-type]


def racer(
    player: str, place: int, *, name: str = "", seat: int = 0, home: int = 10, ms: int = 1_000, won: bool = False
) -> RacerResult:
    """Return the result of a racer, by default named like the public id."""
    return RacerResult(
        player=player,
        seat=seat,
        name=name or player,
        bot=player == "bot",
        place=place,
        won=won,
        home=home,
        goal=GOAL,
        ms=ms,
    )


def race(race_id: str, places: dict[str, int], **others: object) -> RaceResult:
    """Return the result of a race from the place of each racer, best first."""
    return result(race_id, racers=tuple(racer(player, place) for player, place in places.items()), **others)  # type: ignore[arg-type]
