"""Races and games: the commands ``new``, ``games``, ``rules`` and ``ls``; and who one is, ``whoami`` and ``logout``."""

import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from textwrap import indent, wrap
from typing import Final

import click
import msgspec

from samedeal.catalogue import GAMES
from samedeal.friendly import FILTERS
from samedeal.game import Game
from samedeal_cli import guests
from samedeal_cli.addresses import is_local
from samedeal_cli.api import Api, GameInfo, Games, Opened, Races, Replays
from samedeal_cli.failure import Misused, Unreachable
from samedeal_cli.parameters import (
    DEAL,
    DELAY,
    GAME,
    NAME,
    SEED,
    Deal,
    Number,
    limit_option,
    race_options,
    undo_option,
    variant_option,
)
from samedeal_cli.settings import Settings, examples
from samedeal_cli.words import told_apart

WIDEST: Final = 100
"""How wide a text gets at most."""
ROW: Final = 74
"""How wide a terminal has to be for a row of a list; on a narrower one each item gets a line."""


@click.command(epilog=examples("samedeal new corners", "samedeal new the-edge --limit 10m --max 4 --join --as ada"))
@click.argument("game", type=GAME, metavar="GAME")
@click.option("--deal", type=DEAL, metavar="CODE", help="Race an open deal, the one that a code names.")
@click.option("--seed", type=SEED, metavar="TEXT", help="Race an open deal, made from any text.")
@limit_option
@click.option(
    "--start-delay", type=DELAY, metavar="TIME", help="How long the countdown lasts, 0s to 60s.  [default: 5s]"
)
@click.option("--max", "most", type=Number(1, 32), metavar="N", help="How many may race.  [default: 8]")
@click.option(
    "--filter",
    "wanted",
    type=click.Choice(["any", "friendly"]),
    help="Any sealed deal, or one with a fair chance.  [default: friendly, where the game has such]",
)
@click.option("--unlisted", is_flag=True, help="Leave it out of the lists.")
@undo_option
@click.option(
    "--attempts",
    type=Number(0, 1000),
    metavar="N",
    help="How often one may try.  [default: no limit]",
)
@click.option(
    "--spectators",
    type=click.Choice(["progress", "after", "open"]),
    help="What onlookers see before the end: counts, nothing, or tables too.  [default: progress]",
)
@variant_option
@click.option("--join", "joining", is_flag=True, help="Take a seat at once.")
@click.option("--as", "name", type=NAME, metavar="NAME", help="Who to be, with --join.")
@click.pass_obj
def new(
    settings: Settings,
    game: str,
    deal: Deal | None,
    seed: str | None,
    limit: int | None,
    start_delay: int | None,
    most: int | None,
    wanted: str | None,
    unlisted: bool,
    undo: str | None,
    attempts: int | None,
    spectators: str | None,
    variants: tuple[tuple[str, str | bool], ...],
    joining: bool,
    name: str | None,
) -> None:
    """Open a race and print the link to send round. Without --deal or --seed the deal is sealed: nobody can know it."""
    if deal and seed:
        raise Misused("--deal and --seed both say what to deal; give one of them")
    if deal and deal.game != game:
        raise Misused(f"the deal {deal.game}:{deal.seed} is not one of {game}")
    options = race_options(
        limit,
        undo,
        start_delay_ms=start_delay,
        max_racers=most,
        filter={"friendly": FILTERS[-1], "any": FILTERS[0]}.get(wanted or ""),
        unlisted=unlisted or None,
        attempts=attempts,
        spectators=spectators,
    )
    wish: dict[str, object] = {"game": game, "variant": dict(variants), "options": options}
    if deal or seed:
        wish["seed"] = deal.seed if deal else seed
    api = Api(settings.address)
    data = api.fetch("/races", body=wish)
    opened = api.read(data, Opened)
    if settings.json:
        click.echo(data)
    else:
        click.echo(opened.link)
        settings.say(f"{opened.header.game}: send the link round, or type: samedeal join {opened.link}")
    if is_local(opened.link):
        settings.say("only this machine can open that link: see --host and --public-url of samedeal serve")
    if joining:
        from samedeal_cli.play import play

        play(settings, settings.address, opened.race, name=name)


@click.command(epilog=examples("samedeal games", "samedeal games --json"))
@click.pass_obj
def games(settings: Settings) -> None:
    """List the games that can be raced; those of this program, if no server can be reached."""
    try:
        data = Api(settings.address).fetch("/games")
        known = Api(settings.address).read(data, Games).games
    except Unreachable as failure:
        settings.say(f"samedeal: {failure.format_message()}; these are the games of this program")
        known = tuple(_info(game) for game in GAMES.values())
        data = msgspec.json.encode({"games": known})
    if settings.json:
        click.echo(data)
        return
    for game in known:
        counts = f"{game.goal:>3} cards, {_minutes(game.limit_ms)}{_variants(game)}"
        _print_item(f"{game.slug:<22} {game.title:<22} {counts}", game.slug, game.title, counts)


@click.command(epilog=examples("samedeal rules corners", "samedeal rules gallery | less"))
@click.argument("game", type=GAME, metavar="GAME")
@click.pass_obj
def rules(settings: Settings, game: str) -> None:
    """Print the rules of a game, its table and how its moves are written."""
    if settings.json:
        meant = GAMES[game]
        told = {"text": "\n\n".join(_paragraphs(meant)), "moves": [_notation(meant), ALWAYS]}
        click.echo(msgspec.json.encode(msgspec.to_builtins(_info(meant)) | told))
        return
    for line in rules_lines(game, shutil.get_terminal_size().columns):
        click.echo(line)


