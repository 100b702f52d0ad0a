"""The command ``arena``: races bots against each other without a server."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click
import msgspec

from samedeal.arena.arena_results import ArenaRace, ArenaTable, table
from samedeal.arena.players import PLAYERS, plays
from samedeal.computer.deal_filters import FILTERS, usual_filter
from samedeal.games.catalogue import GAMES
from samedeal.race.run import MAX_MOVES
from samedeal_cli.commands.arena_races import Contest, check_program, play_all, processors
from samedeal_cli.commands.games import print_item
from samedeal_cli.commands.output import print_line
from samedeal_cli.commands.parameters import DURATION, GAME, SEED, Number, Parsed
from samedeal_cli.failure import Misused
from samedeal_cli.net.sanitise import print_file
from samedeal_cli.render.phrases import counted
from samedeal_cli.render.transcript import printable
from samedeal_cli.settings import Settings, command

MAX_BOTS: Final = 32
LIST: Final = Parsed("games", lambda text: tuple(GAME.convert(game, None, None) for game in text.split(",")))


@command(
    "samedeal arena ./mybot greedy random --games corners,gallery",
    "samedeal arena 'python3 new.py' 'python3 old.py' --deals 500 --json",
)
@click.argument("bots", nargs=-1, required=True, metavar="BOT...")
@click.option("--games", type=LIST, metavar="GAMES", help="Comma-separated games.  [default: all that the bots play]")
@click.option("--deals", type=Number(1, 100_000), default=50, show_default=True, help="Number of races per game.")
@click.option("--filter", "filter_", type=click.Choice(FILTERS), help="Which deals.  [default: as in races]")
@click.option("--seed", type=SEED, default="1", show_default=True, help="Another seed is another set of deals.")
@click.option("--jobs", type=Number(1, 1024), help="Number of races at a time.  [default: one per processor]")
@click.option("--moves", type=Number(1, MAX_MOVES), default=300, show_default=True, help="Length of a race, in moves.")
@click.option(
    "--timeout", type=DURATION, default="30s", show_default=True, metavar="TIME", help="A program's time for a move."
)
@click.pass_obj
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
    _check(bots, len(seed) + len(f".{deals}.4096"), timeout)
    chosen = games or [game for game in GAMES if all(_plays(bot, game) for bot in bots)]
    if not chosen or (unable := [(bot, game) for bot in bots for game in chosen if not _plays(bot, game)]):
        raise Misused(
            f"{unable[0][0]} does not play {unable[0][1]}" if chosen else "no game is played by all these bots"
        )
    filters = {game: filter_ or usual_filter(GAMES[game]) for game in chosen}
    contests = [
        Contest(
            game=game,
            root=f"{seed}.{number}",
            filter=filters[game],
            bots=tuple(bots),
            moves=moves,
            timeout_s=timeout / 1000,
        )
        for game in filters
        for number in range(deals)
    ]
    results = _results(settings, contests, jobs or processors())
    by_game = {game: results[number * deals : (number + 1) * deals] for number, game in enumerate(filters)}
    if settings.json:
        print_file(_json(bots, seed, moves, filters, by_game))
        return
    for game, races in by_game.items():
        _print_table(settings, f"{GAMES[game].title}, {deals} deals ({filters[game]})", bots, table(races))
    if len(by_game) > 1:
        _print_table(settings, f"All games, {len(results)} deals", bots, table(results))
    for line in _failures(bots, results):
        click.echo(f"samedeal: {line}", err=True)


def _check(bots: Sequence[str], seed_length: int, timeout: int) -> None:
    if len(bots) > MAX_BOTS:
        raise Misused(f"at most {MAX_BOTS} bots can race")
    if seed_length > 128:
        raise Misused("the seed is too long")
    if not timeout:
        raise Misused("--timeout must not be zero")
    for bot in bots:
        if bot not in PLAYERS:
            check_program(bot)


def _plays(bot: str, game: str) -> bool:
    return bot not in PLAYERS or plays(bot, game)


def _results(settings: Settings, contests: Sequence[Contest], jobs: int) -> list[ArenaRace]:
    hidden = settings.quiet or settings.json or settings.screen_reader or not sys.stderr.isatty()
    with click.progressbar(length=len(contests), label="racing", file=sys.stderr, hidden=hidden) as bar:
        results = []
        for result in play_all(contests, jobs):
            results.append(result)
            bar.update(1)
    return results


def _print_table(settings: Settings, title: str, bots: Sequence[str], scores: ArenaTable) -> None:
    names = [_name(bots, number) for number in range(len(bots))]
    widest = max(map(len, names))
    print_line(settings, title)
    for place, row in enumerate(scores.rows, start=1):
        facts = (
            f"{100 * row.matchpoints:.1f} % of matchpoints",
            counted(row.wins, "win"),
            f"{row.solved} solved",
            f"{row.home:.1f} cards home",
            counted(row.failures, "failure") if row.failures else "",
        )
        line = f"{facts[0]:>23}  {facts[1]:>8}  {facts[2]:>10}  {facts[3]:>16}  {facts[4]}"
        print_item(f"{place:>2}. {names[row.racer]:<{widest}}  {line}".rstrip(), f"{place}. {names[row.racer]}", *facts)
    for pair in scores.pairs:
        share = f"{100 * pair.share:.1f} % ({100 * pair.low:.1f} to {100 * pair.high:.1f} %)"
        counts = f"{pair.ahead} ahead, {pair.tied} tied, {pair.behind} behind"
        print_line(settings, f"{names[pair.stronger]} before {names[pair.weaker]}: {share}; {counts}")
    click.echo()


def _name(bots: Sequence[str], number: int) -> str:
    """Return a bot's name, with its number if it races more than once."""
    mark = f" #{number + 1}" if bots.count(bots[number]) > 1 else ""
    return f"{printable(bots[number])}{mark}"


def _failures(bots: Sequence[str], races: Sequence[ArenaRace]) -> Iterator[str]:
    """Yield a line for each kind of failure, with the first deal on which it happened."""
    deals, counts = dict[tuple[int, str], str](), Counter[tuple[int, str]]()
    for race in races:
        for number, racer in enumerate(race.racers):
            if racer.failure is not None:
                counts[number, racer.failure] += 1
                deals.setdefault((number, racer.failure), race.deal)
    for (number, failure), count in counts.items():
        lost = f"lost {counted(count, 'race')}, first {deals[number, failure]}"
        yield f"{_name(bots, number)} {lost}: it {failure}"


def _json(
    bots: Sequence[str], seed: str, moves: int, filters: Mapping[str, str], by_game: Mapping[str, list[ArenaRace]]
) -> bytes:
    games = [
        {"game": game, "filter": filters[game], "table": table(races), "races": races}
        for game, races in by_game.items()
    ]
    whole = table([race for races in by_game.values() for race in races])
    return msgspec.json.encode({"bots": bots, "seed": seed, "moves": moves, "games": games, "table": whole})
