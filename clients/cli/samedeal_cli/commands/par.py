"""The commands ``par`` and ``share``: results, compared with the computer's on the same deal."""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import click

from samedeal.computer.par import Par, Square
from samedeal.errors import Refused
from samedeal.names import seat_marks
from samedeal.replays.replay import MAX_BYTES, Replay, read
from samedeal.share.par_chart import LONGEST_ROW, rows, verdict
from samedeal.wire.documents import RacePar
from samedeal_cli.commands.output import show, write_output
from samedeal_cli.commands.parameters import FILE, RACE, RACE_OR_DEAL, Deal, Link, Number, variant_option
from samedeal_cli.commands.replays import FORMATS, format_of
from samedeal_cli.failure import Declined, Misused, Unreachable
from samedeal_cli.net.http_api import Api, ParProgress, Variants, plain
from samedeal_cli.render.phrases import short_deal, title_of
from samedeal_cli.render.transcript import printable
from samedeal_cli.settings import Settings, command

POLL_S: Final = 0.2
"""Interval between requests while the server computes a par."""
PAR_TIMEOUT_S: Final = 20.0
"""How long ``share`` waits for par, which the text includes."""
_LETTERS: Final[dict[Square, str]] = {"solved": "S", "better": "+", "equal": "=", "worse": "-"}
_COLORS: Final[dict[Square, str]] = {"solved": "32", "better": "91", "equal": "39", "worse": "94"}


@command(
    "samedeal par calm-otter-42",
    "samedeal par calm-otter-42 --seat 2 --svg strip.svg",
    "samedeal par gallery:31 --play 7 -o play.json",
)
@click.argument("what", type=RACE_OR_DEAL, metavar="RACE|CODE")
@click.option("--seat", type=Number(1), metavar="N", help="Show only this seat.")
@click.option("--svg", type=FILE, help="Write an SVG picture.")
@click.option("--play", "k", type=Number(0), metavar="K", help="Write the computer's play number K as a replay.")
@click.option("-o", "--output", type=FILE, help="The file for --play.")
@variant_option
def par(
    settings: Settings,
    what: Link | Deal,
    seat: int | None,
    svg: Path | None,
    k: int | None,
    output: Path | None,
    variants: Variants,
) -> None:
    """Compare your results with the computer's on the same deal.

    RACE is the link or id of a finished race. CODE is the code of a deal that is not being raced. The computer plays
    the deal many times; each of its plays is a replay that you can verify.
    """
    if isinstance(what, Deal) and (seat or svg):
        raise Misused("--seat and --svg need a race, not a deal code")
    if isinstance(what, Link) and variants:
        raise Misused("--variant is for a deal code; a race already has its variant")
    if output and k is None:
        raise Misused("-o needs --play")
    if k is not None and (seat or svg):
        raise Misused("--play cannot be combined with --seat or --svg")
    format_ = format_of(output, *FORMATS)
    api = Api((what.server if isinstance(what, Link) else None) or settings.address)
    query: dict[str, object] = {"seat": seat} if isinstance(what, Link) else _query(variants)
    path = f"/races/{what.race_id}/par" if isinstance(what, Link) else _path(f"{what.game}:{what.seed}")
    if k is not None:
        if isinstance(what, Link):
            race_par = api.read(_fetch(settings, api, path, query), RacePar)
            path, query = _path(race_par.deal), _query(tuple(race_par.variant.items()))
        write_output(settings, output, FORMATS[format_](_play(api, f"{path}/{k}.msgpack", query)))
        return
    data = _fetch(settings, api, path, query)
    if svg:
        write_output(settings, svg, api.download(f"{path}.svg", query=query))
    else:
        show(settings, data, _lines(settings, api.read(data, RacePar if isinstance(what, Link) else Par)))


