"""How many deals the solvers decide, and how fast, at several budgets.

Run it with ``python -m research.solving``. It prints a table in Markdown. The numbers of deals are the same everywhere;
deals per second are for one core.
"""

from collections import Counter
from time import process_time
from typing import Final

import click

from samedeal.games.catalogue import GAMES
from samedeal.solver.solve import solve

BUDGETS: Final = {
    "corner-stones": (5_000, 20_000, 100_000, 200_000),
    "the-edge": (100, 1_000, 10_000),
    "corners": (1_000, 4_000, 20_000, 100_000),
    "kings-in-the-corners": (100, 1_000),
    "gallery": (20_000, 100_000),
}
"""Budgets in positions, by the slug of the game."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--games", default=",".join(GAMES), show_default=True, help="Comma-separated games.")
@click.option("--deals", default=100, show_default=True, type=click.IntRange(1), help="Number of deals per budget.")
def main(games: str, deals: int) -> None:
    """Solve deals, without a filter, and print a table in Markdown."""
    click.echo("| Game | Budget | Won | Proved lost | Open | Deals per second |")
    click.echo("|---|---|---|---|---|---|")
    for slug in games.split(","):
        for budget in BUDGETS[slug]:
            starts = [GAMES[slug].from_seed(f"solving-{number}") for number in range(deals)]
            began_s = process_time()
            found = Counter(solve(start, budget).outcome for start in starts)
            per_s = deals / (process_time() - began_s)
            counts = " | ".join(f"{100 * found[outcome] / deals:.0f} %" for outcome in ("won", "lost", "open"))
            click.echo(f"| {GAMES[slug].title} | {budget:,} | {counts} | {per_s:.{0 if per_s >= 10 else 1}f} |")


if __name__ == "__main__":
    main()
