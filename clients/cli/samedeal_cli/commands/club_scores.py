"""The tables and ratings of a club as lines of text."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from math import log10
from typing import Final

from samedeal.day import Day
from samedeal.scores.club_scores import ClubScores
from samedeal.share.phrases import listed
from samedeal_cli.commands.output import table_lines
from samedeal_cli.render.phrases import counted, title_of

PERIODS: Final = {"day": "{}", "week": "week from {}", "season": "season from {}", "all": "all time"}
"""What the table of a period is called, given the day on which the period began."""
RATED: Final = 10
"""The number of races from which on a rating is not provisional."""


def unique_names(names: Mapping[str, str]) -> dict[str, str]:
    """Return names by public id, which is added to a name that several have."""
    same = Counter(names.values())
    return {player: name if same[name] == 1 else f"{name} ({player})" for player, name in names.items()}


def score_lines(names: Mapping[str, str], scores: ClubScores) -> Iterator[str]:
    """Yield the tables, those that are equal only once, and the ratings, given the names by public id."""
    for rows, tables in groupby(scores.tables, key=lambda table: table.rows):
        if rows:
            yield from ("", listed([PERIODS[each.period].format(Day.at(each.since).date) for each in tables]))
            yield from table_lines(
                (
                    f"{row.place:>2}. {names.get(row.player, 'a former player')}",
                    *map(counted, (row.points, row.races, row.wins), ("point", "race", "win")),
                )
                for row in rows
            )
    for game, ratings in scores.ratings.items():
        yield from ("", f"ratings in {title_of(game)}")
        yield from table_lines(
            (
                names.get(row.player, "a former player"),
                f"{1000 + 400 * log10(row.strength):.0f}",
                counted(row.races, "race"),
                "provisional" if row.races < RATED else "",
            )
            for row in ratings
        )
