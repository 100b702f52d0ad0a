"""Win rates with the stock known: how many deals of each game can be won, proved by winning lines and proofs of loss.

Run it with ``python -m research.winnability``. It searches for as long as you let it, continues from the results in
research/results, and writes the table in docs/bots/study.md.
"""

import string
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from statistics import mean, median
from typing import Any, Final, NamedTuple

import click
from msgspec.structs import replace

from samedeal.arena.arena_results import wilson
from samedeal.game import Game
from samedeal.games.catalogue import GAMES
from samedeal.games.gallery import Gallery
from samedeal.solver import (
    corner_stones_search as corner_stones,
)
from samedeal.solver import (
    corners_search as corners,
)
from samedeal.solver import (
    freecell_search as freecell,
)
from samedeal.solver import (
    gallery_search as gallery,
)
from samedeal.solver import (
    golf_search as golf,
)
from samedeal.solver import (
    grid_search as grid,
)
from samedeal.solver import (
    klondike_search as klondike,
)
from samedeal.solver.gallery_proof import is_lost
from samedeal.solver.solution import Solution
from tools import markdown

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "research/results"
PAGE: Final = ROOT / "docs/bots/study.md"
BEGIN: Final = "<!-- from research/results -->"


def _search_gallery(start: Gallery, budget: int) -> Solution:
    """Search for the best line even where a win is impossible."""
    best = gallery.search_best(start, budget)
    return replace(best, outcome="lost") if is_lost(start) else best


class Method(NamedTuple):
    """How the deals of a game are searched."""

    name: str
    search: Callable[[Any, int], Solution]
    budgets: Sequence[int]
    """The number of positions that successive passes visit at most, for each deal that is still open."""
    is_exact: bool = False
    """Whether the search is exact and so quick that the results need no lines."""


_EXACT: Final = Method("exact", grid.search, (100_000, 1_000_000, 10_000_000), is_exact=True)
_CORNERS: Final = partial(corners.search, widths=(*corners.WIDTHS, 16_384, 65_536))
METHODS: Final[Mapping[str, Method]] = {
    "corner-stones": Method("beam", corner_stones.search, (100_000, 500_000, 2_000_000)),
    "the-edge": _EXACT,
    "corners": Method("beam", _CORNERS, (100_000, 1_000_000, 4_000_000)),
    "kings-in-the-corners": _EXACT,
    "gallery": Method("beam", _search_gallery, (20_000, 80_000, 320_000, 1_280_000)),
    "freecell": Method("best first", freecell.search, (20_000, 100_000)),
    "golf": Method("depth", golf.search, (20_000, 400_000)),
    "klondike": Method("best first", klondike.search, (20_000, 100_000, 400_000)),
}
DEALS: Final = dict.fromkeys(GAMES, 200) | {"the-edge": 1_000, "kings-in-the-corners": 10_000}
"""The default numbers of deals."""
_LETTERS: Final = string.digits + string.ascii_letters + "".join(map(chr, range(0xC0, 0x180)))
"""Each letter of a line in the results is the number of a move among the legal moves."""


class Row(NamedTuple):
    """The result for one deal."""

    deal: int
    """The seed of the deal."""
    outcome: str
    """``won``, ``lost`` or ``open``, as in a Solution."""
    budget: int
    positions: int
    """How many positions the last search visited."""
    line: str = ""
    """A winning line or, in Gallery, the best one found."""

    @property
    def rank(self) -> tuple[bool, int]:
        """How much the row says: most if the deal is decided, otherwise the more the larger its budget."""
        return self.outcome != "open", self.budget


