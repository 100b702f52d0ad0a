"""Whether skill counts: how often the stronger of two racers is ahead on the default deals of each game.

Run it with ``python -m research.skill``. The four players, weakest first, are those of ``samedeal arena``.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import click

from samedeal.arena.arena_results import ArenaRace, Pair, pair, table
from samedeal.computer.deal_filters import FILTERS, usual_filter
from samedeal.games.catalogue import GAMES
from samedeal_cli.bots.arena_races import Contest, play_all, processors

PLAYERS: Final = ("random", "greedy", "playouts", "solver")
HEADER: Final = (
    f"| Game | Filter | Races | {' | '.join(f'{b} before {a}' for a, b in pairwise(PLAYERS))} | Solved |\n"
    f"|---|---|---|{'---|' * len(PLAYERS)}"
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--games", default=",".join(GAMES), show_default=True, help="Comma-separated games.")
@click.option("--races", default=200, show_default=True, type=click.IntRange(1), help="Number of races per game.")
@click.option("--filter", "filter_", type=click.Choice(FILTERS), help="Which deals.  [default: as in races]")
@click.option("--seed", default="skill", show_default=True, help="Races with another seed have other deals.")
@click.option("--moves", default=300, show_default=True, help="Length of a race, in moves.")
@click.option("--jobs", default=processors(), show_default=True, help="Number of races at a time.")
def main(games: str, races: int, filter_: str | None, seed: str, moves: int, jobs: int) -> None:
    """Race players of different strength, and print a table in Markdown with intervals of 95 %."""
    click.echo(HEADER)
    for game in games.split(","):
        filter_name = filter_ or usual_filter(GAMES[game])
        contests = [
            Contest(game=game, root=f"{seed}.{number}", filter=filter_name, bots=PLAYERS, moves=moves, timeout_s=1.0)
            for number in range(races)
        ]
        click.echo(f"| {GAMES[game].title} | `{filter_name}` | {races} | {row(list(play_all(contests, jobs)))} |")


def row(races: Sequence[ArenaRace]) -> str:
    """Return the cells of the comparisons, and of the numbers of deals that each player solved."""
    pairs = [pair(races, weaker + 1, weaker) for weaker in range(len(PLAYERS) - 1)]
    solved = sorted((score.racer, score.solved) for score in table(races).rows)
    return " | ".join([*map(share, pairs), ", ".join(f"{count}" for _, count in solved)])


def share(pair: Pair) -> str:
    """Return a share with its interval."""
    return f"{100 * pair.share:.0f} % ({100 * pair.low:.0f}–{100 * pair.high:.0f})"


if __name__ == "__main__":
    main()
