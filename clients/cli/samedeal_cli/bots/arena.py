"""The command ``arena``: races bots against each other without a server."""

import sys
from collections.abc import Iterator, Sequence
from typing import Final

import click
import msgspec

from samedeal.arena.arena_results import ArenaRace, ArenaTable, table
from samedeal.arena.players import PLAYERS, plays
from samedeal.computer.deal_filters import FILTERS, usual_filter
from samedeal.games.catalogue import GAMES
from samedeal.race.run import MAX_MOVES
from samedeal_cli.bots.arena_races import Contest, check_program, play_all, processors
from samedeal_cli.commands.output import print_line, table_lines
from samedeal_cli.commands.parameters import DURATION, GAME, LONGEST_SEED, SEED, Number, Parsed
from samedeal_cli.failure import Misused
from samedeal_cli.render.phrases import counted
from samedeal_cli.render.transcript import printable
from samedeal_cli.sanitise import print_file
from samedeal_cli.settings import Settings, command

MAX_BOTS: Final = 32
LIST: Final = Parsed("games", lambda text: tuple(GAME.convert(game, None, None) for game in text.split(",")))


@command(
    "samedeal arena ./mybot greedy random --games corners,gallery",
    "samedeal arena 'python3 new.py' 'python3 old.py' --deals 500 --json",
)
@click.argument("bots", nargs=-1, required=True, metavar="BOT...")
@click.option("--games", type=LIST, metavar="GAMES", help="Comma-separated games.  [default: all that the bots play]")
@click.option("--deals", type=Number(1, 100_000), default=50, help="Number of races per game.")
@click.option("--filter", "filter_", type=click.Choice(FILTERS), help="Which deals.  [default: as in races]")
@click.option("--seed", type=SEED, default="1", help="Another seed is another set of deals.")
@click.option("--jobs", type=Number(1, 1024), help="Number of races at a time.  [default: one per processor]")
@click.option("--moves", type=Number(1, MAX_MOVES), default=300, help="Length of a race, in moves.")
@click.option("--timeout", type=DURATION, default="30s", help="A program's time for a move.")
def arena(
    settings: Settings,
    bots: Sequence[str],
    games: Sequence[str] | None,
    deals: int,
    filter_: str | None,
    seed: str,
    jobs: int | None,
    moves: int,
    timeout: int,
) -> None:
    """Race bots against each other, without a server.

    Each BOT is a program, as for `samedeal bot --exec`, or a built-in player: random, first, greedy, playouts,
    solver, or a bot by its name, such as corners-bot/1. Every racer makes one move at a time, so the results do not
    depend on how fast bots are. A bot that crashes, hangs or is refused twenty times in a row loses that race.
    """
    if len(bots) > MAX_BOTS:
        raise Misused(f"at most {MAX_BOTS} bots can race")
    if len(f"{seed}.{deals}.4096") > LONGEST_SEED:
        raise Misused("the seed is too long")
    if not timeout:
        raise Misused("--timeout must not be zero")
    for bot in bots:
        if bot not in PLAYERS:
            check_program(bot)
    chosen = games or [game for game in GAMES if all(_plays(bot, game) for bot in bots)]
    if not chosen:
        raise Misused("no game is played by all these bots")
    if unable := [(bot, game) for bot in bots for game in chosen if not _plays(bot, game)]:
        raise Misused("{} does not play {}".format(*unable[0]))
    filters = {game: filter_ or usual_filter(GAMES[game]) for game in chosen}
    contests = [
        Contest(game, f"{seed}.{number}", filter_, tuple(bots), moves, timeout / 1000)
        for game, filter_ in filters.items()
        for number in range(deals)
    ]
    hidden = settings.quiet or settings.json or settings.screen_reader or not sys.stderr.isatty()
    racing = play_all(contests, jobs or processors())
    with click.progressbar(racing, len(contests), label="racing", file=sys.stderr, hidden=hidden) as bar:
        results = list(bar)
    by_game = {game: results[number * deals : (number + 1) * deals] for number, game in enumerate(filters)}
    if settings.json:
        tables = [
            {"game": game, "filter": filters[game], "table": table(races), "races": races}
            for game, races in by_game.items()
        ]
        document = {"bots": bots, "seed": seed, "moves": moves, "games": tables, "table": table(results)}
        print_file(msgspec.json.encode(document))
        return
    names = [printable(bot) + (f" #{seat}" if bots.count(bot) > 1 else "") for seat, bot in enumerate(bots, start=1)]
    parts = {
        f"{GAMES[game].title}, {counted(deals, 'deal')} ({filters[game]})": races for game, races in by_game.items()
    }
    if len(by_game) > 1:
        parts[f"All games, {len(results)} deals"] = results
    for title, races in parts.items():
        for line in _table_lines(title, names, table(races)):
            print_line(settings, line)
    for line in _failures(names, results):
        click.echo(f"samedeal: {line}", err=True)


def _plays(bot: str, game: str) -> bool:
    return bot not in PLAYERS or plays(bot, game)


def _table_lines(title: str, names: Sequence[str], scores: ArenaTable) -> Iterator[str]:
    yield title
    yield from table_lines(
        (
            f"{place:>2}. {names[row.racer]}",
            f"{100 * row.matchpoints:.1f}% of matchpoints",
            counted(row.wins, "win"),
            f"{row.solved} solved",
            f"{row.home:.1f} cards home",
            counted(row.failures, "failure") if row.failures else "",
        )
        for place, row in enumerate(scores.rows, start=1)
    )
    for pair in scores.pairs:
        share = f"{100 * pair.share:.1f}% ({100 * pair.low:.1f} to {100 * pair.high:.1f}%)"
        counts = f"{pair.ahead} ahead, {pair.tied} tied, {pair.behind} behind"
        yield f"{names[pair.stronger]} before {names[pair.weaker]}: {share}; {counts}"
    yield ""


def _failures(names: Sequence[str], races: Sequence[ArenaRace]) -> Iterator[str]:
    """Yield a line for each kind of failure, with the first deal on which it happened."""
    deals = dict[tuple[str, str], list[str]]()
    for race in races:
        for name, racer in zip(names, race.racers, strict=True):
            if racer.failure is not None:
                deals.setdefault((name, racer.failure), []).append(race.deal)
    for (name, failure), lost in deals.items():
        yield f"{name} lost {counted(len(lost), 'race')}, first {lost[0]}: it {failure}"