def rules_lines(slug: str, width: int) -> Iterator[str]:
    """The rules of a game of this program, no line wider than the terminal; only the table is as it is."""
    game, width = GAMES[slug], max(20, min(width, WIDEST))
    for paragraph in _paragraphs(game):
        yield from (*wrap(paragraph, width), "")
    yield from ("The table:", "")
    yield from indent("\n".join(line.strip() for line in game.layout.strip().splitlines()), "    ").splitlines()
    yield from ("", *wrap(f"Moves: {_notation(game)}", width), *wrap(ALWAYS, width), "")
    lasts = f"A race lasts {_minutes(game.limit_ms)} unless it is opened with another limit{_variants(_info(game))}."
    yield from wrap(lasts, width)


@click.command(epilog=examples("samedeal ls races --stage open", "samedeal ls replays --game corners --limit 5"))
@click.argument("what", type=click.Choice(["races", "replays"]))
@click.option("--game", metavar="GAME", help="Only of this game.")
@click.option("--stage", type=click.Choice(["open", "countdown", "running"]), help="Only races at this stage.")
@click.option("--player", metavar="ID", help="Only replays with this player, by the id that whoami shows.")
@click.option("--deal", metavar="CODE", help="Only replays of this deal.")
@click.option("--limit", type=Number(1, 100), default=20, show_default=True, help="At most so many.")
@click.pass_obj
def ls(
    settings: Settings,
    what: str,
    game: str | None,
    stage: str | None,
    player: str | None,
    deal: str | None,
    limit: int,
) -> None:
    """List races that are on, or replays of those that are over, the newest first."""
    api = Api(settings.address)
    query: dict[str, object] = {"game": game, "limit": limit}
    query |= {"stage": stage} if what == "races" else {"player": player, "deal": deal}
    data = api.fetch(f"/{what}", query=query)
    if settings.json:
        click.echo(data)
    elif what == "races":
        for race in api.read(data, Races).races:
            deal_is = "sealed" if race.sealed else "open deal"
            racers = f"{race.racers}/{race.max_racers}"
            row = f"{race.race:<24} {race.game:<22} {race.stage:<10} {racers}  {deal_is}"
            _print_item(row, race.race, race.game, f"{race.stage}, {racers}, {deal_is}")
    else:
        for replay in api.read(data, Replays).replays:
            ended = datetime.fromtimestamp(replay.ended_at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
            best = ", ".join(
                f"{standing.place} {standing.name} {standing.home}/{standing.goal}"
                for standing in told_apart(replay.standings)[:3]
            )
            _print_item(f"{replay.race:<24} {replay.game:<22} {ended}  {best}", replay.race, replay.game, ended, best)


@click.command(epilog=examples("samedeal whoami", "samedeal whoami --json"))
@click.pass_obj
def whoami(settings: Settings) -> None:
    """Show the names you play under, with their servers and public ids."""
    kept = guests.kept()
    if settings.json:
        shown = [{"server": guest.server, "name": guest.name, "player": guest.player} for guest in kept]
        click.echo(msgspec.json.encode({"default": guests.own_name(), "guests": shown}))
        return
    for guest in kept:
        click.echo(f"{guest.name:<24} {guest.player:<18} {guest.server}")
    settings.say(f"without --as you are {guests.own_name()}")


@click.command(epilog=examples("samedeal logout", "samedeal logout bo"))
@click.argument("name", type=NAME, required=False)
@click.pass_obj
def logout(settings: Settings, name: str | None) -> None:
    """Forget a name on the server in use: nobody can come back as that player, not even you."""
    name, server = name or guests.own_name(), settings.address
    found = [guest for guest in guests.kept() if (guest.server, guest.name) == (server, name)]
    if not found:
        raise Misused(f"{name} is not known at {server}; samedeal whoami lists who is")
    guests.forget(found[0])
    settings.say(f"{name} at {server} is forgotten")


ALWAYS: Final = (
    "In every game: undo takes back the last move, never one that turned up a card; restart begins the same deal again."
)


def _print_item(row: str, head: str, *facts: str) -> None:
    """An item of a list in a row, or where that does not fit with a line for each fact."""
    if shutil.get_terminal_size().columns >= ROW:
        click.echo(row)
    else:
        click.echo("\n".join([head, *(f"  {fact.strip()}" for fact in facts if fact)]))


def _paragraphs(game: type[Game]) -> list[str]:
    text = (sys.modules[game.__module__].__doc__ or "").strip().replace("``", "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _info(game: type[Game]) -> GameInfo:
    return GameInfo(
        slug=game.slug,
        title=game.title,
        rules=game.rules,
        layout=game.layout,
        goal=game.goal,
        limit_ms=game.limit_ms,
        fanned=tuple(sorted(game.fanned)),
        hidden=tuple(sorted(game.hidden)),
        options={name: tuple(values) for name, values in game.options.items()},
    )


def _notation(game: type[Game]) -> str:
    """How a game says its moves are written: in the words in which it refuses what is none."""
    return game.from_seed("1").why_not("?").partition(": ")[2]


def _variants(game: GameInfo) -> str:
    return "".join(f"; variant {name}={'|'.join(map(_word, values))}" for name, values in game.options.items())


def _word(value: str | bool) -> str:
    return value if isinstance(value, str) else "on" if value else "off"


def _minutes(ms: int) -> str:
    return f"{ms / 60_000:g} min"