class Results:
    """The results for one game, in a file to which every result is appended at once."""

    def __init__(self, slug: str) -> None:
        self.slug, self.path = slug, FOLDER / f"{slug}.csv"
        self.rows = dict[int, Row]()
        if self.path.exists():
            for row in _rows(self.path.read_text(encoding="utf-8")):
                self.put(row)

    def put(self, row: Row) -> None:
        """Add a row, unless another one says more about its deal."""
        if row.deal not in self.rows or row.rank > self.rows[row.deal].rank:
            self.rows[row.deal] = row

    def append(self, row: Row) -> None:
        """Add a row and write it at once."""
        self.put(row)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_text(row))

    def tidy(self) -> None:
        """Write the file again, with one row for each deal, in order."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self.path.with_suffix(".tmp")
        whole.write_text(_text(Row._fields) + "".join(_text(self.rows[deal]) for deal in sorted(self.rows)))
        whole.replace(self.path)

    def is_due(self, deal: int, budget: int) -> bool:
        """Return whether a pass with this budget searches a deal."""
        row = self.rows.get(deal)
        return row is None or (row.outcome == "open" and row.budget < budget)


def _text(fields: Iterable[object]) -> str:
    return ",".join(map(str, fields)) + "\n"


def _rows(text: str) -> Iterator[Row]:
    """Yield the rows of a file. The last one is incomplete if it was interrupted; merged files repeat the header."""
    for line in text.splitlines(keepends=True):
        fields = line.removesuffix("\n").split(",")
        if line.endswith("\n") and len(fields) == len(Row._fields) and fields[0].isdigit():
            deal, outcome, budget, positions, letters = fields
            yield Row(int(deal), outcome, int(budget), int(positions), letters)


def searched(slug: str, deal: int, budget: int) -> Row:
    """Search a deal. The line is played by the rules before a win is returned."""
    method = METHODS[slug]
    end = GAMES[slug].from_seed(str(deal))
    solution = method.search(end, budget)
    letters = list[str]()
    for move in solution.line:
        if not method.is_exact:
            letters.append(_LETTERS[end.moves().index(move)])
        end = end.after(move)
    if end.won != (solution.outcome == "won"):
        raise AssertionError(f"{slug} {deal}: the line does not win")
    return Row(deal, solution.outcome, budget, solution.nodes, "".join(letters))


def replayed(slug: str, row: Row) -> Game:
    """Return the position after the line of a row."""
    position = GAMES[slug].from_seed(str(row.deal))
    for letter in row.line:
        position = position.after(position.moves()[_LETTERS.index(letter)])
    return position


def table(results: Iterable[Results]) -> Iterator[str]:
    """Yield the tables of the page."""
    found = [each for each in results if each.rows]
    yield from markdown.table(HEAD, (_line(each) for each in found))
    for each in found:
        if each.slug == "gallery":
            yield from _scores(each)


HEAD: Final = ("Game", "Deals", "Won", "Proved lost", "Undecided", "Win rate", "Method", "Positions, median")


def _line(results: Results) -> Sequence[str]:
    rows, method = list(results.rows.values()), METHODS[results.slug]
    count = len(rows)
    won, lost = (sum(row.outcome == outcome for row in rows) for outcome in ("won", "lost"))
    low, _ = wilson(won / count, count)
    _, high = wilson(1 - lost / count, count)
    return (
        *(GAMES[results.slug].title, f"{count:,}", f"{won:,}", f"{lost:,}", f"{count - won - lost:,}"),
        *(f"{100 * low:.1f}–{100 * high:.1f} %", method.name, f"{median(row.positions for row in rows):,.0f}"),
    )


def _scores(results: Results) -> Iterator[str]:
    """Yield how many deals of Gallery reach which scores, with the best line found."""
    scores = [replayed(results.slug, row).score for row in results.rows.values()]
    yield f"The best score found in Gallery is {mean(scores):.1f} on average:"
    yield ""
    heads = ("Score at most", *map(str, SCORES))
    yield from markdown.table(heads, [("Deals", *(f"{sum(score <= most for score in scores):,}" for most in SCORES))])


SCORES: Final = (0, 3, 6, 10, 15, 20, 30)


def write() -> None:
    """Put the tables into the page."""
    markdown.put_between(PAGE, "\n".join(table(map(Results, GAMES))).strip(), BEGIN)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("games", nargs=-1, type=click.Choice(list(GAMES)))
@click.option("--deals", type=click.IntRange(1), help="Number of deals of each game.  [default: as in the table]")
@click.option("--seconds", type=float, default=inf, help="Stop after this time.  [default: when all is done]")
@click.option("--table", "only_table", is_flag=True, help="Only write the table in the docs.")
def main(games: Sequence[str], deals: int | None, seconds: float, *, only_table: bool) -> None:
    """Search deals of GAMES, by default all, for winning lines and proofs of loss, and write the table in the docs.

    A run continues from the results of earlier ones. Each pass searches the deals that are still undecided with a
    larger budget. You can interrupt it at any time.
    """
    results = [] if only_table else [Results(slug) for slug in games or GAMES]
    tidy(results)
    ends = time.monotonic() + seconds
    try:
        for each, deal, budget in due(results, deals):
            if time.monotonic() >= ends:
                break
            row = searched(each.slug, deal, budget)
            each.append(row)
            click.echo(f"{each.slug} {deal}: {row.outcome} after {row.positions:,} positions", err=True)
    except KeyboardInterrupt:
        click.echo("Interrupted: the next run continues here.", err=True)
    tidy(results)
    write()
    click.echo("\n".join(table(map(Results, games or GAMES))))


def tidy(results: Iterable[Results]) -> None:
    """Write the files of results again."""
    for each in results:
        each.tidy()


def due(results: Sequence[Results], deals: int | None) -> Iterator[tuple[Results, int, int]]:
    """Yield what to search: the results, the deal and the budget, pass by pass."""
    for number in range(max(len(METHODS[each.slug].budgets) for each in results) if results else 0):
        for each in results:
            for budget in METHODS[each.slug].budgets[number : number + 1]:
                for deal in range(1, (deals or max(DEALS[each.slug], *each.rows, 0)) + 1):
                    if each.is_due(deal, budget):
                        yield each, deal, budget


if __name__ == "__main__":
    main()
