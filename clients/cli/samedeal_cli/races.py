"""Races and games: the commands ``new``, ``games``, ``rules`` and ``ls``; and who one is, ``whoami`` and ``logout``."""

import sys
from datetime import UTC, datetime

import click
import msgspec

from samedeal.catalogue import GAMES
from samedeal.game import Game
from samedeal_cli import guests
from samedeal_cli.api import Api, GameInfo, Games, Opened, Races, Replays
from samedeal_cli.failure import Misused, Unreachable
from samedeal_cli.parameters import DEAL, DURATION, NAME, VARIANT, Deal
from samedeal_cli.settings import Settings, examples


@click.command(epilog=examples("samedeal new corners", "samedeal new the-edge --limit 10m --max 4 --join --as ada"))
@click.argument("game")
@click.option("--deal", type=DEAL, metavar="CODE", help="Race an open deal, the one that a code names.")
@click.option("--seed", metavar="TEXT", help="Race an open deal, made from any text.")
@click.option("--limit", type=DURATION, metavar="TIME", help="How long it lasts.  [default: as suits the game]")
@click.option("--start-delay", type=DURATION, metavar="TIME", help="How long the countdown lasts.  [default: 5s]")
@click.option("--max", "most", type=click.IntRange(1, 32), metavar="N", help="How many may race.  [default: 8]")
@click.option("--unlisted", is_flag=True, help="Leave it out of the lists.")
@click.option("--undo", type=click.Choice(["on", "off"]), help="Whether moves may be taken back.  [default: on]")
@click.option(
    "--attempts",
    type=click.IntRange(0, 1000),
    metavar="N",
    help="How often one may try.  [default: no limit]",
)
@click.option(
    "--spectators",
    type=click.Choice(["progress", "after", "open"]),
    help="What onlookers see before the end: counts, nothing, or tables too.  [default: progress]",
)
@click.option(
    "--variant", "variants", type=VARIANT, multiple=True, metavar="NAME=VALUE", help="One of the game's own options."
)
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
    chosen = {
        "limit_ms": limit,
        "start_delay_ms": start_delay,
        "max_racers": most,
        "unlisted": unlisted or None,
        "undo": None if undo is None else undo == "on",
        "attempts": attempts,
        "spectators": spectators,
    }
    wish: dict[str, object] = {
        "game": game,
        "variant": dict(variants),
        "options": {option: value for option, value in chosen.items() if value is not None},
    }
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
        click.echo(f"{game.slug:<22} {game.title:<22} {game.goal:>3} cards, {_minutes(game.limit_ms)}{_variants(game)}")


@click.command(epilog=examples("samedeal rules corners", "samedeal rules gallery | less"))
@click.argument("game", type=click.Choice(list(GAMES)), metavar="GAME")
def rules(game: str) -> None:
    """Print the rules of a game, its table and how its moves are written."""
    meant = GAMES[game]
    click.echo((sys.modules[meant.__module__].__doc__ or "").strip().replace("``", "") + "\n")
    click.echo("The table:\n")
    click.echo("\n".join(f"    {line.strip()}" for line in meant.layout.strip().splitlines()))
    click.echo(f"\nMoves: {_notation(meant)}")
    click.echo("In every game: undo (never back over a card that was turned up) and restart (the same deal again).")
    click.echo(
        f"\nA race lasts {_minutes(meant.limit_ms)} unless it is opened with another limit{_variants(_info(meant))}."
    )


@click.command(epilog=examples("samedeal ls races --stage open", "samedeal ls replays --game corners --limit 5"))
@click.argument("what", type=click.Choice(["races", "replays"]))
@click.option("--game", metavar="GAME", help="Only of this game.")
@click.option("--stage", type=click.Choice(["open", "countdown", "running"]), help="Only races at this stage.")
@click.option("--player", metavar="ID", help="Only replays with this player, by the id that whoami shows.")
@click.option("--deal", metavar="CODE", help="Only replays of this deal.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="At most so many.")
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
            click.echo(f"{race.race:<24} {race.game:<22} {race.stage:<10} {race.racers}/{race.max_racers}  {deal_is}")
    else:
        for replay in api.read(data, Replays).replays:
            ended = datetime.fromtimestamp(replay.ended_at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
            best = ", ".join(
                f"{standing.place} {standing.name} {standing.home}/{standing.goal}" for standing in replay.standings[:3]
            )
            click.echo(f"{replay.race:<24} {replay.game:<22} {ended}  {best}")


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
