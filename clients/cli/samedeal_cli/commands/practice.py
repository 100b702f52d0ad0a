"""The command ``practice``: play alone with advice, from a deal or a position of a finished race."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

import click

from samedeal.game import Move
from samedeal.games.catalogue import GAMES
from samedeal_cli.commands.mode import Mode, choose_mode, mode_option, run_full_screen
from samedeal_cli.commands.parameters import DEAL_OR_REPLAY, Deal, Number, variant_option
from samedeal_cli.failure import Misused
from samedeal_cli.matching import named
from samedeal_cli.net.http_api import Variants
from samedeal_cli.net.practice_connection import PRACTICE, Library, Practice
from samedeal_cli.net.replay_loader import load_replay
from samedeal_cli.searches import PublicDeal
from samedeal_cli.settings import Settings, command
from samedeal_cli.state.race_state import first_state
from samedeal_cli.state.replay_state import player_of, position_of, unverified_if_refused
from samedeal_cli.timecode import Moment


@command(
    "samedeal practice corners",
    "samedeal practice gallery:31",
    "samedeal practice calm-otter-42 --seat 2 --move 27",
    instead_of_json="use --line",
)
@click.argument("what", type=DEAL_OR_REPLAY, metavar="GAME|DEAL|REPLAY")
@click.option("--seat", type=Number(1), metavar="N", help="Start on the table of this seat.  [default: the best]")
@click.option("--move", type=Number(0), metavar="N", help="Start after this move.  [default: 0]")
@variant_option
@mode_option
def practice(
    settings: Settings, what: Deal | str, seat: int | None, move: int | None, variants: Variants, mode: Mode | None
) -> int:
    """Play alone, with advice, without a clock and without a server.

    GAME is played on a random deal, DEAL is the code of a public one. REPLAY is the link or id of a finished race, a
    file, or - for standard input. You can undo moves as far as the deal. Ask for a hint, and whether your last move was
    a mistake: the computer knows all cards.
    """
    if isinstance(what, str) and (game := _game(what)):
        what = random_deal(game)
    if isinstance(what, Deal):
        if seat or move is not None:
            raise Misused("--seat and --move need a replay")
        return run_practice(settings, PublicDeal(what.game, what.seed, dict(variants)), (), mode)
    if variants:
        raise Misused("--variant is for a game or a deal code; a race already has its variant")
    with unverified_if_refused():
        loaded = load_replay(settings, what)
    return run_practice(settings, *position_of(player_of(loaded, seat=seat, at=Moment(move=move or 0))), mode)


def random_deal(game: str) -> Deal:
    """Return a deal that nobody has chosen."""
    return Deal(game, token_hex(8))


def run_practice(settings: Settings, deal: PublicDeal, moves: Sequence[Move], mode: Mode | None) -> int:
    """Play on the full screen or in line mode until the user quits. Return the exit code."""
    chosen = choose_mode(mode, settings)
    connection = Practice(deal, moves)
    if chosen == "tui":
        from samedeal_cli.screen.race_screen import practice_screen
        from samedeal_cli.screen.race_view import draw_screen

        plain, state = settings.plain, first_state(settings, PRACTICE)
        frame = draw_screen(state, state.width, state.height)
        screen, code = run_full_screen(settings, frame, lambda: practice_screen(settings, connection, plain=plain))
        if screen.failure:
            raise screen.failure
        return code
    from samedeal_cli.line.practice_lines import PracticeLines
    from samedeal_cli.running import run

    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    lines = PracticeLines(
        connection,
        Library().game(deal.slug),
        settings,
        boards="picture" if is_terminal and not settings.screen_reader else "words",
        interactive=is_terminal,
        width=min(100, shutil.get_terminal_size().columns),
    )
    run(lines.run(ready=None))
    return 0


def _game(text: str) -> str | None:
    """Return the game that a text names, if any."""
    if Path(text).exists():
        return None
    try:
        return named(text, GAMES, "game")
    except Misused:
        return None