@command("samedeal share calm-otter-42", "samedeal share calm-otter-42 --seat 2")
@click.argument("race", type=RACE)
@click.option("--seat", type=Number(1), metavar="N", help="Share the result of this seat.  [default: all results]")
def share(settings: Settings, race: Link, seat: int | None) -> None:
    """Print a race as a line of text and its link, for a chat.

    RACE is a link or an id. With --seat, the line has the racer's place and time and, once the deal is public, the pace
    and how many of the computer's plays did worse.
    """
    api = Api(race.server or settings.address)
    deadline = time.monotonic() + PAR_TIMEOUT_S
    with suppress(Declined):  # it has none, or keeps it secret
        for _ in compute_par(api, f"/races/{race.race_id}/par") if seat is not None else ():
            if time.monotonic() > deadline:
                break
    text = api.share_text(race.race_id, seat)
    show(settings, {"text": text}, text.splitlines())


def compute_par(api: Api, path: str, query: dict[str, object] | None = None) -> Iterator[tuple[ParProgress, bytes]]:
    """Request a par until the server has computed it. Yield the progress and the document."""
    while True:
        data = api.fetch(path, query=query)
        progress = api.read(data, ParProgress)
        yield progress, data
        if progress.done is None:
            return
        time.sleep(POLL_S)


def _path(code: str) -> str:
    return f"/deals/{quote(code, safe='')}/par"


def _query(variants: Variants) -> dict[str, object]:
    return {option: f"{choice}".lower() if isinstance(choice, bool) else choice for option, choice in variants}


def _fetch(settings: Settings, api: Api, path: str, query: dict[str, object]) -> bytes:
    """Wait until the server has computed the par, and return the document. Shows a progress bar."""
    computing = compute_par(api, path, query)
    progress, data = next(computing)
    hidden = progress.done is None or settings.quiet or settings.json or settings.screen_reader
    hidden = hidden or not sys.stderr.isatty()
    with click.progressbar(length=progress.of, label="computing par", file=sys.stderr, hidden=hidden) as bar:
        while progress.done is not None:
            bar.update(progress.done - bar.pos)
            progress, data = next(computing)
        bar.update((bar.length or 0) - bar.pos)
    return data


def _play(api: Api, path: str, query: dict[str, object]) -> Replay:
    try:
        return read(api.download(path, query=query, most_bytes=MAX_BYTES))
    except Refused as refused:
        raise Unreachable(api.server, f"not a valid Same Deal response: {plain(refused.text)}") from refused


def _lines(settings: Settings, result: Par) -> Iterator[str]:
    title = title_of(result.game)
    yield f"{title}: {result.bot} played this deal {result.plays} times"
    yield printable(short_deal(result.deal))  # --json has the whole code
    figures = f"minimum {result.minimum}, median {result.median:g}, mean {result.mean:.1f}, maximum {result.maximum}"
    score = "score" if result.counted == "left" else f"cards of {result.goal}"
    yield f"{score}: {figures}; {result.solved} solved"
    racers = result.racers if isinstance(result, RacePar) else ()
    marks = seat_marks({racer.seat: racer.name for racer in racers})
    for racer in racers:
        name = f"{printable(racer.name)}{marks[racer.seat]}"
        yield ""
        shown = f"score {racer.result}" if result.counted == "left" else f"{racer.result} of {result.goal}"
        yield f"{name}, {shown}{', solved' if racer.won else ''}: {verdict(racer)} of its plays"
        if not settings.screen_reader:
            width = max(10, min(LONGEST_ROW, shutil.get_terminal_size().columns))
            for row in rows(racer.squares, width):
                yield "".join(_square(settings, square) for square in row)
    if racers and not settings.screen_reader:
        yield ""
        legend = "  ".join(f"{_square(settings, square)} {square}" for square in _LETTERS)
        yield f"each mark is one play of the computer: {legend}"


def _square(settings: Settings, square: Square) -> str:
    """A coloured square or, without colours, a letter."""
    if settings.plain or not settings.colored:
        return _LETTERS[square]
    return f"\x1b[{_COLORS[square]}m■\x1b[39m"
